/* Reducers: one loop for each, for floats, integers and uint64. */
#include "compute/graph/reduce.h"

#include <math.h>
#include <string.h>

static const struct bt__reducer rows[] = {
#define BITS_F  BT_CLASS_BITS_FLOAT
#define BITS_FI BT_CLASS_BITS_NUMBER
#define BITS_B  BT_CLASS_BITS_BOOL
#define BT_REDUCER(UPPER, name, classes, result, nstate, identity, derivative, doc) \
    { #name, BITS_##classes, nstate, BT__RESULT_##result, derivative },
#include <baton/reducers.def>
};

const struct bt__reducer *bt__reducer_get(uint32_t which)
{
    return &rows[which];
}

const char *bt_reducer_name(uint32_t which)
{
    return bt__reducer_get(which)->name;
}

int bt__reducer_find(const char *name)
{
    for (uint32_t i = 0; i < BT_REDUCER_COUNT; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

#define TAKE(name)                                                               \
    static void name(uint32_t n, bt_cell *acc, bt_cell *acc2, uint32_t acc_step, \
                     const bt_cell *value, uint32_t value_step, int64_t at,      \
                     int64_t at_step)

/* Reducers with one value: `update` of *a by v. */
#define SIMPLE(name, member, update)                                        \
    TAKE(name)                                                              \
    {                                                                       \
        (void)acc2, (void)at, (void)at_step;                                \
        if (acc_step && value_step) {                                       \
            for (uint32_t i = 0; i < n; i++) {                              \
                bt_cell *a = &acc[i], v = value[i];                         \
                a->member = update;                                         \
            }                                                               \
        } else {                                                            \
            for (uint32_t i = 0; i < n; i++) {                              \
                bt_cell *a = &acc[i * acc_step], v = value[i * value_step]; \
                a->member = update;                                         \
            }                                                               \
        }                                                                   \
    }
SIMPLE(f_prod, f, a->f *v.f)
SIMPLE(f_max, f, v.f > a->f || v.f != v.f ? v.f : a->f)
SIMPLE(f_min, f, v.f < a->f || v.f != v.f ? v.f : a->f)
SIMPLE(i_sum, i, (int64_t)((uint64_t)a->i + (uint64_t)v.i))
SIMPLE(i_prod, i, (int64_t)((uint64_t)a->i *(uint64_t)v.i))
SIMPLE(i_max, i, v.i > a->i ? v.i : a->i)
SIMPLE(i_min, i, v.i < a->i ? v.i : a->i)
SIMPLE(u_max, i, (uint64_t)v.i > (uint64_t)a->i ? v.i : a->i)
SIMPLE(u_min, i, (uint64_t)v.i < (uint64_t)a->i ? v.i : a->i)
SIMPLE(i_all, i, a->i &v.i)
SIMPLE(i_any, i, a->i | v.i)

/* A sum into one accumulator goes by four partial sums: additions need not wait for each
 * other, and rounding errors grow slower. */
static double sum_strip(uint32_t n, const bt_cell *v)
{
    double part[4] = { 0 };
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (uint32_t k = 0; k < 4; k++)
            part[k] += v[i + k].f;
    }
    for (; i < n; i++)
        part[0] += v[i].f;
    return (part[0] + part[1]) + (part[2] + part[3]);
}

TAKE(f_sum)
{
    (void)acc2, (void)at, (void)at_step;
    if (!acc_step && value_step) {
        acc->f += sum_strip(n, value);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        acc[i * acc_step].f += value[i * value_step].f;
}

/* The arg reducers: a is the best value, p its position (-1: none yet). Positions are
 * compared where values tie, so that any order of elements gives the same. */
#define ARG(name, member, better, same, closer)                                \
    TAKE(name)                                                                 \
    {                                                                          \
        for (uint32_t i = 0; i < n; i++) {                                     \
            bt_cell *a = &acc[i * acc_step], v = value[i * value_step];        \
            int64_t *p = &acc2[i * acc_step].i, q = at + (int64_t)i * at_step; \
            if (*p < 0 || (better) || ((same) && (closer))) {                  \
                a->member = v.member;                                          \
                *p = q;                                                        \
            }                                                                  \
        }                                                                      \
    }
#define F_SAME  (v.f == a->f || (v.f != v.f && a->f != a->f))
#define F_ABOVE (v.f > a->f || (v.f != v.f && a->f == a->f))
#define F_BELOW (v.f < a->f || (v.f != v.f && a->f == a->f))
#define I_SAME  (v.i == a->i)
#define U_ABOVE ((uint64_t)v.i > (uint64_t)a->i)
#define U_BELOW ((uint64_t)v.i < (uint64_t)a->i)
ARG(f_argmax, f, F_ABOVE, F_SAME, q < *p)
ARG(f_argmin, f, F_BELOW, F_SAME, q < *p)
ARG(f_argmax_last, f, F_ABOVE, F_SAME, q > *p)
ARG(f_argmin_last, f, F_BELOW, F_SAME, q > *p)
ARG(i_argmax, i, v.i > a->i, I_SAME, q < *p)
ARG(i_argmin, i, v.i < a->i, I_SAME, q < *p)
ARG(i_argmax_last, i, v.i > a->i, I_SAME, q > *p)
ARG(i_argmin_last, i, v.i<a->i, I_SAME, q> *p)
ARG(u_argmax, i, U_ABOVE, I_SAME, q < *p)
ARG(u_argmin, i, U_BELOW, I_SAME, q < *p)
ARG(u_argmax_last, i, U_ABOVE, I_SAME, q > *p)
ARG(u_argmin_last, i, U_BELOW, I_SAME, q > *p)

/* acc is the greatest element so far, acc2 the sum of exp(element - acc). */
TAKE(f_logsumexp)
{
    (void)at, (void)at_step;
    for (uint32_t i = 0; i < n; i++) {
        double *greatest = &acc[i * acc_step].f, *sum = &acc2[i * acc_step].f;
        double v = value[i * value_step].f;
        if (v != v || *greatest != *greatest) {
            *greatest = v != v ? v : *greatest;
        } else if (v > *greatest) {
            *sum = *sum * exp(*greatest - v) + 1;
            *greatest = v;
        } else if (v > -INFINITY) {
            // the greatest may be inf, and so may v
            *sum += v == *greatest ? 1 : exp(v - *greatest);
        }
    }
}

#define ON_B(name)  { NULL, i_##name, NULL },
#define ON_F(name)  { f_##name, NULL, NULL },
#define ON_FI(name) { f_##name, i_##name, u_##name },
#define u_sum       i_sum
#define u_prod      i_prod
static const struct {
    bt__take_fn *on_floats, *on_ints, *on_uint64s;
} takes[] = {
#define BT_REDUCER(UPPER, name, classes, result, nstate, identity, derivative, doc) \
    ON_##classes(name)
#include <baton/reducers.def>
};

bt__take_fn *bt__reducer_take(uint32_t which, bt_dtype of)
{
    return bt_dtype_is_float(of) ? takes[which].on_floats
           : of == BT_UINT64     ? takes[which].on_uint64s
                                 : takes[which].on_ints;
}

bt_cell bt__reducer_start(uint32_t which, bt_dtype of, uint32_t state)
{
    int is_float = bt_dtype_is_float(of);
    bt_cell zero = { .i = 0 };
    if (state == 1 && which == BT_REDUCER_LOGSUMEXP)
        return (bt_cell){ .f = 0 };
    if (state == 1)
        return (bt_cell){ .i = -1 };
    switch (which) {
    case BT_REDUCER_SUM: return is_float ? (bt_cell){ .f = 0 } : zero;
    case BT_REDUCER_PROD: return is_float ? (bt_cell){ .f = 1 } : (bt_cell){ .i = 1 };
    case BT_REDUCER_MIN:
        return is_float ? (bt_cell){ .f = INFINITY }
                        : (bt_cell){ .i = bt__dtype_high(of) };
    case BT_REDUCER_MAX:
    case BT_REDUCER_LOGSUMEXP:
        return is_float ? (bt_cell){ .f = -INFINITY }
                        : (bt_cell){ .i = bt__dtype_low(of) };
    case BT_REDUCER_ALL: return (bt_cell){ .i = 1 };
    default: return zero;
    }
}

bt_cell bt__reducer_end(uint32_t which, bt_dtype of, bt_cell acc, bt_cell acc2)
{
    if (rows[which].result == BT__RESULT_INT64)
        return acc2;
    if (which == BT_REDUCER_LOGSUMEXP)
        return (bt_cell){ .f = acc2.f > 0 ? acc.f + log(acc2.f) : acc.f };
    if (!bt_dtype_is_float(of))
        acc.i = bt__int_wrap(acc.i, of);
    return acc;
}
