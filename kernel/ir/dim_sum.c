/* Sums of atoms: the normal form of dims. */
#include "ir/dim.h"

#include <string.h>

static const char overflows[] = "a dim overflows 64 bits";

void bt__sum_init(bt__sum *sum, int64_t constant)
{
    sum->refusal = NULL;
    sum->constant = constant;
    sum->n = 0;
}

static void refuse(bt__sum *sum, const char *why)
{
    if (!sum->refusal)
        sum->refusal = why;
}

void bt__sum_add_const(bt__sum *sum, int64_t constant)
{
    if (!bt_add_int64(sum->constant, constant, &sum->constant))
        refuse(sum, overflows);
}

/* Index of the atom, or of where it would stand. */
static uint32_t position_of(const bt__sum *sum, const bt_type *atom)
{
    uint32_t low = 0, high = sum->n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (sum->terms[middle].atom->id < atom->id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void bt__sum_add_atom(bt__sum *sum, const bt_type *atom, int64_t coefficient)
{
    if (!coefficient)
        return;
    uint32_t i = position_of(sum, atom);
    bt_term *at = &sum->terms[i];
    size_t nbehind = sum->n - i;
    if (i < sum->n && at->atom == atom) {
        if (!bt_add_int64(at->coefficient, coefficient, &at->coefficient)) {
            refuse(sum, overflows);
        } else if (!at->coefficient) {
            memmove(at, at + 1, (nbehind - 1) * sizeof(*at));
            sum->n--;
        }
        return;
    }
    if (sum->n == BT__DIM_TERMS) {
        refuse(sum, "a dim has too many terms");
        return;
    }
    memmove(at + 1, at, nbehind * sizeof(*at));
    *at = (bt_term){ coefficient, atom };
    sum->n++;
}

void bt__sum_add(bt__sum *sum, const bt_type *dim, int64_t coefficient)
{
    bt_dim_sum all;
    int64_t scaled;
    bt_dim_linear(dim, &all);
    if (!bt_mul_int64(all.constant, coefficient, &scaled))
        refuse(sum, overflows);
    else
        bt__sum_add_const(sum, scaled);
    for (uint32_t i = 0; i < all.n && !sum->refusal; i++) {
        if (!bt_mul_int64(all.terms[i].coefficient, coefficient, &scaled))
            refuse(sum, overflows);
        else
            bt__sum_add_atom(sum, all.terms[i].atom, scaled);
    }
}

/* A term c * floordiv(r * x, b) * y where b divides c or less of it and, by the step of x,
 * all values of r * x: then *by is b and *inner the r * x * y. -1: no memory. */
static int is_exact_quotient(bt_store *store, const bt_term *term, bt_term *inner,
                             int64_t *by)
{
    const bt_type *single, *const *factors, *one, *const *parts;
    uint32_t n = bt__atom_factors(term->atom, &single, &factors);
    for (uint32_t i = 0; i < n; i++) {
        const bt_list_type *args = bt__dim_args(factors[i], BT_TYPE_FLOORDIV);
        bt_dim_sum all;
        int64_t multiple;
        if (!args || !bt_dim_is_const(args->at[1], by) ||
            bt_floordiv_int64(term->coefficient, *by) == 0)
            continue;
        bt_dim_linear(args->at[0], &all);
        if (all.n != 1 || all.constant ||
            !bt_mul_int64(all.terms[0].coefficient, bt__atom_step(all.terms[0].atom),
                          &multiple) ||
            multiple % *by ||
            bt__atom_factors(all.terms[0].atom, &one, &parts) + n > BT__DIM_ARGS)
            continue;
        *inner = all.terms[0];
        for (uint32_t k = 0; k < n && inner->atom; k++) {
            if (k != i)
                inner->atom = bt__atom_product(store, inner->atom, factors[k]);
        }
        return inner->atom ? 1 : -1;
    }
    return 0;
}

/* 16 floordiv(n, 16) is n where n has step 16: 1 and *out set, which may be `sum`. 0:
 * nothing of the kind; -1: no memory. */
static int fold_exact(bt_store *store, const bt__sum *sum, bt__sum *out)
{
    for (uint32_t i = 0; i < sum->n; i++) {
        const bt_term *term = &sum->terms[i];
        bt_term inner;
        int64_t by, coefficient, times, taken;
        int is_exact = is_exact_quotient(store, term, &inner, &by);
        if (is_exact < 0)
            return -1;
        if (!is_exact)
            continue;
        times = bt_floordiv_int64(term->coefficient, by);
        if (!bt_mul_int64(times, inner.coefficient, &coefficient) ||
            !bt_mul_int64(-times, by, &taken))
            continue;
        bt__sum folded = *sum;
        bt__sum_add_atom(&folded, term->atom, taken);
        bt__sum_add_atom(&folded, inner.atom, coefficient);
        if (folded.refusal)
            continue;
        *out = folded;
        return 1;
    }
    return 0;
}

static const bt_type *intern(bt_store *store, const bt__sum *sum)
{
    if (sum->n == 1 && sum->constant == 0 && sum->terms[0].coefficient == 1)
        return sum->terms[0].atom;
    bt__dim_linear key = { .linear = { .base.kind = BT_TYPE_LINEAR,
                                       .constant = sum->constant,
                                       .n = sum->n,
                                       .terms = sum->terms } };
    return bt__type_intern(store, &key.linear.base);
}

const bt_type *bt__sum_dim(bt_store *store, const bt__sum *sum)
{
    bt__sum folded;
    int is_folded;
    if (sum->refusal)
        return bt__refuse(store, sum->refusal);
    while ((is_folded = fold_exact(store, sum, &folded)) > 0)
        sum = &folded;
    return is_folded < 0 ? NULL : intern(store, sum);
}

const bt_type *bt__dim_rebuild(bt_store *store, const bt_linear_type *from,
                               const bt_type *const *atoms)
{
    bt__sum sum;
    bt__sum_init(&sum, from->constant);
    for (uint32_t i = 0; i < from->n; i++) {
        if (!bt__type_expect(store, atoms[i], BT_KIND_DIM))
            return NULL;
        if (bt__dim_is_wildcard(atoms[i]))
            return atoms[i];
        bt__sum_add(&sum, atoms[i], from->terms[i].coefficient);
    }
    return bt__sum_dim(store, &sum);
}

void bt_dim_linear(const bt_type *dim, bt_dim_sum *out)
{
    const bt_linear_type *linear = (const bt_linear_type *)(const void *)dim;
    *out = (bt_dim_sum){ .n = 1, .terms = &out->single, .single = { 1, dim } };
    if (dim->kind != BT_TYPE_LINEAR)
        return;
    out->constant = linear->constant;
    out->n = linear->n;
    out->terms = linear->terms;
}
