#ifndef ONNX_CONVERT_MATRIX_H
#define ONNX_CONVERT_MATRIX_H

#include "conversions.h"

extern const struct conversion convert_matrix[]; /* ended by a zero op */

#endif
