/* Pieces of index notation along one axis of a tensor of known rank. */
#ifndef OPS_NN_AXIS_H
#define OPS_NN_AXIS_H

#include <baton/op.h>

uint32_t axis_rank(const bt_formula_call *, uint32_t arg);
/* Counted from the front; the relation has checked the range. */
uint32_t axis_front(int64_t axis, uint32_t rank);
/* "i0, i1, i2" */
void axis_indices(bt_text *, uint32_t rank);
/* The same with one index replaced: "i0, k, i2"; a NULL text leaves the axis out. */
void axis_indices_but(bt_text *, uint32_t rank, uint32_t axis, const char *text);

#endif
