/* Elementwise arithmetic, comparison, logic, matrix products, reductions. */
#include "convert_math.h"

#include <math.h>
#include <string.h>

/* ---- one operator for one ---- */

static void unary(struct node *n)
{
    node_out(n, 0, emit1(n, n->row->arg, NULL, node_need(n, 0)));
}

static void binary(struct node *n)
{
    node_out(n, 0, emit2(n, n->row->arg, NULL, node_need(n, 0), node_need(n, 1)));
}

static void identity(struct node *n)
{
    node_out(n, 0, node_need(n, 0));
}

/* Sum, Max, Min of any number of inputs. */
static const bt_value *fold_inputs(struct node *n, const char *op)
{
    const bt_value *out = node_need(n, 0);
    for (uint32_t i = 1; i < node_nin(n); i++)
        out = emit2(n, op, NULL, out, node_need(n, i));
    return out;
}

static void variadic(struct node *n)
{
    node_out(n, 0, fold_inputs(n, n->row->arg));
}

static void mean(struct node *n)
{
    const bt_value *sum = fold_inputs(n, "add");
    node_out(
        n, 0,
        emit2(n, "divide", NULL, sum, emit_scalar(n, value_dtype(sum), node_nin(n))));
}

/* ---- activations by formula ---- */

static const bt_value *scalar_like(struct node *n, const bt_value *x, double value)
{
    return emit_scalar(n, value_dtype(x), value);
}

static void reciprocal(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    node_out(n, 0, emit2(n, "divide", NULL, scalar_like(n, x, 1), x));
}

static const bt_value *clip(struct node *n, const bt_value *x, double low, double high)
{
    return emit1(n, "clip", node_format(n, "a_min=%.17g, a_max=%.17g", low, high), x);
}

static void hard_sigmoid(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    const bt_value *scaled = emit2(
        n, "multiply", NULL, x, scalar_like(n, x, node_float(n, "alpha", (double)0.2f)));
    node_out(
        n, 0,
        clip(n,
             emit2(n, "add", NULL, scaled, scalar_like(n, x, node_float(n, "beta", 0.5))),
             0, 1));
}

static void hard_swish(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    const bt_value *scaled =
        emit2(n, "multiply", NULL, x, scalar_like(n, x, (double)(1.0f / 6)));
    const bt_value *gate =
        clip(n, emit2(n, "add", NULL, scaled, scalar_like(n, x, 0.5)), 0, 1);
    node_out(n, 0, emit2(n, "multiply", NULL, x, gate));
}

/* scale * (x > 0 ? x : alpha * (exp(x / width) - 1)): Elu, Selu, Celu. */
static void exponential_unit(struct node *n, double scale, double alpha, double width)
{
    const bt_value *x = node_need(n, 0), *zero = scalar_like(n, x, 0);
    const bt_value *below = emit2(n, "minimum", NULL, x, zero);
    if (width != 1)
        below = emit2(n, "divide", NULL, below, scalar_like(n, x, width));
    below =
        emit2(n, "subtract", NULL, emit1(n, "exp", NULL, below), scalar_like(n, x, 1));
    below = emit2(n, "multiply", NULL, below, scalar_like(n, x, alpha));
    const bt_value *y = emit2(n, "add", NULL, emit2(n, "maximum", NULL, x, zero), below);
    node_out(n, 0,
             scale == 1 ? y : emit2(n, "multiply", NULL, y, scalar_like(n, x, scale)));
}

static void elu(struct node *n)
{
    exponential_unit(n, 1, node_float(n, "alpha", 1), 1);
}

static void selu(struct node *n)
{
    exponential_unit(n, node_float(n, "gamma", 1.05070102214813232421875),
                     node_float(n, "alpha", 1.67326319217681884765625), 1);
}

static void celu(struct node *n)
{
    double alpha = node_float(n, "alpha", 1);
    exponential_unit(n, 1, alpha, alpha);
}

/* log(1 + exp(x)) as max(x, 0) + log(1 + exp(-|x|)), which cannot overflow. */
static const bt_value *softplus_of(struct node *n, const bt_value *x)
{
    const bt_value *decay =
        emit1(n, "exp", NULL, emit1(n, "negative", NULL, emit1(n, "abs", NULL, x)));
    const bt_value *rest =
        emit1(n, "log", NULL, emit2(n, "add", NULL, decay, scalar_like(n, x, 1)));
    return emit2(n, "add", NULL, emit2(n, "maximum", NULL, x, scalar_like(n, x, 0)),
                 rest);
}

static void softplus(struct node *n)
{
    node_out(n, 0, softplus_of(n, node_need(n, 0)));
}

static void mish(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    node_out(n, 0,
             emit2(n, "multiply", NULL, x, emit1(n, "tanh", NULL, softplus_of(n, x))));
}

static void softsign(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    const bt_value *below =
        emit2(n, "add", NULL, emit1(n, "abs", NULL, x), scalar_like(n, x, 1));
    node_out(n, 0, emit2(n, "divide", NULL, x, below));
}

static void thresholded_relu(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    const bt_value *above =
        emit2(n, "greater", NULL, x, scalar_like(n, x, node_float(n, "alpha", 1)));
    const bt_value *args[3] = { above, x, scalar_like(n, x, 0) };
    node_out(n, 0, emit(n, "where", NULL, 3, args));
}

static void gelu(struct node *n)
{
    const bt_value *x = node_need(n, 0), *half = scalar_like(n, x, 0.5), *inner;
    if (strcmp(node_text(n, "approximate", "none"), "tanh") == 0) {
        const bt_value *cube =
            emit2(n, "multiply", NULL, emit2(n, "multiply", NULL, x, x), x);
        cube = emit2(n, "multiply", NULL, cube, scalar_like(n, x, 0.044715));
        inner = emit2(n, "multiply", NULL, emit2(n, "add", NULL, x, cube),
                      scalar_like(n, x, sqrt(2 / 3.14159265358979323846)));
        inner = emit1(n, "tanh", NULL, inner);
    } else {
        inner = emit1(n, "erf", NULL,
                      emit2(n, "multiply", NULL, x, scalar_like(n, x, sqrt(0.5))));
    }
    inner = emit2(n, "add", NULL, inner, scalar_like(n, x, 1));
    node_out(n, 0,
             emit2(n, "multiply", NULL, emit2(n, "multiply", NULL, x, half), inner));
}

static void leaky_relu(struct node *n)
{
    const char *attrs =
        node_format(n, "alpha=%.17g", node_float(n, "alpha", (double)0.01f));
    node_out(n, 0, emit1(n, "nn.leaky_relu", attrs, node_need(n, 0)));
}

/* ---- arithmetic with rules of its own ---- */

static void power(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    const bt_value *y = node_need(n, 1);
    node_out(n, 0, emit2(n, "power", NULL, x, emit_cast(n, y, value_dtype(x))));
}

static void modulo(struct node *n)
{
    node_out(n, 0,
             emit2(n, node_int(n, "fmod", 0) ? "mod" : "floor_mod", NULL, node_need(n, 0),
                   node_need(n, 1)));
}

static void bit_shift(struct node *n)
{
    int left = strcmp(node_text(n, "direction", "LEFT"), "LEFT") == 0;
    node_out(n, 0,
             emit2(n, left ? "left_shift" : "right_shift", NULL, node_need(n, 0),
                   node_need(n, 1)));
}

static void clip_attrs(struct node *n)
{
    node_out(n, 0,
             clip(n, node_need(n, 0), node_float(n, "min", -INFINITY),
                  node_float(n, "max", INFINITY)));
}

static void clip_inputs(struct node *n)
{
    const bt_value *y = node_need(n, 0), *low = node_in(n, 1), *high = node_in(n, 2);
    if (low)
        y = emit2(n, "maximum", NULL, y, low);
    if (high)
        y = emit2(n, "minimum", NULL, y, high);
    node_out(n, 0, y);
}

static void cast(struct node *n)
{
    bt_dtype dtype = onnx_dtype(node_int(n, "to", 0));
    if (!dtype)
        node_fail(n, BT_ERR_UNSUPPORTED, "element type %lld is not supported",
                  (long long)node_int(n, "to", 0));
    node_out(n, 0, emit_cast(n, node_need(n, 0), dtype));
}

static void cast_like(struct node *n)
{
    const bt_value *like = node_need(n, 1);
    node_out(n, 0, emit_cast(n, node_need(n, 0), value_dtype(like)));
}

static void where(struct node *n)
{
    const bt_value *args[3] = { node_need(n, 0), node_need(n, 1), node_need(n, 2) };
    node_out(n, 0, emit(n, "where", NULL, 3, args));
}

static void is_inf(struct node *n)
{
    const bt_value *x = node_need(n, 0), *y = emit1(n, "isinf", NULL, x);
    if (!node_int(n, "detect_negative", 1))
        y = emit2(n, "logical_and", NULL, y,
                  emit2(n, "greater", NULL, x, scalar_like(n, x, 0)));
    if (!node_int(n, "detect_positive", 1))
        y = emit2(n, "logical_and", NULL, y,
                  emit2(n, "less", NULL, x, scalar_like(n, x, 0)));
    node_out(n, 0, y);
}

/* ---- matrix products ---- */

/* NumPy's matmul: vectors are promoted, leading axes broadcast. */
static void matmul(struct node *n)
{
    const bt_value *x = node_need(n, 0), *y = node_need(n, 1);
    uint32_t x_rank = value_rank(n, x), y_rank = value_rank(n, y);
    if (n->status)
        return;
    if (x_rank == 1)
        x = emit1(n, "expand_dims", "axis=0, num_newaxis=1", x);
    if (y_rank == 1)
        y = emit1(n, "expand_dims", "axis=1, num_newaxis=1", y);
    const bt_value *out = emit2(n, "nn.matmul", NULL, x, y);
    uint32_t rank = out ? value_rank(n, out) : 0;
    if (x_rank == 1)
        out = emit1(n, "squeeze", node_format(n, "axis=[%d]", (int)rank - 2), out);
    if (y_rank == 1)
        out = emit1(n, "squeeze", "axis=[-1]", out);
    node_out(n, 0, out);
}

static void gemm(struct node *n)
{
    const bt_value *a = node_need(n, 0), *b = node_need(n, 1), *c = node_in(n, 2);
    double alpha = node_float(n, "alpha", 1), beta = node_float(n, "beta", 1);
    if (node_int(n, "transA", 0))
        a = emit1(n, "transpose", "axes=[1, 0]", a);
    if (!node_int(n, "transB", 0))
        b = emit1(n, "transpose", "axes=[1, 0]", b);
    const bt_value *y = emit2(n, "nn.dense", NULL, a, b);
    if (alpha != 1)
        y = emit2(n, "multiply", NULL, y, scalar_like(n, y, alpha));
    if (c && beta != 1)
        c = emit2(n, "multiply", NULL, c, scalar_like(n, c, beta));
    node_out(n, 0, c ? emit2(n, "add", NULL, y, c) : y);
}

/* ---- reductions ---- */

/* Axes by attribute (before) or by input (since 13 or 18). *is_none: nothing is to be
 * reduced. */
static const char *reduce_attrs(struct node *n, int by_input, int *is_none)
{
    int64_t keepdims = node_int(n, "keepdims", 1);
    const char *axes = node_ints(n, "axes", "None");
    *is_none = 0;
    if (by_input) {
        int64_list list = { 0 };
        const bt_value *given = node_in(n, 1);
        if (given && !value_ints(n, given, &list))
            node_fail(n, BT_ERR_UNSUPPORTED, "axes are not known before run time");
        *is_none = list.len == 0 && node_int(n, "noop_with_empty_axes", 0);
        axes = list.len ? format_ints(n, list.len, list.at) : "None";
    }
    return node_format(n, "axis=%s, keepdims=%s", axes, keepdims ? "True" : "False");
}

static const bt_value *reduced(struct node *n, const char *op, const bt_value *x,
                               int by_input)
{
    int is_none;
    const char *attrs = reduce_attrs(n, by_input, &is_none);
    return is_none ? x : emit1(n, op, attrs, x);
}

static const bt_value *square(struct node *n, const bt_value *x)
{
    return emit2(n, "multiply", NULL, x, x);
}

static void reduce_as(struct node *n, int by_input)
{
    const char *kind = n->row->arg;
    const bt_value *x = node_need(n, 0), *y;
    if (strcmp(kind, "l1") == 0)
        y = reduced(n, "sum", emit1(n, "abs", NULL, x), by_input);
    else if (strcmp(kind, "l2") == 0)
        y = emit1(n, "sqrt", NULL, reduced(n, "sum", square(n, x), by_input));
    else if (strcmp(kind, "sum_square") == 0)
        y = reduced(n, "sum", square(n, x), by_input);
    else if (strcmp(kind, "log_sum") == 0)
        y = emit1(n, "log", NULL, reduced(n, "sum", x, by_input));
    else
        y = reduced(n, kind, x, by_input);
    node_out(n, 0, y);
}

static void reduce_attr(struct node *n)
{
    reduce_as(n, 0);
}

static void reduce_input(struct node *n)
{
    reduce_as(n, 1);
}

static void arg_reduce(struct node *n)
{
    const char *attrs = node_format(
        n, "axis=[%lld], keepdims=%s, select_last_index=%s",
        (long long)node_int(n, "axis", 0), node_int(n, "keepdims", 1) ? "True" : "False",
        node_int(n, "select_last_index", 0) ? "True" : "False");
    node_out(n, 0, emit_cast(n, emit1(n, n->row->arg, attrs, node_need(n, 0)), BT_INT64));
}

static void cumsum(struct node *n)
{
    int64_list axis = { 0 };
    const bt_value *x = node_need(n, 0);
    if (!value_ints(n, node_need(n, 1), &axis) || axis.len != 1)
        node_fail(n, BT_ERR_UNSUPPORTED, "the axis is not known before run time");
    if (n->status)
        return;
    const char *along = node_format(n, "axis=%lld", (long long)axis.at[0]);
    int reverse = node_int(n, "reverse", 0) != 0;
    if (reverse)
        x = emit1(n, "reverse", along, x);
    const char *attrs = node_format(n, "%s, exclusive=%s", along,
                                    node_int(n, "exclusive", 0) ? "True" : "False");
    const bt_value *y = emit1(n, "cumsum", attrs, x);
    node_out(n, 0, reverse ? emit1(n, "reverse", along, y) : y);
}

// clang-format off
const struct conversion convert_math[] = {
    { "Abs", 6, unary, "abs" }, { "Acos", 7, unary, "acos" }, { "Acosh", 9, unary, "acosh" },
    { "Asin", 7, unary, "asin" }, { "Asinh", 9, unary, "asinh" }, { "Atan", 7, unary, "atan" },
    { "Atanh", 9, unary, "atanh" }, { "BitwiseNot", 18, unary, "bitwise_not" }, { "Ceil", 6, unary, "ceil" },
    { "Cos", 7, unary, "cos" }, { "Cosh", 9, unary, "cosh" }, { "Erf", 9, unary, "erf" }, { "Exp", 6, unary, "exp" },
    { "Floor", 6, unary, "floor" }, { "IsNaN", 9, unary, "isnan" }, { "Log", 6, unary, "log" },
    { "Neg", 6, unary, "negative" }, { "Not", 1, unary, "logical_not" }, { "Relu", 6, unary, "nn.relu" },
    { "Round", 11, unary, "round_even" }, { "Sigmoid", 6, unary, "sigmoid" }, { "Sign", 9, unary, "sign" },
    { "Sin", 7, unary, "sin" }, { "Sinh", 9, unary, "sinh" }, { "Sqrt", 6, unary, "sqrt" }, { "Tan", 7, unary, "tan" },
    { "Tanh", 6, unary, "tanh" },
    { "Identity", 1, identity, NULL },
    { "Add", 7, binary, "add" }, { "And", 7, binary, "logical_and" }, { "BitwiseAnd", 18, binary, "bitwise_and" },
    { "BitwiseOr", 18, binary, "bitwise_or" }, { "BitwiseXor", 18, binary, "bitwise_xor" }, { "Div", 7, binary, "divide" },
    { "Equal", 7, binary, "equal" }, { "Greater", 7, binary, "greater" }, { "GreaterOrEqual", 12, binary, "greater_equal" },
    { "Less", 7, binary, "less" }, { "LessOrEqual", 12, binary, "less_equal" }, { "Mul", 7, binary, "multiply" },
    { "Or", 7, binary, "logical_or" }, { "Sub", 7, binary, "subtract" }, { "Xor", 7, binary, "logical_xor" },
    { "PRelu", 7, binary, "nn.prelu" },
    { "Max", 6, variadic, "maximum" }, { "Min", 6, variadic, "minimum" }, { "Sum", 6, variadic, "add" },
    { "Mean", 6, mean, NULL }, { "Pow", 7, power, NULL }, { "Mod", 10, modulo, NULL }, { "BitShift", 11, bit_shift, NULL },
    { "Reciprocal", 6, reciprocal, NULL }, { "HardSigmoid", 6, hard_sigmoid, NULL }, { "HardSwish", 14, hard_swish, NULL },
    { "Elu", 6, elu, NULL }, { "Selu", 6, selu, NULL }, { "Celu", 12, celu, NULL }, { "Softplus", 1, softplus, NULL },
    { "Softsign", 1, softsign, NULL }, { "Mish", 18, mish, NULL }, { "ThresholdedRelu", 10, thresholded_relu, NULL },
    { "Gelu", 20, gelu, NULL }, { "LeakyRelu", 6, leaky_relu, NULL },
    { "Clip", 6, clip_attrs, NULL }, { "Clip", 11, clip_inputs, NULL },
    { "Cast", 6, cast, NULL }, { "CastLike", 15, cast_like, NULL }, { "Where", 9, where, NULL }, { "IsInf", 10, is_inf, NULL },
    { "MatMul", 1, matmul, NULL }, { "Gemm", 7, gemm, NULL },
    { "ReduceMax", 1, reduce_attr, "max" }, { "ReduceMax", 18, reduce_input, "max" },
    { "ReduceMin", 1, reduce_attr, "min" }, { "ReduceMin", 18, reduce_input, "min" },
    { "ReduceMean", 1, reduce_attr, "mean" }, { "ReduceMean", 18, reduce_input, "mean" },
    { "ReduceProd", 1, reduce_attr, "prod" }, { "ReduceProd", 18, reduce_input, "prod" },
    { "ReduceSum", 1, reduce_attr, "sum" }, { "ReduceSum", 13, reduce_input, "sum" },
    { "ReduceL1", 1, reduce_attr, "l1" }, { "ReduceL1", 18, reduce_input, "l1" },
    { "ReduceL2", 1, reduce_attr, "l2" }, { "ReduceL2", 18, reduce_input, "l2" },
    { "ReduceSumSquare", 1, reduce_attr, "sum_square" }, { "ReduceSumSquare", 18, reduce_input, "sum_square" },
    { "ReduceLogSum", 1, reduce_attr, "log_sum" }, { "ReduceLogSum", 18, reduce_input, "log_sum" },
    { "ReduceLogSumExp", 1, reduce_attr, "logsumexp" }, { "ReduceLogSumExp", 18, reduce_input, "logsumexp" },
    { "ArgMax", 1, arg_reduce, "argmax" }, { "ArgMin", 1, arg_reduce, "argmin" }, { "CumSum", 11, cumsum, NULL },
    { 0 },
};
// clang-format on
