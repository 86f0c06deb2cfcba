/*
 * Operators that do what others do by attributes, where these are values: dyn.nn.pad,
 * dyn.image.resize2d, dyn.nn.upsampling, dyn.nn.upsampling3d.
 * source  Relay, operators of the same names
 */
#include <math.h>
#include <string.h>

#include <baton/convert.h>

#include "dyn.h"
#include "moved.h"
#include "plain.h"
#include "plain/pad.h"
#include "plain/resample.h"

/* ---- dyn.nn.pad ---- */

struct pad_attrs {
    const char *pad_mode;
};
static const bt_attr pad_attrs[] = {
    BT_ATTR_CHOICE(struct pad_attrs, pad_mode, "constant", "constant|edge|reflect",
                   "what the new elements are"),
    { 0 },
};

static bt_status relate_pad(bt_solver *s, const bt_relation_call *r)
{
    bt_store *store = bt_relation_store(s);
    const bt_tensor *width = bt_relation_constant(s, r, 1);
    const bt_type *dims[BT_MAX_RANK], *known;
    bt_tensor_parts data, list;
    int64_t n = 1, extent;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor(s, r, 1, &list));
    for (uint32_t i = 0; i < list.rank; i++) {
        BT_TRY(bt_relation_dim(s, r, list.dims[i], &known));
        if (!bt_dim_is_const(known, &extent) || !bt_mul_int64(n, extent, &n))
            n = -1;
    }
    if (n >= 0 && n != 2 * (int64_t)data.rank)
        return bt_relation_fail(s, r, 1,
                                "pad_width has %lld numbers; data of rank %u needs %u",
                                (long long)n, data.rank, 2 * data.rank);
    for (uint32_t i = 0; i < data.rank; i++) {
        int64_t more;
        if (!width) {
            BT_TRY(bt_relation_opaque(s, r, i, &dims[i]));
            continue;
        }
        BT_TRY(bt_relation_dim(s, r, data.dims[i], &known));
        if (!bt_add_int64(bt_tensor_get_index(width, 2 * i),
                          bt_tensor_get_index(width, 2 * i + 1), &more))
            return bt_relation_fail(s, r, 1, "axis %u: pad_width overflows", i);
        if (bt_dim_is_const(known, &extent) && extent + more < 0)
            return bt_relation_fail(s, r, 1, "axis %u is cut to less than nothing", i);
        dims[i] = more ? bt_dim_scale(store, known, 1, more) : known;
        if (!dims[i])
            return bt_relation_result(s, r, NULL);
    }
    return bt_relation_result_tensor(s, r, data.rank, dims, data.dtype);
}

static const char *const pad_faults[] = {
    PLAIN_FAULT(PAD_FAULT_COUNT,
                "pad_width has another number of entries than two for each axis of data"),
    PLAIN_FAULT(PAD_FAULT_WIDTH,
                "an axis is cut to less than nothing, or pad_width is beyond 32 bits"),
    PLAIN_FAULT(PAD_FAULT_EMPTY, "an axis has no element to repeat"),
    NULL,
};

static bt_status plain_of_pad(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    const struct pad_attrs *a = call->attrs;
    (void)ctx;
    out[0] = strcmp(a->pad_mode, "edge") == 0      ? 1
             : strcmp(a->pad_mode, "reflect") == 0 ? 2
                                                   : 0;
    return NULL;
}
static const bt_plain_facet pad = PLAIN(plain_pad, pad_faults, 0, plain_of_pad);

/* ---- dyn.image.resize2d ---- */

struct resize_attrs {
    const char *layout, *method, *coordinate_transformation_mode, *rounding_method;
    double cubic_alpha;
    int64_t cubic_exclude;
    double extrapolation_value;
    const bt_type *out_dtype;
};
// clang-format off
static const bt_attr resize_attrs[] = {
    BT_ATTR(struct resize_attrs, layout, STRING, "NCHW", "order of the axes"),
    BT_ATTR_CHOICE(struct resize_attrs, method, "linear", "nearest_neighbor|linear|cubic", "how elements are weighed"),
    BT_ATTR_CHOICE(struct resize_attrs, coordinate_transformation_mode, "half_pixel",
                   "half_pixel|align_corners|asymmetric|pytorch_half_pixel|tf_half_pixel_for_nn|tf_crop_and_resize",
                   "where an element of the result lies in data"),
    BT_ATTR_CHOICE(struct resize_attrs, rounding_method, "round",
                   "round|floor|ceil|round_prefer_floor|round_prefer_ceil|",
                   "of nearest_neighbor; empty: round for align_corners, else floor"),
    BT_ATTR(struct resize_attrs, cubic_alpha, FLOAT, "-0.5", "coefficient of the cubic spline"),
    BT_ATTR_RANGE(struct resize_attrs, cubic_exclude, INT, "0", 0, 1, "of cubic: elements beyond the edge have no weight"),
    BT_ATTR(struct resize_attrs, extrapolation_value, FLOAT, "0", "of tf_crop_and_resize: what stands outside of data"),
    BT_ATTR(struct resize_attrs, out_dtype, DTYPE, "None", "element type; None: that of data"),
    { 0 },
};
// clang-format on

/* The axis of a letter of the layout; `rank`: there is none. */
static uint32_t axis_of(const char *layout, char letter, uint32_t rank)
{
    const char *at = strlen(layout) == rank ? strchr(layout, letter) : NULL;
    return at ? (uint32_t)(at - layout) : rank;
}

static bt_status relate_resize(bt_solver *s, const bt_relation_call *r)
{
    const struct resize_attrs *a = r->attrs;
    const bt_type *dims[4], *size[BT_MAX_RANK];
    bt_tensor_parts data;
    uint32_t n;
    const uint32_t h = axis_of(a->layout, 'H', 4), w = axis_of(a->layout, 'W', 4);
    BT_TRY(bt_relation_tensor_rank(s, r, 0, 4, &data));
    BT_TRY(dyn_shape(s, r, 1, &n, size));
    if (n != 2)
        return bt_relation_fail(s, r, 1, "size must have 2 extents");
    if (h == 4 || w == 4)
        return bt_relation_fail(s, r, -1, "layout \"%s\" has not four axes with H and W",
                                a->layout);
    memcpy(dims, data.dims, sizeof(dims));
    dims[h] = size[0];
    dims[w] = size[1];
    return bt_relation_result_tensor(s, r, 4, dims,
                                     a->out_dtype ? a->out_dtype : data.dtype);
}

/* The number of a name in a list that NULL ends. */
static int64_t number_of(const char *const *names, const char *name)
{
    int64_t i = 0;
    while (names[i] && strcmp(names[i], name) != 0)
        i++;
    return i;
}

static int64_t mode_of(const char *name)
{
    static const char *const modes[] = {
        [RESAMPLE_HALF_PIXEL] = "half_pixel",
        [RESAMPLE_CORNERS] = "align_corners",
        [RESAMPLE_ASYMMETRIC] = "asymmetric",
        [RESAMPLE_PYTORCH] = "pytorch_half_pixel",
        [RESAMPLE_HALF_FOR_NN] = "tf_half_pixel_for_nn",
        [RESAMPLE_CROP] = "tf_crop_and_resize",
        NULL,
    };
    return number_of(modes, name);
}

static int64_t rounding_of(const char *name, int64_t mode)
{
    static const char *const roundings[] = {
        [RESAMPLE_FLOOR] = "floor",
        [RESAMPLE_CEIL] = "ceil",
        [RESAMPLE_PREFER_FLOOR] = "round_prefer_floor",
        [RESAMPLE_PREFER_CEIL] = "round_prefer_ceil",
        NULL,
    };
    if (!*name)
        return mode == RESAMPLE_CORNERS ? RESAMPLE_PREFER_CEIL : RESAMPLE_FLOOR;
    return strcmp(name, "round") == 0 ? RESAMPLE_PREFER_CEIL : number_of(roundings, name);
}

static const char letters[] = "DHW";

/* The axes of space, of which a layout has the last n letters. */
static void write_axes(const char *layout, uint32_t n, int64_t *out)
{
    out[RESAMPLE_NSPACE] = n;
    for (uint32_t i = 0; i < n; i++)
        out[RESAMPLE_AXES + i] = axis_of(layout, letters[3 - n + i], n + 2);
}

static bt_status plain_of_resize(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    static const char *const methods[] = { [RESAMPLE_NEAREST] = "nearest_neighbor",
                                           [RESAMPLE_LINEAR] = "linear",
                                           [RESAMPLE_CUBIC] = "cubic",
                                           NULL };
    const struct resize_attrs *a = call->attrs;
    (void)ctx;
    out[RESAMPLE_METHOD] = number_of(methods, a->method);
    out[RESAMPLE_MODE] = mode_of(a->coordinate_transformation_mode);
    out[RESAMPLE_ROUNDING] = rounding_of(a->rounding_method, out[RESAMPLE_MODE]);
    out[RESAMPLE_EXCLUDES] = a->cubic_exclude;
    out[RESAMPLE_ALPHA] = (int64_t)bt_double_bits(a->cubic_alpha);
    out[RESAMPLE_BEYOND] = (int64_t)bt_double_bits(a->extrapolation_value);
    write_axes(a->layout, 2, out);
    return NULL;
}

static const char *const resize_faults[] = {
    PLAIN_FAULT(RESIZE_FAULT_SIZE, "size must be 2 extents of 0 or more"),
    PLAIN_FAULT(RESIZE_FAULT_EMPTY, "data has no element to take others from"),
    PLAIN_FAULT(RESIZE_FAULT_ROI_COUNT, "roi must have 4 numbers"),
    PLAIN_FAULT(RESIZE_FAULT_ROI, "roi is not finite"),
    NULL,
};
static const bt_plain_facet resize =
    PLAIN(plain_resize2d, resize_faults, 0, plain_of_resize);

/* ---- dyn.nn.upsampling, dyn.nn.upsampling3d ---- */

struct scale_attrs {
    const char *layout, *method;
    int64_t align_corners;
};
struct scale3d_attrs {
    const char *layout, *method, *coordinate_transformation_mode;
};
// clang-format off
static const bt_attr scale_attrs[] = {
    BT_ATTR(struct scale_attrs, layout, STRING, "NCHW", "order of the axes"),
    BT_ATTR_CHOICE(struct scale_attrs, method, "nearest_neighbor", "nearest_neighbor|bilinear|bicubic", "how elements are weighed"),
    BT_ATTR(struct scale_attrs, align_corners, BOOL, "False", "corners stay what they are"),
    { 0 },
};
static const bt_attr scale3d_attrs[] = {
    BT_ATTR(struct scale3d_attrs, layout, STRING, "NCDHW", "order of the axes"),
    BT_ATTR_CHOICE(struct scale3d_attrs, method, "nearest_neighbor", "nearest_neighbor|trilinear", "how elements are weighed"),
    BT_ATTR_CHOICE(struct scale3d_attrs, coordinate_transformation_mode, "half_pixel", "half_pixel|align_corners|asymmetric",
                   "where an element of the result lies in data"),
    { 0 },
};
// clang-format on
/* The layout is the first attribute of both. */
static const char *layout_of(const void *attrs)
{
    return ((const struct scale_attrs *)attrs)->layout;
}

static int is_scale(double scale)
{
    return scale > 0 && scale < 1 << 16;
}

/* The factor is a constant, or the extent is known to the run alone. */
static bt_status scale_dim(bt_solver *s, const bt_relation_call *r, uint32_t index,
                           const bt_type **dim)
{
    const bt_tensor *factor = bt_relation_constant(s, r, index);
    const bt_type *known;
    int64_t extent;
    if (!factor)
        return bt_relation_opaque(s, r, index, dim);
    const double scale = bt_tensor_get(factor, 0);
    if (!is_scale(scale))
        return bt_relation_fail(s, r, (int)index,
                                "it is %g; it must be above 0 and below 65536", scale);
    BT_TRY(bt_relation_dim(s, r, *dim, &known));
    if (scale == floor(scale))
        *dim = bt_dim_scale(bt_relation_store(s), known, (int64_t)scale, 0);
    else if (bt_dim_is_const(known, &extent))
        *dim = bt_dim(bt_relation_store(s), (int64_t)round((double)extent * scale));
    else
        return bt_relation_opaque(s, r, index, dim);
    return *dim ? NULL : bt_no_memory();
}

static bt_status relate_scale(bt_solver *s, const bt_relation_call *r)
{
    const uint32_t n = r->narg - 1, rank = n + 2;
    const char *layout = layout_of(r->attrs);
    const bt_type *dims[5];
    bt_tensor_parts data, scale;
    BT_TRY(bt_relation_tensor_rank(s, r, 0, rank, &data));
    memcpy(dims, data.dims, rank * sizeof(*dims));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t axis = axis_of(layout, letters[3 - n + i], rank);
        if (axis == rank)
            return bt_relation_fail(s, r, -1, "layout \"%s\" has not %u axes with %s",
                                    layout, rank, letters + 3 - n);
        BT_TRY(bt_relation_tensor_rank(s, r, i + 1, 0, &scale));
        BT_TRY(scale_dim(s, r, i + 1, &dims[axis]));
    }
    return bt_relation_result_tensor(s, r, rank, dims, data.dtype);
}

static bt_status plain_of_scale(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    const struct scale_attrs *a = call->attrs;
    const struct scale3d_attrs *deep = call->attrs;
    const uint32_t n = call->narg - 1;
    (void)ctx;
    out[RESAMPLE_METHOD] = strcmp(a->method, "nearest_neighbor") == 0 ? RESAMPLE_NEAREST
                           : strcmp(a->method, "bicubic") == 0        ? RESAMPLE_CUBIC
                                                                      : RESAMPLE_LINEAR;
    out[RESAMPLE_MODE] = n == 3 ? mode_of(deep->coordinate_transformation_mode)
                         : a->align_corners ? RESAMPLE_CORNERS
                                            : RESAMPLE_ASYMMETRIC;
    out[RESAMPLE_ROUNDING] = rounding_of("", out[RESAMPLE_MODE]);
    out[RESAMPLE_ALPHA] = (int64_t)bt_double_bits(-0.5);
    write_axes(layout_of(a), n, out);
    return NULL;
}

static const char *const scale_faults[] = {
    PLAIN_FAULT(UPSAMPLE_FAULT_SCALE, "a scale must be above 0 and below 65536"),
    PLAIN_FAULT(UPSAMPLE_FAULT_EMPTY, "data has no element to take others from"),
    NULL,
};
static const bt_plain_facet scale =
    PLAIN(plain_upsampling, scale_faults, 0, plain_of_scale);

/* ---- derivatives ---- */

static const bt_gradient_facet gradient_resize = {
    .none = "how elements are weighed depends on extents that are values; where they are known, "
            "pass dynamic-to-static makes image.resize2d of it"
};
static const bt_gradient_facet gradient_scale = {
    .none = "how elements are weighed depends on extents that are values; where they are known, "
            "pass dynamic-to-static makes nn.upsampling of it"
};
#define gradient_pad moved_0_2

/* ---- rows ---- */

static const bt_op_input pad_in[] = {
    { .name = "data", .type = "t[..]", .doc = "any tensor" },
    { .name = "pad_width",
      .type = "u:integer[..]",
      .doc = "elements before and after each axis" },
    { .name = "pad_value",
      .type = "v[]",
      .doc = "of mode constant, cast to data's type; 0 when left out",
      .is_optional = 1 },
    { 0 },
};
static const bt_op_input resize_in[] = {
    { .name = "data", .type = "t:number[..]", .doc = "batch, channels, space" },
    { .name = "size", .type = "u:integer[n]", .doc = "height and width of the result" },
    { .name = "roi",
      .type = "v:float[..]",
      .doc = "of tf_crop_and_resize: starts, then ends of axes, as shares of the image",
      .is_optional = 1 },
    { 0 },
};
static const bt_op_input scale_in[] = {
    { .name = "data", .type = "t:number[..]", .doc = "batch, channels, space" },
    { .name = "scale_h", .type = "u:float[]", .doc = "factor of the height" },
    { .name = "scale_w", .type = "v:float[]", .doc = "factor of the width" },
    { 0 },
};
static const bt_op_input scale3d_in[] = {
    { .name = "data", .type = "t:number[..]", .doc = "batch, channels, space" },
    { .name = "scale_d", .type = "u:float[]", .doc = "factor of the depth" },
    { .name = "scale_h", .type = "v:float[]", .doc = "factor of the height" },
    { .name = "scale_w", .type = "w:float[]", .doc = "factor of the width" },
    { 0 },
};

// clang-format off
#define DYN(name_, as_, doc_, of_, plain_, cases_)                                                 \
    {                                                                                               \
        .name = name_, .revision = 1, .doc = doc_ "\nAs " as_ ".", .source = "Relay, " name_,       \
        .inputs = of_##_in, .attrs = of_##_attrs, .attrs_nbytes = sizeof(struct of_##_attrs),       \
        .effects = BT_EFFECT_FAILS, .relate = relate_##plain_, .eval = plain_eval,                  \
        .facets = BT_FACET_ROWS(BT_CASES(cases_), BT_FACET("plain", plain_),                        \
                                BT_FACET("gradient", gradient_##plain_)),                           \
    }
static const bt_op ops[] = {
    DYN("dyn.nn.pad", "nn.pad", "Adds elements at the ends of axes; how many is a value.", pad, pad,
        "float32[2, 3], int64[2, 2] = 0..3, float32[]\nint8[4], int32[2] = 1..2\n"
        "float32[2, 3], int64[4] = 1..2 | pad_mode=\"edge\"\nfloat32[4, 4], int64[2, 2] = 0..1 | pad_mode=\"reflect\""),
    DYN("dyn.image.resize2d", "image.resize2d", "Resamples two axes of an image; their extents are values.", resize, resize,
        "float32[1, 2, 4, 5], int64[2] = 3..8\nfloat32[1, 4, 5, 2], int32[2] = 2..9 | layout=\"NHWC\", method=\"nearest_neighbor\"\n"
        "float32[1, 1, 4, 5], int64[2] = 2..4, float32[4] = 0..1 | coordinate_transformation_mode=\"tf_crop_and_resize\""),
    DYN("dyn.nn.upsampling", "nn.upsampling", "Scales height and width of an image by values.", scale, scale,
        "float32[1, 2, 3, 4], float32[] = 1..3, float32[] = 1..3\n"
        "float32[1, 3, 4, 2], float64[] = 1..2, float32[] = 2..2 | layout=\"NHWC\", method=\"bilinear\""),
    DYN("dyn.nn.upsampling3d", "nn.upsampling3d", "Scales depth, height and width of an image by values.", scale3d, scale,
        "float32[1, 2, 2, 3, 2], float32[] = 1..3, float32[] = 1..2, float32[] = 2..2"),
    { 0 },
};
// clang-format on
const bt_table bt_ops_tensor_dyn_as[] = { BT_OPS(ops), { 0 } };
