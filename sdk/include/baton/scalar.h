/*
 * Scalar operators and conversions on single values, as every result is defined: for who
 * computes scalars outside of kernels. While something is computed, floats of every width
 * are float64, integers and bool are int64 holding a value of their dtype; uint64 is kept
 * as the int64 of the same bits.
 */
#ifndef BATON_SCALAR_H
#define BATON_SCALAR_H

#include <baton/kernel.h>
#include <baton/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Row `which` of <baton/scalars.def> on values of a dtype that the row accepts. A float
 * is not rounded to the dtype: bt_cell_cast to the same one does that. */
BT_API bt_cell bt_scalar_eval(uint32_t which, bt_dtype operands, const bt_cell *args);
/* Conversion of a value: integers wrap, floats round, float to integer truncates,
 * saturates, NaN gives 0; to bool: whether it is not 0. */
BT_API bt_cell bt_cell_cast(bt_cell, bt_dtype from, bt_dtype to);
/* An element of a tensor as a cell, and back with rounding. */
BT_API bt_cell bt_cell_load(const void *at, bt_dtype);
BT_API void bt_cell_store(void *at, bt_dtype, bt_cell);

#ifdef __cplusplus
}
#endif
#endif
