/*
 * Reductions that elements address, and running ones: solved for the stage's axes, for
 * the evaluator and for loops alike.
 *
 *     y[j] = sum(k | idx[k] == j: x[k])      place[j] = idx[k], where 0 <= idx[k] < J
 *     y[j] = sum(k | k <= j: x[k])           place[j] = k, then each j takes j - 1
 */
#ifndef COMPUTE_GRAPH_SCATTER_H
#define COMPUTE_GRAPH_SCATTER_H

#include "compute/graph/graph.h"

struct bt__scatter {
    const bt_node *node;
    uint32_t rank;                       /* of the stage */
    const bt_node *extents[BT_MAX_RANK]; /* of the stage */
    uint32_t naxis, axes[BT_MAX_RANK];   /* of the stage, that the result depends on */
    int64_t strides[BT_MAX_RANK];        /* of these, in a buffer of all results */
    const bt_node *nelem;                /* of that buffer */
    const bt_node *condition, *body;
    const bt_node *place[BT_MAX_RANK]; /* of each axis: itself, or what addresses it */
    int scan;                          /* the axis (of `axes`) to run along; -1: none */
    int is_descending;                 /* from its end */
};

/* 1: solved, 0: a reduction like any other, -1: failure of the graph, or no memory. Sets
 * all but node, rank and extents, which are given. */
int bt__scatter_solve(bt_graph *, struct bt__scatter *);
/* Whether the axis has no place of its own: loops run over it. */
static inline int bt__scatter_is_free(const struct bt__scatter *s, uint32_t k)
{
    return s->place[k]->kind == BT_NODE_INDEX && s->place[k]->which == s->axes[k];
}

#endif
