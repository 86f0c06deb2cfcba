#ifndef ONNX_CONVERT_LOSS_H
#define ONNX_CONVERT_LOSS_H

#include "conversions.h"

extern const struct conversion convert_loss[]; /* ended by a zero op */

#endif
