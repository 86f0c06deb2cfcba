#ifndef ONNX_CONVERT_NORM_H
#define ONNX_CONVERT_NORM_H

#include "conversions.h"

extern const struct conversion convert_norm[]; /* ended by a zero op */

#endif
