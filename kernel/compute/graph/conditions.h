/* Reductions made from their parts: conditions are solved, what cannot vary goes. */
#ifndef COMPUTE_GRAPH_CONDITIONS_H
#define COMPUTE_GRAPH_CONDITIONS_H

#include "compute/graph/graph.h"

/* A reduction over the indices first ... first + nindex - 1. An affine equality in the
 * condition replaces an index by its solution, and equalities of quotients, remainders and
 * digits become such; a `select` between the body and the identity becomes part of the
 * condition; indices of one value and empty domains go. What is left may be no reduction at
 * all. NULL: failure of the graph. */
const bt_node *bt__reduction_build(bt_graph *, uint32_t reducer, uint32_t first,
                                   uint32_t nindex, const bt_node *const *extents,
                                   const bt_node *condition, const bt_node *body);

#endif
