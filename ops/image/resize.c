/*
 * image.resize1d, image.resize2d, image.resize3d: an image in another size.
 *     y[n, c, p, ..] = data at the coordinate of p, ..
 *     half_pixel          (p + 1/2) * in / out - 1/2
 *     align_corners       p * (in - 1) / (out - 1)
 *     asymmetric          p * in / out
 *     pytorch_half_pixel  half_pixel; 0 where out is 1
 *     tf_half_pixel_for_nn (p + 1/2) * in / out
 *     tf_crop_and_resize  the same as align_corners within roi
 * method nearest_neighbor rounds coordinates, linear and cubic weigh elements on both
 * sides; beyond the edge stand the edge's elements. Results are computed in float64 and
 * converted; those of integers are rounded, halves to even.
 * source  Relay's operators of the same names; ONNX Resize-13; Keys 1981
 */
#include <string.h>

#include "sample.h"

struct attrs {
    const bt_type *size;
    bt_floats roi;
    const char *layout, *method, *coordinate_transformation_mode, *rounding_method;
    double cubic_alpha;
    int64_t cubic_exclude;
    double extrapolation_value;
    const bt_type *out_dtype;
};
// clang-format off
#define RESIZE_ATTRS(layout_)                                                                      \
    {                                                                                              \
        BT_ATTR(struct attrs, size, SHAPE, NULL, "extents of the result along the axes of space"), \
        BT_ATTR(struct attrs, roi, FLOATS, "[]",                                                   \
                "of tf_crop_and_resize: starts, then ends of axes, as shares of the image"),       \
        BT_ATTR(struct attrs, layout, STRING, layout_, "order of the axes"),                       \
        BT_ATTR_CHOICE(struct attrs, method, "linear", "nearest_neighbor|linear|cubic",            \
                       "how elements are weighed"),                                                \
        BT_ATTR_CHOICE(struct attrs, coordinate_transformation_mode, "half_pixel", SAMPLE_MODES,   \
                       "where an element of the result lies in data"),                             \
        BT_ATTR_CHOICE(struct attrs, rounding_method, "round", SAMPLE_ROUNDINGS,                   \
                       "of nearest_neighbor; empty: round for align_corners, else floor"),         \
        BT_ATTR(struct attrs, cubic_alpha, FLOAT, "-0.5", "coefficient of the cubic spline"),      \
        BT_ATTR_RANGE(struct attrs, cubic_exclude, INT, "0", 0, 1,                                 \
                      "of cubic: elements beyond the edge have no weight"),                        \
        BT_ATTR(struct attrs, extrapolation_value, FLOAT, "0",                                     \
                "of tf_crop_and_resize: what stands outside of data"),                             \
        BT_ATTR(struct attrs, out_dtype, DTYPE, "None", "element type; None: that of data"),       \
        { 0 },                                                                                     \
    }
// clang-format on
static const bt_attr attrs1d[] = RESIZE_ATTRS("NCW");
static const bt_attr attrs2d[] = RESIZE_ATTRS("NCHW");
static const bt_attr attrs3d[] = RESIZE_ATTRS("NCDHW");

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:number[..]", .doc = "batch, channels, space" },
    { 0 },
};

/* "image.resize2d": the number before the d. */
static uint32_t nspace_of(const bt_op *op)
{
    return (uint32_t)(op->name[strlen(op->name) - 2] - '0');
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    uint32_t n = nspace_of(r->op);
    const bt_shape_type *size = a->size ? bt_as_shape_type(a->size) : NULL;
    const bt_type *dims[2 + SAMPLE_MAX_SPACE];
    struct image_layout layout;
    bt_tensor_parts data;
    BT_TRY(image_layout_relate(s, r, a->layout, n, &layout));
    BT_TRY(bt_relation_tensor_rank(s, r, 0, n + 2, &data));
    if (!size || size->rest || size->n != n)
        return bt_relation_fail(s, r, -1, "size must have %u extents", n);
    if (strcmp(a->coordinate_transformation_mode, "tf_crop_and_resize") == 0 &&
        a->roi.n != 2 * (int64_t)n)
        return bt_relation_fail(s, r, -1,
                                "roi has %lld numbers; tf_crop_and_resize needs %u",
                                (long long)(a->roi.n < 0 ? 0 : a->roi.n), 2 * n);
    for (uint32_t i = 0; i < n + 2; i++)
        dims[i] = data.dims[i];
    for (uint32_t i = 0; i < n; i++) {
        BT_TRY(image_axis_relate(s, r, data.dims[layout.space[i]]));
        dims[layout.space[i]] = size->dims[i];
    }
    return bt_relation_result_laid(s, r, n + 2, dims,
                                   a->out_dtype ? a->out_dtype : data.dtype);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t n = nspace_of(call->op);
    struct sample s = { .method = a->method,
                        .mode = a->coordinate_transformation_mode,
                        .rounding = a->rounding_method,
                        .alpha = a->cubic_alpha,
                        .excludes = a->cubic_exclude != 0,
                        .is_integer = image_is_integer(call) };
    image_layout_read(a->layout, n, &s.layout);
    for (uint32_t i = 0; i < n; i++)
        bt_formula_add(f, "o%u = size[%u];\n", i, i);
    sample_write(f, &s, a->out_dtype ? "out_dtype" : "t");
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

// clang-format off
#define RESIZE(rank_, axes_, cases_)                                                               \
    {                                                                                              \
        .name = "image.resize" #rank_, .revision = 1,                                              \
        .source = "Relay, image.resize" #rank_ "; ONNX Resize-13; Keys 1981",                      \
        .doc = "Resamples " axes_ " of an image.", .inputs = inputs, .attrs = attrs##rank_,        \
        .attrs_nbytes = sizeof(struct attrs), .relate = relate, .write_formula = write_formula,    \
        .facets = BT_FACET_ROWS(BT_CASES(cases_), BT_FACET("layout", layout)),                     \
    }
#define MODE(mode_) "coordinate_transformation_mode=\"" mode_ "\""
#define NEAREST "method=\"nearest_neighbor\""
#define CUBIC "method=\"cubic\""
static const bt_op ops[] = {
    RESIZE(1d, "one axis",
        "float32[2, 3, 5] | size=[8]\nfloat32[1, 5, 2] | size=[3], layout=\"NWC\", " MODE("align_corners") "\n"
        "int8[1, 2, 4] | size=[9], " NEAREST "\nfloat64[1, 1, 6] | size=[1], " MODE("pytorch_half_pixel")),
    RESIZE(2d, "two axes",
        "float32[1, 2, 4, 5] | size=[7, 3]\n"
        "float32[1, 2, 4, 5] | size=[8, 9], " MODE("align_corners") "\n"
        "float32[1, 3, 4, 2] | size=[5, 8], layout=\"NHWC\", " MODE("asymmetric") "\n"
        "float32[2, 1, 4, 5] | size=[1, 8], " MODE("pytorch_half_pixel") "\n"
        "float32[1, 2, 4, 6] | size=[8, 3], " NEAREST "\n"
        "int32[1, 2, 4, 6] | size=[7, 9], " NEAREST ", rounding_method=\"floor\", " MODE("asymmetric") "\n"
        "uint8[1, 2, 4, 6] | size=[3, 10], " NEAREST ", rounding_method=\"ceil\"\n"
        "float32[1, 1, 4, 6] | size=[8, 3], " NEAREST ", rounding_method=\"round_prefer_floor\"\n"
        "float32[1, 1, 4, 6] | size=[6, 12], " NEAREST ", rounding_method=\"\", " MODE("tf_half_pixel_for_nn") "\n"
        "float32[1, 1, 3, 3] | size=[5, 1], " NEAREST ", rounding_method=\"round_prefer_ceil\", " MODE("align_corners") "\n"
        "float32[1, 2, 4, 5] | size=[7, 9], " CUBIC "\n"
        "float32[1, 2, 4, 5] | size=[9, 3], " CUBIC ", cubic_alpha=-0.75, cubic_exclude=1, " MODE("align_corners") "\n"
        "float32[1, 1, 4, 5] | size=[3, 4], roi=[0.1f, 0.2f, 1.2f, 0.9f], extrapolation_value=7f, " MODE("tf_crop_and_resize") "\n"
        "float32[1, 1, 4, 5] | size=[1, 4], roi=[0f, 0.5f, 1f, 0f], " NEAREST ", " MODE("tf_crop_and_resize") "\n"
        "uint8[1, 1, 2, 2] = 0..255 | size=[4, 4], out_dtype=\"float32\""),
    RESIZE(3d, "three axes",
        "float32[1, 2, 2, 3, 4] | size=[3, 5, 4]\nfloat32[1, 2, 3, 4, 2] | size=[4, 3, 2], layout=\"NDHWC\", " NEAREST "\n"
        "float32[1, 1, 3, 2, 4] | size=[2, 4, 5], " CUBIC),
    { 0 },
};
// clang-format on
const bt_table bt_ops_image_resize[] = { BT_OPS(ops), { 0 } };
