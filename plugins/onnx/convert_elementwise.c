/* Elementwise arithmetic, comparison, logic, conversion of element types. */
#include "arith.h"

#include <math.h>
#include <string.h>

/* ---- one operator for one ---- */

static void unary(bt_onnx_node *n)
{
    node_out(n, 0, applied(n, n->row->arg, node_need(n, 0)));
}

static void binary(bt_onnx_node *n)
{
    node_out(n, 0, emit2(n, n->row->arg, NULL, node_need(n, 0), node_need(n, 1)));
}

/* Before operator set 7 the second operand broadcasts only where `broadcast` says so; it
 * then lies along the last axes, or from `axis` on. */
static const bt_value *old_operand(bt_onnx_node *n, const bt_value *x, const bt_value *y)
{
    int64_t axis = node_int(n, "axis", -1);
    uint32_t x_rank = value_rank(n, x), y_rank = value_rank(n, y);
    if (n->status || !node_int(n, "broadcast", 0) || !node_has(n, "axis"))
        return y;
    if (axis < 0)
        axis += x_rank;
    if (axis < 0 || axis + y_rank > x_rank) {
        node_fail(n, BT_ERR_ATTRIBUTE,
                  "axis is %lld: from there on the second operand, of rank %u, does not "
                  "fit into the first, of rank %u",
                  (long long)axis, y_rank, x_rank);
        return NULL;
    }
    return with_axes(n, y, y_rank, x_rank - (uint32_t)axis - y_rank);
}

static void binary_old(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *y = node_need(n, 1);
    node_out(n, 0, emit2(n, n->row->arg, NULL, x, old_operand(n, x, y)));
}

static void identity(bt_onnx_node *n)
{
    node_out(n, 0, node_need(n, 0));
}

/* Sum, Max, Min of any number of inputs. */
static const bt_value *fold_inputs(bt_onnx_node *n, const char *op)
{
    const bt_value *out = node_need(n, 0);
    for (uint32_t i = 1; i < n->ninput; i++)
        out = emit2(n, op, NULL, out, node_need(n, i));
    return out;
}

static void variadic(bt_onnx_node *n)
{
    node_out(n, 0, fold_inputs(n, n->row->arg));
}

static void mean(bt_onnx_node *n)
{
    node_out(n, 0, over_number(n, fold_inputs(n, "add"), n->ninput));
}

/* ---- arithmetic with rules of its own ---- */

static void reciprocal(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    node_out(n, 0, over(n, scalar_like(n, x, 1), x));
}

static int is_float(bt_dtype dtype)
{
    return 1u << BT_DTYPE_CLASS(dtype) & BT_CLASS_BITS_FLOAT;
}

/* The result has the base's type, whatever that of the exponent. */
static void power(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *y = node_need(n, 1);
    bt_dtype dtype = value_dtype(x), exponent = value_dtype(y);
    bt_dtype computed = is_float(exponent) && !is_float(dtype) ? exponent : dtype;
    const bt_value *out =
        emit2(n, "power", NULL, cast_to(n, x, computed), cast_to(n, y, computed));
    node_out(n, 0, cast_to(n, out, dtype));
}

static void power_old(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *y = node_need(n, 1);
    node_out(n, 0, emit2(n, "power", NULL, x, old_operand(n, x, y)));
}

static void modulo(bt_onnx_node *n)
{
    const char *op = node_int(n, "fmod", 0) ? "mod" : "floor_mod";
    node_out(n, 0, emit2(n, op, NULL, node_need(n, 0), node_need(n, 1)));
}

static void bit_shift(bt_onnx_node *n)
{
    int left = strcmp(node_text(n, "direction", "LEFT"), "LEFT") == 0;
    node_out(n, 0,
             emit2(n, left ? "left_shift" : "right_shift", NULL, node_need(n, 0),
                   node_need(n, 1)));
}

static void clip_attrs(bt_onnx_node *n)
{
    node_out(n, 0,
             clipped(n, node_need(n, 0), node_float(n, "min", -INFINITY),
                     node_float(n, "max", INFINITY)));
}

static void clip_inputs(bt_onnx_node *n)
{
    const bt_value *y = node_need(n, 0), *low = node_in(n, 1), *high = node_in(n, 2);
    if (low)
        y = greater_of(n, y, low);
    if (high)
        y = lesser_of(n, y, high);
    node_out(n, 0, y);
}

static void where(bt_onnx_node *n)
{
    node_out(n, 0, chosen(n, node_need(n, 0), node_need(n, 1), node_need(n, 2)));
}

static void is_inf(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *zero = scalar_like(n, x, 0),
                   *y = applied(n, "isinf", x);
    if (!node_int(n, "detect_negative", 1))
        y = emit2(n, "logical_and", NULL, y, emit2(n, "greater", NULL, x, zero));
    if (!node_int(n, "detect_positive", 1))
        y = emit2(n, "logical_and", NULL, y, emit2(n, "less", NULL, x, zero));
    node_out(n, 0, y);
}

/* ---- element types ---- */

/* The element type that an attribute asks for; the node fails where there is none. */
static bt_dtype wanted_dtype(bt_onnx_node *n, int64_t data_type)
{
    bt_dtype dtype = onnx_dtype(data_type);
    if (!dtype)
        node_fail(n, BT_ERR_UNSUPPORTED, "element type %s is not supported",
                  onnx_type_name(data_type));
    return dtype;
}

static void cast(bt_onnx_node *n)
{
    bt_dtype dtype = wanted_dtype(n, node_int(n, "to", 0));
    node_out(n, 0, cast_by_attr(n, node_need(n, 0), dtype));
}

/* Operator set 1 names the type. */
static void cast_by_name(bt_onnx_node *n)
{
    bt_dtype dtype = wanted_dtype(n, onnx_type_of(node_text(n, "to", "")));
    node_out(n, 0, cast_to(n, node_need(n, 0), dtype));
}

static void cast_like(bt_onnx_node *n)
{
    const bt_value *like = node_need(n, 1);
    node_out(n, 0, cast_by_attr(n, node_need(n, 0), value_dtype(like)));
}

static void bit_cast(bt_onnx_node *n)
{
    bt_dtype dtype = wanted_dtype(n, node_int(n, "to", 0));
    char name[BT_DTYPE_NAME_SIZE];
    const char *attrs =
        node_format(n, "dtype=\"%s\"", bt_dtype_name(dtype, name, sizeof(name)));
    node_out(n, 0, emit1(n, "reinterpret", attrs, node_need(n, 0)));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.Abs-1", unary, "abs" }, { "ai.onnx.Acos-7", unary, "acos" }, { "ai.onnx.Acosh-9", unary, "acosh" },
    { "ai.onnx.Asin-7", unary, "asin" }, { "ai.onnx.Asinh-9", unary, "asinh" }, { "ai.onnx.Atan-7", unary, "atan" },
    { "ai.onnx.Atanh-9", unary, "atanh" }, { "ai.onnx.BitwiseNot-18", unary, "bitwise_not" }, { "ai.onnx.Ceil-1", unary, "ceil" },
    { "ai.onnx.Cos-7", unary, "cos" }, { "ai.onnx.Cosh-9", unary, "cosh" }, { "ai.onnx.Erf-9", unary, "erf" }, { "ai.onnx.Exp-1", unary, "exp" },
    { "ai.onnx.Floor-1", unary, "floor" }, { "ai.onnx.IsNaN-9", unary, "isnan" }, { "ai.onnx.Log-1", unary, "log" },
    { "ai.onnx.Neg-1", unary, "negative" }, { "ai.onnx.Not-1", unary, "logical_not" }, { "ai.onnx.Relu-1", unary, "nn.relu" },
    { "ai.onnx.Round-11", unary, "round_even" }, { "ai.onnx.Sigmoid-1", unary, "sigmoid" }, { "ai.onnx.Sign-9", unary, "sign" },
    { "ai.onnx.Sin-7", unary, "sin" }, { "ai.onnx.Sinh-9", unary, "sinh" }, { "ai.onnx.Sqrt-1", unary, "sqrt" }, { "ai.onnx.Tan-7", unary, "tan" },
    { "ai.onnx.Tanh-1", unary, "tanh" }, { "ai.onnx.Identity-1", identity, NULL }, { "ai.onnx.Reciprocal-1", reciprocal, NULL },
    { "ai.onnx.Add-1", binary_old, "add" }, { "ai.onnx.Add-7", binary, "add" },
    { "ai.onnx.Sub-1", binary_old, "subtract" }, { "ai.onnx.Sub-7", binary, "subtract" },
    { "ai.onnx.Mul-1", binary_old, "multiply" }, { "ai.onnx.Mul-7", binary, "multiply" },
    { "ai.onnx.Div-1", binary_old, "divide" }, { "ai.onnx.Div-7", binary, "divide" },
    { "ai.onnx.And-1", binary_old, "logical_and" }, { "ai.onnx.And-7", binary, "logical_and" },
    { "ai.onnx.Or-1", binary_old, "logical_or" }, { "ai.onnx.Or-7", binary, "logical_or" },
    { "ai.onnx.Xor-1", binary_old, "logical_xor" }, { "ai.onnx.Xor-7", binary, "logical_xor" },
    { "ai.onnx.Equal-1", binary_old, "equal" }, { "ai.onnx.Equal-7", binary, "equal" },
    { "ai.onnx.Greater-1", binary_old, "greater" }, { "ai.onnx.Greater-7", binary, "greater" },
    { "ai.onnx.Less-1", binary_old, "less" }, { "ai.onnx.Less-7", binary, "less" },
    { "ai.onnx.Pow-1", power_old, NULL }, { "ai.onnx.Pow-7", power, NULL },
    { "ai.onnx.GreaterOrEqual-12", binary, "greater_equal" }, { "ai.onnx.LessOrEqual-12", binary, "less_equal" },
    { "ai.onnx.BitwiseAnd-18", binary, "bitwise_and" }, { "ai.onnx.BitwiseOr-18", binary, "bitwise_or" },
    { "ai.onnx.BitwiseXor-18", binary, "bitwise_xor" }, { "ai.onnx.BitShift-11", bit_shift, NULL }, { "ai.onnx.Mod-10", modulo, NULL },
    { "ai.onnx.Max-1", variadic, "maximum" }, { "ai.onnx.Min-1", variadic, "minimum" }, { "ai.onnx.Sum-1", variadic, "add" },
    { "ai.onnx.Mean-1", mean, NULL }, { "ai.onnx.Clip-1", clip_attrs, NULL }, { "ai.onnx.Clip-11", clip_inputs, NULL },
    { "ai.onnx.Where-9", where, NULL }, { "ai.onnx.IsInf-10", is_inf, NULL },
    { "ai.onnx.Cast-1", cast_by_name, NULL }, { "ai.onnx.Cast-6", cast, NULL }, { "ai.onnx.CastLike-15", cast_like, NULL },
    { "ai.onnx.BitCast-26", bit_cast, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_elementwise[] = { BT_ONNX_OPERATORS(operators),
                                                         { 0 } };
