#ifndef ONNX_CONVERT_SHAPE_H
#define ONNX_CONVERT_SHAPE_H

#include "conversions.h"

extern const struct conversion convert_shape[]; /* ended by a zero op */

#endif
