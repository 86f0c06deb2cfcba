#ifndef ONNX_CONVERT_CONTROL_H
#define ONNX_CONVERT_CONTROL_H

#include "conversions.h"

extern const struct conversion convert_control[]; /* ended by a zero op */

#endif
