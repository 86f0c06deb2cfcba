#ifndef ONNX_CONVERT_QUANTIZE_H
#define ONNX_CONVERT_QUANTIZE_H

#include "conversions.h"

extern const struct conversion convert_quantize[]; /* ended by a zero op */

#endif
