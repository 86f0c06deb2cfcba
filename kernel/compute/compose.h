/*
 * Composition: the computation of a function that only calls operators, as one graph.
 *
 *     conv2d   s0[n, o, i, j] = sum(...)            s0[n, o, i, j] = max(sum(...)
 *     bias_add s1[n, o, i, j] = s0[..] + b[o]   ->                      + b[o], 0)
 *     relu     s2[..] = max(s1[..], 0)
 *
 * A stage goes into those that read it where nothing is then computed twice that costs
 * anything; its rounding stays, as a cast, so that the result is the same to the bit.
 */
#ifndef COMPUTE_COMPOSE_H
#define COMPUTE_COMPOSE_H

#include <baton/ir.h>

#include "compute/graph.h"

/* Inputs are the leaves of the function's parameters, results those of its result.
 * errors BT_ERR_UNSUPPORTED: bindings that are not calls of operators, tuples or
 * projections; operators in plain C; dims that are not known; constants that are not
 * scalars */
bt_status bt__compose(bt_ctx *, bt_arena *, const bt_func *, bt__graph **out) BT_MUST_USE;

/* Stages that others can compute in place go into those: the second half of the above. */
bt_status bt__graph_inline(bt__graph *) BT_MUST_USE;
/* Of an expression, in additions; shared nodes once. `seen` by id. */
uint32_t bt__node_cost(const bt__node *, uint8_t *seen);

#endif
