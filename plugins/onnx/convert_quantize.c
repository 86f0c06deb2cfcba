/* Quantized numbers, by operators qnn.*. */
#include "quantize.h"
#include "window.h"

static bt_dtype dtype_attr(bt_onnx_node *n, const char *name, bt_dtype absent)
{
    int64_t type = node_int(n, name, 0);
    bt_dtype dtype = type ? onnx_dtype(type) : absent;
    if (!dtype)
        node_fail(n, BT_ERR_UNSUPPORTED, "%s %s is not supported", name,
                  onnx_type_name(type));
    return dtype;
}

/* Where scales lie: the axis counts only where there is more than one. Zero points lie as
 * scales do. */
static const char *scale_attrs(bt_onnx_node *n, const bt_value *x, const bt_value *scale,
                               const bt_value *zero)
{
    const uint32_t rank = value_rank(n, scale);
    if (zero && value_rank(n, zero) != rank)
        node_fail(n, BT_ERR_TYPE, "scales have rank %u, and their zero points %u", rank,
                  value_rank(n, zero));
    return n->status || !rank
               ? NULL
               : node_format(n, "axis=%u, block_size=%lld",
                             node_axis(n, node_int(n, "axis", 1), value_rank(n, x)),
                             (long long)node_int(n, "block_size", 0));
}

/* What numbers are quantized to: integers of at most 16 bits, floats of at most 8. */
static int is_codes(bt_dtype dtype)
{
    const uint32_t class_ = BT_DTYPE_CLASS(dtype);
    return bt_dtype_is_float(dtype)
               ? BT_DTYPE_BITS(dtype) <= 8
               : (class_ == BT_CLASS_INT || class_ == BT_CLASS_UINT) &&
                     BT_DTYPE_BITS(dtype) <= 16;
}

static void fail_codes(bt_onnx_node *n, bt_dtype dtype, const char *what)
{
    char name[BT_DTYPE_NAME_SIZE];
    node_fail(n, BT_ERR_TYPE,
              "%s is %s; codes are integers of at most 16 bits or floats of at most 8",
              what, bt_dtype_name(dtype, name, sizeof(name)));
}

static bt_dtype codes_type(bt_onnx_node *n, const bt_value *zero)
{
    const bt_dtype of_zero = zero ? value_dtype(zero) : BT_UINT8,
                   dtype = dtype_attr(n, "output_dtype", of_zero);
    if (n->status)
        return 0;
    if (!is_codes(dtype))
        fail_codes(n, dtype,
                   node_int(n, "output_dtype", 0) ? "output_dtype" : "the zero point");
    return check_zero(n, zero, dtype) ? dtype : 0;
}

static void quantize_linear(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *zero = zero_point_in(n, 2),
                   *scale = scale_in(n, 1);
    if (!node_need(n, 1))
        return;
    const bt_dtype dtype = codes_type(n, zero);
    const char *attrs = scale_attrs(n, x, scale, zero);
    if (!n->status)
        node_out(n, 0, quantized(n, x, scale, zero, dtype, attrs));
}

static void dequantize_linear(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *zero = zero_point_in(n, 2),
                   *scale = scale_in(n, 1);
    if (!node_need(n, 1))
        return;
    bt_dtype dtype = dtype_attr(n, "output_dtype", value_dtype(scale));
    const char *where = scale_attrs(n, x, scale, zero);
    if (!n->status && value_dtype(x) != BT_INT32 && !is_codes(value_dtype(x)))
        fail_codes(n, value_dtype(x), "the data");
    char name[BT_DTYPE_NAME_SIZE];
    const char *attrs =
        node_format(n, "out_dtype=\"%s\"%s%s", bt_dtype_name(dtype, name, sizeof(name)),
                    where ? ", " : "", where ? where : "");
    node_out(n, 0, dequantized(n, x, scale, zero, attrs));
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
    node_out(n, 0,
             integer_product(n, node_need(n, 0), zero_point_in(n, 2), node_need(n, 1),
                             zero_point_in(n, 3), "transpose_b=False"));
}

/* x, w, then their zero points. */
static const bt_value *integer_conv(bt_onnx_node *n, const bt_value *const args[4])
{
    static const char *const ops[] = { "qnn.conv1d", "qnn.conv2d", "qnn.conv3d" };
    struct window window;
    if (n->status || !check_zero(n, args[2], value_dtype(args[0])) ||
        !check_zero(n, args[3], value_dtype(args[1])))
        return NULL;
    read_window(n, args[0], args[1], &window);
    if (n->status)
        return NULL;
    const char *attrs = node_format(
        n, "%s, groups=%lld, kernel_size=%s", window_attrs(n, &window),
        (long long)node_int(n, "group", 1), format_ints(n, window.n, window.kernel));
    return emit(n, ops[window.n - 1], attrs, 4, args);
}

/* Zero point i, of operand `of`; where it is left out, 0. */
static const bt_value *zero_in(bt_onnx_node *n, uint32_t i, uint32_t of)
{
    const bt_value *zero = zero_point_in(n, i), *x = node_need(n, of);
    return n->status ? NULL : zero ? zero : scalar_like(n, x, 0);
}

static void conv_integer(bt_onnx_node *n)
{
    const bt_value *args[] = { node_need(n, 0), node_need(n, 1), zero_in(n, 2, 0),
                               zero_in(n, 3, 1) };
    node_out(n, 0, integer_conv(n, args));
}

/* Inputs: a, its scale and zero point, b, its own, and those of the result. is_one: a and the
 * result have one scale. */
static void read_qlinear(bt_onnx_node *n, int is_one, const bt_value *in[8])
{
    for (uint32_t i = 0; i < 8; i++)
        in[i] = !node_need(n, i) || i == 0 || i == 3 ? node_in(n, i)
                : is_one && (i == 1 || i == 6)       ? one_scale_in(n, i)
                : i == 1 || i == 4 || i == 6         ? scale_in(n, i)
                                                     : zero_point_in(n, i);
}

/* Where there are scales of rows, those of columns broadcast with them. */
static void qlinear_matmul(bt_onnx_node *n)
{
    const bt_value *in[8];
    read_qlinear(n, 0, in);
    if (n->status)
        return;
    const bt_value *sums =
        integer_product(n, in[0], in[2], in[3], in[5], "transpose_b=False");
    const bt_value *scale = times(n, cast_to(n, of_rows(n, in[1]), BT_FLOAT32),
                                  cast_to(n, in[4], BT_FLOAT32));
    node_out(n, 0, requantized(n, sums, -1, scale, of_rows(n, in[6]), of_rows(n, in[7])));
}

static void qlinear_conv(bt_onnx_node *n)
{
    const bt_value *in[8], *bias = node_in(n, 8);
    read_qlinear(n, 1, in);
    if (n->status)
        return;
    const bt_value *args[] = { in[0], in[3], in[2], in[5] };
    const bt_value *sums = integer_conv(n, args);
    sums = bias ? emit2(n, "nn.bias_add", "axis=1", sums, bias) : sums;
    node_out(n, 0, requantized(n, sums, 1, times(n, in[1], in[4]), in[6], in[7]));
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
