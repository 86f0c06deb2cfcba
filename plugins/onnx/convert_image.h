#ifndef ONNX_CONVERT_IMAGE_H
#define ONNX_CONVERT_IMAGE_H

#include "conversions.h"

extern const struct conversion convert_image[]; /* ended by a zero op */

#endif
