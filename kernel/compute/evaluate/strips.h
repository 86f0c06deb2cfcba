/* Which index of a nest of loops to run in strips. */
#ifndef COMPUTE_EVALUATE_STRIPS_H
#define COMPUTE_EVALUATE_STRIPS_H

#include "compute/graph/graph.h"

/* Estimates by strides of reads: a vector is best along memory and long. */
struct bt__strips {
    bt_graph *graph;
    const int64_t *const *strides; /* of every array */
};
/* The axis of a stage to run in strips, or -1: each reduction chooses its own. */
int bt__strip_of_stage(const struct bt__strips *, const bt_array *);
/* The index of a reduction to run in strips, its number. */
uint32_t bt__strip_of_reduction(const struct bt__strips *, const bt_node *reduce);
/* Of loops around a body: which one (0 ... n - 1) to run in strips. */
uint32_t bt__strip_of_nest(const struct bt__strips *, const bt_node *body, uint32_t n,
                           const uint32_t *indices, const int64_t *extents);

#endif
