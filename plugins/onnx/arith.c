#include "arith.h"

#include <math.h>
#include <string.h>

/* ---- elements ---- */

const bt_value *plus(bt_onnx_node *n, const bt_value *x, const bt_value *y)
{
    return emit2(n, "add", NULL, x, y);
}

const bt_value *minus(bt_onnx_node *n, const bt_value *x, const bt_value *y)
{
    return emit2(n, "subtract", NULL, x, y);
}

const bt_value *times(bt_onnx_node *n, const bt_value *x, const bt_value *y)
{
    return emit2(n, "multiply", NULL, x, y);
}

const bt_value *over(bt_onnx_node *n, const bt_value *x, const bt_value *y)
{
    return emit2(n, "divide", NULL, x, y);
}

const bt_value *greater_of(bt_onnx_node *n, const bt_value *x, const bt_value *y)
{
    return emit2(n, "maximum", NULL, x, y);
}

const bt_value *lesser_of(bt_onnx_node *n, const bt_value *x, const bt_value *y)
{
    return emit2(n, "minimum", NULL, x, y);
}

const bt_value *plus_number(bt_onnx_node *n, const bt_value *x, double number)
{
    return number == 0 ? x : plus(n, x, scalar_like(n, x, number));
}

const bt_value *times_number(bt_onnx_node *n, const bt_value *x, double number)
{
    return number == 1 ? x : times(n, x, scalar_like(n, x, number));
}

const bt_value *over_number(bt_onnx_node *n, const bt_value *x, double number)
{
    return number == 1 ? x : over(n, x, scalar_like(n, x, number));
}

const bt_value *applied(bt_onnx_node *n, const char *op, const bt_value *x)
{
    return emit1(n, op, NULL, x);
}

const bt_value *squared(bt_onnx_node *n, const bt_value *x)
{
    return times(n, x, x);
}

const bt_value *clipped(bt_onnx_node *n, const bt_value *x, double low, double high)
{
    return emit1(n, "clip", node_format(n, "a_min=%.17g, a_max=%.17g", low, high), x);
}

const bt_value *chosen(bt_onnx_node *n, const bt_value *condition, const bt_value *yes,
                       const bt_value *no)
{
    return emit3(n, "where", NULL, condition, yes, no);
}

static const bt_value *cast(bt_onnx_node *n, const bt_value *x, bt_dtype dtype,
                            int is_saturated)
{
    char name[BT_DTYPE_NAME_SIZE];
    if (value_dtype(x) == dtype)
        return x;
    return emit1(n, "cast",
                 node_format(n, "dtype=\"%s\"%s",
                             bt_dtype_name(dtype, name, sizeof(name)),
                             is_saturated ? "" : ", saturate=False"),
                 x);
}

const bt_value *cast_to(bt_onnx_node *n, const bt_value *x, bt_dtype dtype)
{
    return cast(n, x, dtype, 1);
}

/* Of numbers below 0 the standard says nothing: NaN. */
static const bt_value *cast_to_power(bt_onnx_node *n, const bt_value *x)
{
    const char *mode = node_text(n, "round_mode", "up");
    if (value_dtype(x) == BT_FLOAT8_E8M0FNU)
        return x;
    if (strcmp(mode, "up") != 0 && strcmp(mode, "down") != 0 &&
        strcmp(mode, "nearest") != 0)
        node_fail(n, BT_ERR_FORMAT, "round_mode is \"%s\", none of up, down and nearest",
                  mode);
    if (n->status)
        return NULL;
    return emit1(n, "cast",
                 node_format(n, "dtype=\"float8_e8m0fnu\", round_mode=\"%s\"%s", mode,
                             node_int(n, "saturate", 1) ? "" : ", saturate=False"),
                 x);
}

const bt_value *cast_by_attr(bt_onnx_node *n, const bt_value *x, bt_dtype dtype)
{
    const int is_float8 = bt_dtype_is_float(dtype) && BT_DTYPE_BITS(dtype) == 8;
    if (dtype == BT_FLOAT8_E8M0FNU)
        return cast_to_power(n, x);
    if (bt_dtype_is_packed(dtype) && bt_dtype_is_float(value_dtype(x)))
        x = dtype == BT_FLOAT4_E2M1FN
                ? chosen(n, applied(n, "isnan", x), scalar_like(n, x, -0.0), x)
                : cast(n, x, BT_INT32, 1);
    return cast(n, x, dtype, !is_float8 || node_int(n, "saturate", 1) != 0);
}

/* ---- dims ---- */

static const bt_type *checked_dim(bt_onnx_node *n, const bt_type *dim)
{
    if (!dim && !n->status)
        n->status = bt_store_why(n->im->ctx, n->im->store);
    return dim;
}

const bt_type *dim_of(bt_onnx_node *n, const bt_value *x, uint32_t axis)
{
    const bt_shape_type *shape = x ? bt_tensor_shape(x->type) : NULL;
    if (shape && axis < shape->n)
        return shape->dims[axis];
    node_fail(n, BT_ERR_FORMAT, "axis %u is out of range for rank %u", axis,
              shape ? shape->n : 0);
    return NULL;
}

const bt_type *dim_number(bt_onnx_node *n, int64_t value)
{
    return checked_dim(n, bt_dim(n->im->store, value));
}

const bt_type *dim_times(bt_onnx_node *n, const bt_type *a, const bt_type *b)
{
    return a && b ? checked_dim(n, bt_dim_mul(n->im->store, a, b)) : NULL;
}

const bt_type *dim_over(bt_onnx_node *n, const bt_type *dim, int64_t by)
{
    const bt_type *divisor = dim_number(n, by);
    const bt_type *out =
        dim && divisor ? bt_dim_floordiv(n->im->store, dim, divisor) : NULL;
    if (!out && !n->status)
        n->status = bt_store_why(n->im->ctx, n->im->store);
    return out;
}

const bt_type *dims_product(bt_onnx_node *n, const bt_value *x, uint32_t from,
                            uint32_t to)
{
    const bt_type *out = dim_number(n, 1);
    for (uint32_t i = from; out && i < to; i++)
        out = dim_times(n, out, dim_of(n, x, i));
    return out;
}

/* ---- shapes ---- */

const bt_value *reshaped(bt_onnx_node *n, const bt_value *x, uint32_t count,
                         const bt_type *const *dims)
{
    return n->status ? NULL
                     : emit_shaped(n, "reshape", "newshape=[0], allowzero=True",
                                   "newshape", x, count, dims);
}

const bt_value *shaped_like(bt_onnx_node *n, const bt_value *x, const bt_value *like)
{
    const bt_shape_type *shape = like ? bt_tensor_shape(like->type) : NULL;
    return shape ? reshaped(n, x, shape->n, shape->dims) : NULL;
}

const bt_value *broadcast(bt_onnx_node *n, const bt_value *x, uint32_t count,
                          const bt_type *const *dims)
{
    return n->status
               ? NULL
               : emit_shaped(n, "broadcast_to", "shape=[]", "shape", x, count, dims);
}

const bt_value *transposed(bt_onnx_node *n, const bt_value *x, uint32_t count,
                           const int64_t *axes)
{
    return emit1(n, "transpose", node_format(n, "axes=%s", format_ints(n, count, axes)),
                 x);
}

const bt_value *axes_swapped(bt_onnx_node *n, const bt_value *x, uint32_t a, uint32_t b)
{
    int64_t axes[BT_MAX_RANK];
    uint32_t rank = value_rank(n, x);
    if (n->status)
        return NULL;
    for (uint32_t i = 0; i < rank; i++)
        axes[i] = i == a ? b : i == b ? a : i;
    return a == b ? x : transposed(n, x, rank, axes);
}

const bt_value *with_axes(bt_onnx_node *n, const bt_value *x, uint32_t axis,
                          uint32_t count)
{
    return count ? emit1(n, "expand_dims",
                         node_format(n, "axis=%u, num_newaxis=%u", axis, count), x)
                 : x;
}

const bt_value *without_axis(bt_onnx_node *n, const bt_value *x, uint32_t axis)
{
    return emit1(n, "squeeze", node_format(n, "axis=[%u]", axis), x);
}

const bt_value *as_scalar(bt_onnx_node *n, const bt_value *x)
{
    return value_rank(n, x) ? reshaped(n, x, 0, NULL) : x;
}

const bt_value *scalar_in(bt_onnx_node *n, uint32_t i)
{
    const bt_value *x = node_in(n, i);
    return x ? as_scalar(n, x) : NULL;
}

const bt_value *along(bt_onnx_node *n, const bt_value *vector, uint32_t axis,
                      uint32_t rank)
{
    return with_axes(n, with_axes(n, vector, 1, rank - axis - 1), 0, axis);
}

const bt_value *sliced(bt_onnx_node *n, const bt_value *x, uint32_t axis, int64_t from,
                       int64_t to)
{
    return emit1(n, "strided_slice",
                 node_format(n, "begin=[%lld], end=[%lld], strides=[1], axes=[%u]",
                             (long long)from, (long long)to, axis),
                 x);
}

const bt_value *joined(bt_onnx_node *n, uint32_t axis, uint32_t count,
                       const bt_value *const *parts)
{
    return count == 1 ? parts[0]
                      : emit_list(n, "concatenate", node_format(n, "axis=%u", axis),
                                  count, parts);
}

const bt_value *reduced(bt_onnx_node *n, const char *op, const bt_value *x,
                        uint32_t naxis, const int64_t *axes, int keepdims)
{
    return emit1(n, op,
                 node_format(n, "axis=%s, keepdims=%s", format_ints(n, naxis, axes),
                             format_bool(keepdims)),
                 x);
}

const bt_value *reduced_range(bt_onnx_node *n, const char *op, const bt_value *x,
                              uint32_t from, uint32_t to)
{
    int64_t axes[BT_MAX_RANK];
    for (uint32_t i = from; i < to && i < BT_MAX_RANK; i++)
        axes[i - from] = i;
    return reduced(n, op, x, to - from, axes, 1);
}

const bt_value *matrix_product(bt_onnx_node *n, const bt_value *x, const bt_value *y)
{
    return emit2(n, "nn.matmul", NULL, x, y);
}

const bt_value *counted(bt_onnx_node *n, const bt_type *dim, bt_dtype dtype)
{
    char name[BT_DTYPE_NAME_SIZE];
    const bt_value *one = emit_scalar(n, BT_INT64, 1);
    const bt_value *ones =
        dim ? emit_shaped(n, "full", "shape=[], dtype=\"int64\"", "shape", one, 1, &dim)
            : NULL;
    return emit1(n, "cumsum",
                 node_format(n, "axis=0, exclusive=True, dtype=\"%s\"",
                             bt_dtype_name(dtype, name, sizeof(name))),
                 ones);
}

const bt_value *size_of(bt_onnx_node *n, const bt_value *x, uint32_t axis)
{
    const bt_value *shape = emit1(n, "shape_of", "dtype=\"int64\"", x);
    return as_scalar(n, sliced(n, shape, 0, axis, (int64_t)axis + 1));
}
