/* Quantized numbers by operators qnn.*: a code stands for (code - zero) * scale. Scales and
 * zero points are numbers or, where `axis` says so, vectors along it; a zero point of NULL
 * is 0. */
#ifndef ONNX_QUANTIZE_H
#define ONNX_QUANTIZE_H

#include "arith.h"

/* A zero point as qnn.* has it: a vector of one element is a number; NULL where it is left out. */
const bt_value *zero_point_in(bt_onnx_node *, uint32_t i);
/* A scale, the same. One that is not finite or not above 0 is an error, of what the program is given
 * when it runs. */
const bt_value *scale_in(bt_onnx_node *, uint32_t i);
/* A scale that has to be there, as a number. */
const bt_value *one_scale_in(bt_onnx_node *, uint32_t i);
/* A zero point is of the type of its codes; NULL: left out. 0: the node has failed. */
int check_zero(bt_onnx_node *, const bt_value *zero, bt_dtype codes);
/* Numbers as codes of a type, or the reverse; attrs of qnn.quantize, NULL: none. */
const bt_value *quantized(bt_onnx_node *, const bt_value *x, const bt_value *scale,
                          const bt_value *zero, bt_dtype, const char *attrs);
const bt_value *dequantized(bt_onnx_node *, const bt_value *x, const bt_value *scale,
                            const bt_value *zero, const char *attrs);
/* To uint8, by the range of the data and 0. */
const bt_value *quantized_by_range(bt_onnx_node *, const bt_value *x,
                                   const bt_value **scale, const bt_value **zero);
/* Sums that stand for themselves times a scale, as codes of another scale and of zero's
 * type, by ONNX Runtime's arithmetic. */
const bt_value *requantized(bt_onnx_node *, const bt_value *sums, int axis,
                            const bt_value *scale, const bt_value *y_scale,
                            const bt_value *zero);
/* x - zero as int32. */
const bt_value *centred(bt_onnx_node *, const bt_value *x, const bt_value *zero);
/* The product of two matrices without their zero points, as int32: those of rows of a, of
 * columns of b. attrs of qnn.batch_matmul. */
const bt_value *integer_product(bt_onnx_node *, const bt_value *a, const bt_value *a_zero,
                                const bt_value *b, const bt_value *b_zero,
                                const char *attrs);
/* A vector of scales of the rows (axis -2) of matrices, as it broadcasts with those of
 * columns. */
const bt_value *of_rows(bt_onnx_node *, const bt_value *);

#endif
