#ifndef ONNX_CONVERT_ACTIVATION_H
#define ONNX_CONVERT_ACTIVATION_H

#include "conversions.h"

extern const struct conversion convert_activation[]; /* ended by a zero op */

#endif
