/*
 * A call of an operator for all examples, in the first of these forms that there is:
 *
 *     under its own name    batching_op_name.c    nn.dense(%x, %w) of x[n, b, ..]
 *     rows of one tensor    batching_op_rows.c    nn.dense of x[n * b, ..], as one product is faster
 *     operator `compute`    batching_op.c         the formula with one more index
 */
#ifndef PASSES_BATCHES_BATCHING_OP_H
#define PASSES_BATCHES_BATCHING_OP_H

#include "batches/batching.h"
#include "common/lone_func.h"

/* The call of one example, and what it has for all. */
struct site {
    struct batching *batch;
    struct lone lone;
    const bt_call *old;
    const void *attrs;        /* with the terms of the function at hand */
    const bt_value **args;    /* of a batch */
    const bt_type **examples; /* types of one; NULL of what is passed on as a constant */
    const uint8_t **masks;    /* of each argument, NULL: none */
    const bt_type *example, *result;
};

/* Gives the arrays of a graph that differ by example one more index, the first. raised: which do,
 * of each input; the others are found (batching_op_index.c). */
bt_status batching_op_raise(struct site *, bt_graph *, uint8_t *raised) BT_MUST_USE;
/* What a graph for all examples computes. */
bt_status batching_op_text(struct site *, bt_graph *, bt_graph_formula *out) BT_MUST_USE;
/* A row of the operator's attributes; NULL: it has none of that name. */
const bt_attr *batching_op_attr(const bt_op *, const char *name);
/* The operator again, where it computes `wanted` of the arguments for all; else *out stays. */
bt_status batching_op_by_name(struct site *, const bt_graph_formula *wanted,
                              const bt_value **out) BT_MUST_USE;
/* The operator on all rows of all examples, where it computes each row alone; else *out stays. */
bt_status batching_op_by_rows(struct site *, const bt_value **out) BT_MUST_USE;

#endif
