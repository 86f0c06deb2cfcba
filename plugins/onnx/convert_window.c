/* Convolution and pooling. */
#include "arith.h"

#include <string.h>

#include "window.h"

/* ---- convolution ---- */

/* Adds a vector along axis 1. */
static const bt_value *add_bias(bt_onnx_node *n, const bt_value *x, const bt_value *bias)
{
    return bias ? emit2(n, "nn.bias_add", "axis=1", x, bias) : x;
}

static const bt_value *convolved(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *weight = node_need(n, 1);
    struct window w;
    read_window(n, x, weight, &w);
    if (n->status)
        return NULL;
    const char *attrs =
        node_format(n, "%s, groups=%lld, kernel_size=%s", window_attrs(n, &w),
                    (long long)node_int(n, "group", 1), format_ints(n, w.n, w.kernel));
    const char *op = node_format(n, "nn.conv%s", spatial_rank(&w));
    return add_bias(n, emit2(n, op, attrs, x, weight), node_in(n, 2));
}

static void conv(bt_onnx_node *n)
{
    node_out(n, 0, convolved(n));
}

/* Of ONNX Runtime: input 3 is added, then an activation is applied. */
static void fused_conv(bt_onnx_node *n)
{
    const bt_value *y = convolved(n), *added = node_in(n, 3);
    const char *name = node_text(n, "activation", "");
    const struct onnx_attr *params = node_attr(n, "activation_params", ATTR_FLOATS);
    uint32_t nparam = params ? params->floats.len : 0;
    y = added ? plus(n, y, added) : y;
    if (strcmp(name, "Relu") == 0)
        y = applied(n, "nn.relu", y);
    else if (strcmp(name, "Tanh") == 0 || strcmp(name, "Sigmoid") == 0)
        y = applied(n, *name == 'T' ? "tanh" : "sigmoid", y);
    else if (strcmp(name, "LeakyRelu") == 0 && nparam == 1)
        y = emit1(n, "nn.leaky_relu",
                  node_format(n, "alpha=%.9g", (double)params->floats.at[0]), y);
    else if (strcmp(name, "Clip") == 0 && nparam == 2)
        y = clipped(n, y, (double)params->floats.at[0], (double)params->floats.at[1]);
    else if (*name)
        node_fail(n, BT_ERR_UNSUPPORTED, "activation %s of %u numbers is not supported",
                  name, nparam);
    node_out(n, 0, y);
}

/* Each channel by itself, of what came before: the last places are handed to the next call. */
static void causal_conv(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *weight = node_need(n, 1), *past = node_in(n, 3);
    const char *name = node_text(n, "activation", "none");
    int is_silu = strcmp(name, "silu") == 0 || strcmp(name, "swish") == 0;
    if (value_rank(n, x) != 3 || value_rank(n, weight) != 3)
        node_fail(n, BT_ERR_FORMAT, "data has rank %u, the weight %u; both need 3",
                  value_rank(n, x), value_rank(n, weight));
    int64_t size = value_dim(n, weight, 2), channels = value_dim(n, weight, 0);
    if (size < 1 || channels < 1)
        node_fail(n, BT_ERR_UNSUPPORTED, "the dims of the weight are symbolic, or 0");
    if (!is_silu && strcmp(name, "none") != 0)
        node_fail(n, BT_ERR_ATTRIBUTE, "activation %s is not known", name);
    if (n->status)
        return;
    const bt_type *dims[3] = { dim_of(n, x, 0), dim_of(n, x, 1),
                               dim_number(n, size - 1) };
    past = past ? past : broadcast(n, scalar_like(n, x, 0), 3, dims);
    const bt_value *all = joined(n, 2, 2, (const bt_value *[]){ past, x });
    const char *attrs = node_format(n, "groups=%lld, kernel_size=[%lld]",
                                    (long long)channels, (long long)size);
    const bt_value *y =
        add_bias(n, emit2(n, "nn.conv1d", attrs, all, weight), node_in(n, 2));
    node_out(n, 0, is_silu ? times(n, y, applied(n, "sigmoid", y)) : y);
    node_out(n, 1,
             size > 1 ? sliced(n, all, 2, 1 - size, INT32_MAX) : sliced(n, all, 2, 0, 0));
}

/* ---- transposed convolution ---- */

/* What is to be cut off the result along an axis without pads, where output_shape or
 * auto_pad states its size: with SAME_UPPER and SAME_LOWER a stride for each element. */
static int64_t left_over(bt_onnx_node *n, const bt_value *x, const struct window *w,
                         uint32_t i, int64_t extra, int64_t shape)
{
    int64_t reach = (w->kernel[i] - 1) * w->dilations[i] + 1;
    int64_t size = value_dim(n, x, 2 + i);
    if (!shape)
        return reach + extra - w->strides[i];
    if (size < 0)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "output_shape needs the size of axis %u, which is symbolic: bind it "
                  "with --dim",
                  2 + i);
    if (!bt_mul_int64(w->strides[i], size - 1, &size) ||
        !bt_add_int64(size, extra + reach - shape, &size))
        node_fail(n, BT_ERR_LIMIT, "the size of axis %u overflows", 2 + i);
    return size;
}

/* Pads that give the result its size; the odd one at the begin unless SAME_UPPER. A size
 * beyond what there is without pads is reached by elements after the end. */
static void pads_from_shape(bt_onnx_node *n, const bt_value *x, const int64_t *shape,
                            int64_t *extra, struct window *w)
{
    int upper = w->auto_pad == PAD_SAME_UPPER;
    for (uint32_t i = 0; !n->status && i < w->n; i++) {
        int64_t total = left_over(n, x, w, i, extra[i], shape[i]), half = total / 2;
        w->pads[i] = total < 0 ? 0 : upper ? half : total - half;
        w->pads[w->n + i] = total < 0 ? 0 : total - w->pads[i];
        extra[i] -= total < 0 ? total : 0;
    }
}

static void conv_transpose(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *weight = node_need(n, 1);
    int64_t extra[MAX_SPATIAL], shape[MAX_SPATIAL];
    struct window w;
    read_stated_window(n, x, weight, &w);
    if (n->status)
        return;
    read_list(n, "output_padding", w.n, 0, extra);
    read_list(n, "output_shape", w.n, 0, shape);
    int has_shape = node_has(n, "output_shape");
    for (uint32_t i = 0; i < w.n; i++) {
        if (extra[i] < 0 || extra[i] > INT16_MAX)
            node_fail(n, BT_ERR_ATTRIBUTE, "output_padding has %lld; 0 to %d is expected",
                      (long long)extra[i], INT16_MAX);
        if (shape[i] < has_shape || shape[i] > INT32_MAX)
            node_fail(n, BT_ERR_ATTRIBUTE, "output_shape has %lld; 1 to %d is expected",
                      (long long)shape[i], INT32_MAX);
    }
    if (has_shape || w.auto_pad >= PAD_SAME_UPPER)
        pads_from_shape(n, x, shape, extra, &w);
    if (n->status)
        return;
    const char *attrs =
        node_format(n, "%s, groups=%lld, kernel_size=%s, output_padding=%s",
                    window_attrs(n, &w), (long long)node_int(n, "group", 1),
                    format_ints(n, w.n, w.kernel), format_ints(n, w.n, extra));
    const char *op = node_format(n, "nn.conv%s_transpose", spatial_rank(&w));
    node_out(n, 0, add_bias(n, emit2(n, op, attrs, x, weight), node_in(n, 2)));
}

/* ---- pooling ---- */

static void pool(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    struct window w;
    read_window(n, x, NULL, &w);
    if (!n->status && node_wants(n, 1))
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "the positions of the greatest elements (output 1) are not supported");
    if (!n->status)
        node_out(n, 0,
                 pooled(n, n->row->arg, x, &w,
                        strcmp(n->row->arg, "avg") == 0 &&
                            node_int(n, "count_include_pad", 0)));
}

/* The order of a norm: a float in operator set 1. */
static double norm_order(bt_onnx_node *n)
{
    double p = n->opset < 2 ? node_float(n, "p", 2) : (double)node_int(n, "p", 2);
    if (!(p > 0))
        node_fail(n, BT_ERR_ATTRIBUTE, "p must be greater than 0");
    return p;
}

static const bt_value *raised(bt_onnx_node *n, const bt_value *x, double power)
{
    return power == 1   ? x
           : power == 2 ? squared(n, x)
                        : emit2(n, "power", NULL, x, scalar_like(n, x, power));
}

/* Zeros behind the data, so that the windows that ceil_mode adds are whole. */
static void pad_for_ceil(bt_onnx_node *n, const bt_value *x, struct window *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t size = value_dim(n, x, 2 + i), stride = w->strides[i];
        int64_t before = w->pads[i], *after = &w->pads[w->n + i];
        int64_t reach = (w->kernel[i] - 1) * w->dilations[i] + 1;
        if (size < 0 || size > INT32_MAX) {
            node_fail(n, BT_ERR_UNSUPPORTED,
                      "ceil_mode needs the size of axis %u, which is symbolic or beyond "
                      "%d: bind it with --dim",
                      2 + i, INT32_MAX);
            return;
        }
        /* No window starts behind the data. */
        int64_t last = bt_ceildiv_int64(size + before + *after - reach, stride);
        if (last * stride > size + before - 1)
            last = bt_floordiv_int64(size + before - 1, stride);
        *after = last * stride + reach - size - before;
        *after = *after > 0 ? *after : 0;
    }
    w->ceil = 0;
}

/* The sum over a window is the mean times the window's size, where padding counts. */
static void lp_pool(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    double p = norm_order(n);
    struct window w;
    read_window(n, x, NULL, &w);
    if (n->status)
        return;
    if (w.ceil)
        pad_for_ceil(n, x, &w);
    const bt_value *sum =
        times_number(n, pooled(n, "avg", raised(n, applied(n, "abs", x), p), &w, 1),
                     (double)window_nelem(&w));
    node_out(n, 0, raised(n, sum, 1 / p));
}

static void global_pool(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    uint32_t rank = value_rank(n, x);
    int is_average = strcmp(n->row->arg, "avg") == 0;
    if (rank < 2)
        node_fail(n, BT_ERR_FORMAT, "data of rank %u; at least 2 is needed", rank);
    if (n->status)
        return;
    if (rank == 4)
        node_out(n, 0, applied(n, node_format(n, "nn.global_%s_pool2d", n->row->arg), x));
    else
        node_out(n, 0, reduced_range(n, is_average ? "mean" : "max", x, 2, rank));
}

static void global_lp_pool(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    double p = norm_order(n);
    uint32_t rank = value_rank(n, x);
    if (n->status)
        return;
    const bt_value *sum =
        reduced_range(n, "sum", raised(n, applied(n, "abs", x), p), 2, rank);
    node_out(n, 0, raised(n, sum, 1 / p));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.CausalConvWithState-27", causal_conv, NULL },
    { "ai.onnx.Conv-1", conv, NULL }, { "com.microsoft.FusedConv-1", fused_conv, NULL }, { "ai.onnx.ConvTranspose-1", conv_transpose, NULL }, { "ai.onnx.MaxPool-1", pool, "max" }, { "ai.onnx.AveragePool-1", pool, "avg" },
    { "ai.onnx.GlobalAveragePool-1", global_pool, "avg" }, { "ai.onnx.GlobalMaxPool-1", global_pool, "max" },
    { "ai.onnx.LpPool-1", lp_pool, NULL }, { "ai.onnx.GlobalLpPool-1", global_lp_pool, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_window[] = { BT_ONNX_OPERATORS(operators), { 0 } };
