/* Operators on quantized numbers that ONNX Runtime has beyond the standard: each takes the
 * numbers that its inputs stand for, and quantizes what it makes of them. */
#include "quantize.h"
#include "window.h"

/* ---- what inputs stand for ---- */

/* Input i by the scale and the zero point behind it. */
static const bt_value *real_in(bt_onnx_node *n, uint32_t i)
{
    const bt_value *x = node_need(n, i), *scale = one_scale_in(n, i + 1);
    return dequantized(n, x, scale, scalar_in(n, i + 2), NULL);
}

/* Output 0 by the scale at input i and the zero point behind it; of the type of the data
 * where that is left out. */
static void give_quantized(bt_onnx_node *n, const bt_value *y, const bt_value *data,
                           uint32_t i)
{
    const bt_value *scale = one_scale_in(n, i), *zero = scalar_in(n, i + 1);
    if (n->status)
        return;
    node_out(n, 0, quantized(n, y, scale, zero, value_dtype(zero ? zero : data), NULL));
}

/* ---- element by element ---- */

/* Inputs: a, its scale and zero point, b, its own, and those of the result. */
static void qlinear_binary(bt_onnx_node *n)
{
    static const uint32_t inputs[] = { 0, 3, 1, 2, 4, 5, 6, 7 };
    const bt_value *args[8];
    for (uint32_t i = 0; i < 8; i++) {
        const int is_data = inputs[i] % 3 == 0 && inputs[i] < 6,
                  is_zero = inputs[i] % 3 == 2 || inputs[i] == 7;
        const bt_value *x = node_in(n, inputs[i]);
        args[i] = is_data    ? node_need(n, inputs[i])
                  : !is_zero ? one_scale_in(n, inputs[i])
                  : x        ? as_scalar(n, x)
                             : scalar_like(n, args[0], 0);
        if (n->status || (is_zero && !check_zero(n, args[i], value_dtype(args[0]))))
            return;
    }
    node_out(n, 0, emit(n, n->row->arg, NULL, 8, args));
}

static void qlinear_sigmoid(bt_onnx_node *n)
{
    give_quantized(n, applied(n, "sigmoid", real_in(n, 0)), node_need(n, 0), 3);
}

static void qlinear_leaky_relu(bt_onnx_node *n)
{
    const char *attrs =
        node_format(n, "alpha=%.17g", node_float(n, "alpha", (double)0.01f));
    const bt_value *y = emit1(n, "nn.leaky_relu", attrs, real_in(n, 0));
    give_quantized(n, y, node_need(n, 0), 3);
}

static void qlinear_where(bt_onnx_node *n)
{
    const bt_value *y = chosen(n, node_need(n, 0), real_in(n, 1), real_in(n, 4));
    give_quantized(n, y, node_need(n, 1), 7);
}

/* ---- along axes ---- */

/* Before operator set 13 of its attribute all axes from `axis` on are one. */
static void qlinear_softmax(bt_onnx_node *n)
{
    const bt_value *x = real_in(n, 0);
    uint32_t rank = value_rank(n, x), axis = node_axis(n, node_int(n, "axis", -1), rank);
    if (!node_has(n, "opset"))
        node_fail(n, BT_ERR_ATTRIBUTE, "attribute opset is missing");
    if (node_int(n, "opset", 0) < 13 && axis + 1 != rank)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "axis is %u of %u, and before operator set 13 all axes from there on "
                  "count as one, which is not supported",
                  axis, rank);
    const bt_value *y = emit1(n, "nn.softmax", node_format(n, "axis=%u", axis), x);
    give_quantized(n, y, node_need(n, 0), 3);
}

static void qlinear_reduce_mean(bt_onnx_node *n)
{
    const char *attrs =
        node_format(n, "axis=%s, keepdims=%s", node_ints(n, "axes", "None"),
                    format_bool(node_int(n, "keepdims", 1) != 0));
    give_quantized(n, emit1(n, "mean", attrs, real_in(n, 0)), node_need(n, 0), 3);
}

/* Inputs: scale and zero point of the result, then each part with its own. */
static void qlinear_concat(bt_onnx_node *n)
{
    uint32_t count = n->ninput >= 2 ? (n->ninput - 2) / 3 : 0;
    const bt_value **parts = BT_NEWS(n->im->arena, const bt_value *, count);
    if (!parts && !n->status)
        n->status = bt_no_memory();
    if (!count || n->ninput != 2 + 3 * count)
        node_fail(
            n, BT_ERR_FORMAT,
            "%u inputs; a scale, a zero point, and three for each part are expected",
            n->ninput);
    for (uint32_t i = 0; !n->status && i < count; i++)
        parts[i] = real_in(n, 2 + 3 * i);
    if (n->status)
        return;
    uint32_t axis = node_axis(n, node_int(n, "axis", 0), value_rank(n, parts[0]));
    give_quantized(n, joined(n, axis, count, parts), node_need(n, 2), 0);
}

/* ---- windows ---- */

/* Data with its channels at axis 1, or at the end; `back`: as it was given. */
static const bt_value *channels_moved(bt_onnx_node *n, const bt_value *x, int back)
{
    uint32_t rank = value_rank(n, x);
    int64_t axes[BT_MAX_RANK];
    if (!node_int(n, "channels_last", 0) || rank < 3 || n->status)
        return n->status ? NULL : x;
    for (uint32_t i = 0; i < rank; i++)
        axes[i] = i == 0   ? 0
                  : back   ? (i + 1 < rank ? i + 1 : 1)
                  : i == 1 ? rank - 1
                           : i - 1;
    return transposed(n, x, rank, axes);
}

static void qlinear_average_pool(bt_onnx_node *n)
{
    const bt_value *x = channels_moved(n, real_in(n, 0), 0);
    struct window w;
    read_window(n, x, NULL, &w);
    if (n->status)
        return;
    const bt_value *y = pooled(n, "avg", x, &w, node_int(n, "count_include_pad", 0) != 0);
    give_quantized(n, channels_moved(n, y, 1), node_need(n, 0), 3);
}

/* Sums of integers are exact, in whatever order. */
static void qlinear_global_average_pool(bt_onnx_node *n)
{
    const bt_value *given = node_need(n, 0), *scale = one_scale_in(n, 1),
                   *y_scale = one_scale_in(n, 3), *zero = scalar_in(n, 4);
    const bt_value *x = channels_moved(n, n->status ? NULL : given, 0);
    uint32_t rank = value_rank(n, x);
    if (rank < 3)
        node_fail(n, BT_ERR_FORMAT, "data of rank %u; at least 3 is needed", rank);
    if (n->status)
        return;
    for (uint32_t i = 2; i < rank; i++)
        y_scale = times(n, y_scale, cast_to(n, size_of(n, x, i), BT_FLOAT32));
    zero = zero ? zero : scalar_like(n, given, 0);
    const bt_value *sums =
        reduced_range(n, "sum", centred(n, x, scalar_in(n, 2)), 2, rank);
    const bt_value *y = requantized(n, sums, -1, scale, y_scale, zero);
    node_out(n, 0, channels_moved(n, y, 1));
}

/* ---- products ---- */

/* A scale for each column of b, or one: as a row. Inputs: a, b, c with scales and zero
 * points of a and b, those of the result, without which it is float32. */
static void qgemm(bt_onnx_node *n)
{
    const bt_value *a = node_need(n, 0), *b = node_need(n, 3), *c = node_in(n, 6),
                   *a_scale = one_scale_in(n, 1), *b_scale = scale_in(n, 4),
                   *zero = scalar_in(n, 8);
    if (!node_need(n, 4))
        return;
    const char *attrs = node_format(n, "transpose_a=%s, transpose_b=%s",
                                    format_bool(node_int(n, "transA", 0) != 0),
                                    format_bool(node_int(n, "transB", 0) != 0));
    const bt_value *sums =
        integer_product(n, a, scalar_in(n, 2), b, zero_point_in(n, 5), attrs);
    sums = c ? plus(n, sums, c) : sums; // c is quantized by the scale of the product
    const bt_value *scale = times(n, a_scale, b_scale);
    scale = times_number(n, scale, node_float(n, "alpha", 1));
    if (node_in(n, 7) && zero)
        node_out(n, 0, requantized(n, sums, -1, scale, one_scale_in(n, 7), zero));
    else
        node_out(n, 0, times(n, cast_to(n, sums, BT_FLOAT32), scale));
}

/* Sums as floats, with a bias. */
static void give_product(bt_onnx_node *n, const bt_value *sums, const bt_value *scale,
                         const bt_value *bias)
{
    const bt_value *y = times(n, cast_to(n, sums, BT_FLOAT32), scale);
    node_out(n, 0, bias ? plus(n, y, bias) : y);
}

static void matmul_integer_to_float(bt_onnx_node *n)
{
    const bt_value *sums = integer_product(n, node_need(n, 0), zero_point_in(n, 4),
                                           node_need(n, 1), zero_point_in(n, 5),
                                           "transpose_b=False"),
                   *scale = times(n, of_rows(n, scale_in(n, 2)), scale_in(n, 3));
    give_product(n, sums, scale, node_in(n, 6));
}

static void dynamic_quantize_matmul(bt_onnx_node *n)
{
    const bt_value *scale = NULL, *zero = NULL;
    const bt_value *a = quantized_by_range(n, node_need(n, 0), &scale, &zero);
    const bt_value *sums = integer_product(n, a, zero, node_need(n, 1),
                                           zero_point_in(n, 3), "transpose_b=False");
    node_need(n, 2);
    give_product(n, sums, times(n, scale, scale_in(n, 2)), node_in(n, 4));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "com.microsoft.QLinearAdd-1", qlinear_binary, "qnn.add" }, { "com.microsoft.QLinearMul-1", qlinear_binary, "qnn.mul" },
    { "com.microsoft.QLinearSigmoid-1", qlinear_sigmoid, NULL }, { "com.microsoft.QLinearLeakyRelu-1", qlinear_leaky_relu, NULL },
    { "com.microsoft.QLinearWhere-1", qlinear_where, NULL }, { "com.microsoft.QLinearSoftmax-1", qlinear_softmax, NULL },
    { "com.microsoft.QLinearReduceMean-1", qlinear_reduce_mean, NULL }, { "com.microsoft.QLinearConcat-1", qlinear_concat, NULL },
    { "com.microsoft.QLinearAveragePool-1", qlinear_average_pool, NULL },
    { "com.microsoft.QLinearGlobalAveragePool-1", qlinear_global_average_pool, NULL },
    { "com.microsoft.QGemm-1", qgemm, NULL }, { "com.microsoft.MatMulIntegerToFloat-1", matmul_integer_to_float, NULL },
    { "com.microsoft.DynamicQuantizeMatMul-1", dynamic_quantize_matmul, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_qlinear[] = { BT_ONNX_OPERATORS(operators),
                                                     { 0 } };
