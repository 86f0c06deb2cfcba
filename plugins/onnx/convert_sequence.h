#ifndef ONNX_CONVERT_SEQUENCE_H
#define ONNX_CONVERT_SEQUENCE_H

#include "conversions.h"

extern const struct conversion convert_sequence[]; /* ended by a zero op */

#endif
