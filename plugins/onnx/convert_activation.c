/* Activation functions, most by their formulas; softmax and its kin. */
#include "arith.h"

#include <math.h>
#include <string.h>

/* ---- by formula ---- */

static void hard_sigmoid(bt_onnx_node *n)
{
    const bt_value *x =
        times_number(n, node_need(n, 0), node_float(n, "alpha", (double)0.2f));
    node_out(n, 0, clipped(n, plus_number(n, x, node_float(n, "beta", 0.5)), 0, 1));
}

static void hard_swish(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    const bt_value *gate = plus_number(n, times_number(n, x, (double)(1.0f / 6)), 0.5);
    node_out(n, 0, times(n, x, clipped(n, gate, 0, 1)));
}

/* scale * (x > 0 ? x : alpha * (exp(x / width) - 1)): Elu, Selu, Celu. */
static void exponential_unit(bt_onnx_node *n, double scale, double alpha, double width)
{
    const bt_value *x = node_need(n, 0), *zero = scalar_like(n, x, 0);
    const bt_value *below = over_number(n, lesser_of(n, x, zero), width);
    below = plus_number(n, applied(n, "exp", below), -1);
    const bt_value *y = plus(n, greater_of(n, x, zero), times_number(n, below, alpha));
    node_out(n, 0, times_number(n, y, scale));
}

static void elu(bt_onnx_node *n)
{
    exponential_unit(n, 1, node_float(n, "alpha", 1), 1);
}

static void selu(bt_onnx_node *n)
{
    /* The defaults of operator set 1 have fewer digits. */
    int old = n->opset < 6;
    exponential_unit(n, node_float(n, "gamma", old ? 1.0507 : 1.05070102214813232421875),
                     node_float(n, "alpha", old ? 1.6732 : 1.67326319217681884765625), 1);
}

static void celu(bt_onnx_node *n)
{
    double alpha = node_float(n, "alpha", 1);
    exponential_unit(n, 1, alpha, alpha);
}

/* log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which cannot overflow and is not 0 where
 * exp(x) is small. */
static const bt_value *softplus_of(bt_onnx_node *n, const bt_value *x)
{
    const bt_value *decay =
        applied(n, "exp", applied(n, "negative", applied(n, "abs", x)));
    return plus(n, greater_of(n, x, scalar_like(n, x, 0)), applied(n, "log1p", decay));
}

static void softplus(bt_onnx_node *n)
{
    node_out(n, 0, softplus_of(n, node_need(n, 0)));
}

static void mish(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    node_out(n, 0, times(n, x, applied(n, "tanh", softplus_of(n, x))));
}

static void softsign(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    node_out(n, 0, over(n, x, plus_number(n, applied(n, "abs", x), 1)));
}

static void swish(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    const bt_value *gate = times_number(n, x, node_float(n, "alpha", 1));
    node_out(n, 0, times(n, x, applied(n, "sigmoid", gate)));
}

static void thresholded_relu(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    const bt_value *above =
        emit2(n, "greater", NULL, x, scalar_like(n, x, node_float(n, "alpha", 1)));
    node_out(n, 0, chosen(n, above, x, scalar_like(n, x, 0)));
}

static void shrink(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    double lambda = node_float(n, "lambd", 0.5), bias = node_float(n, "bias", 0);
    const bt_value *below = emit2(n, "less", NULL, x, scalar_like(n, x, -lambda)),
                   *above = emit2(n, "greater", NULL, x, scalar_like(n, x, lambda));
    const bt_value *inner =
        chosen(n, above, plus_number(n, x, -bias), scalar_like(n, x, 0));
    node_out(n, 0, chosen(n, below, plus_number(n, x, bias), inner));
}

static void binarizer(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    const bt_value *limit = scalar_like(n, x, node_float(n, "threshold", 0));
    node_out(n, 0, cast_to(n, emit2(n, "greater", NULL, x, limit), value_dtype(x)));
}

static void quick_gelu(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    const bt_value *gate = times_number(n, x, node_float(n, "alpha", (double)1.702f));
    node_out(n, 0, times(n, x, applied(n, "sigmoid", gate)));
}

/* Those of ONNX Runtime may have a bias. */
static void gelu(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *bias = node_in(n, 1), *inner;
    const char *form = n->row->arg ? n->row->arg : node_text(n, "approximate", "none");
    x = bias ? plus(n, x, bias) : x;
    if (strcmp(form, "tanh") == 0) {
        const bt_value *cube = times_number(n, times(n, squared(n, x), x), 0.044715);
        inner = times_number(n, plus(n, x, cube), sqrt(2 / 3.14159265358979323846));
        inner = applied(n, "tanh", inner);
    } else {
        inner = applied(n, "erf", times_number(n, x, sqrt(0.5)));
    }
    node_out(n, 0, times(n, times_number(n, x, 0.5), plus_number(n, inner, 1)));
}

static void leaky_relu(bt_onnx_node *n)
{
    const char *attrs =
        node_format(n, "alpha=%.17g", node_float(n, "alpha", (double)0.01f));
    node_out(n, 0, emit1(n, "nn.leaky_relu", attrs, node_need(n, 0)));
}

/* The slope broadcasts to the data; a vector before operator set 7 lies along axis 1. */
static void prelu(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *slope = node_need(n, 1);
    uint32_t rank = value_rank(n, x), slope_rank = value_rank(n, slope);
    if (!n->status && n->opset < 7 && slope_rank == 1 && rank > 1)
        slope = along(n, slope, 1, rank);
    const bt_value *below = emit2(n, "less", NULL, x, scalar_like(n, x, 0));
    node_out(n, 0, chosen(n, below, times(n, x, slope), x));
}

/* ---- softmax ---- */

/* All axes before `axis`, and all from it on, as one each. */
static const bt_value *to_matrix(bt_onnx_node *n, const bt_value *x, uint32_t axis)
{
    uint32_t rank = value_rank(n, x);
    const bt_type *dims[2] = { dims_product(n, x, 0, axis),
                               dims_product(n, x, axis, rank) };
    return reshaped(n, x, 2, dims);
}

/* The element of value 1 is the first of the greatest. */
static const bt_value *hardmax_of(bt_onnx_node *n, const bt_value *x, uint32_t axis)
{
    if (value_dim(n, x, axis) == 0)
        return x;
    const bt_value *best =
        emit1(n, "argmax", node_format(n, "axis=[%u], keepdims=True", axis), x);
    const bt_value *position =
        along(n, counted(n, dim_of(n, x, axis), BT_INT64), axis, value_rank(n, x));
    return cast_to(n, emit2(n, "equal", NULL, cast_to(n, best, BT_INT64), position),
                   value_dtype(x));
}

static const bt_value *normalised(bt_onnx_node *n, const bt_value *x, uint32_t axis)
{
    return strcmp(n->row->arg, "hardmax") == 0
               ? hardmax_of(n, x, axis)
               : emit1(n, n->row->arg, node_format(n, "axis=%u", axis), x);
}

static void softmax(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    uint32_t axis = node_axis(n, node_int(n, "axis", -1), value_rank(n, x));
    node_out(n, 0, n->status ? NULL : normalised(n, x, axis));
}

/* Before operator set 13 it is over all axes from `axis` on, flattened. */
static void softmax_flat(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    uint32_t rank = value_rank(n, x), axis = node_axis(n, node_int(n, "axis", 1), rank);
    if (n->status)
        return;
    if (axis + 1 == rank)
        node_out(n, 0, normalised(n, x, axis));
    else
        node_out(n, 0, shaped_like(n, normalised(n, to_matrix(n, x, axis), 1), x));
}

static void flatten(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    int64_t axis = node_int(n, "axis", 1), rank = value_rank(n, x);
    if (axis < 0)
        axis += rank;
    if (axis < 0 || axis > rank)
        node_fail(n, BT_ERR_ATTRIBUTE, "axis %lld is out of range for rank %lld",
                  (long long)axis, (long long)rank);
    if (!n->status)
        node_out(n, 0, to_matrix(n, x, (uint32_t)axis));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.HardSigmoid-1", hard_sigmoid, NULL }, { "ai.onnx.HardSwish-14", hard_swish, NULL }, { "ai.onnx.Elu-1", elu, NULL },
    { "ai.onnx.Selu-1", selu, NULL }, { "ai.onnx.Celu-12", celu, NULL }, { "ai.onnx.Softplus-1", softplus, NULL }, { "ai.onnx.Softsign-1", softsign, NULL },
    { "ai.onnx.Mish-18", mish, NULL }, { "ai.onnx.Swish-24", swish, NULL }, { "ai.onnx.ThresholdedRelu-10", thresholded_relu, NULL },
    { "ai.onnx.ml.Binarizer-1", binarizer, NULL },
    { "ai.onnx.Shrink-9", shrink, NULL }, { "ai.onnx.Gelu-20", gelu, NULL }, { "com.microsoft.Gelu-1", gelu, "none" },
    { "com.microsoft.BiasGelu-1", gelu, "none" }, { "com.microsoft.FastGelu-1", gelu, "tanh" }, { "com.microsoft.QuickGelu-1", quick_gelu, NULL },
    { "ai.onnx.LeakyRelu-1", leaky_relu, NULL }, { "ai.onnx.PRelu-1", prelu, NULL },
    { "ai.onnx.Softmax-1", softmax_flat, "nn.softmax" }, { "ai.onnx.Softmax-13", softmax, "nn.softmax" },
    { "ai.onnx.LogSoftmax-1", softmax_flat, "nn.log_softmax" }, { "ai.onnx.LogSoftmax-13", softmax, "nn.log_softmax" },
    { "ai.onnx.Hardmax-1", softmax_flat, "hardmax" }, { "ai.onnx.Hardmax-13", softmax, "hardmax" },
    { "ai.onnx.Flatten-1", flatten, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_activation[] = { BT_ONNX_OPERATORS(operators),
                                                        { 0 } };
