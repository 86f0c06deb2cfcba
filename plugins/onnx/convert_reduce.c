/* Reductions over axes, positions of extremes, running sums. */
#include "arith.h"

#include <string.h>

/* ---- axes ---- */

/* What a reduction is over: axes by attribute (before) or by input (since 13 or 18). */
struct over {
    const char *axes; /* as text; "None": all */
    int is_nothing;   /* no axis at all: the elements as they are */
};

static struct over read_axes(bt_onnx_node *n, int by_input)
{
    struct over out = { .axes = node_ints(n, "axes", "None") };
    int64_list list = { 0 };
    if (!by_input)
        return out;
    const bt_value *given = node_in(n, 1);
    if (given && !value_ints(n, given, &list))
        node_unknown(n, "the axes are", given);
    out.is_nothing = list.len == 0 && node_int(n, "noop_with_empty_axes", 0);
    out.axes = list.len ? format_ints(n, list.len, list.at) : "None";
    return out;
}

static const bt_value *over_axes(bt_onnx_node *n, const char *op, const bt_value *x,
                                 const struct over *over)
{
    const char *attrs = node_format(n, "axis=%s, keepdims=%s", over->axes,
                                    format_bool(node_int(n, "keepdims", 1) != 0));
    return over->is_nothing ? x : emit1(n, op, attrs, x);
}

/* ---- what is reduced ---- */

/* The greatest and least of booleans. */
static const bt_value *extreme(bt_onnx_node *n, const char *op, const bt_value *x,
                               const struct over *over)
{
    int is_max = strcmp(op, "max") == 0;
    if (value_dtype(x) == BT_BOOL)
        op = is_max ? "any" : "all";
    return over_axes(n, op, x, over);
}

/* log(sum(exp(x))), the integers as floats. */
static const bt_value *log_sum_exp(bt_onnx_node *n, const bt_value *x,
                                   const struct over *over)
{
    bt_dtype dtype = value_dtype(x);
    uint32_t is_float = 1u << BT_DTYPE_CLASS(dtype) & BT_CLASS_BITS_FLOAT;
    const bt_value *y =
        over_axes(n, "logsumexp", is_float ? x : cast_to(n, x, BT_FLOAT64), over);
    if (over->is_nothing)
        return x;
    return cast_to(n, y, dtype);
}

static const bt_value *root(bt_onnx_node *n, const char *op, const bt_value *x)
{
    bt_dtype dtype = value_dtype(x);
    uint32_t is_float = 1u << BT_DTYPE_CLASS(dtype) & BT_CLASS_BITS_FLOAT;
    return cast_to(n, applied(n, op, is_float ? x : cast_to(n, x, BT_FLOAT64)), dtype);
}

static void reduce_by(bt_onnx_node *n, int by_input)
{
    const char *kind = n->row->arg;
    const bt_value *x = node_need(n, 0), *y;
    struct over over = read_axes(n, by_input);
    if (strcmp(kind, "l1") == 0)
        y = over_axes(n, "sum", applied(n, "abs", x), &over);
    else if (strcmp(kind, "l2") == 0)
        y = root(n, "sqrt", over_axes(n, "sum", squared(n, x), &over));
    else if (strcmp(kind, "sum_square") == 0)
        y = over_axes(n, "sum", squared(n, x), &over);
    else if (strcmp(kind, "log_sum") == 0)
        y = root(n, "log", over_axes(n, "sum", x, &over));
    else if (strcmp(kind, "logsumexp") == 0)
        y = log_sum_exp(n, x, &over);
    else
        y = extreme(n, kind, x, &over);
    node_out(n, 0, y);
}

static void reduce_attr(bt_onnx_node *n)
{
    reduce_by(n, 0);
}

static void reduce_input(bt_onnx_node *n)
{
    reduce_by(n, 1);
}

static void arg_reduce(bt_onnx_node *n)
{
    const char *attrs = node_format(
        n, "axis=[%lld], keepdims=%s, select_last_index=%s",
        (long long)node_int(n, "axis", 0), format_bool(node_int(n, "keepdims", 1) != 0),
        format_bool(node_int(n, "select_last_index", 0) != 0));
    node_out(n, 0, cast_to(n, emit1(n, n->row->arg, attrs, node_need(n, 0)), BT_INT64));
}

/* ---- running ---- */

static void running(bt_onnx_node *n)
{
    int64_list axis = { 0 };
    const bt_value *x = node_need(n, 0);
    if (!value_ints(n, node_need(n, 1), &axis) || axis.len != 1)
        node_unknown(n, "the axis is", node_in(n, 1));
    if (n->status)
        return;
    const char *at = node_format(n, "axis=%lld", (long long)axis.at[0]);
    int reverse = node_int(n, "reverse", 0) != 0;
    const char *attrs = node_format(n, "%s, exclusive=%s", at,
                                    format_bool(node_int(n, "exclusive", 0) != 0));
    x = reverse ? emit1(n, "reverse", at, x) : x;
    const bt_value *y = emit1(n, n->row->arg, attrs, x);
    node_out(n, 0, reverse ? emit1(n, "reverse", at, y) : y);
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.ReduceMax-1", reduce_attr, "max" }, { "ai.onnx.ReduceMax-18", reduce_input, "max" },
    { "ai.onnx.ReduceMin-1", reduce_attr, "min" }, { "ai.onnx.ReduceMin-18", reduce_input, "min" },
    { "ai.onnx.ReduceMean-1", reduce_attr, "mean" }, { "ai.onnx.ReduceMean-18", reduce_input, "mean" },
    { "ai.onnx.ReduceProd-1", reduce_attr, "prod" }, { "ai.onnx.ReduceProd-18", reduce_input, "prod" },
    { "ai.onnx.ReduceSum-1", reduce_attr, "sum" }, { "ai.onnx.ReduceSum-13", reduce_input, "sum" },
    { "ai.onnx.ReduceL1-1", reduce_attr, "l1" }, { "ai.onnx.ReduceL1-18", reduce_input, "l1" },
    { "ai.onnx.ReduceL2-1", reduce_attr, "l2" }, { "ai.onnx.ReduceL2-18", reduce_input, "l2" },
    { "ai.onnx.ReduceSumSquare-1", reduce_attr, "sum_square" }, { "ai.onnx.ReduceSumSquare-18", reduce_input, "sum_square" },
    { "ai.onnx.ReduceLogSum-1", reduce_attr, "log_sum" }, { "ai.onnx.ReduceLogSum-18", reduce_input, "log_sum" },
    { "ai.onnx.ReduceLogSumExp-1", reduce_attr, "logsumexp" }, { "ai.onnx.ReduceLogSumExp-18", reduce_input, "logsumexp" },
    { "ai.onnx.ArgMax-1", arg_reduce, "argmax" }, { "ai.onnx.ArgMin-1", arg_reduce, "argmin" },
    { "ai.onnx.CumSum-11", running, "cumsum" }, { "ai.onnx.CumProd-26", running, "cumprod" },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_reduce[] = { BT_ONNX_OPERATORS(operators), { 0 } };
