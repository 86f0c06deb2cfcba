/*
 * Quotients and remainders of dims. What divides exactly leaves the atom: with numbers
 *     floordiv(5 n + 7, 2)             = 2 n + 3 + floordiv(n + 1, 2)
 *     floordiv(2 n + 3, 4)             = floordiv(n + 1, 2)
 *     floordiv(floordiv(n, 2) + 3, 4)  = floordiv(n + 6, 8)
 *     ceildiv(n, 4)                    = floordiv(n + 3, 4)
 *     (5 n + 7) mod 4                  = (n + 3) mod 4
 * so that coefficients inside lie in 0 .. divisor - 1 and share no factor with it; the
 * same with symbols where the divisor is never 0. Division by 0 gives 0, as in formulas.
 */
#include "ir/dim.h"

/* ---- by numbers ---- */

/* Splits dim into by * quotient + rest, with coefficients of the rest in 0 .. by - 1. */
static void split(const bt_type *dim, int64_t by, bt__sum *quotient, bt__sum *rest)
{
    bt_dim_sum all;
    bt_dim_linear(dim, &all);
    bt__sum_add_const(quotient, bt_floordiv_int64(all.constant, by));
    bt__sum_init(rest, bt_mod_int64(all.constant, by));
    for (uint32_t i = 0; i < all.n; i++) {
        int64_t coefficient = all.terms[i].coefficient;
        bt__sum_add_atom(quotient, all.terms[i].atom, bt_floordiv_int64(coefficient, by));
        bt__sum_add_atom(rest, all.terms[i].atom, bt_mod_int64(coefficient, by));
    }
}

static int64_t common_factor(const bt__sum *sum, int64_t with)
{
    for (uint32_t i = 0; i < sum->n; i++)
        with = bt__gcd(with, sum->terms[i].coefficient);
    return with;
}

/* Divides the terms by their common factor, the constant rounded down. */
static void divide_exactly(bt__sum *sum, int64_t by)
{
    sum->constant = bt_floordiv_int64(sum->constant, by);
    for (uint32_t i = 0; i < sum->n; i++)
        sum->terms[i].coefficient /= by;
}

/* Every value of the sum has the same quotient: 1 and *out set. */
static int has_one_quotient(const bt__sum *sum, int64_t by, int64_t *out)
{
    bt__bounds bounds = bt__sum_bounds(sum);
    if (bounds.low == INT64_MIN || bounds.high == INT64_MAX)
        return 0;
    *out = bt_floordiv_int64(bounds.low, by);
    return *out == bt_floordiv_int64(bounds.high, by);
}

/* floordiv(x, a) + c by b is floordiv(x + a c, a b): 1 and *sum, *by replaced. */
static int unnest(bt__sum *sum, int64_t *by)
{
    if (sum->n != 1 || sum->terms[0].coefficient != 1)
        return 0;
    const bt_list_type *inner = bt__dim_args(sum->terms[0].atom, BT_TYPE_FLOORDIV);
    int64_t inner_by, outer_by, add;
    if (!inner || !bt_dim_is_const(inner->at[1], &inner_by) ||
        !bt_mul_int64(inner_by, *by, &outer_by) ||
        !bt_mul_int64(sum->constant, inner_by, &add))
        return 0;
    bt__sum outer;
    bt__sum_init(&outer, add);
    bt__sum_add(&outer, inner->at[0], 1);
    if (outer.refusal)
        return 0;
    *sum = outer;
    *by = outer_by;
    return 1;
}

static const bt_type *atom_of(bt_store *store, uint32_t kind, const bt__sum *sum,
                              const bt_type *by)
{
    const bt_type *args[] = { bt__sum_dim(store, sum), by };
    return args[0] && by ? bt__dim_atom(store, kind, 2, args) : NULL;
}

static int add_atom(bt_store *store, bt__sum *quotient, const bt__sum *rest, int64_t by)
{
    const bt_type *atom = atom_of(store, BT_TYPE_FLOORDIV, rest, bt_dim(store, by));
    if (atom)
        bt__sum_add_atom(quotient, atom, 1);
    return atom != NULL;
}

/* Terms whose values are all multiples of the divisor, by the step of a parameter, leave
 * as quotients of their own. 0: no memory. */
static int take_steps(bt_store *store, bt__sum *quotient, bt__sum *rest, int64_t by)
{
    bt__sum kept;
    bt__sum_init(&kept, rest->constant);
    for (uint32_t i = 0; i < rest->n; i++) {
        bt_term term = rest->terms[i];
        int64_t common = bt__gcd(term.coefficient, by);
        if (bt__atom_step(term.atom) % (by / common)) {
            bt__sum_add_atom(&kept, term.atom, term.coefficient);
            continue;
        }
        bt__sum exact;
        bt__sum_init(&exact, 0);
        bt__sum_add_atom(&exact, term.atom, term.coefficient / common);
        if (!add_atom(store, quotient, &exact, by / common))
            return 0;
    }
    *rest = kept;
    return 1;
}

static const bt_type *floordiv_number(bt_store *store, const bt_type *dim, int64_t by)
{
    bt__sum quotient, rest;
    bt__sum_init(&quotient, 0);
    for (;;) {
        int64_t number;
        split(dim, by, &quotient, &rest);
        if (!take_steps(store, &quotient, &rest, by))
            return NULL;
        if (has_one_quotient(&rest, by, &number)) {
            bt__sum_add_const(&quotient, number);
            return bt__sum_dim(store, &quotient);
        }
        int64_t common = common_factor(&rest, by);
        divide_exactly(&rest, common);
        by /= common;
        if (!unnest(&rest, &by))
            break;
        dim = bt__sum_dim(store, &rest);
        if (!dim)
            return NULL;
    }
    if (!add_atom(store, &quotient, &rest, by))
        return NULL;
    return bt__sum_dim(store, &quotient);
}

/* Adds r * (x mod a) as r * x where the divisor divides r * a. 0: nothing of the kind. */
static int open_mods(const bt__sum *from, int64_t by, bt__sum *out)
{
    int found = 0;
    bt__sum_init(out, from->constant);
    for (uint32_t i = 0; i < from->n; i++) {
        bt_term term = from->terms[i];
        const bt_list_type *mod = bt__dim_args(term.atom, BT_TYPE_MOD);
        int64_t inner_by;
        int opens = mod && bt_dim_is_const(mod->at[1], &inner_by) &&
                    inner_by % (by / bt__gcd(term.coefficient, by)) == 0;
        found |= opens;
        if (opens)
            bt__sum_add(out, mod->at[0], term.coefficient);
        else
            bt__sum_add_atom(out, term.atom, term.coefficient);
    }
    return found && !out->refusal;
}

/* Drops terms whose values are all multiples of the divisor. */
static void drop_steps(bt__sum *sum, int64_t by)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sum->n; i++) {
        bt_term term = sum->terms[i];
        if (bt__atom_step(term.atom) % (by / bt__gcd(term.coefficient, by)))
            sum->terms[kept++] = term;
    }
    sum->n = kept;
}

static const bt_type *mod_number(bt_store *store, const bt_type *dim, int64_t by)
{
    bt__sum quotient, rest, opened;
    int64_t number;
    for (;;) {
        bt__sum_init(&quotient, 0);
        split(dim, by, &quotient, &rest);
        if (!open_mods(&rest, by, &opened))
            break;
        dim = bt__sum_dim(store, &opened);
        if (!dim)
            return NULL;
    }
    drop_steps(&rest, by);
    if (has_one_quotient(&rest, by, &number)) {
        // The rest lies in one period: number * by + 0 .. by - 1.
        int64_t shift;
        if (bt_mul_int64(number, -by, &shift)) {
            bt__sum_add_const(&rest, shift);
            return bt__sum_dim(store, &rest);
        }
    }
    int64_t common = common_factor(&rest, by);
    int64_t left = rest.constant % common;
    divide_exactly(&rest, common);
    const bt_type *atom = atom_of(store, BT_TYPE_MOD, &rest, bt_dim(store, by / common));
    return atom ? bt_dim_scale(store, atom, common, left) : NULL;
}

/* ---- by symbols ---- */

/* atom / divisor's atom, where every factor of that is one of atom's: 1 and *out set,
 * NULL for 1. -1: no memory. */
static int divide_atom(bt_store *store, const bt_type *atom, const bt_type *by,
                       const bt_type **out)
{
    const bt_type *one[2], *const *a, *const *b, *left[BT__DIM_ARGS];
    uint32_t na = bt__atom_factors(atom, &one[0], &a);
    uint32_t nb = bt__atom_factors(by, &one[1], &b);
    uint32_t n = 0, j = 0;
    for (uint32_t i = 0; i < na; i++) {
        if (j < nb && a[i] == b[j])
            j++;
        else
            left[n++] = a[i];
    }
    if (j < nb)
        return 0;
    *out = n == 0   ? NULL
           : n == 1 ? left[0]
                    : bt__dim_atom(store, BT_TYPE_PRODUCT, n, left);
    return n && !*out ? -1 : 1;
}

/* Splits dim into by * quotient + rest, where `by` is coefficient * atom. 0: no
 * memory. */
static int split_by_term(bt_store *store, const bt_type *dim, const bt_term *by,
                         bt__sum *quotient, bt__sum *rest)
{
    bt_dim_sum all;
    bt_dim_linear(dim, &all);
    bt__sum_init(quotient, 0);
    bt__sum_init(rest, all.constant);
    for (uint32_t i = 0; i < all.n; i++) {
        int64_t coefficient = all.terms[i].coefficient;
        const bt_type *atom;
        int divides = divide_atom(store, all.terms[i].atom, by->atom, &atom);
        if (divides < 0)
            return 0;
        int64_t part = divides ? bt_floordiv_int64(coefficient, by->coefficient) : 0;
        if (part && atom)
            bt__sum_add_atom(quotient, atom, part);
        else
            bt__sum_add_const(quotient, part);
        bt__sum_add_atom(rest, all.terms[i].atom, coefficient - part * by->coefficient);
    }
    return 1;
}

/* As split, by any dim: the quotient is 0 where nothing can be taken out. */
static int split_by(bt_store *store, const bt_type *dim, const bt_type *by,
                    bt__sum *quotient, bt__sum *rest)
{
    bt_dim_sum all;
    bt_dim_linear(by, &all);
    if (all.n == 1 && all.constant == 0 && all.terms[0].coefficient > 0)
        return split_by_term(store, dim, &all.terms[0], quotient, rest);
    bt__sum_init(quotient, dim == by);
    bt__sum_init(rest, 0);
    if (dim != by)
        bt__sum_add(rest, dim, 1);
    return 1;
}

/* 0 when 0 <= rest < by for every value, -1 when -by <= rest < 0; else 1. */
static int period_of(const bt__sum *rest, const bt_type *by)
{
    bt__sum room = *rest;
    bt__bounds bounds = bt__sum_bounds(rest);
    if (bounds.low >= 0) {
        bt__sum_add(&room, by, -1);
        return !room.refusal && bt__sum_bounds(&room).high < 0 ? 0 : 1;
    }
    bt__sum_add(&room, by, 1);
    return bounds.high < 0 && !room.refusal && bt__sum_bounds(&room).low >= 0 ? -1 : 1;
}

static const bt_type *floordiv_symbol(bt_store *store, const bt_type *dim,
                                      const bt_type *by)
{
    bt__sum quotient, rest;
    bt__sum_init(&quotient, 0);
    bt__sum_init(&rest, 0);
    if (bt__dim_bounds(by).low <= 0) {
        bt__sum_add(&rest, dim, 1);
        return atom_of(store, BT_TYPE_FLOORDIV, &rest, by);
    }
    if (!split_by(store, dim, by, &quotient, &rest))
        return NULL;
    int period = period_of(&rest, by);
    if (period <= 0) {
        bt__sum_add_const(&quotient, period);
        return bt__sum_dim(store, &quotient);
    }
    const bt_type *atom = atom_of(store, BT_TYPE_FLOORDIV, &rest, by);
    if (!atom)
        return NULL;
    bt__sum_add_atom(&quotient, atom, 1);
    return bt__sum_dim(store, &quotient);
}

static const bt_type *mod_symbol(bt_store *store, const bt_type *dim, const bt_type *by)
{
    bt__sum quotient, rest;
    // Multiples of `by` may go whatever it is: x mod 0 is 0 with and without them.
    if (!split_by(store, dim, by, &quotient, &rest))
        return NULL;
    if (rest.n == 0 && rest.constant == 0)
        return bt_dim(store, 0);
    const bt_list_type *inner =
        rest.n == 1 && rest.constant == 0 && rest.terms[0].coefficient == 1
            ? bt__dim_args(rest.terms[0].atom, BT_TYPE_MOD)
            : NULL;
    if ((inner && inner->at[1] == by) || period_of(&rest, by) == 0)
        return bt__sum_dim(store, &rest);
    return atom_of(store, BT_TYPE_MOD, &rest, by);
}

/* ---- the three operations ---- */

/* 1 where the operands decide the matter at once: *out is then the result, or NULL. */
static int is_trivial(bt_store *store, const bt_type *a, const bt_type *b,
                      const bt_type **out)
{
    int64_t number;
    *out = NULL;
    if (!bt__dims_expect(store, a, b))
        return 1;
    *out = bt__dim_absorb(a, b);
    if (*out)
        return 1;
    if ((bt_dim_is_const(a, &number) && number == 0) ||
        (bt_dim_is_const(b, &number) && number == 0)) {
        *out = bt_dim(store, 0);
        return 1;
    }
    return 0;
}

const bt_type *bt_dim_floordiv(bt_store *store, const bt_type *a, const bt_type *b)
{
    const bt_type *result;
    int64_t by;
    if (is_trivial(store, a, b, &result))
        return result;
    if (!bt_dim_is_const(b, &by))
        return floordiv_symbol(store, a, b);
    if (by < 0) {
        a = bt_dim_scale(store, a, -1, 0);
        if (!a || !bt_mul_int64(by, -1, &by))
            return a ? bt__refuse(store, "a dim overflows 64 bits") : NULL;
    }
    return by == 1 ? a : floordiv_number(store, a, by);
}

const bt_type *bt_dim_ceildiv(bt_store *store, const bt_type *a, const bt_type *b)
{
    const bt_type *result, *args[] = { a, b };
    int64_t by;
    int is_number;
    if (is_trivial(store, a, b, &result))
        return result;
    is_number = bt_dim_is_const(b, &by);
    if (is_number && by < 0) {
        a = bt_dim_scale(store, a, -1, 0);
        b = bt_dim_scale(store, b, -1, 0);
        if (!a || !b)
            return NULL;
    } else if (bt__dim_bounds(b).low <= 0) {
        return bt__dim_atom(store, BT_TYPE_CEILDIV, 2, args);
    }
    const bt_type *before = bt_dim_scale(store, a, 1, -1);
    const bt_type *quotient = before ? bt_dim_floordiv(store, before, b) : NULL;
    return quotient ? bt_dim_scale(store, quotient, 1, 1) : NULL;
}

const bt_type *bt_dim_mod(bt_store *store, const bt_type *a, const bt_type *b)
{
    const bt_type *result;
    int64_t by;
    if (is_trivial(store, a, b, &result))
        return result;
    if (!bt_dim_is_const(b, &by))
        return mod_symbol(store, a, b);
    if (by > 0)
        return mod_number(store, a, by);
    // The remainder has the divisor's sign.
    a = bt_dim_scale(store, a, -1, 0);
    if (!a || !bt_mul_int64(by, -1, &by))
        return a ? bt__refuse(store, "a dim overflows 64 bits") : NULL;
    result = mod_number(store, a, by);
    return result ? bt_dim_scale(store, result, -1, 0) : NULL;
}
