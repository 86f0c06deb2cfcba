#ifndef ONNX_CONVERT_JOIN_H
#define ONNX_CONVERT_JOIN_H

#include "conversions.h"

extern const struct conversion convert_join[]; /* ended by a zero op */

#endif
