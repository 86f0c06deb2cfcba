#ifndef ONNX_CONVERT_MATH_H
#define ONNX_CONVERT_MATH_H

#include "conversions.h"

extern const struct conversion convert_math[]; /* ended by a zero op */

#endif
