/* Proofs that reads stay in bounds. */
#ifndef COMPUTE_GRAPH_BOUNDS_H
#define COMPUTE_GRAPH_BOUNDS_H

#include "compute/graph/graph.h"

/* What is known to hold where a node is evaluated: conjuncts of the conditions around it,
 * outermost last. */
struct bt__facts {
    const struct bt__facts *outer;
    bt_nodes conjuncts;
};

/* Whether a condition holds wherever the facts do; 0 also where that is not seen. */
int bt__facts_imply(bt_graph *, const struct bt__facts *, const bt_node *condition);
/* Whether 0 <= index < extent. */
int bt__facts_bound(bt_graph *, const struct bt__facts *, const bt_node *index,
                    const bt_node *extent);
/* Whether every read in an expression is in bounds wherever the facts hold. */
int bt__facts_cover(bt_graph *, const struct bt__facts *, const bt_node *);
/* Marks the arrays that an expression reads at places not seen to be in bounds: such reads
 * are checked when they run. 0: no memory. */
int bt__reads_open(bt_graph *, const bt_node *, uint8_t *open);

#endif
