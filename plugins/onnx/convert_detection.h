#ifndef ONNX_CONVERT_DETECTION_H
#define ONNX_CONVERT_DETECTION_H

#include "conversions.h"

extern const struct conversion convert_detection[]; /* ended by a zero op */

#endif
