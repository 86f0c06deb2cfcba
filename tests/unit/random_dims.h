/*
 * Random dims, each as what was asked for and as the term that the kernel made of it, and
 * the direct evaluation of both, so that they can be compared.
 */
#ifndef RANDOM_DIMS_H
#define RANDOM_DIMS_H

#include "test.h"

#include <baton/ir.h>

enum { NVAR = 5 };
enum { ADD, SUB, MUL, SCALE, FLOORDIV, CEILDIV, MOD, MIN, MAX, NOP };

struct random_dim {
    int op;          /* NOP: a leaf */
    int left, right; /* of the pool; of a leaf: variable, or -1 for a number */
    int64_t number;
    const bt_type *term; /* NULL: refused */
};

static uint64_t random_state;
static inline uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * UINT64_C(0x2545f4914f6cdd1d) >> 11;
}
static inline int64_t random_in(int64_t low, int64_t high)
{
    return low + (int64_t)(random_next() % (uint64_t)(high - low + 1));
}

/* Ranges of the variables: free, free, no zero, blocks of 8, opaque. */
static const bt_type_param random_params[NVAR] = {
    { BT_KIND_DIM, 0, INT64_MAX, 1 }, { BT_KIND_DIM, 0, INT64_MAX, 1 },
    { BT_KIND_DIM, 1, 64, 1 },        { BT_KIND_DIM, 3, 515, 8 },
    { BT_KIND_DIM, 0, INT64_MAX, 1 },
};
static inline void random_vars(bt_store *in, const bt_type **vars)
{
    for (int i = 0; i < NVAR - 1; i++)
        vars[i] = bt_type_var(in, &random_params[i], NULL);
    vars[NVAR - 1] = bt_dim_opaque(in, NULL);
}
static inline void random_values(int64_t *values)
{
    static const int64_t most[] = { 3, 20, 3000 };
    for (int i = 0; i < NVAR; i++) {
        const bt_type_param *p = &random_params[i];
        int64_t high = p->high == INT64_MAX ? most[random_next() % 3] : p->high;
        values[i] =
            random_in(bt_ceildiv_int64(p->low, p->step), high / p->step) * p->step;
    }
}

static inline const bt_type *build_random(bt_store *in, const struct random_dim *pool,
                                          const struct random_dim *d,
                                          const bt_type *const *vars)
{
    if (d->op == NOP)
        return d->left < 0 ? bt_dim(in, d->number) : vars[d->left];
    const bt_type *a = pool[d->left].term, *b = pool[d->right].term;
    if (!a || !b)
        return NULL;
    switch (d->op) {
    case ADD: return bt_dim_add(in, a, b);
    case SUB: return bt_dim_sub(in, a, b);
    case MUL: return bt_dim_mul(in, a, b);
    case SCALE: return bt_dim_scale(in, a, d->number, 1);
    case FLOORDIV: return bt_dim_floordiv(in, a, b);
    case CEILDIV: return bt_dim_ceildiv(in, a, b);
    case MOD: return bt_dim_mod(in, a, b);
    case MIN: return bt_dim_min(in, a, b);
    case MAX: return bt_dim_max(in, a, b);
    }
    return NULL;
}

/* The first entries are numbers and variables, the others combine earlier ones, numbers
 * being likely on the right. */
static inline void random_pool(bt_store *in, struct random_dim *pool, int n,
                               const bt_type *const *vars)
{
    for (int i = 0; i < n; i++) {
        struct random_dim *d = &pool[i];
        *d = (struct random_dim){ .op = NOP, .left = -1 };
        if (i < 12) {
            d->number = i < 6 ? i - 1 : random_in(-40, 40);
        } else if (i < 12 + NVAR) {
            d->left = i - 12;
        } else {
            d->op = (int)(random_next() % NOP);
            d->left = (int)random_in(6, i - 1);
            d->right = (int)random_in(0, random_next() % 2 ? 11 : i - 1);
            d->number = random_in(-9, 9);
        }
        d->term = build_random(in, pool, d, vars);
    }
}

/* ---- evaluation: 0 where a step overflows ---- */

static inline int divide_values(int kind, int64_t a, int64_t b, int64_t *out)
{
    int64_t product;
    if (a == INT64_MIN && b == -1)
        return 0;
    *out = kind == BT_TYPE_CEILDIV ? bt_ceildiv_int64(a, b) : bt_floordiv_int64(a, b);
    if (kind != BT_TYPE_MOD)
        return 1;
    // Stated apart from bt_mod_int64: a - b floor(a / b), and 0 by 0.
    if (b == 0)
        return *out = 0, 1;
    return bt_mul_int64(*out, b, &product) && product != INT64_MIN &&
           bt_add_int64(a, -product, out);
}

static inline int value_of_asked(const struct random_dim *pool, int index,
                                 const int64_t *values, int64_t *out)
{
    const struct random_dim *d = &pool[index];
    int64_t a, b;
    if (d->op == NOP)
        return *out = d->left < 0 ? d->number : values[d->left], 1;
    if (!value_of_asked(pool, d->left, values, &a) ||
        !value_of_asked(pool, d->right, values, &b))
        return 0;
    switch (d->op) {
    case ADD: return bt_add_int64(a, b, out);
    case SUB: return b != INT64_MIN && bt_add_int64(a, -b, out);
    case MUL: return bt_mul_int64(a, b, out);
    case SCALE: return bt_mul_int64(a, d->number, &b) && bt_add_int64(b, 1, out);
    case FLOORDIV: return divide_values(BT_TYPE_FLOORDIV, a, b, out);
    case CEILDIV: return divide_values(BT_TYPE_CEILDIV, a, b, out);
    case MOD: return divide_values(BT_TYPE_MOD, a, b, out);
    case MIN: return *out = a < b ? a : b, 1;
    case MAX: return *out = a > b ? a : b, 1;
    }
    return 0;
}

static inline int value_of_term(const bt_type *term, const bt_type *const *vars,
                                const int64_t *values, int64_t *out)
{
    for (int i = 0; i < NVAR; i++) {
        if (vars[i] == term)
            return *out = values[i], 1;
    }
    bt_dim_sum sum;
    int64_t value;
    if (term->kind == BT_TYPE_LINEAR) {
        bt_dim_linear(term, &sum);
        *out = sum.constant;
        for (uint32_t i = 0; i < sum.n; i++) {
            if (!value_of_term(sum.terms[i].atom, vars, values, &value) ||
                !bt_mul_int64(value, sum.terms[i].coefficient, &value) ||
                !bt_add_int64(*out, value, out))
                return 0;
        }
        return 1;
    }
    const bt_list_type *list = bt_as_list_type(term);
    assert_non_null(list);
    if (!value_of_term(list->at[0], vars, values, out))
        return 0;
    for (uint32_t i = 1; i < list->n; i++) {
        if (!value_of_term(list->at[i], vars, values, &value))
            return 0;
        switch (term->kind) {
        case BT_TYPE_PRODUCT:
            if (!bt_mul_int64(*out, value, out))
                return 0;
            break;
        case BT_TYPE_MIN: *out = *out < value ? *out : value; break;
        case BT_TYPE_MAX: *out = *out > value ? *out : value; break;
        default:
            if (!divide_values((int)term->kind, *out, value, out))
                return 0;
        }
    }
    return 1;
}

#endif
