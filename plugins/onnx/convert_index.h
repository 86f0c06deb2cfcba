#ifndef ONNX_CONVERT_INDEX_H
#define ONNX_CONVERT_INDEX_H

#include "conversions.h"

extern const struct conversion convert_index[]; /* ended by a zero op */

#endif
