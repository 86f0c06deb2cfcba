/*
 * nn.conv1d_transpose, nn.conv2d_transpose, nn.conv3d_transpose: what takes the result of
 * a convolution back to the shape of its data, by the same weights; qnn.conv2d_transpose: of
 * codes, from which their zero points are subtracted.
 *     y[n, o, p, ..] = sum(i, q, r, .. | q*stride + r*dilation - pad == p:
 *                          data[n, i, q, ..] * weight[i, o, r, ..])
 *     extent of p    = (extent of q - 1)*stride + (extent of r - 1)*dilation + 1
 *                      - pads + output_padding
 * data    t[n, c, space..] in data_layout
 * weight  t[c, o / groups, window..] in kernel_layout
 * result  in data_layout, or out_layout, its type in the layout that is wanted; of
 *         out_dtype, or t, of codes int32: then also the type of products and sums
 * source  Relay's operators of the same names; Dumoulin, Visin 2016
 */
#include "codes.h"
#include "window.h"

struct attrs {
    int64_t channels;
    bt_ints kernel_size, strides, padding, output_padding, dilation;
    int64_t groups;
    const char *data_layout, *kernel_layout, *out_layout;
    const bt_type *out_dtype;
};

// clang-format off
#define TRANSPOSE_ATTRS(data_layout_, kernel_layout_)                                                            \
    {                                                                                                            \
        BT_ATTR(struct attrs, channels, INT, "None", "channels of the result, checked against weight"),          \
        BT_ATTR(struct attrs, kernel_size, INTS, "None", "size of the window, checked against weight"),          \
        BT_ATTR_RANGE(struct attrs, strides, INTS, "[1]", 1, INT32_MAX, "steps between elements of data"),       \
        BT_ATTR_RANGE(struct attrs, padding, INTS, "[0]", 0, INT32_MAX,                                          \
                      "elements cut from the result: one number, one an axis, or befores then afters"),          \
        BT_ATTR_RANGE(struct attrs, output_padding, INTS, "[0]", 0, INT32_MAX,                                   \
                      "elements added behind each axis of the result"),                                          \
        BT_ATTR_RANGE(struct attrs, dilation, INTS, "[1]", 1, INT32_MAX, "distance between weights"),            \
        BT_ATTR_RANGE(struct attrs, groups, INT, "1", 1, INT32_MAX,                                              \
                      "channels are split into this many, each with weights of its own"),                        \
        BT_ATTR(struct attrs, data_layout, STRING, data_layout_, "order of data's axes"),                        \
        BT_ATTR(struct attrs, kernel_layout, STRING, kernel_layout_, "order of weight's axes"),                  \
        BT_ATTR(struct attrs, out_layout, STRING, "", "order of the result's axes; empty: data_layout"),                                    \
        BT_ATTR(struct attrs, out_dtype, DTYPE, "None", "element type of products, sums and result"),            \
        { 0 },                                                                                                   \
    }
// clang-format on
static const bt_attr attrs1d[] = TRANSPOSE_ATTRS("NCW", "IOW");
static const bt_attr attrs2d[] = TRANSPOSE_ATTRS("NCHW", "IOHW");
static const bt_attr attrs3d[] = TRANSPOSE_ATTRS("NCDHW", "IODHW");

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:number[..]", .doc = "batch, channels, space" },
    { .name = "weight",
      .type = "t[..]",
      .doc = "channels in, channels out of a group, window" },
    { 0 },
};
static const bt_op_input code_inputs[] = {
    { .name = "data", .type = "t:integer[..]", .doc = "batch, channels, space" },
    { .name = "weight",
      .type = "w:integer[..]",
      .doc = "channels in, channels out of a group, window" },
    CODES_INPUTS("input", "kernel"),
};

static const char *out_layout(const struct attrs *a)
{
    return *a->out_layout ? a->out_layout : a->data_layout;
}

/* ---- type ---- */

static bt_status check_channels(bt_solver *s, const bt_relation_call *r,
                                const bt_type *of_data, const bt_type *of_weight,
                                const bt_type *out)
{
    const struct attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    const bt_type *groups = bt_dim(store, a->groups), *known;
    BT_TRY(bt_relation_unify(s, r, of_data, of_weight, "channels of data and of weight"));
    if (a->channels != BT_NONE) {
        const bt_type *channels = bt_dim(store, a->channels);
        if (!channels)
            return bt_no_memory();
        BT_TRY(bt_relation_unify(s, r, out, channels,
                                 "channels of weight, times groups, and channels"));
    }
    if (a->groups == 1)
        return NULL;
    BT_TRY(bt_relation_dim(s, r, of_data, &known));
    return groups ? bt_relation_require(s, r, BT_CHECK_DIVISIBLE, known, groups,
                                        "channels of data and groups")
                  : bt_no_memory();
}

/* (size - 1)*stride + (kernel - 1)*dilation + 1 + rest */
static bt_status spread_dim(bt_solver *s, const bt_relation_call *r, const bt_type *size,
                            const struct window *w, int64_t rest, const bt_type **out)
{
    bt_store *store = bt_relation_store(s);
    const bt_type *known, *kernel, *zero = bt_dim(store, 0);
    int64_t constant = 1 + rest - w->stride - w->dilation;
    BT_TRY(bt_relation_dim(s, r, size, &known));
    BT_TRY(bt_relation_dim(s, r, w->kernel, &kernel));
    known = bt_dim_scale(store, known, w->stride, constant);
    kernel = bt_dim_scale(store, kernel, w->dilation, 0);
    *out = known && kernel && zero ? bt_dim_add(store, known, kernel) : NULL;
    return *out ? bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, zero, *out,
                                      "nothing and an axis of the result")
                : bt_no_memory();
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    uint32_t n = window_nspace(r->op);
    struct layout in, kernel, out;
    bt_tensor_parts data, weight;
    int64_t strides[MAX_SPATIAL], dilation[MAX_SPATIAL], extra[MAX_SPATIAL],
        padding[2 * MAX_SPATIAL];
    const bt_type *dims[2 + MAX_SPATIAL], *channels;
    BT_TRY(layout_relate(s, r, "data_layout", a->data_layout, "NC", n, &in));
    BT_TRY(layout_relate(s, r, "kernel_layout", a->kernel_layout, "IO", n, &kernel));
    BT_TRY(layout_relate(s, r, "out_layout", out_layout(a), "NC", n, &out));
    BT_TRY(space_list(s, r, "strides", &a->strides, n, strides));
    BT_TRY(space_list(s, r, "dilation", &a->dilation, n, dilation));
    BT_TRY(space_list(s, r, "output_padding", &a->output_padding, n, extra));
    BT_TRY(space_padding(s, r, &a->padding, n, padding));
    BT_TRY(bt_relation_tensor_rank(s, r, 0, n + 2, &data));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, n + 2, &weight));
    BT_TRY(window_check(s, r, &a->kernel_size, &weight, &kernel, n));
    BT_TRY(bt_relation_dim(s, r, weight.dims[kernel.second], &channels));
    dims[out.first] = data.dims[in.first];
    dims[out.second] = bt_dim_scale(store, channels, a->groups, 0);
    if (!dims[out.second])
        return bt_no_memory();
    BT_TRY(check_channels(s, r, data.dims[in.second], weight.dims[kernel.first],
                          dims[out.second]));
    BT_TRY(codes_relate(s, r, dims[out.second]));
    for (uint32_t i = 0; i < n; i++) {
        struct window w = { .kernel = weight.dims[kernel.space[i]],
                            .stride = strides[i],
                            .dilation = dilation[i] };
        BT_TRY(spread_dim(s, r, data.dims[in.space[i]], &w,
                          extra[i] - padding[i] - padding[n + i], &dims[out.space[i]]));
    }
    const bt_type *dtype = codes_sums(s, r, a->out_dtype, data.dtype);
    return bt_relation_result(
        s, r,
        dtype ? bt_type_tensor_layout(store, bt_type_shape(store, n + 2, dims), dtype,
                                      r->layout)
              : NULL);
}

/* ---- formula ---- */

/* Axes of space of the three arrays, and the equality between them. */
static void write_space(bt_formula *f, const struct attrs *a, uint32_t n,
                        const struct layout *in, const struct layout *kernel,
                        const struct layout *out)
{
    int64_t strides[MAX_SPATIAL], dilation[MAX_SPATIAL], extra[MAX_SPATIAL],
        padding[2 * MAX_SPATIAL];
    (void)bt_ints_expand(&a->strides, n, strides);
    (void)bt_ints_expand(&a->dilation, n, dilation);
    (void)bt_ints_expand(&a->output_padding, n, extra);
    (void)bt_ints_expand(&a->padding, 2 * n, padding);
    for (uint32_t i = 0; i < n; i++) {
        bt_formula_set(f, "y", out->space[i],
                       "p%u in extent(data, %u)*%lld + extent(weight, %u)*%lld + %lld", i,
                       in->space[i], (long long)strides[i], kernel->space[i],
                       (long long)dilation[i],
                       (long long)(1 + extra[i] - padding[i] - padding[n + i] -
                                   strides[i] - dilation[i]));
        bt_formula_set(f, "data", in->space[i], "q%u", i);
        bt_formula_set(f, "weight", kernel->space[i], "r%u", i);
        bt_formula_item(f, "q", "q%u in extent(data, %u), r%u in extent(weight, %u)", i,
                        in->space[i], i, kernel->space[i]);
        bt_formula_item(f, "where", "q%u*%lld + r%u*%lld - %lld == p%u", i,
                        (long long)strides[i], i, (long long)dilation[i],
                        (long long)padding[i], i);
    }
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t n = window_nspace(call->op);
    struct layout in, kernel, result;
    char dtype[BT_DTYPE_NAME_SIZE] = "t";
    layout_read(a->data_layout, 'N', 'C', n, &in);
    layout_read(a->kernel_layout, 'I', 'O', n, &kernel);
    layout_read(out_layout(a), 'N', 'C', n, &result);
    if (a->out_dtype || codes_are(call->op))
        bt_dtype_name(bt_tensor_dtype(call->result), dtype, sizeof(dtype));
    write_space(f, a, n, &in, &kernel, &result);
    bt_formula_set(f, "y", result.first, "n in extent(data, %u)", in.first);
    bt_formula_set(f, "y", result.second, "o in extent(weight, %u)*%lld", kernel.second,
                   (long long)a->groups);
    bt_formula_set(f, "data", in.first, "n");
    if (a->groups == 1) {
        bt_formula_set(f, "data", in.second, "i");
        bt_formula_set(f, "weight", kernel.first, "i");
        bt_formula_set(f, "weight", kernel.second, "o");
    } else {
        bt_formula_item(f, "channel", "floordiv(o, extent(weight, %u))*nin + i",
                        kernel.second);
        bt_formula_set(f, "data", in.second, "$channel");
        bt_formula_set(f, "weight", kernel.first, "$channel");
        bt_formula_set(f, "weight", kernel.second, "mod(o, extent(weight, %u))",
                       kernel.second);
    }
    codes_factor(f, call, "data", "data", dtype, &(struct codes_zero){ 2, NULL, 0 });
    codes_factor(f, call, "weight", "weight", dtype, &(struct codes_zero){ 3, "o", 0 });
    bt_formula_add(f,
                   "nin = floordiv(extent(data, %u), %lld);\n"
                   "y: %s[$y] = sum(i in nin, $q | $[ && ]where: $[ * ]factors)",
                   in.second, (long long)a->groups, dtype);
}

/* ---- layout ---- */

static bt_status choose_layout(bt_ctx *ctx, bt_store *store, const bt_call *call,
                               const bt_layout *const *wanted, const bt_layout **in,
                               const bt_layout **out)
{
    const struct attrs *a = call->attrs;
    const struct conv_layouts axes = { .data = a->data_layout,
                                       .kernel = a->kernel_layout,
                                       .out = out_layout(a),
                                       .outs_divided = a->groups > 1 };
    return conv_layouts_choose(ctx, store, call, &axes, wanted, in, out);
}

static const bt_layout_facet layout = { .choose = choose_layout };

static const bt_channels_facet channels = { .data = "data_layout",
                                            .weight = "kernel_layout",
                                            .result = "out_layout",
                                            .width = "channels",
                                            .groups = "groups",
                                            .is_grouped_out = 1 };

/* ---- rows ---- */

// clang-format off
#define TRANSPOSE(rank_, axes_, cases_)                                                                          \
    {                                                                                                            \
        .name = "nn.conv" #rank_ "_transpose", .revision = 1, .source = "Relay, nn.conv" #rank_ "_transpose",    \
        .doc = "Spreads each element along " axes_ " by a window of weights and adds up.",                       \
        .inputs = inputs, .attrs = attrs##rank_, .attrs_nbytes = sizeof(struct attrs),                           \
        .relate = relate, .write_formula = write_formula,                                          \
        .facets = BT_FACET_ROWS(BT_CASES(cases_), BT_FACET("layout", layout), BT_FACET("channels", channels)),  \
    }
static const bt_op ops[] = {
    TRANSPOSE(1d, "one axis",
        "float32[2, 3, 5], float32[3, 4, 3]\n"
        "float32[1, 4, 6], float32[4, 2, 3] | groups=2, strides=[2], padding=[1, 0], output_padding=[1]\n"
        "float64[1, 5, 2], float64[3, 2, 4] | data_layout=\"NWC\", kernel_layout=\"WIO\", dilation=[2]"),
    TRANSPOSE(2d, "two axes",
        "float32[1, 3, 4, 5], float32[3, 2, 3, 3]\n"
        "float32[2, 3, 4, 3], float32[3, 4, 3, 2] | strides=[2, 3], padding=[1, 0, 0, 1], output_padding=[1, 0]\n"
        "float32[1, 4, 3, 3], float32[4, 3, 2, 2] | groups=2, dilation=[2, 1], strides=[3, 2], kernel_size=[2, 2], channels=6\n"
        "float32[1, 3, 4, 2], float32[3, 3, 5, 2] | data_layout=\"NHWC\", kernel_layout=\"HWOI\", out_layout=\"NCHW\"\n"
        "int8[1, 2, 3, 3], int8[2, 2, 2, 2] | out_dtype=\"int32\", strides=[2]\n"
        "float32[0, 3, 2, 2], float32[3, 2, 1, 1]"),
    TRANSPOSE(3d, "three axes",
        "float32[1, 2, 3, 2, 3], float32[2, 3, 2, 3, 1]\n"
        "float32[1, 2, 2, 3, 2], float32[2, 1, 3, 3, 3] | groups=2, padding=[1], strides=[1, 2, 2], output_padding=[0, 1, 0]"),
    {
        .name = "qnn.conv2d_transpose", .revision = 1, .source = "Relay, qnn.conv2d_transpose",
        .doc = "Spreads each code, without its zero point, by a window of weights and adds up.\n"
               "Sums are integers; the result stands for itself times both scales.",
        .inputs = code_inputs, .attrs = attrs2d, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_FACET("layout", layout), BT_CASES(
            "uint8[2, 3, 4, 3], int8[3, 4, 3, 2], uint8[] = 128, int8[] = 3, float32[] = 0.1, float32[] = 0.2 | strides=[2, 3], padding=[1, 0, 0, 1], output_padding=[1, 0]\n"
            "int8[1, 4, 3, 3], int8[4, 3, 2, 2], int32[] = -3, int32[6] = -9..9 | groups=2, dilation=[2, 1], strides=[3, 2]\n"
            "int8[1, 3, 4, 2], uint8[3, 3, 5, 2], int8[] = 0, uint8[5] | data_layout=\"NHWC\", kernel_layout=\"HWOI\"")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_nn_conv_transpose[] = { BT_OPS(ops), { 0 } };
