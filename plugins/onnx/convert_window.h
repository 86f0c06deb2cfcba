#ifndef ONNX_CONVERT_WINDOW_H
#define ONNX_CONVERT_WINDOW_H

#include "conversions.h"

extern const struct conversion convert_window[]; /* ended by a zero op */

#endif
