/* Dims of types as expressions of a graph's dims. */
#ifndef COMPUTE_COMPOSE_DIMS_H
#define COMPUTE_COMPOSE_DIMS_H

#include "compute/graph/graph.h"

/* Variables and opaque dims become dims of the graph as they are met. */
struct bt__dims {
    bt_graph *graph;
    bt_map nodes; /* one that was met -> its node */
    bt_map same;  /* one -> the dim that it is equal to */
};
void bt__dims_init(struct bt__dims *, bt_graph *);
/* That they are equal is a fact, for all nodes that are asked for after it: one becomes the other,
 * a number or a leaf where one is. */
void bt__dims_join(struct bt__dims *, const bt_type *, const bt_type *);
/* The next dim of the graph, with the values of `param`, for a variable or an opaque dim that
 * was not met yet. NULL: failure of the graph. */
const bt_node *bt__dims_add(struct bt__dims *, const bt_type *leaf,
                            const bt_type_param *param);
/* NULL: failure of the graph. */
const bt_node *bt__dims_node(struct bt__dims *, const bt_type *dim);

#endif
