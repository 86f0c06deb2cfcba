/* What the kernel does with compute graphs beyond <baton/graph.h>. */
#ifndef COMPUTE_GRAPH_H
#define COMPUTE_GRAPH_H

#include <baton/graph.h>

#include "compute/reduce.h"

const bt_node *bt__node_const(bt_graph *, bt_dtype, bt_cell);
/* Replaces index `number` by `by` and moves the numbers above it one down, inside
 * reductions too. */
const bt_node *bt__node_replace_index(bt_graph *, const bt_node *, uint32_t number,
                                      const bt_node *by);
/* Stages that others can compute in place go into those. */
bt_status bt__graph_inline(bt_graph *) BT_MUST_USE;
/* Of an expression, in additions; shared nodes once. `seen` by id. */
uint32_t bt__node_cost(const bt_node *, uint8_t *seen);

#endif
