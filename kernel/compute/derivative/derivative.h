/*
 * Derivatives of compute graphs. Each works on a graph in which every reduction is the
 * whole of a stage (bt__graph_split), so that a stage is one of two things:
 *
 *     map       y[i] = f(x[..], w[..])                   reads and scalar operators
 *     reduced   y[i] = sum(k | condition: f(x[..], ..))  the same under one reduction
 */
#ifndef COMPUTE_DERIVATIVE_DERIVATIVE_H
#define COMPUTE_DERIVATIVE_DERIVATIVE_H

#include "compute/graph/graph.h"

/* In place of the number of an array: there is none, as the derivative is zero. */
#define BT__NO_ARRAY UINT32_MAX

/* Reductions that are a part of a stage become stages before it, with an axis for each index
 * that they depend on. Stages keep their order, results their meaning. */
bt_status bt__graph_split(bt_graph *) BT_MUST_USE;

/* ---- what a node's arguments do to it (scalar.c) ---- */

/* Whether a derivative may pass through a node to its arguments: not through integers and
 * comparisons, nor where it is zero wherever it is defined. */
int bt__node_passes(const bt_node *, uint32_t arg);
/* What a row of scalars.def or reducers.def says of a derivative, as a node: its names are these.
 * NULL: failure of the graph. */
struct bt__row {
    bt_graph *graph;
    bt_dtype dtype;
    const bt_node *a, *b, *y, *tie;
};
const bt_node *bt__row_derivative(const struct bt__row *, const char *text,
                                  size_t length);
/* bar times the derivative of a scalar operator by one of its arguments. `y` is the node's
 * value, by itself or read from where it is stored. NULL: failure of the graph. */
const bt_node *bt__scalar_derive(bt_graph *, const bt_node *scalar, const bt_node *y,
                                 uint32_t arg, const bt_node *bar);
/* The derivative of a stage that is a reduction, by its body at each reduced point:
 *     dy = sum(k | condition: factor * dbody)
 * `y` is the stage's value where it is stored. May add stages: positions of extremes,
 * products of what stands beside.
 * errors BT_ERR_UNSUPPORTED */
struct bt__reduce_derivative {
    const bt_node *condition, *factor; /* NULL: 1 */
};
bt_status bt__reduce_derive(bt_graph *, uint32_t stage, const bt_node *y,
                            struct bt__reduce_derivative *out) BT_MUST_USE;

/* ---- reverse and forward ---- */

/* The graph of a computation becomes that of its adjoints. Its inputs are then those that it
 * had, its results as they were stored, and an adjoint of each of these; its results are the
 * adjoints of the inputs that are wanted and not zero.
 *     wants[i]  the adjoint of input i is wanted
 *     seeds[k]  result k has one; 0: it is zero
 *     to[i]     which result is the adjoint of input i; BT__NO_ARRAY: it is zero
 * errors BT_ERR_UNSUPPORTED */
bt_status bt__graph_adjoint(bt_graph *, const uint8_t *wants, const uint8_t *seeds,
                            uint32_t *to) BT_MUST_USE;
/* The same forward: inputs are those that it had, its results as they were stored, and a
 * tangent of each of the former; the results are the tangents of its results.
 *     seeds[i]  input i has one
 *     to[k]     which result is the tangent of result k, or BT__NO_ARRAY */
bt_status bt__graph_tangent(bt_graph *, const uint8_t *seeds, uint32_t *to) BT_MUST_USE;

/* What both begin with: reductions split; inputs, results as they were stored, and `nseed`
 * arrays like those at `like` are inputs; stages follow. */
bt_status bt__derive_begin(bt_graph *, uint32_t nseed, const uint32_t *like,
                           const uint32_t **results) BT_MUST_USE;
/* Why a graph's constructor gave NULL. */
static inline bt_status bt__derive_why(const bt_graph *g)
{
    return g->status ? g->status : bt_no_memory();
}
/* The sum of what there is, NULL at first, and one more. */
static inline const bt_node *bt__derive_plus(bt_graph *g, const bt_node *sum,
                                             const bt_node *more)
{
    return sum ? bt_node_scalar(g, BT_SCALAR_ADD, sum, more) : more;
}
/* The same, of terms that adjoints add up; where elements have one of them at most, it is chosen. */
const bt_node *bt__derive_join(bt_graph *, const bt_node *sum, const bt_node *term);
/* An index for each axis of an array. NULL: failure of the graph. */
const bt_node *const *bt__own_axes(bt_graph *, const bt_array *);
/* An element of an array at those. */
const bt_node *bt__own_read(bt_graph *, uint32_t array);

#endif
