/*
 * Scalar loops become loops around strips.
 *
 *     for i0 in 1000 {                          for i0 in 2 {
 *         y[i0] = max(x[i0] + b[0], 0)     ->       add.float32.s(&t[0], &x[512*i0], &b[0],
 *     }                                                           min(512, -512*i0 + 1000))
 *                                                   max.float32.s(...)
 *                                               }
 *
 * A vectorised program has loops (parallel ones at the top only), conditions and checks
 * on integers and bool, and calls. There are no stores and no takes, and no float in an
 * expression.
 */
#ifndef CPU_VECTORISE_H
#define CPU_VECTORISE_H

#include <baton/loops.h>

#include "config.h"

/* Calls that are there already stay. errors BT_ERR_UNSUPPORTED: the program may be
 * changed in part */
bt_status cpu_vectorise(bt_loops *, const struct cpu_config *) BT_MUST_USE;
/* What such a program takes, in ns: an estimate. */
double cpu_cost(const struct cpu_config *, const bt_stmts *);
/* How many iterations a loop has; of an open one so many, or its bound that is nearer. */
enum { CPU_OPEN_ITERATIONS = 1024 };
int64_t cpu_iterations(const bt_node *extent);
/* How many it has in any case: an open one may have one. */
int64_t cpu_iterations_at_least(const bt_node *extent);

/* A cast to codes of 8 bits of what is made of an integer sum: low, high and zero are whole numbers,
 * of_nan is taken for NaN before the zero is added. */
struct cpu_codes {
    const bt_node *sum, *factor;
    double low, high, of_nan;
    int64_t zero;
};
/* 0: it is none, or something else is made of its parts, too, of which without a part nobody asks. */
struct cpu_part;
int cpu_match_codes(const struct cpu_part *, const bt_node *, struct cpu_codes *);

#endif
