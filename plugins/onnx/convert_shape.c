/* Constants and shapes. */
#include "arith.h"

#include <string.h>

/* ---- constants ---- */

static bt_status list_tensor(bt_onnx_node *n, const struct onnx_attr *ints,
                             const struct onnx_attr *floats, bt_tensor **out)
{
    int64_t count = ints ? ints->ints.len : floats->floats.len;
    BT_TRY(bt_tensor_create(n->im->ctx, ints ? BT_INT64 : BT_FLOAT32, 1, &count, out));
    for (int64_t i = 0; i < count; i++) {
        if (ints)
            bt_tensor_set_int(*out, i, ints->ints.at[i]);
        else
            bt_tensor_set(*out, i, (double)floats->floats.at[i]);
    }
    return NULL;
}

static void constant(bt_onnx_node *n)
{
    const struct onnx_attr *value = node_attr(n, "value", ATTR_TENSOR),
                           *number = node_attr(n, "value_int", ATTR_INT),
                           *real = node_attr(n, "value_float", ATTR_FLOAT),
                           *ints = node_attr(n, "value_ints", ATTR_INTS),
                           *floats = node_attr(n, "value_floats", ATTR_FLOATS);
    bt_tensor *tensor = NULL;
    if (n->status)
        return;
    if (value && value->t)
        n->status =
            onnx_tensor_value(n->im->ctx, n->im->arena, &n->im->files, value->t, &tensor);
    else if (number)
        n->status = bt_tensor_scalar_int(n->im->ctx, BT_INT64, number->i, &tensor);
    else if (real)
        n->status = bt_tensor_scalar(n->im->ctx, BT_FLOAT32, (double)real->f, &tensor);
    else if (ints || floats)
        n->status = list_tensor(n, ints, floats, &tensor);
    else
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "no attribute value, value_int(s) or value_float(s); others are not "
                  "supported");
    node_out(n, 0, n->status ? NULL : emit_table(n, tensor));
}

/* The element that ConstantOfShape repeats, as a scalar. */
static const bt_value *fill_value(bt_onnx_node *n)
{
    const struct onnx_attr *value = node_attr(n, "value", ATTR_TENSOR);
    bt_tensor *tensor = NULL, *scalar = NULL;
    if (n->status)
        return NULL;
    n->status = value && value->t ? onnx_tensor_value(n->im->ctx, n->im->arena,
                                                      &n->im->files, value->t, &tensor)
                                  : bt_tensor_scalar(n->im->ctx, BT_FLOAT32, 0, &tensor);
    if (n->status)
        return NULL;
    if (tensor->nelem != 1)
        node_fail(n, BT_ERR_FORMAT, "value has %lld elements where one is expected",
                  (long long)tensor->nelem);
    else
        n->status = bt_tensor_view(n->im->ctx, tensor, 0, NULL, NULL, 0, &scalar);
    bt_tensor_unref(tensor);
    return n->status ? NULL : emit_const(n, scalar);
}

/* A splat stays a call of `full`, however large. */
static void constant_of_shape(bt_onnx_node *n)
{
    const bt_value *shape = node_need(n, 0), *fill = fill_value(n);
    uint32_t count;
    const bt_type *const *dims;
    char name[BT_DTYPE_NAME_SIZE];
    if (n->status)
        return;
    const char *attrs = node_format(n, "shape=[], dtype=\"%s\"",
                                    bt_dtype_name(value_dtype(fill), name, sizeof(name)));
    if (value_dims(n, shape, &count, &dims))
        node_out(n, 0, emit_shaped(n, "full", attrs, "shape", fill, count, dims));
    else
        node_out(n, 0, emit2(n, "dyn.full", NULL, fill, shape));
}

/* ---- asking ---- */

static void shape(bt_onnx_node *n)
{
    const bt_value *out = emit1(n, "shape_of", "dtype=\"int64\"", node_need(n, 0));
    if (node_has(n, "start") || node_has(n, "end"))
        out = sliced(n, out, 0, node_int(n, "start", 0), node_int(n, "end", INT32_MAX));
    node_out(n, 0, out);
}

static void size(bt_onnx_node *n)
{
    node_out(n, 0, emit1(n, "ndarray_size", "dtype=\"int64\"", node_need(n, 0)));
}

/* ---- changing ---- */

static void reshape(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *target = node_need(n, 1);
    uint32_t count;
    const bt_type *const *dims;
    const char *allow = format_bool(node_int(n, "allowzero", 0) != 0);
    if (n->status)
        return;
    if (value_dims(n, target, &count, &dims))
        node_out(n, 0,
                 emit_shaped(n, "reshape",
                             node_format(n, "newshape=[0], allowzero=%s", allow),
                             "newshape", x, count, dims));
    else
        node_out(
            n, 0,
            emit2(n, "dyn.reshape", node_format(n, "allowzero=%s", allow), x, target));
}

static void reshape_attr(bt_onnx_node *n)
{
    node_out(n, 0,
             emit1(n, "reshape",
                   node_format(n, "newshape=%s", node_ints(n, "shape", "[]")),
                   node_need(n, 0)));
}

/* The wanted shape broadcasts with the data's: where it has 1, or no axis, the data's dim
 * stays. */
static void expand_known(bt_onnx_node *n, const bt_value *x, uint32_t count,
                         const bt_type *const *dims)
{
    uint32_t rank = value_rank(n, x), out_rank = count > rank ? count : rank;
    const bt_type *out[BT_MAX_RANK];
    if (out_rank > BT_MAX_RANK)
        node_fail(n, BT_ERR_LIMIT, "rank %u; the limit is %u", out_rank, BT_MAX_RANK);
    for (uint32_t i = 0; !n->status && i < out_rank; i++) {
        const bt_type *wanted = i + count >= out_rank ? dims[i + count - out_rank] : NULL;
        const bt_type *had =
            i + rank >= out_rank ? dim_of(n, x, i + rank - out_rank) : NULL;
        int64_t one = 0;
        out[i] =
            !wanted || (had && bt_dim_is_const(wanted, &one) && one == 1) ? had : wanted;
    }
    node_out(n, 0, n->status ? NULL : broadcast(n, x, out_rank, out));
}

/* A shape with ones before it, up to a rank. */
static const bt_value *padded_shape(bt_onnx_node *n, const bt_value *shape, uint32_t rank,
                                    uint32_t out_rank)
{
    int64_t ones[BT_MAX_RANK];
    for (uint32_t i = 0; i < BT_MAX_RANK; i++)
        ones[i] = 1;
    const bt_value *parts[2] = { emit_ints(n, out_rank - rank, ones), shape };
    return out_rank > rank ? joined(n, 0, 2, parts) : shape;
}

static void expand_at_run_time(bt_onnx_node *n, const bt_value *x, const bt_value *target)
{
    int64_t count = value_dim(n, target, 0);
    uint32_t rank = value_rank(n, x);
    if (count < 0)
        node_unknown(n, "the rank of the result is", target);
    uint32_t out_rank = count > rank ? (uint32_t)count : rank;
    if (count > BT_MAX_RANK)
        node_fail(n, BT_ERR_LIMIT, "rank %lld; the limit is %u", (long long)count,
                  BT_MAX_RANK);
    if (n->status)
        return;
    const bt_value *had =
        padded_shape(n, emit1(n, "shape_of", "dtype=\"int64\"", x), rank, out_rank);
    const bt_value *wanted = padded_shape(n, target, (uint32_t)count, out_rank);
    const bt_value *is_one = emit2(n, "equal", NULL, wanted, emit_int(n, 1));
    node_out(n, 0, emit2(n, "dyn.broadcast_to", NULL, x, chosen(n, is_one, had, wanted)));
}

static void expand(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *target = node_need(n, 1);
    uint32_t count;
    const bt_type *const *dims;
    if (n->status)
        return;
    if (value_dims(n, target, &count, &dims))
        expand_known(n, x, count, dims);
    else
        expand_at_run_time(n, x, target);
}

static void transpose(bt_onnx_node *n)
{
    const char *axes = node_ints(n, "perm", "None");
    node_out(n, 0,
             emit1(n, "transpose", node_format(n, "axes=%s", axes), node_need(n, 0)));
}

/* ---- axes of size 1 ---- */

/* An attribute before operator set 13, an input since. */
static int read_axes(bt_onnx_node *n, int64_list *out)
{
    const struct onnx_attr *attr = node_attr(n, "axes", ATTR_INTS);
    const bt_value *input = node_in(n, 1);
    if (attr)
        *out = attr->ints;
    else if (input && !value_ints(n, input, out))
        node_unknown(n, "the axes are", input);
    return (attr || input) && !n->status;
}

static void squeeze(bt_onnx_node *n)
{
    int64_list axes = { 0 };
    const char *text = read_axes(n, &axes) ? format_ints(n, axes.len, axes.at) : "None";
    node_out(n, 0, emit1(n, "squeeze", node_format(n, "axis=%s", text), node_need(n, 0)));
}

/* Axes count in the result, in any order. */
static void unsqueeze(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    int64_list axes = { 0 };
    if (!read_axes(n, &axes))
        node_fail(n, BT_ERR_FORMAT, "axes are missing");
    uint32_t rank = value_rank(n, x) + axes.len, is_new[BT_MAX_RANK] = { 0 };
    if (rank > BT_MAX_RANK)
        node_fail(n, BT_ERR_LIMIT, "rank %u; the limit is %u", rank, BT_MAX_RANK);
    for (uint32_t i = 0; !n->status && i < axes.len; i++) {
        uint32_t axis = node_axis(n, axes.at[i], rank);
        if (is_new[axis]++)
            node_fail(n, BT_ERR_ATTRIBUTE, "axis %u is stated twice", axis);
    }
    for (uint32_t i = 0; !n->status && i < rank; i++) {
        if (is_new[i])
            x = with_axes(n, x, i, 1);
    }
    node_out(n, 0, x);
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.Constant-1", constant, NULL }, { "ai.onnx.ConstantOfShape-9", constant_of_shape, NULL },
    { "ai.onnx.Shape-1", shape, NULL }, { "ai.onnx.Size-1", size, NULL },
    { "ai.onnx.Reshape-1", reshape_attr, NULL }, { "ai.onnx.Reshape-5", reshape, NULL }, { "ai.onnx.Expand-8", expand, NULL },
    { "ai.onnx.Transpose-1", transpose, NULL }, { "ai.onnx.Squeeze-1", squeeze, NULL }, { "ai.onnx.Unsqueeze-1", unsqueeze, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_shape[] = { BT_ONNX_OPERATORS(operators), { 0 } };
