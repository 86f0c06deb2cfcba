/* Images: resizing, blocks of space, grids. */
#include "arith.h"

#include <math.h>
#include <string.h>

#include "resample.h"

/* ---- resizing ---- */

enum { MAX_FRACTION = 64 }; /* what is below in a fraction, at most */

/* What a node says of its axes, defaults filled in. */
struct resize {
    uint32_t rank;
    int64_t sizes[BT_MAX_RANK]; /* of the result */
    const bt_type
        *open[BT_MAX_RANK];     /* the same where it or the axis is symbolic; NULL */
    double scales[BT_MAX_RANK]; /* 1 where an axis stays */
    double begins[BT_MAX_RANK], ends[BT_MAX_RANK];
};

/* The elements of a constant; n->status where they are not known. */
static const bt_tensor *known_numbers(bt_onnx_node *n, const bt_value *value,
                                      const char *what)
{
    const bt_tensor *tensor = known_tensor(n, value);
    if (value && !tensor)
        node_unknown(n, node_format(n, "%s are", what), value);
    return tensor && tensor->nelem ? tensor : NULL;
}

static void resize_start(bt_onnx_node *n, const bt_value *x, struct resize *r)
{
    r->rank = value_rank(n, x);
    for (uint32_t i = 0; i < r->rank; i++) {
        r->sizes[i] = value_dim(n, x, i);
        r->open[i] = NULL;
        r->scales[i] = 1;
        r->begins[i] = 0;
        r->ends[i] = 1;
    }
}

/* The axes that lists of numbers are for: all, or those stated (operator set 18). */
static uint32_t resize_axes(bt_onnx_node *n, const struct resize *r,
                            uint32_t axes[BT_MAX_RANK])
{
    const struct onnx_attr *attr = node_attr(n, "axes", ATTR_INTS);
    uint32_t count = attr ? attr->ints.len : r->rank;
    if (count > r->rank)
        node_fail(n, BT_ERR_ATTRIBUTE, "%u axes for data of rank %u", count, r->rank);
    for (uint32_t i = 0; !n->status && i < count; i++)
        axes[i] = attr ? node_axis(n, attr->ints.at[i], r->rank) : i;
    return n->status ? 0 : count;
}

static int check_count(bt_onnx_node *n, const bt_tensor *tensor, const char *what,
                       uint32_t wanted)
{
    if (tensor && tensor->nelem != wanted)
        node_fail(n, BT_ERR_FORMAT, "%lld %s where %u are needed",
                  (long long)tensor->nelem, what, wanted);
    return tensor && !n->status;
}

static int64_t known_size(bt_onnx_node *n, const bt_value *x, uint32_t axis)
{
    int64_t size = value_dim(n, x, axis);
    if (size < 0)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "axis %u is resized, and its size is symbolic: bind it with --dim",
                  axis);
    return size;
}

/* floor(dim * scale), of a scale that is a fraction of small numbers. */
static const bt_type *dim_scaled(bt_onnx_node *n, const bt_type *dim, double scale)
{
    int64_t below = 1;
    while (below < MAX_FRACTION && floor(scale * (double)below) != scale * (double)below)
        below++;
    if (below == MAX_FRACTION || !(scale > 0 && scale < INT16_MAX)) {
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "an axis with a symbolic size is scaled by %g, which is no fraction of "
                  "small numbers: bind it with --dim",
                  scale);
        return NULL;
    }
    dim = dim_times(n, dim, dim_number(n, (int64_t)(scale * (double)below)));
    return n->status ? NULL : dim_over(n, dim, below);
}

static void apply_scales(bt_onnx_node *n, const bt_value *x, const bt_tensor *scales,
                         uint32_t count, const uint32_t *axes, struct resize *r)
{
    for (uint32_t i = 0; !n->status && i < count; i++) {
        double scale = bt_tensor_get(scales, i);
        if (scale == 1)
            continue;
        int64_t size = value_dim(n, x, axes[i]);
        if (size < 0) {
            r->scales[axes[i]] = scale;
            r->open[axes[i]] = dim_scaled(n, dim_of(n, x, axes[i]), scale);
            continue;
        }
        if (!(scale > 0 && (double)size * scale < INT32_MAX))
            node_fail(n, BT_ERR_ATTRIBUTE, "the scale %g is out of range", scale);
        if (n->status)
            return;
        r->scales[axes[i]] = scale;
        r->sizes[axes[i]] = (int64_t)floor((double)size * scale);
    }
}

/* One scale for all axes, so that none is larger, or smaller, than asked for. */
static double common_scale(const bt_tensor *sizes, const bt_value *x, bt_onnx_node *n,
                           uint32_t count, const uint32_t *axes, int is_least)
{
    double out = is_least ? INFINITY : 0;
    for (uint32_t i = 0; i < count; i++) {
        double scale = bt_tensor_get(sizes, i) / (double)known_size(n, x, axes[i]);
        out = (is_least ? scale < out : scale > out) ? scale : out;
    }
    return out;
}

static void apply_sizes(bt_onnx_node *n, const bt_value *x, const bt_tensor *sizes,
                        uint32_t count, const uint32_t *axes, struct resize *r)
{
    const char *policy = node_text(n, "keep_aspect_ratio_policy", "stretch");
    int keeps = strcmp(policy, "stretch") != 0;
    double common =
        keeps ? common_scale(sizes, x, n, count, axes, strcmp(policy, "not_larger") == 0)
              : 0;
    for (uint32_t i = 0; !n->status && i < count; i++) {
        int64_t wanted = bt_tensor_get_int(sizes, i);
        if (wanted == value_dim(n, x, axes[i]) && !keeps)
            continue;
        if (value_dim(n, x, axes[i]) < 0 && !keeps) {
            r->scales[axes[i]] = 0;
            r->open[axes[i]] = dim_number(n, wanted);
            continue;
        }
        int64_t size = known_size(n, x, axes[i]);
        if (keeps && common * (double)size < INT32_MAX)
            wanted = (int64_t)floor(common * (double)size + 0.5);
        r->sizes[axes[i]] = wanted;
        r->scales[axes[i]] = keeps ? common : (double)wanted / (double)size;
    }
}

/* Sizes that follow from symbolic ones. */
static void apply_dims(bt_onnx_node *n, const bt_value *x, const bt_type *const *dims,
                       uint32_t count, const uint32_t *axes, struct resize *r)
{
    if (strcmp(node_text(n, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "keep_aspect_ratio_policy needs sizes that are numbers, and one is "
                  "symbolic: bind it with --dim");
    for (uint32_t i = 0; !n->status && i < count; i++) {
        const bt_type *dim = dim_of(n, x, axes[i]);
        if (!dim || bt_type_equal(dim, dims[i]))
            continue;
        r->scales[axes[i]] = 0;
        r->open[axes[i]] = dims[i];
    }
}

static enum resample_mode resample_mode(bt_onnx_node *n)
{
    const char *mode = node_text(n, "mode", "nearest");
    if (strcmp(mode, "nearest") == 0)
        return RESAMPLE_NEAREST;
    if (strcmp(mode, "cubic") == 0)
        return RESAMPLE_CUBIC;
    if (strcmp(mode, "linear") != 0 && strcmp(mode, "bilinear") != 0)
        node_fail(n, BT_ERR_ATTRIBUTE, "mode %s is not known", mode);
    return RESAMPLE_LINEAR;
}

static int is_float(bt_dtype dtype)
{
    return 1u << BT_DTYPE_CLASS(dtype) & BT_CLASS_BITS_FLOAT;
}

static void resize_by(bt_onnx_node *n, const bt_value *x, const struct resize *r,
                      const char *coordinates, const char *rounding)
{
    bt_dtype dtype = value_dtype(x);
    struct resample axis = { .mode = resample_mode(n),
                             .coordinates = coordinates,
                             .rounding = rounding,
                             .cubic_a = node_float(n, "cubic_coeff_a", -0.75),
                             .exclude_outside = node_int(n, "exclude_outside", 0) != 0,
                             .antialias = node_int(n, "antialias", 0) != 0,
                             .extrapolation = node_float(n, "extrapolation_value", 0) };
    // integers are interpolated as float64: the steps before the rounding must not show
    int widens = axis.mode != RESAMPLE_NEAREST && !is_float(dtype);
    const bt_value *y = widens ? cast_to(n, x, BT_FLOAT64) : x;
    for (uint32_t i = 0; !n->status && i < r->rank; i++) {
        axis.in = value_dim(n, x, i);
        axis.out = r->sizes[i];
        axis.scale = r->scales[i];
        axis.roi_begin = r->begins[i];
        axis.roi_end = r->ends[i];
        int stays = axis.scale == 1 && axis.in == axis.out && axis.roi_begin == 0 &&
                    axis.roi_end == 1;
        if (r->open[i])
            y = resampled_open(n, y, i, r->open[i], &axis);
        else if (!stays)
            y = resampled(n, y, i, &axis);
    }
    node_out(n, 0, widens ? cast_to(n, applied(n, "round_even", y), dtype) : y);
}

/* Inputs: data, region, scales, sizes. */
static void resize(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    const bt_tensor *roi = known_numbers(n, node_in(n, 1), "the region"),
                    *scales = known_numbers(n, node_in(n, 2), "the scales"),
                    *sizes = NULL;
    const bt_type *const *dims = NULL; // of sizes, where some is symbolic
    uint32_t ndim = 0;
    if (known_tensor(n, node_in(n, 3)) || !value_dims(n, node_in(n, 3), &ndim, &dims))
        sizes = known_numbers(n, node_in(n, 3), "the sizes");
    const char *coordinates =
        node_text(n, "coordinate_transformation_mode", "half_pixel");
    struct resize r;
    uint32_t axes[BT_MAX_RANK];
    resize_start(n, x, &r);
    uint32_t count = n->status ? 0 : resize_axes(n, &r, axes);
    if (!n->status && !scales == !(sizes || dims))
        node_fail(n, BT_ERR_FORMAT, "either scales or sizes are to be given");
    if (check_count(n, scales, "scales", count))
        apply_scales(n, x, scales, count, axes, &r);
    if (check_count(n, sizes, "sizes", count))
        apply_sizes(n, x, sizes, count, axes, &r);
    if (!n->status && dims && ndim == count)
        apply_dims(n, x, dims, count, axes, &r);
    else if (dims)
        node_fail(n, BT_ERR_FORMAT, "%u sizes where %u are needed", ndim, count);
    if (strcmp(coordinates, "tf_crop_and_resize") == 0 &&
        check_count(n, roi, "numbers of a region", 2 * count)) {
        for (uint32_t i = 0; i < count; i++) {
            r.begins[axes[i]] = bt_tensor_get(roi, i);
            r.ends[axes[i]] = bt_tensor_get(roi, (int64_t)count + i);
        }
    }
    if (!n->status)
        resize_by(n, x, &r, coordinates,
                  node_text(n, "nearest_mode", "round_prefer_floor"));
}

static void resize_by_scales(bt_onnx_node *n, const bt_tensor *scales)
{
    const bt_value *x = node_need(n, 0);
    struct resize r;
    uint32_t axes[BT_MAX_RANK];
    resize_start(n, x, &r);
    uint32_t count = n->status ? 0 : resize_axes(n, &r, axes);
    if (!scales)
        node_fail(n, BT_ERR_FORMAT, "the scales are missing");
    if (check_count(n, scales, "scales", count))
        apply_scales(n, x, scales, count, axes, &r);
    if (!n->status)
        resize_by(n, x, &r, "asymmetric", "floor");
}

/* Resize of operator set 10, Upsample of 9. */
static void upsample(bt_onnx_node *n)
{
    const bt_value *given = node_need(n, 1);
    resize_by_scales(n, known_numbers(n, given, "the scales"));
}

static void upsample_attr(bt_onnx_node *n)
{
    const struct onnx_attr *attr = node_attr(n, "scales", ATTR_FLOATS);
    bt_tensor *scales = NULL;
    int64_t count = attr ? attr->floats.len : 0;
    if (!n->status)
        n->status = bt_tensor_create(n->im->ctx, BT_FLOAT32, 1, &count, &scales);
    for (int64_t i = 0; !n->status && i < count; i++)
        bt_tensor_set(scales, i, (double)attr->floats.at[i]);
    if (!n->status)
        resize_by_scales(n, scales);
    bt_tensor_unref(scales);
}

/* ---- operators that sets 1 to 9 had on trial ---- */

/* x * scale + bias, with a bias for each channel. */
static void image_scaler(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    const struct onnx_attr *bias = node_attr(n, "bias", ATTR_FLOATS);
    int64_t count = bias ? bias->floats.len : 0;
    bt_tensor *tensor = NULL;
    const bt_value *y = times_number(n, x, node_float(n, "scale", 1));
    if (!n->status && count)
        n->status = bt_tensor_create(n->im->ctx, value_dtype(x), 1, &count, &tensor);
    for (int64_t i = 0; tensor && i < count; i++)
        bt_tensor_set(tensor, i, (double)bias->floats.at[i]);
    if (tensor)
        y = plus(n, y, along(n, emit_table(n, tensor), 1, value_rank(n, x)));
    node_out(n, 0, y);
}

/* Elements off the left, the top, the right and the bottom; the last two are decided by
 * the size where that is stated. */
static void crop(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    const struct onnx_attr *border = node_attr(n, "border", ATTR_INTS),
                           *size = node_attr(n, "scale", ATTR_INTS);
    if (value_rank(n, x) != 4 || !border || border->ints.len != 4 ||
        (size && size->ints.len != 2))
        node_fail(n, BT_ERR_FORMAT,
                  "data of rank 4, a border of 4 numbers and a scale of 2 are expected");
    if (n->status)
        return;
    const int64_t *b = border->ints.at;
    for (uint32_t i = 0; i < 2; i++) { // the height, then the width
        int64_t from = b[1 - i], extent = known_size(n, x, 2 + i);
        int64_t to = size ? from + size->ints.at[i] : extent - b[3 - i];
        if (from < 0 || to < from || to > extent)
            node_fail(n, BT_ERR_ATTRIBUTE, "axis %u has no elements %lld to %lld", 2 + i,
                      (long long)from, (long long)to);
        x = n->status ? NULL : sliced(n, x, 2 + i, from, to);
    }
    node_out(n, 0, x);
}

static void affine(bt_onnx_node *n)
{
    const bt_value *x = times_number(n, node_need(n, 0), node_float(n, "alpha", 1));
    node_out(n, 0, plus_number(n, x, node_float(n, "beta", 0)));
}

/* ---- blocks of space ---- */

static void depth_to_space(bt_onnx_node *n)
{
    const char *mode = node_text(n, "mode", "DCR");
    if (strcmp(mode, "DCR") != 0 && strcmp(mode, "CRD") != 0)
        node_fail(n, BT_ERR_ATTRIBUTE, "mode %s is not known", mode);
    const char *attrs = node_format(n, "block_size=%lld, mode=\"%s\"",
                                    (long long)node_int(n, "blocksize", 0),
                                    strcmp(mode, "CRD") == 0 ? "CDR" : "DCR");
    node_out(n, 0, emit1(n, "nn.depth_to_space", attrs, node_need(n, 0)));
}

static void space_to_depth(bt_onnx_node *n)
{
    const char *attrs =
        node_format(n, "block_size=%lld", (long long)node_int(n, "blocksize", 0));
    node_out(n, 0, emit1(n, "nn.space_to_depth", attrs, node_need(n, 0)));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.Resize-10", upsample, NULL }, { "ai.onnx.Resize-11", resize, NULL },
    { "ai.onnx.Upsample-7", upsample_attr, NULL }, { "ai.onnx.Upsample-9", upsample, NULL },
    { "ai.onnx.ImageScaler-1", image_scaler, NULL }, { "ai.onnx.Crop-1", crop, NULL }, { "ai.onnx.Affine-1", affine, NULL },
    { "ai.onnx.DepthToSpace-1", depth_to_space, NULL }, { "ai.onnx.SpaceToDepth-1", space_to_depth, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_image[] = { BT_ONNX_OPERATORS(operators), { 0 } };
