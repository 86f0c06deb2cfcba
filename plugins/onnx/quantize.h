/* Quantized numbers by arithmetic: (q - zero) * scale. Scales and zero points broadcast with
 * the data; a zero point of NULL is 0. */
#ifndef ONNX_QUANTIZE_H
#define ONNX_QUANTIZE_H

#include "arith.h"

/* Rounded numbers, those out of range as the nearest within. */
const bt_value *saturated(bt_onnx_node *, const bt_value *, bt_dtype);
/* round(x / scale) + zero, half to even; to a float type in one rounding. */
const bt_value *quantized(bt_onnx_node *, const bt_value *x, const bt_value *scale,
                          const bt_value *zero, bt_dtype);
/* To uint8, by the range of the data and 0. */
const bt_value *quantized_by_range(bt_onnx_node *, const bt_value *x,
                                   const bt_value **scale, const bt_value **zero);
/* x - zero without overflow: integers of up to eight bits as int16, else as int32, floats as float32. */
const bt_value *centred(bt_onnx_node *, const bt_value *x, const bt_value *zero);
/* The float32 that it stands for. */
const bt_value *dequantized(bt_onnx_node *, const bt_value *x, const bt_value *scale,
                            const bt_value *zero);
/* Integers times a scale, as quantized numbers of another scale and of zero's type. */
const bt_value *requantized(bt_onnx_node *, const bt_value *sums, const bt_value *scale,
                            const bt_value *y_scale, const bt_value *zero);
/* A vector of zero points or scales of the rows (axis -2) of matrices; those of columns
 * broadcast as they are. */
const bt_value *of_rows(bt_onnx_node *, const bt_value *);
/* The product of two matrices of integers, as int32. */
const bt_value *integer_product(bt_onnx_node *, const bt_value *, const bt_value *);

#endif
