/* How scalar operators are folded as nodes are made: the parts of bt_node_scalar. */
#ifndef COMPUTE_GRAPH_FOLD_H
#define COMPUTE_GRAPH_FOLD_H

#include "compute/graph/graph.h"

enum { BT__MAX_TERMS = 256 }; /* of a sum */

/* The one node that is equal to *like, which it copies where there is none yet. */
const bt_node *bt__node_intern(bt_graph *, bt_node *like);
/* The order of terms and factors: indices by number, then all else by structure. */
int bt__node_compare(const bt_node *, const bt_node *);

/* Each: NULL without a failure of the graph where it has no simpler form. */
const bt_node *bt__node_arithmetic(bt_graph *, uint32_t which, const bt_node *a,
                                   const bt_node *b);
const bt_node *bt__node_comparison(bt_graph *, uint32_t which, const bt_node *a,
                                   const bt_node *b);
const bt_node *bt__node_logic(bt_graph *, uint32_t which, const bt_node *a,
                              const bt_node *b);

#endif
