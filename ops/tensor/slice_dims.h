/* The extents of slices, for positions that are attributes or contents. */
#ifndef SLICE_DIMS_H
#define SLICE_DIMS_H

#include <baton/op.h>

/* Beyond this a position means the end of any axis, below its negative the beginning. */
enum { SLICE_FAR = INT32_MAX };

/* These give NULL for lack of memory, and where a position may be negative or not. */

/* A position, which counts from the end when negative, moved into the axis; into -1 ...
 * extent - 1 for negative strides. */
const bt_type *slice_position(bt_store *, const bt_type *at, const bt_type *extent,
                              int64_t stride);
/* How many positions from begin until before end, stride apart. */
const bt_type *slice_length(bt_store *, const bt_type *begin, const bt_type *end,
                            const bt_type *extent, int64_t stride);
/* At most `size` positions from one inside the axis on; all that follow when negative. */
const bt_type *slice_size(bt_store *, const bt_type *begin, const bt_type *size,
                          const bt_type *extent);

#endif
