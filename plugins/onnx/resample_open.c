/*
 * Resizing along an axis whose size only a run gives: positions and weights are computed, as
 * float64, from the size.
 */
#include <string.h>

#include "resample.h"

/* Where the elements of the result lie in x. */
static const bt_value *positions(bt_onnx_node *n, const bt_value *i, const bt_value *in,
                                 const bt_value *scale, const struct resample *r)
{
    const char *mode = r->coordinates;
    const bt_value *centre = over(n, plus_number(n, i, 0.5), scale);
    if (strcmp(mode, "half_pixel") == 0)
        return plus_number(n, centre, -0.5);
    if (strcmp(mode, "asymmetric") == 0)
        return over(n, i, scale);
    if (strcmp(mode, "tf_half_pixel_for_nn") == 0)
        return centre;
    const bt_value *width = times(n, in, scale), *one = scalar_like(n, i, 1);
    const bt_value *is_one = emit2(n, "equal", NULL, width, one);
    if (strcmp(mode, "pytorch_half_pixel") == 0)
        return chosen(n, is_one, scalar_like(n, i, -0.5), plus_number(n, centre, -0.5));
    if (strcmp(mode, "align_corners") == 0)
        return over(n, times(n, i, plus_number(n, in, -1)),
                    chosen(n, is_one, one, plus_number(n, width, -1)));
    node_fail(n, BT_ERR_UNSUPPORTED,
              "coordinate_transformation_mode %s where a size is symbolic: bind it with "
              "--dim",
              mode);
    return NULL;
}

static const bt_value *rounded(bt_onnx_node *n, const bt_value *x, const char *mode)
{
    if (strcmp(mode, "floor") == 0 || strcmp(mode, "ceil") == 0)
        return applied(n, mode, x);
    return strcmp(mode, "round_prefer_ceil") == 0
               ? applied(n, "floor", plus_number(n, x, 0.5))
               : applied(n, "ceil", plus_number(n, x, -0.5));
}

/* The elements at positions that need not lie within. */
static const bt_value *read_at(bt_onnx_node *n, const bt_value *x, uint32_t axis,
                               const bt_value *at, const bt_value *last)
{
    at = lesser_of(n, greater_of(n, at, scalar_like(n, at, 0)), last);
    return emit2(n, "take", node_format(n, "axis=%u", axis), x, cast_to(n, at, BT_INT64));
}

const bt_value *resampled_open(bt_onnx_node *n, const bt_value *x, uint32_t axis,
                               const bt_type *out, const struct resample *r)
{
    if (r->mode == RESAMPLE_CUBIC || r->antialias || r->exclude_outside)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "axis %u has a symbolic size, and its mode is neither nearest nor "
                  "linear, or it has antialias or exclude_outside: bind it with --dim",
                  axis);
    if (n->status)
        return NULL;
    const bt_value *i = counted(n, out, BT_FLOAT64),
                   *in = cast_to(n, size_of(n, x, axis), BT_FLOAT64);
    const bt_value *scale = r->scale > 0
                                ? scalar_like(n, in, r->scale)
                                : over(n, cast_to(n, size_of(n, i, 0), BT_FLOAT64), in);
    const bt_value *at = positions(n, i, in, scale, r), *last = plus_number(n, in, -1);
    if (r->mode == RESAMPLE_NEAREST)
        return read_at(n, x, axis, rounded(n, at, r->rounding), last);
    const bt_value *low = applied(n, "floor", at);
    const bt_value *weight =
        along(n, cast_to(n, minus(n, at, low), value_dtype(x)), axis, value_rank(n, x));
    const bt_value *before = read_at(n, x, axis, low, last),
                   *after = read_at(n, x, axis, plus_number(n, low, 1), last);
    return plus(n, times(n, before, plus_number(n, applied(n, "negative", weight), 1)),
                times(n, after, weight));
}
