#ifndef ONNX_CONVERT_ATTENTION_H
#define ONNX_CONVERT_ATTENTION_H

#include "conversions.h"

extern const struct conversion convert_attention[]; /* ended by a zero op */

#endif
