#ifndef ONNX_CONVERT_NN_H
#define ONNX_CONVERT_NN_H

#include "conversions.h"

extern const struct conversion convert_nn[]; /* ended by a zero op */

#endif
