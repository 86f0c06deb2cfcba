/*
 * nn.upsampling, nn.upsampling3d: an image with axes of space scaled by factors.
 *     extent of a result = round(extent of data * scale)
 * Coordinates are those of image.resize2d: asymmetric, or align_corners where that is
 * set.
 * source  Relay's operators of the same names
 */
#include <math.h>
#include <string.h>

#include "sample.h"

struct attrs {
    double scale_h, scale_w;
    const char *layout, *method;
    int64_t align_corners;
};
struct attrs3d {
    double scale_d, scale_h, scale_w;
    const char *layout, *method, *coordinate_transformation_mode;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, scale_h, FLOAT, "1", "factor of the height"),
    BT_ATTR(struct attrs, scale_w, FLOAT, "1", "factor of the width"),
    BT_ATTR(struct attrs, layout, STRING, "NCHW", "order of the axes"),
    BT_ATTR_CHOICE(struct attrs, method, "nearest_neighbor",
                   "nearest_neighbor|bilinear|bicubic", "how elements are weighed"),
    BT_ATTR(struct attrs, align_corners, BOOL, "False", "corners stay what they are"),
    { 0 },
};
static const bt_attr attrs3d[] = {
    BT_ATTR(struct attrs3d, scale_d, FLOAT, "1", "factor of the depth"),
    BT_ATTR(struct attrs3d, scale_h, FLOAT, "1", "factor of the height"),
    BT_ATTR(struct attrs3d, scale_w, FLOAT, "1", "factor of the width"),
    BT_ATTR(struct attrs3d, layout, STRING, "NCDHW", "order of the axes"),
    BT_ATTR_CHOICE(struct attrs3d, method, "nearest_neighbor",
                   "nearest_neighbor|trilinear", "how elements are weighed"),
    BT_ATTR_CHOICE(struct attrs3d, coordinate_transformation_mode, "half_pixel",
                   "half_pixel|align_corners|asymmetric",
                   "where an element of the result lies in data"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:number[..]", .doc = "batch, channels, space" },
    { 0 },
};

/* What both operators come to. */
struct scaling {
    uint32_t n;
    double scale[SAMPLE_MAX_SPACE];
    struct sample sample;
    const char *layout;
};

static void read_scaling(const bt_op *op, const void *values, struct scaling *out)
{
    const struct attrs *a = values;
    const struct attrs3d *b = values;
    if (strcmp(op->name, "nn.upsampling3d") == 0)
        *out =
            (struct scaling){ .n = 3,
                              .scale = { b->scale_d, b->scale_h, b->scale_w },
                              .layout = b->layout,
                              .sample = { .method = b->method,
                                          .mode = b->coordinate_transformation_mode } };
    else
        *out = (struct scaling){ .n = 2,
                                 .scale = { a->scale_h, a->scale_w },
                                 .layout = a->layout,
                                 .sample = { .method = a->method,
                                             .mode = a->align_corners ? "align_corners"
                                                                      : "asymmetric",
                                             .alpha = -0.5 } };
    out->sample.rounding = "";
    if (strcmp(out->sample.method, "bicubic") == 0)
        out->sample.method = "cubic";
    else if (strcmp(out->sample.method, "nearest_neighbor") != 0)
        out->sample.method = "linear";
}

/* A whole factor scales names too; any other one numbers only. */
static bt_status scale_dim(bt_solver *s, const bt_relation_call *r, uint32_t i,
                           const bt_type *dim, double scale, const bt_type **out)
{
    const bt_type *known;
    int64_t size;
    if (!(scale > 0 && scale < 1 << 16))
        return bt_relation_fail(
            s, r, -1, "a scale is %g; it must be above 0 and below 65536", scale);
    BT_TRY(image_axis_relate(s, r, dim));
    BT_TRY(bt_relation_dim(s, r, dim, &known));
    if (scale == floor(scale))
        *out = bt_dim_scale(bt_relation_store(s), known, (int64_t)scale, 0);
    else if (bt_dim_is_const(known, &size))
        *out = bt_dim(bt_relation_store(s), (int64_t)round((double)size * scale));
    else
        return bt_relation_opaque(s, r, i, out);
    return *out ? NULL : bt_no_memory();
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    struct scaling c;
    const bt_type *dims[2 + SAMPLE_MAX_SPACE];
    bt_tensor_parts data;
    read_scaling(r->op, r->attrs, &c);
    BT_TRY(image_layout_relate(s, r, c.layout, c.n, &c.sample.layout));
    BT_TRY(bt_relation_tensor_rank(s, r, 0, c.n + 2, &data));
    for (uint32_t i = 0; i < c.n + 2; i++)
        dims[i] = data.dims[i];
    for (uint32_t i = 0; i < c.n; i++) {
        uint32_t axis = c.sample.layout.space[i];
        BT_TRY(scale_dim(s, r, i, data.dims[axis], c.scale[i], &dims[axis]));
    }
    return bt_relation_result_laid(s, r, c.n + 2, dims, data.dtype);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    static const char *const names[] = { "scale_d", "scale_h", "scale_w" };
    struct scaling c;
    read_scaling(call->op, call->attrs, &c);
    image_layout_read(c.layout, c.n, &c.sample.layout);
    c.sample.is_integer = image_is_integer(call);
    for (uint32_t i = 0; i < c.n; i++)
        bt_formula_add(f, "o%u = int64(round(float64(extent(data, %u)) * %s));\n", i,
                       c.sample.layout.space[i], names[SAMPLE_MAX_SPACE - c.n + i]);
    sample_write(f, &c.sample, "t");
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

static const bt_op ops[] = {
    {
        .name = "nn.upsampling",
        .revision = 1,
        .doc = "Scales height and width of an image.",
        .source = "Relay, nn.upsampling",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[1, 2, 3, 4] | scale_h=2f, scale_w=3f\n"
                     "float32[1, 3, 4, 2] | scale_h=2f, scale_w=1.5f, layout=\"NHWC\", "
                     "method=\"bilinear\"\n"
                     "float32[1, 1, 4, 3] | scale_h=1.75f, scale_w=2f, "
                     "method=\"bicubic\", align_corners=True\n"
                     "int8[1, 2, 3, 4] | scale_h=1.5f, scale_w=2f, align_corners=True"),
            BT_FACET("layout", layout)),
    },
    {
        .name = "nn.upsampling3d",
        .revision = 1,
        .doc = "Scales depth, height and width of an image.",
        .source = "Relay, nn.upsampling3d",
        .inputs = inputs,
        .attrs = attrs3d,
        .attrs_nbytes = sizeof(struct attrs3d),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[1, 2, 2, 3, 2] | scale_d=2f, scale_h=2f, scale_w=3f\n"
                     "float32[1, 2, 3, 2, 2] | scale_d=1.5f, scale_w=2f, "
                     "layout=\"NDHWC\", method=\"trilinear\"\n"
                     "float32[1, 1, 2, 3, 2] | scale_h=1.7f, "
                     "coordinate_transformation_mode=\"align_corners\""),
            BT_FACET("layout", layout)),
    },
    { 0 },
};
const bt_table bt_ops_image_upsampling[] = { BT_OPS(ops), { 0 } };
