/* Stages as calls. */
#ifndef COMPUTE_DERIVATIVE_EMIT_H
#define COMPUTE_DERIVATIVE_EMIT_H

#include "compute/graph/graph.h"

/* A call of operator `compute` for each stage of a graph, in order. values: of each input, NULL
 * where no stage reads it; types: of each result, what it is to have. A call checks that
 * what is one dim of the graph is equal in all that it reads and gives, and what the primal does of dims
 * that broadcast: the primal may be dropped.
 * results[k]: the value of result k, an input where that is all that it is. */
bt_status bt__graph_emit(bt_builder *, bt_graph *, const bt_call *primal,
                         const bt_value *const *values, const bt_type *const *types,
                         const bt_value **results) BT_MUST_USE;

#endif
