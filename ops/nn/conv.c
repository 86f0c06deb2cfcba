/*
 * nn.conv1d, nn.conv2d, nn.conv3d: a window of weights slides over the data; qnn.conv1d,
 * qnn.conv2d, qnn.conv3d: over codes, from which their zero points are subtracted.
 *     y[n, o, p, ..] = sum(i, r, ..: data[n, i, p*stride + r*dilation - pad, ..]
 *                                  * weight[o, i, r, ..])    positions outside: left out,
 *                       which is padding by the zero point
 * data    t[n, c, space..] in data_layout
 * weight  t[o, c / groups, window..] in kernel_layout
 * result  in data_layout, or out_layout, its type in the layout that is wanted; of
 *         out_dtype, or t, of codes int32: then also the type of products and sums
 * source  Relay's operators of the same names; Dumoulin, Visin 2016
 */
#include <stdio.h>
#include <string.h>

#include <baton/compute.h>

#include "codes.h"
#include "window.h"

struct attrs {
    bt_ints strides, padding, dilation;
    int64_t groups, channels;
    bt_ints kernel_size;
    const char *data_layout, *kernel_layout, *out_layout;
    const bt_type *out_dtype;
};

#define CONV_ATTRS(data_layout_, kernel_layout_)                                    \
    {                                                                               \
        BT_ATTR_RANGE(struct attrs, strides, INTS, "[1]", 1, INT32_MAX,             \
                      "steps of the window along each axis"),                       \
            BT_ATTR_RANGE(                                                          \
                struct attrs, padding, INTS, "[0]", 0, INT32_MAX,                   \
                "zeros around: one number, one an axis, or befores then afters"),   \
            BT_ATTR_RANGE(struct attrs, dilation, INTS, "[1]", 1, INT32_MAX,        \
                          "distance between weights"),                              \
            BT_ATTR_RANGE(                                                          \
                struct attrs, groups, INT, "1", 1, INT32_MAX,                       \
                "channels are split into this many, each with weights of its own"), \
            BT_ATTR(struct attrs, channels, INT, "None",                            \
                    "channels of the result, checked against weight"),              \
            BT_ATTR(struct attrs, kernel_size, INTS, "None",                        \
                    "size of the window, checked against weight"),                  \
            BT_ATTR(struct attrs, data_layout, STRING, data_layout_,                \
                    "order of data's axes"),                                        \
            BT_ATTR(struct attrs, kernel_layout, STRING, kernel_layout_,            \
                    "order of weight's axes"),                                      \
            BT_ATTR(struct attrs, out_layout, STRING, "",                           \
                    "order of the result's axes; empty: data_layout"),              \
            BT_ATTR(struct attrs, out_dtype, DTYPE, "None",                         \
                    "element type of products, sums and result"),                   \
            { 0 },                                                                  \
    }
static const bt_attr attrs1d[] = CONV_ATTRS("NCW", "OIW");
static const bt_attr attrs2d[] = CONV_ATTRS("NCHW", "OIHW");
static const bt_attr attrs3d[] = CONV_ATTRS("NCDHW", "OIDHW");

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:number[..]", .doc = "batch, channels, space" },
    { .name = "weight",
      .type = "t[..]",
      .doc = "channels out, channels in a group, window" },
    { 0 },
};
static const bt_op_input code_inputs[] = {
    { .name = "data", .type = "t:integer[..]", .doc = "batch, channels, space" },
    { .name = "weight",
      .type = "w:integer[..]",
      .doc = "channels out, channels in a group, window" },
    CODES_INPUTS("input", "kernel"),
};

static const char *out_layout(const struct attrs *a)
{
    return *a->out_layout ? a->out_layout : a->data_layout;
}

/* ---- type ---- */

static bt_status check_stated(bt_solver *s, const bt_relation_call *r,
                              const bt_tensor_parts *weight, const struct layout *kernel,
                              uint32_t nspace)
{
    const struct attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    if (a->channels != BT_NONE) {
        const bt_type *channels = bt_dim(store, a->channels);
        if (!channels)
            return bt_no_memory();
        BT_TRY(bt_relation_unify(s, r, weight->dims[kernel->first], channels,
                                 "rows of weight and channels"));
    }
    return window_check(s, r, &a->kernel_size, weight, kernel, nspace);
}

/* Channels of data are groups times those of a weight; channels of the result divide into
 * groups. */
static bt_status check_groups(bt_solver *s, const bt_relation_call *r,
                              const bt_type *channels, const bt_type *rows,
                              const bt_type *columns)
{
    const struct attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    const bt_type *groups = bt_dim(store, a->groups), *known;
    if (a->groups == 1)
        return bt_relation_unify(s, r, channels, columns,
                                 "channels of data and of weight");
    BT_TRY(bt_relation_dim(s, r, columns, &known));
    const bt_type *all = bt_dim_scale(store, known, a->groups, 0);
    if (!groups || !all)
        return bt_no_memory();
    BT_TRY(bt_relation_unify(s, r, channels, all,
                             "channels of data and groups times those of weight"));
    return bt_relation_require(s, r, BT_CHECK_DIVISIBLE, rows, groups,
                               "rows of weight and groups");
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    uint32_t n = window_nspace(r->op);
    struct layout in, kernel, out;
    bt_tensor_parts data, weight;
    int64_t strides[MAX_SPATIAL], dilation[MAX_SPATIAL], padding[2 * MAX_SPATIAL];
    const bt_type *dims[2 + MAX_SPATIAL];
    BT_TRY(layout_relate(s, r, "data_layout", a->data_layout, "NC", n, &in));
    BT_TRY(layout_relate(s, r, "kernel_layout", a->kernel_layout, "OI", n, &kernel));
    BT_TRY(layout_relate(s, r, "out_layout", out_layout(a), "NC", n, &out));
    BT_TRY(space_list(s, r, "strides", &a->strides, n, strides));
    BT_TRY(space_list(s, r, "dilation", &a->dilation, n, dilation));
    BT_TRY(space_padding(s, r, &a->padding, n, padding));
    BT_TRY(bt_relation_tensor_rank(s, r, 0, n + 2, &data));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, n + 2, &weight));
    BT_TRY(check_stated(s, r, &weight, &kernel, n));
    BT_TRY(codes_relate(s, r, weight.dims[kernel.first]));
    BT_TRY(check_groups(s, r, data.dims[in.second], weight.dims[kernel.first],
                        weight.dims[kernel.second]));
    dims[out.first] = data.dims[in.first];
    dims[out.second] = weight.dims[kernel.first];
    for (uint32_t i = 0; i < n; i++) {
        struct window w = { .kernel = weight.dims[kernel.space[i]],
                            .stride = strides[i],
                            .dilation = dilation[i],
                            .before = padding[i],
                            .after = padding[n + i] };
        BT_TRY(window_dim(s, r, data.dims[in.space[i]], &w, &dims[out.space[i]]));
    }
    const bt_type *dtype = codes_sums(s, r, a->out_dtype, data.dtype);
    return bt_relation_result(
        s, r,
        dtype ? bt_type_tensor_layout(store, bt_type_shape(store, n + 2, dims), dtype,
                                      r->layout)
              : NULL);
}

/* ---- formula ---- */

static void write_space(bt_formula *f, const struct layout *in,
                        const struct layout *kernel, const struct layout *out,
                        const struct attrs *a, uint32_t n)
{
    int64_t strides[MAX_SPATIAL], dilation[MAX_SPATIAL], padding[2 * MAX_SPATIAL];
    (void)bt_ints_expand(&a->strides, n, strides);
    (void)bt_ints_expand(&a->dilation, n, dilation);
    (void)bt_ints_expand(&a->padding, 2 * n, padding);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t size_axis = in->space[i], kernel_axis = kernel->space[i];
        bt_formula_set(f, "y", out->space[i],
                       "p%u in floordiv(extent(data, %u) + %lld - (extent(weight, %u) - "
                       "1)*%lld, %lld) + 1",
                       i, size_axis, (long long)(padding[i] + padding[n + i] - 1),
                       kernel_axis, (long long)dilation[i], (long long)strides[i]);
        bt_formula_set(f, "data", size_axis, "p%u*%lld + r%u*%lld - %lld", i,
                       (long long)strides[i], i, (long long)dilation[i],
                       (long long)padding[i]);
        bt_formula_set(f, "weight", kernel_axis, "r%u", i);
        bt_formula_item(f, "r", "r%u in extent(weight, %u)", i, kernel_axis);
    }
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t n = window_nspace(call->op);
    struct layout in, kernel, result;
    char dtype[BT_DTYPE_NAME_SIZE] = "t";
    layout_read(a->data_layout, 'N', 'C', n, &in);
    layout_read(a->kernel_layout, 'O', 'I', n, &kernel);
    layout_read(out_layout(a), 'N', 'C', n, &result);
    if (a->out_dtype || codes_are(call->op))
        bt_dtype_name(bt_tensor_dtype(call->result), dtype, sizeof(dtype));
    write_space(f, &in, &kernel, &result, a, n);
    bt_formula_set(f, "y", result.first, "n in extent(data, %u)", in.first);
    bt_formula_set(f, "y", result.second, "o in extent(weight, %u)", kernel.first);
    bt_formula_set(f, "data", in.first, "n");
    if (a->groups == 1)
        bt_formula_set(f, "data", in.second, "i");
    else
        bt_formula_set(
            f, "data", in.second,
            "floordiv(o, floordiv(extent(weight, %u), %lld))*extent(weight, %u) + i",
            kernel.first, (long long)a->groups, kernel.second);
    bt_formula_set(f, "weight", kernel.first, "o");
    bt_formula_set(f, "weight", kernel.second, "i");
    codes_factor(f, call, "data", "data", dtype, &(struct codes_zero){ 2, NULL, 0 });
    codes_factor(f, call, "weight", "weight", dtype, &(struct codes_zero){ 3, "o", 0 });
    // padding is left out, not multiplied: the sum stays one of products
    bt_formula_add(f,
                   "y: %s[$y] = sum(i in extent(weight, %u), $r: $[ * ]factors else 0)",
                   dtype, kernel.second);
}

/* ---- cost ---- */

static bt_status estimate(bt_ctx *ctx, const bt_formula_call *call,
                          int64_t *multiply_adds, int64_t *nbytes)
{
    uint32_t rank, weight_rank;
    int64_t dims[BT_MAX_RANK], weight[BT_MAX_RANK], total = 1;
    struct layout kernel;
    const struct attrs *a = call->attrs;
    if (!bt_tensor_static(call->result, &rank, dims) ||
        !bt_tensor_static(call->args[1], &weight_rank, weight) ||
        !layout_read(a->kernel_layout, 'O', 'I', window_nspace(call->op), &kernel))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s: the cost of symbolic shapes is not known", call->op->name);
    for (uint32_t i = 0; i < rank; i++) {
        if (!bt_mul_int64(total, dims[i], &total))
            total = INT64_MAX;
    }
    for (uint32_t i = 0; i < weight_rank; i++) {
        if (i != kernel.first && !bt_mul_int64(total, weight[i], &total))
            total = INT64_MAX;
    }
    *multiply_adds = total;
    *nbytes = 0;
    for (uint32_t i = 0; i <= call->narg; i++) {
        int64_t part = bt_type_nbytes(i < call->narg ? call->args[i] : call->result);
        if (part < 0 || !bt_add_int64(*nbytes, part, nbytes))
            *nbytes = INT64_MAX;
    }
    return NULL;
}

static const bt_cost_facet cost = { estimate };

/* ---- layout ---- */

static bt_status choose_layout(bt_ctx *ctx, bt_store *store, const bt_call *call,
                               const bt_layout *const *wanted, const bt_layout **in,
                               const bt_layout **out)
{
    const struct attrs *a = call->attrs;
    const struct conv_layouts axes = { .data = a->data_layout,
                                       .kernel = a->kernel_layout,
                                       .out = out_layout(a),
                                       .ins_divided = a->groups > 1 };
    return conv_layouts_choose(ctx, store, call, &axes, wanted, in, out);
}

static const bt_layout_facet layout = { .choose = choose_layout };

static const bt_channels_facet channels = { .data = "data_layout",
                                            .weight = "kernel_layout",
                                            .result = "out_layout",
                                            .width = "channels",
                                            .groups = "groups" };

/* ---- rows ---- */

// clang-format off
#define CODES(rank_, axes_, cases_)                                                                            \
    {                                                                                                          \
        .name = "qnn.conv" #rank_, .revision = 1, .source = "Relay, qnn.conv2d; ONNX ConvInteger-10",          \
        .doc = "Convolves codes along " axes_ ", without their zero points; sums are integers.\n"              \
               "The result stands for itself times both scales.",                                              \
        .inputs = code_inputs, .attrs = attrs##rank_, .attrs_nbytes = sizeof(struct attrs),                    \
        .relate = relate, .write_formula = write_formula,                                                      \
        .facets = BT_FACET_ROWS(BT_FACET("cost", cost), BT_FACET("layout", layout), BT_CASES(cases_)),         \
    }
static const bt_op ops[] = {
    {
        .name = "nn.conv1d", .revision = 1, .source = "Relay, nn.conv1d",
        .doc = "Convolves along one axis.\nPositions outside the data are left out.\n"
               "A target may multiply zeros there: NaN, where a weight is not finite.",
        .inputs = inputs, .attrs = attrs1d, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_FACET("cost", cost), BT_FACET("layout", layout), BT_FACET("channels", channels), BT_CASES(
            "float32[2, 3, 7], float32[4, 3, 3]\n"
            "float32[1, 4, 8], float32[4, 2, 3] | groups=2, padding=[1, 2]\n"
            "float64[1, 5, 2], float64[3, 2, 2] | data_layout=\"NWC\", kernel_layout=\"WIO\", strides=[2]")),
    },
    {
        .name = "nn.conv2d", .revision = 1, .source = "Relay, nn.conv2d",
        .doc = "Convolves along two axes.\nPositions outside the data are left out.\n"
               "A target may multiply zeros there: NaN, where a weight is not finite.",
        .inputs = inputs, .attrs = attrs2d, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_FACET("cost", cost), BT_FACET("layout", layout), BT_FACET("channels", channels), BT_CASES(
            "float32[1, 3, 7, 7], float32[4, 3, 3, 3]\n"
            "float32[2, 3, 5, 6], float32[4, 3, 3, 2] | padding=[1, 0, 2, 1], strides=[2, 1]\n"
            "float32[1, 4, 6, 6], float32[8, 1, 3, 3] | groups=4, padding=[1, 1], dilation=[2, 1]\n"
            "float32[1, 5, 5, 3], float32[3, 3, 3, 2] | data_layout=\"NHWC\", kernel_layout=\"HWIO\"\n"
            "int8[1, 3, 4, 4], int8[2, 3, 1, 1] | out_dtype=\"int32\"\n"
            "float32[0, 3, 4, 4], float32[2, 3, 1, 1]")),
    },
    {
        .name = "nn.conv3d", .revision = 1, .source = "Relay, nn.conv3d",
        .doc = "Convolves along three axes.\nPositions outside the data are left out.\n"
               "A target may multiply zeros there: NaN, where a weight is not finite.",
        .inputs = inputs, .attrs = attrs3d, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_FACET("cost", cost), BT_FACET("layout", layout), BT_FACET("channels", channels), BT_CASES(
            "float32[1, 2, 4, 5, 4], float32[3, 2, 2, 3, 1]\n"
            "float32[1, 2, 4, 4, 4], float32[2, 1, 3, 3, 3] | groups=2, padding=[1], strides=[1, 2, 1]")),
    },
    CODES(1d, "one axis",
        "uint8[1, 4, 8], int8[4, 2, 3], uint8[] = 128, int8[] = 0 | groups=2, padding=[1, 2]"),
    CODES(2d, "two axes",
        "uint8[2, 3, 5, 6], int8[4, 3, 3, 2], int32[] = 128, int32[4] = -9..9, float32[] = 0.1, float32[4] = 0.1..0.2 | padding=[1, 0, 2, 1], strides=[2, 1]\n"
        "int8[1, 4, 6, 6], int8[8, 1, 3, 3], int32[] = -3, int32[] = 5 | groups=4, padding=[1, 1], dilation=[2, 1]\n"
        "int8[1, 5, 5, 3], uint8[3, 3, 3, 2], int8[] = 7, uint8[2] = 100..200 | data_layout=\"NHWC\", kernel_layout=\"HWIO\"\n"
        "int16[1, 3, 4, 4], int8[2, 3, 1, 1], int16[] = 0, int8[] = 0 | out_dtype=\"int64\""),
    CODES(3d, "three axes",
        "uint8[1, 2, 4, 4, 4], uint8[2, 1, 3, 3, 3], uint8[] = 128, uint8[] = 128 | groups=2, padding=[1], strides=[1, 2, 1]"),
    { 0 },
};
// clang-format on
const bt_table bt_ops_nn_conv[] = { BT_OPS(ops), { 0 } };
