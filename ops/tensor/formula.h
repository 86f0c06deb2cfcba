/* Pieces of index notation that several hooks write. */
#ifndef FORMULA_H
#define FORMULA_H

#include <baton/op.h>

/* The rank of argument `arg` (of its field `field`, when it is a tuple).
 * errors  BT_ERR_UNSUPPORTED: the type leaves it open */
bt_status formula_rank(bt_ctx *, const bt_formula_call *, uint32_t arg,
                       uint32_t *out) BT_MUST_USE;
bt_status formula_field_rank(bt_ctx *, const bt_formula_call *, uint32_t arg,
                             uint32_t field, uint32_t *out) BT_MUST_USE;
/* bt_no_memory() if the text failed. */
bt_status formula_end(const bt_text *) BT_MUST_USE;
/* An axis attribute counted from the front; the relation has checked its range. */
uint32_t formula_axis(int64_t axis, uint32_t rank);
/* "a, b, c": a separator unless `first`. */
void formula_comma(bt_text *, int first);
/* `prefix`0, `prefix`1, ... for axes low <= k < high, after a separator unless `first`;
 * returns whether nothing has been written yet. */
int formula_indices(bt_text *, int first, const char *prefix, uint32_t low,
                    uint32_t high);
/* "i0 in extent(data, 0)" likewise. */
int formula_axes(bt_text *, int first, const char *prefix, const char *array,
                 uint32_t low, uint32_t high);
/* The type in which sums of elements of argument `arg` are divided: of integers and small
 * floats a wider one, which holds the sum and the number of elements; else "t". */
const char *formula_wide(const bt_formula_call *, uint32_t arg);
/* extent(array, low) * ... * extent(array, high - 1), or 1. */
void formula_product(bt_text *, const char *array, uint32_t low, uint32_t high);
/* array[...] at the row-major position `at` within axes low <= k < high; other axes are
 * read at i0, i1, ... */
void formula_read_flat(bt_text *, const char *array, uint32_t rank, uint32_t low,
                       uint32_t high, const char *at);
/* The last stage of a reshape: axes low <= k < high of data, together, become axes whose
 * extents are the scalars d0, d1, ...; the others stay. */
void formula_reshape(bt_text *, uint32_t rank, uint32_t low, uint32_t high,
                     uint32_t nnew);

#endif
