/* Arithmetic and movement as conversions compose them: a word for each call that is
 * written often. */
#ifndef ONNX_ARITH_H
#define ONNX_ARITH_H

#include "emit.h"

/* ---- elements; shapes broadcast ---- */

const bt_value *plus(bt_onnx_node *, const bt_value *, const bt_value *);
const bt_value *minus(bt_onnx_node *, const bt_value *, const bt_value *);
const bt_value *times(bt_onnx_node *, const bt_value *, const bt_value *);
const bt_value *over(bt_onnx_node *, const bt_value *, const bt_value *);
const bt_value *greater_of(bt_onnx_node *, const bt_value *, const bt_value *);
const bt_value *lesser_of(bt_onnx_node *, const bt_value *, const bt_value *);
/* With a number of the first one's element type; the second form leaves x alone where the
 * number changes nothing. */
const bt_value *plus_number(bt_onnx_node *, const bt_value *, double);
const bt_value *times_number(bt_onnx_node *, const bt_value *, double);
const bt_value *over_number(bt_onnx_node *, const bt_value *, double);
const bt_value *applied(bt_onnx_node *, const char *op, const bt_value *);
const bt_value *squared(bt_onnx_node *, const bt_value *);
const bt_value *clipped(bt_onnx_node *, const bt_value *, double low, double high);
const bt_value *chosen(bt_onnx_node *, const bt_value *condition, const bt_value *yes,
                       const bt_value *no);
const bt_value *cast_to(bt_onnx_node *, const bt_value *, bt_dtype);
/* ... as operator Cast has it: what is beyond a float8 type goes by the attribute `saturate`; integers
 * of 4 and 2 bits are the low bits of those that floats truncate to, and float4's NaN is -0, of which
 * the standard says nothing and its suite does. */
const bt_value *cast_by_attr(bt_onnx_node *, const bt_value *, bt_dtype);

/* ---- shapes ---- */

/* The dim of an axis; NULL after a failure. */
const bt_type *dim_of(bt_onnx_node *, const bt_value *, uint32_t axis);
const bt_type *dim_number(bt_onnx_node *, int64_t);
const bt_type *dim_times(bt_onnx_node *, const bt_type *, const bt_type *);
/* Rounded down. */
const bt_type *dim_over(bt_onnx_node *, const bt_type *, int64_t by);
/* The product of the dims from..to-1. */
const bt_type *dims_product(bt_onnx_node *, const bt_value *, uint32_t from, uint32_t to);

/* Dims may be symbolic; of shaped_like, those of another value. */
const bt_value *reshaped(bt_onnx_node *, const bt_value *, uint32_t n,
                         const bt_type *const *dims);
const bt_value *shaped_like(bt_onnx_node *, const bt_value *, const bt_value *like);
const bt_value *broadcast(bt_onnx_node *, const bt_value *, uint32_t n,
                          const bt_type *const *dims);
const bt_value *transposed(bt_onnx_node *, const bt_value *, uint32_t n,
                           const int64_t *axes);
const bt_value *axes_swapped(bt_onnx_node *, const bt_value *, uint32_t, uint32_t);
/* New axes of size 1 at and after `axis`; axes of size 1 taken away. */
const bt_value *with_axes(bt_onnx_node *, const bt_value *, uint32_t axis,
                          uint32_t count);
const bt_value *without_axis(bt_onnx_node *, const bt_value *, uint32_t axis);
/* One element as a value of rank 0. */
const bt_value *as_scalar(bt_onnx_node *, const bt_value *);
/* Input i as such a value; NULL where it is left out. */
const bt_value *scalar_in(bt_onnx_node *, uint32_t i);
/* A vector along one axis of values of that rank: [c] becomes [1, c, 1, ...]. */
const bt_value *along(bt_onnx_node *, const bt_value *vector, uint32_t axis,
                      uint32_t rank);
/* Elements from..to-1 of an axis, counted from the end where negative. */
const bt_value *sliced(bt_onnx_node *, const bt_value *, uint32_t axis, int64_t from,
                       int64_t to);
const bt_value *joined(bt_onnx_node *, uint32_t axis, uint32_t n,
                       const bt_value *const *parts);
/* sum, mean, max ... over some axes. */
const bt_value *reduced(bt_onnx_node *, const char *op, const bt_value *, uint32_t naxis,
                        const int64_t *axes, int keepdims);
/* Over axes from..to-1, which stay with size 1. */
const bt_value *reduced_range(bt_onnx_node *, const char *op, const bt_value *,
                              uint32_t from, uint32_t to);
/* NumPy's matmul of values of rank 2 at least. */
const bt_value *matrix_product(bt_onnx_node *, const bt_value *, const bt_value *);
/* 0, 1, ... of an integer or float dtype, as many as the dim says. */
const bt_value *counted(bt_onnx_node *, const bt_type *dim, bt_dtype);
/* The size of an axis as a value of rank 0, int64. */
const bt_value *size_of(bt_onnx_node *, const bt_value *, uint32_t axis);

#endif
