/* Resizing along one axis: which elements each element of the result is a weighted sum
 * of. */
#ifndef ONNX_RESAMPLE_H
#define ONNX_RESAMPLE_H

#include "arith.h"

enum resample_mode { RESAMPLE_NEAREST, RESAMPLE_LINEAR, RESAMPLE_CUBIC };

/* How one axis is resized. */
struct resample {
    enum resample_mode mode;
    int64_t in, out;                    /* sizes */
    double scale;                       /* out / in, before rounding */
    const char *coordinates, *rounding; /* ONNX's names */
    double cubic_a;
    int exclude_outside, antialias;
    double roi_begin, roi_end;
    double extrapolation; /* beyond the region, of coordinates tf_crop_and_resize */
};

/* x with that axis resized. NULL after a failure. */
const bt_value *resampled(bt_onnx_node *, const bt_value *x, uint32_t axis,
                          const struct resample *);
/* The same where the axis or its result has a symbolic size, `out`; a scale of 0 is
 * out / in. */
const bt_value *resampled_open(bt_onnx_node *, const bt_value *x, uint32_t axis,
                               const bt_type *out, const struct resample *);

#endif
