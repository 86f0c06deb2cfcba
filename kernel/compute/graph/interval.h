/* Bounds of integer expressions, and what they decide. */
#ifndef COMPUTE_GRAPH_INTERVAL_H
#define COMPUTE_GRAPH_INTERVAL_H

#include "compute/graph/graph.h"

/* Sets low and high of a node whose arguments have theirs; floats keep 0. */
void bt__interval_set(bt_node *);
/* Whether both bounds of a node are known. */
int bt__is_bounded(const bt_node *);
/* Bounds of a - b; 0 where they leave int64, or come near its ends. */
int bt__interval_difference(const bt_node *a, const bt_node *b, int64_t *low,
                            int64_t *high);
/* What a scalar operator gives where bounds decide it: max(i, 0) of an index is i. NULL:
 * undecided, or a failure of the graph. */
const bt_node *bt__interval_simplify(bt_graph *, uint32_t which, const bt_node *a,
                                     const bt_node *b);

#endif
