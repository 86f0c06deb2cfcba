/* Quantized numbers: what they stand for, by arithmetic. */
#include "quantize.h"
#include "window.h"

/* ---- scales ---- */

/* A scale or zero point as it lies on the data: one for all; one for each element of an
 * axis; or, in blocks, one for each `block` elements of it. */
static const bt_value *spread(bt_onnx_node *n, const bt_value *scale, const bt_value *x,
                              uint32_t axis, int64_t block)
{
    uint32_t rank = value_rank(n, x), scale_rank = value_rank(n, scale);
    int64_t size = value_dim(n, x, axis);
    if (n->status ||
        (scale_rank == 0 || (scale_rank == 1 && value_dim(n, scale, 0) == 1)))
        return n->status ? NULL : as_scalar(n, scale);
    if (!block && scale_rank == 1)
        return along(n, scale, axis, rank);
    if (block < 1 || scale_rank != rank || size < 0) {
        node_fail(
            n, BT_ERR_FORMAT,
            "the scale has rank %u, the data %u; a number, a vector along the axis, "
            "or blocks in the data's rank are known",
            scale_rank, rank);
        return NULL;
    }
    const char *attrs = node_format(n, "repeats=%lld, axis=%u", (long long)block, axis);
    return sliced(n, emit1(n, "repeat", attrs, scale), axis, 0, size);
}

/* The axis counts only where there is a scale for each of its elements. */
static uint32_t scale_axis(bt_onnx_node *n, const bt_value *x, const bt_value *scale)
{
    int64_t axis = node_int(n, "axis", 1);
    return value_rank(n, scale) ? node_axis(n, axis, value_rank(n, x)) : 0;
}

static bt_dtype dtype_attr(bt_onnx_node *n, const char *name, bt_dtype absent)
{
    int64_t type = node_int(n, name, 0);
    bt_dtype dtype = type ? onnx_dtype(type) : absent;
    if (!dtype)
        node_fail(n, BT_ERR_UNSUPPORTED, "%s %s is not supported", name,
                  onnx_type_name(type));
    return dtype;
}

static void quantize_linear(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *scale = node_need(n, 1), *zero = node_in(n, 2);
    if (n->status)
        return;
    bt_dtype dtype = zero ? value_dtype(zero) : dtype_attr(n, "output_dtype", BT_UINT8);
    int64_t block = node_int(n, "block_size", 0);
    uint32_t axis = value_rank(n, scale) == 1 && value_dim(n, scale, 0) == 1
                        ? 0
                        : scale_axis(n, x, scale);
    scale = spread(n, cast_to(n, scale, BT_FLOAT32), x, axis, block);
    zero = zero ? spread(n, zero, x, axis, block) : NULL;
    node_out(n, 0, quantized(n, cast_to(n, x, BT_FLOAT32), scale, zero, dtype));
}

static void dequantize_linear(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *scale = node_need(n, 1), *zero = node_in(n, 2);
    if (n->status)
        return;
    bt_dtype dtype = dtype_attr(n, "output_dtype", value_dtype(scale));
    int64_t block = node_int(n, "block_size", 0);
    uint32_t axis = value_rank(n, scale) == 1 && value_dim(n, scale, 0) == 1
                        ? 0
                        : scale_axis(n, x, scale);
    scale = spread(n, cast_to(n, scale, BT_FLOAT32), x, axis, block);
    zero = zero ? spread(n, zero, x, axis, block) : NULL;
    const bt_value *y = dequantized(n, x, scale, zero);
    node_out(n, 0, cast_to(n, y, dtype));
}

static void dynamic_quantize_linear(bt_onnx_node *n)
{
    const bt_value *scale, *zero,
        *y = quantized_by_range(n, node_need(n, 0), &scale, &zero);
    node_out(n, 0, y);
    node_out(n, 1, scale);
    node_out(n, 2, zero);
}

/* ---- products of integers ---- */

static void matmul_integer(bt_onnx_node *n)
{
    const bt_value *a = centred(n, node_need(n, 0), of_rows(n, node_in(n, 2))),
                   *b = centred(n, node_need(n, 1), node_in(n, 3));
    node_out(n, 0, integer_product(n, a, b));
}

static const bt_value *integer_conv(bt_onnx_node *n, const bt_value *x, const bt_value *w)
{
    static const char *const ops[] = { "nn.conv1d", "nn.conv2d", "nn.conv3d" };
    struct window window;
    read_window(n, x, w, &window);
    if (n->status)
        return NULL;
    const char *attrs =
        node_format(n, "%s, groups=%lld, kernel_size=%s, out_dtype=\"int32\"",
                    window_attrs(n, &window), (long long)node_int(n, "group", 1),
                    format_ints(n, window.n, window.kernel));
    return emit2(n, ops[window.n - 1], attrs, x, w);
}

/* Scales and zero points of a weight's output channels lie along its axis 0, and along
 * axis 1 of the result. */
static const bt_value *of_channels(bt_onnx_node *n, const bt_value *x, uint32_t axis,
                                   uint32_t rank)
{
    return x && value_rank(n, x) == 1 && rank ? along(n, x, axis, rank) : x;
}

static void conv_integer(bt_onnx_node *n)
{
    const bt_value *weight = node_need(n, 1);
    uint32_t rank = weight ? value_rank(n, weight) : 0;
    const bt_value *zero = of_channels(n, node_in(n, 3), 0, rank);
    const bt_value *x = node_need(n, 0), *x_zero = node_in(n, 2);
    if (n->status)
        return;
    node_out(n, 0,
             integer_conv(n, centred(n, x, x_zero ? as_scalar(n, x_zero) : NULL),
                          centred(n, weight, zero)));
}

/* Inputs: a, its scale and zero point, b, its own, and those of the result. */
static void qlinear_matmul(bt_onnx_node *n)
{
    const bt_value *in[8];
    for (uint32_t i = 0; i < 8; i++)
        in[i] = node_need(n, i);
    if (n->status)
        return;
    const bt_value *sums = integer_product(n, centred(n, in[0], of_rows(n, in[2])),
                                           centred(n, in[3], in[5]));
    const bt_value *scale = times(n, cast_to(n, of_rows(n, in[1]), BT_FLOAT32),
                                  cast_to(n, in[4], BT_FLOAT32));
    node_out(n, 0, requantized(n, sums, scale, of_rows(n, in[6]), of_rows(n, in[7])));
}

static void qlinear_conv(bt_onnx_node *n)
{
    const bt_value *in[8], *bias = node_in(n, 8);
    for (uint32_t i = 0; i < 8; i++)
        in[i] = node_need(n, i);
    uint32_t rank = n->status ? 0 : value_rank(n, in[3]);
    if (n->status)
        return;
    const bt_value *sums =
        integer_conv(n, centred(n, in[0], as_scalar(n, in[2])),
                     centred(n, in[3], of_channels(n, in[5], 0, rank)));
    sums = bias ? emit2(n, "nn.bias_add", "axis=1", sums, bias) : sums;
    const bt_value *scale = times(n, as_scalar(n, in[1]), of_channels(n, in[4], 1, rank));
    node_out(n, 0, requantized(n, sums, scale, as_scalar(n, in[6]), as_scalar(n, in[7])));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.QuantizeLinear-10", quantize_linear, NULL }, { "ai.onnx.DequantizeLinear-10", dequantize_linear, NULL },
    { "ai.onnx.DynamicQuantizeLinear-11", dynamic_quantize_linear, NULL },
    { "ai.onnx.MatMulInteger-10", matmul_integer, NULL }, { "ai.onnx.ConvInteger-10", conv_integer, NULL },
    { "com.microsoft.QuantizeLinear-1", quantize_linear, NULL }, { "com.microsoft.DequantizeLinear-1", dequantize_linear, NULL },
    { "ai.onnx.QLinearMatMul-10", qlinear_matmul, NULL }, { "ai.onnx.QLinearConv-10", qlinear_conv, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_quantize[] = { BT_ONNX_OPERATORS(operators),
                                                      { 0 } };
