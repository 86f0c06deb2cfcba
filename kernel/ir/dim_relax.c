/*
 * Lower bounds of sums whose atoms are made of one another. n - floordiv(n, 2) has none
 * as long as its terms are looked at apart; but floordiv(n, 2) <= n / 2, so twice the sum
 * is at least n. Step by step one term gives way to what it cannot exceed (or fall
 * below), the whole scaled where that is a fraction.
 *
 * All orders are tried: normal forms depend on the bound, so the bound must not depend
 * on the order of terms, which differs between stores.
 */
#include "ir/dim.h"

#include <string.h>

/* A search is worth little for long sums, and hostile ones must not make it long. */
#define MAX_TERMS        8u
#define MAX_ALTERNATIVES 4u /* of one sum */
#define MAX_STEPS        3
#define MAX_QUOTIENTS    64

/* scale * (the sum asked for) >= sum, for every value. */
struct relaxed {
    int64_t scale;
    bt__sum sum;
};

static void add_scaled(bt__sum *sum, const bt_term *term, int64_t scale)
{
    int64_t coefficient;
    if (bt_mul_int64(term->coefficient, scale, &coefficient))
        bt__sum_add_atom(sum, term->atom, coefficient);
    else
        sum->refusal = "";
}

/* scale * (the sum without term i). */
static void take_out(const struct relaxed *from, uint32_t i, int64_t scale,
                     struct relaxed *out)
{
    int64_t constant = 0;
    int fits = bt_mul_int64(from->sum.constant, scale, &constant);
    bt__sum_init(&out->sum, constant);
    fits &= bt_mul_int64(from->scale, scale, &out->scale);
    if (!fits)
        out->sum.refusal = "";
    for (uint32_t k = 0; k < from->sum.n; k++) {
        if (k != i)
            add_scaled(&out->sum, &from->sum.terms[k], scale);
    }
}

/* c floordiv(x, b): b floordiv(x, b) lies in x - b + 1 .. x. */
static int relax_quotient(const struct relaxed *from, uint32_t i,
                          const bt_list_type *args, struct relaxed *out)
{
    int64_t by, slack = 0, c = from->sum.terms[i].coefficient;
    if (!bt_dim_is_const(args->at[1], &by)) {
        // By a symbol of 1 and more, natural numbers do not grow.
        if (c > 0 || bt__dim_bounds(args->at[1]).low < 1 ||
            bt__dim_bounds(args->at[0]).low < 0)
            return 0;
        by = 1;
    }
    int64_t common = bt__gcd(c, by);
    take_out(from, i, by / common, out);
    bt__sum_add(&out->sum, args->at[0], c / common);
    if (c > 0 && !bt_mul_int64(c / common, 1 - by, &slack))
        return 0;
    bt__sum_add_const(&out->sum, slack);
    return 1;
}

/* c x y: the other factor times the bound of one. */
static int relax_product(const struct relaxed *from, uint32_t i, const bt_list_type *args,
                         uint32_t which, struct relaxed *out)
{
    if (args->n != 2 || which > 1)
        return 0;
    bt__bounds bounds = bt__dim_bounds(args->at[which]);
    bt_term term = { from->sum.terms[i].coefficient, args->at[1 - which] };
    int64_t by = term.coefficient > 0 ? bounds.low : bounds.high;
    if (bounds.low < 0 || bt__dim_bounds(term.atom).low < 0 || by == INT64_MAX)
        return 0;
    take_out(from, i, 1, out);
    add_scaled(&out->sum, &term, by);
    return 1;
}

/* The sum with one way to bound term i from below taken. 0: there are fewer ways. */
static int relax(const struct relaxed *from, uint32_t i, uint32_t which,
                 struct relaxed *out)
{
    const bt_term *term = &from->sum.terms[i];
    const bt_list_type *args = bt_as_list_type(term->atom);
    int64_t c = term->coefficient;
    if (!args)
        return 0;
    switch (term->atom->kind) {
    case BT_TYPE_FLOORDIV: return !which && relax_quotient(from, i, args, out);
    case BT_TYPE_PRODUCT: return relax_product(from, i, args, which, out);
    case BT_TYPE_MOD:
        if (which || c > 0 || bt__dim_bounds(args->at[0]).low < 0)
            return 0;
        break;
    case BT_TYPE_MIN:
        if (which >= args->n || c > 0)
            return 0;
        break;
    case BT_TYPE_MAX:
        if (which >= args->n || c < 0)
            return 0;
        break;
    default: return 0;
    }
    take_out(from, i, 1, out);
    bt__sum_add(&out->sum, args->at[which], c);
    return 1;
}

static uint32_t count_alternatives(const struct relaxed *from)
{
    struct relaxed next;
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->sum.n; i++) {
        for (uint32_t k = 0; n <= MAX_ALTERNATIVES && relax(from, i, k, &next); k++)
            n++;
    }
    return n;
}

/* The best bound that so many steps give. */
static int64_t search(const struct relaxed *from, int nstep)
{
    struct relaxed next;
    int64_t low = bt__sum_bounds(&from->sum).low;
    if (low != INT64_MIN)
        low = bt_ceildiv_int64(low, from->scale);
    if (!nstep || count_alternatives(from) > MAX_ALTERNATIVES)
        return low;
    for (uint32_t i = 0; i < from->sum.n; i++) {
        for (uint32_t k = 0; relax(from, i, k, &next); k++) {
            if (next.sum.refusal || next.sum.n > MAX_TERMS)
                continue;
            int64_t found = search(&next, nstep - 1);
            low = found > low ? found : low;
        }
    }
    return low;
}

/* The sum with all quotients given way at once: long sums are sizes rounded up, one behind
 * the other, and the rest of each is small. */
static void relax_quotients(struct relaxed *r)
{
    struct relaxed next;
    uint32_t nstep = 0;
    for (uint32_t i = 0; i < r->sum.n && nstep < MAX_QUOTIENTS;) {
        if (r->sum.terms[i].atom->kind == BT_TYPE_FLOORDIV && relax(r, i, 0, &next) &&
            !next.sum.refusal) {
            *r = next;
            i = 0;
            nstep++;
        } else {
            i++;
        }
    }
}

static int64_t search_short(const struct relaxed *from)
{
    return search(from, from->sum.n > MAX_TERMS ? 0 : MAX_STEPS);
}

/* The same of the greatest of some sums, by each of them. */
static int64_t low_of(const struct relaxed *from, int nmax)
{
    struct relaxed next = *from;
    int64_t low = search_short(from), found;
    relax_quotients(&next);
    found = search_short(&next);
    low = found > low ? found : low;
    for (uint32_t i = 0; nmax && i < from->sum.n; i++) {
        for (uint32_t k = 0;
             from->sum.terms[i].atom->kind == BT_TYPE_MAX && relax(from, i, k, &next);
             k++) {
            found = next.sum.refusal ? INT64_MIN : low_of(&next, nmax - 1);
            low = found > low ? found : low;
        }
    }
    return low;
}

int64_t bt__sum_low(const bt__sum *sum)
{
    struct relaxed start = { .scale = 1 };
    bt__sum_init(&start.sum, sum->constant);
    start.sum.n = sum->n;
    memcpy(start.sum.terms, sum->terms, sum->n * sizeof(*sum->terms));
    return low_of(&start, 1);
}
