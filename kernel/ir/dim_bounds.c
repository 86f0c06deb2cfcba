/*
 * Bounds of dims, and what they decide. Arithmetic on bounds is that of intervals of
 * integers without limit: INT64_MIN as a lower and INT64_MAX as an upper bound mean none,
 * and results beyond 64 bits become the nearest that still holds.
 */
#include "ir/dim.h"

#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int is_infinite(int64_t a)
{
    return a == INT64_MIN || a == INT64_MAX;
}

/* ---- intervals ---- */

static int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;
    return bt_add_int64(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

static bt__bounds add_bounds(bt__bounds a, bt__bounds b)
{
    int no_low = a.low == INT64_MIN || b.low == INT64_MIN;
    int no_high = a.high == INT64_MAX || b.high == INT64_MAX;
    return (bt__bounds){ no_low ? INT64_MIN : saturating_add(a.low, b.low),
                         no_high ? INT64_MAX : saturating_add(a.high, b.high) };
}

static int64_t end_product(int64_t a, int64_t b)
{
    int64_t product;
    if (a == 0 || b == 0)
        return 0;
    if (!is_infinite(a) && !is_infinite(b) && bt_mul_int64(a, b, &product))
        return product;
    return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

static bt__bounds multiply_bounds(bt__bounds a, bt__bounds b)
{
    int64_t ends[] = { end_product(a.low, b.low), end_product(a.low, b.high),
                       end_product(a.high, b.low), end_product(a.high, b.high) };
    bt__bounds all = { ends[0], ends[0] };
    for (int i = 1; i < 4; i++) {
        all.low = least(all.low, ends[i]);
        all.high = greatest(all.high, ends[i]);
    }
    return all;
}

static int64_t magnitude(int64_t a)
{
    return is_infinite(a) ? INT64_MAX : a < 0 ? -a : a;
}

/* Of floordiv (or ceildiv) of a by b, where x / 0 is 0. */
static bt__bounds divide_bounds(bt__bounds a, bt__bounds b, int is_ceil)
{
    int64_t (*divide)(int64_t, int64_t) = is_ceil ? bt_ceildiv_int64 : bt_floordiv_int64;
    if (b.low == b.high && b.low > 0) {
        return (bt__bounds){ a.low == INT64_MIN ? a.low : divide(a.low, b.low),
                             a.high == INT64_MAX ? a.high : divide(a.high, b.low) };
    }
    if (a.low >= 0 && b.low >= 0) {
        int has_low = b.low > 0 && b.high != INT64_MAX;
        int has_high = b.low > 0 && a.high != INT64_MAX;
        return (bt__bounds){ has_low ? divide(a.low, b.high) : 0,
                             has_high ? divide(a.high, b.low) : a.high };
    }
    int64_t most = greatest(magnitude(a.low), magnitude(a.high));
    return (bt__bounds){ most == INT64_MAX ? INT64_MIN : -most, most };
}

/* The remainder has the sign of b and is less in magnitude; x mod 0 is 0. */
static bt__bounds mod_bounds(bt__bounds a, bt__bounds b)
{
    bt__bounds r = { b.low == INT64_MIN ? b.low : least(b.low + 1, 0),
                     b.high == INT64_MAX ? b.high : greatest(b.high - 1, 0) };
    if (a.low >= 0)
        r.high = least(r.high, a.high);
    return r;
}

/* ---- dims ---- */

bt__bounds bt__param_bounds(const bt_type_param *param)
{
    int64_t step = param->step;
    if (step == 1)
        return (bt__bounds){ param->low, param->high };
    int64_t low;
    if (!bt_mul_int64(bt_ceildiv_int64(param->low, step), step, &low))
        low = param->low;
    int64_t high = param->high;
    return (bt__bounds){ low, high == INT64_MAX ? high : high / step * step };
}

int bt_type_param_narrow(bt_type_param *param, int64_t low, int64_t high, int64_t step)
{
    bt_type_param some = *param;
    some.low = greatest(low, some.low);
    some.high = least(high, some.high);
    if (step < 1 || some.high < 0 ||
        !bt_mul_int64(some.step / bt__gcd(some.step, step), step, &some.step) ||
        some.high / some.step * some.step < some.low)
        return 0;
    const bt__bounds bounds = bt__param_bounds(&some);
    param->low = bounds.low;
    param->high = bounds.high;
    param->step = bounds.low == bounds.high ? 1 : some.step;
    return 1;
}

bt__bounds bt__dim_bounds(const bt_type *dim)
{
    if (dim->kind == BT_TYPE_VAR)
        return bt__param_bounds(&bt_as_var_type(dim)->param);
    if (dim->kind == BT_TYPE_LINEAR)
        return ((const bt__dim_linear *)(const void *)dim)->bounds;
    return bt_as_list_type(dim) ? ((const bt__dim_list *)(const void *)dim)->bounds
                                : (bt__bounds){ 0, INT64_MAX };
}

void bt_dim_bounds(const bt_type *dim, int64_t *low, int64_t *high)
{
    bt__bounds bounds = bt__dim_bounds(dim);
    *low = bounds.low;
    *high = bounds.high;
}

bt__bounds bt__sum_bounds(const bt__sum *sum)
{
    bt__bounds all = { sum->constant, sum->constant };
    for (uint32_t i = 0; i < sum->n; i++) {
        bt__bounds by = { sum->terms[i].coefficient, sum->terms[i].coefficient };
        all = add_bounds(all, multiply_bounds(bt__dim_bounds(sum->terms[i].atom), by));
    }
    return all;
}

/* Bounds of both kinds. */
static bt__bounds sum_tight_bounds(const bt__sum *sum)
{
    bt__sum negated;
    bt__bounds bounds = bt__sum_bounds(sum);
    uint32_t nleaf = 0;
    for (uint32_t i = 0; i < sum->n; i++)
        nleaf += sum->terms[i].atom->depth == 0;
    if (nleaf == sum->n)
        return bounds;
    bounds.low = bt__sum_low(sum);
    bt__sum_init(&negated, 0);
    if (sum->constant == INT64_MIN)
        return bounds;
    negated.constant = -sum->constant;
    for (uint32_t i = 0; i < sum->n; i++) {
        if (sum->terms[i].coefficient == INT64_MIN)
            return bounds;
        bt__sum_add_atom(&negated, sum->terms[i].atom, -sum->terms[i].coefficient);
    }
    int64_t low = bt__sum_low(&negated);
    if (low != INT64_MIN)
        bounds.high = least(bounds.high, -low);
    return bounds;
}

static bt__bounds linear_bounds(const bt_linear_type *linear)
{
    bt__sum sum;
    bt__sum_init(&sum, linear->constant);
    sum.n = linear->n;
    if (linear->n)
        memcpy(sum.terms, linear->terms, linear->n * sizeof(*sum.terms));
    return sum_tight_bounds(&sum);
}

static bt__bounds fold_bounds(const bt_list_type *list)
{
    bt__bounds all = bt__dim_bounds(list->at[0]);
    for (uint32_t i = 1; i < list->n; i++) {
        bt__bounds next = bt__dim_bounds(list->at[i]);
        switch (list->base.kind) {
        case BT_TYPE_PRODUCT: all = multiply_bounds(all, next); break;
        case BT_TYPE_FLOORDIV: all = divide_bounds(all, next, 0); break;
        case BT_TYPE_CEILDIV: all = divide_bounds(all, next, 1); break;
        case BT_TYPE_MOD: all = mod_bounds(all, next); break;
        case BT_TYPE_MIN:
            all = (bt__bounds){ least(all.low, next.low), least(all.high, next.high) };
            break;
        case BT_TYPE_MAX:
            all = (bt__bounds){ greatest(all.low, next.low),
                                greatest(all.high, next.high) };
            break;
        }
    }
    return all;
}

void bt__dim_note_bounds(bt_type *term)
{
    bt__dim_linear *sum = (bt__dim_linear *)(void *)term;
    bt__dim_list *list = (bt__dim_list *)(void *)term;
    if (term->kind == BT_TYPE_LINEAR)
        sum->bounds = linear_bounds(&sum->linear);
    else if (bt_as_list_type(term) && bt_type_kind_of(term) == BT_KIND_DIM)
        list->bounds = fold_bounds(&list->list);
}

/* ---- decisions ---- */

int bt__dim_exceeds(const bt_type *a, const bt_type *b, int64_t by)
{
    bt__sum difference;
    bt__sum_init(&difference, 0);
    bt__sum_add(&difference, a, 1);
    bt__sum_add(&difference, b, -1);
    return !difference.refusal &&
           (bt__sum_bounds(&difference).low >= by || bt__sum_low(&difference) >= by);
}

int64_t bt__atom_step(const bt_type *atom)
{
    const bt_type *single, *const *factors;
    uint32_t n = bt__atom_factors(atom, &single, &factors);
    int64_t step = 1;
    for (uint32_t i = 0; i < n; i++) {
        const bt_var_type *var = bt_as_var_type(factors[i]);
        int64_t product;
        if (var && bt_mul_int64(step, var->param.step, &product))
            step = product;
    }
    return step;
}

/* Whether the sum is 0: 1 always, -1 never, 0 undecided. */
static int is_zero(const bt__sum *sum)
{
    bt__bounds bounds = sum_tight_bounds(sum);
    if (sum->n == 0)
        return sum->constant == 0 ? 1 : -1;
    if (bounds.low > 0 || bounds.high < 0)
        return -1;
    // 2 n + 4 m is never 1.
    int64_t common = 0, multiple;
    for (uint32_t i = 0; i < sum->n; i++) {
        if (!bt_mul_int64(sum->terms[i].coefficient, bt__atom_step(sum->terms[i].atom),
                          &multiple))
            multiple = sum->terms[i].coefficient;
        common = bt__gcd(common, multiple);
    }
    return sum->constant % common ? -1 : 0;
}

/* Writes each a mod b as a - b * floordiv(a, b). 0: no memory, or refused. */
static int expand_mods(bt_store *store, const bt__sum *from, bt__sum *out)
{
    bt__sum_init(out, from->constant);
    for (uint32_t i = 0; i < from->n; i++) {
        const bt_type *atom = from->terms[i].atom;
        int64_t coefficient = from->terms[i].coefficient;
        const bt_list_type *mod = bt__dim_args(atom, BT_TYPE_MOD);
        // By a divisor that may be 0 it differs: x mod 0 is 0.
        if (!mod || bt__dim_bounds(mod->at[1]).low <= 0 || coefficient == INT64_MIN) {
            bt__sum_add_atom(out, atom, coefficient);
            continue;
        }
        const bt_type *quotient = bt_dim_floordiv(store, mod->at[0], mod->at[1]);
        const bt_type *part = quotient ? bt_dim_mul(store, quotient, mod->at[1]) : NULL;
        if (!part)
            return 0;
        bt__sum_add(out, mod->at[0], coefficient);
        bt__sum_add(out, part, -coefficient);
    }
    return !out->refusal;
}

int bt_dim_equal(bt_store *store, const bt_type *a, const bt_type *b)
{
    if (bt__dim_is_wildcard(a) || bt__dim_is_wildcard(b))
        return 0;
    if (a == b)
        return 1;
    bt__sum difference, expanded;
    bt__sum_init(&difference, 0);
    bt__sum_add(&difference, a, 1);
    bt__sum_add(&difference, b, -1);
    if (difference.refusal)
        return 0;
    int decided = is_zero(&difference);
    if (!decided && expand_mods(store, &difference, &expanded))
        decided = is_zero(&expanded);
    return decided;
}
