#ifndef ONNX_CONVERT_RECURRENT_H
#define ONNX_CONVERT_RECURRENT_H

#include "conversions.h"

extern const struct conversion convert_recurrent[]; /* ended by a zero op */

#endif
