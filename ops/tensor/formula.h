/* Pieces of index notation that several hooks write. */
#ifndef FORMULA_H
#define FORMULA_H

#include <baton/op.h>

/* The list made anew: extents of axes low <= k < high, to be written `$[ * ]list`; 1 where
 * there is none. */
void formula_extents(bt_formula *, const char *list, const char *array, uint32_t low,
                     uint32_t high);
/* The list made anew: indices of array at the row-major position `at` within axes
 * low <= k < high; at i0, i1, ... along the others. */
void formula_flat(bt_formula *, const char *list, const char *array, uint32_t rank,
                  uint32_t low, uint32_t high, const char *at);
/* The last stage of a reshape: axes low <= k < high of data, together, become axes whose
 * extents are the scalars d0, d1, ...; the others stay. */
void formula_reshape(bt_formula *, uint32_t rank, uint32_t low, uint32_t high,
                     uint32_t nnew);

#endif
