/* Dims of types as expressions of a graph's dims. */
#ifndef COMPUTE_COMPOSE_DIMS_H
#define COMPUTE_COMPOSE_DIMS_H

#include "compute/graph/graph.h"

/* Variables and opaque dims become dims of the graph as they are met. */
struct bt__dims {
    bt_graph *graph;
    bt_vec(const bt_type *) met; /* by number of the graph's dim */
    bt_map same;                 /* one -> the dim that it is equal to */
};
void bt__dims_init(struct bt__dims *, bt_graph *);
/* That they are equal is a fact: one, where it is a variable, becomes the other where that
 * is a variable or a number. */
void bt__dims_join(struct bt__dims *, const bt_type *, const bt_type *);
/* NULL: failure of the graph. */
const bt_node *bt__dims_node(struct bt__dims *, const bt_type *dim);

#endif
