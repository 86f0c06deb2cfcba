/*
 * Calls that go along the same rows:
 *
 *     y = softmax(x)          y[i, j] is of row i of x. One loop over i does all three, and
 *       |     \               row i of y and s never leave the nearest cache.
 *       |    s = sum(d * y)
 *       |     /
 *     y * (d - s)
 *
 * Groups are joined where what one gives the other is read by rows only, a row is small, and
 * one of them sums or compares elements of a row: what is computed element by element has been
 * joined before.
 */
#ifndef PASSES_FUSION_FUSE_ROWS_H
#define PASSES_FUSION_FUSE_ROWS_H

#include "fusion/fuse_groups.h"

bt_status fuse_rows(struct fuse_block *);

#endif
