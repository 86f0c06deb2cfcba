#ifndef ONNX_CONVERT_GRID_H
#define ONNX_CONVERT_GRID_H

#include "conversions.h"

extern const struct conversion convert_grid[]; /* ended by a zero op */

#endif
