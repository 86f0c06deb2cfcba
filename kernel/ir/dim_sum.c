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
    if (sum->n == BT__DIM_WIDTH) {
        refuse(sum, "a dim has too many terms");
        return;
    }
    memmove(at + 1, at, nbehind * sizeof(*at));
    *at = (bt_term){ coefficient, atom };
    sum->n++;
}

void bt__sum_add(bt__sum *sum, const bt_type *dim, int64_t coefficient)
{
    bt_term single;
    const bt_term *terms;
    int64_t constant, scaled;
    uint32_t n;
    bt_dim_linear(dim, &single, &constant, &n, &terms);
    if (!bt_mul_int64(constant, coefficient, &scaled))
        refuse(sum, overflows);
    else
        bt__sum_add_const(sum, scaled);
    for (uint32_t i = 0; i < n && !sum->refusal; i++) {
        if (!bt_mul_int64(terms[i].coefficient, coefficient, &scaled))
            refuse(sum, overflows);
        else
            bt__sum_add_atom(sum, terms[i].atom, scaled);
    }
}

const bt_type *bt__sum_dim(bt_store *store, const bt__sum *sum)
{
    if (sum->refusal)
        return bt__refuse(store, sum->refusal);
    if (sum->n == 1 && sum->constant == 0 && sum->terms[0].coefficient == 1)
        return sum->terms[0].atom;
    bt__dim_linear key = { .linear = { .base.kind = BT_TYPE_LINEAR,
                                       .constant = sum->constant,
                                       .n = sum->n,
                                       .terms = sum->terms } };
    return bt__type_intern(store, &key.linear.base);
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

void bt_dim_linear(const bt_type *dim, bt_term *single, int64_t *constant, uint32_t *n,
                   const bt_term **terms)
{
    if (dim->kind == BT_TYPE_LINEAR) {
        const bt_linear_type *linear = (const bt_linear_type *)(const void *)dim;
        *constant = linear->constant;
        *n = linear->n;
        *terms = linear->terms;
        return;
    }
    *single = (bt_term){ 1, dim };
    *constant = 0;
    *n = 1;
    *terms = single;
}
