#ifndef ONNX_CONVERT_REDUCE_H
#define ONNX_CONVERT_REDUCE_H

#include "conversions.h"

extern const struct conversion convert_reduce[]; /* ended by a zero op */

#endif
