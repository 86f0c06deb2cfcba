#ifndef ONNX_CONVERT_ELEMENTWISE_H
#define ONNX_CONVERT_ELEMENTWISE_H

#include "conversions.h"

extern const struct conversion convert_elementwise[]; /* ended by a zero op */

#endif
