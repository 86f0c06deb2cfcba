/* Work that a graph takes. */
#ifndef COMPUTE_GRAPH_COST_H
#define COMPUTE_GRAPH_COST_H

#include "compute/graph/graph.h"

/* Multiply-adds: points that reductions visit (those that conditions on indices leave, of
 * a scatter and of a running one each element once), and elements of stages that compute
 * without a reduction. INT64_MAX when there are more. */
bt_status bt__graph_cost(bt_graph *, int64_t *out) BT_MUST_USE;
/* The number that an extent is, or one that it may be. */
int64_t bt__node_guess(const bt_node *extent);

#endif
