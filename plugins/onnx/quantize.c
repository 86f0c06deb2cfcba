#include "quantize.h"

#include <math.h>

const bt_value *zero_point_in(bt_onnx_node *n, uint32_t i)
{
    const bt_value *x = node_in(n, i);
    return x && value_rank(n, x) == 1 && value_dim(n, x, 0) == 1 ? as_scalar(n, x) : x;
}

static const bt_value *checked(bt_onnx_node *n, uint32_t i, const bt_value *scale)
{
    const bt_tensor *known = scale && !n->status ? known_tensor(n, scale) : NULL;
    for (int64_t k = 0; known && k < known->nelem; k++) {
        const double value = bt_tensor_get(known, k);
        if (!(value > 0) || isinf(value))
            node_fail(n, BT_ERR_ARGUMENT,
                      "input %u: element %lld is %g; scales are finite and above 0", i,
                      (long long)k, value);
    }
    /* Codes are matched by scales that are constants. */
    if (known && !bt_const_tensor(scale))
        return emit_const(n, bt_tensor_ref(known));
    return !scale || known || n->status ? scale
                                        : emit1(n, "qnn.check_scale", NULL, scale);
}

const bt_value *scale_in(bt_onnx_node *n, uint32_t i)
{
    return checked(n, i, zero_point_in(n, i));
}

const bt_value *one_scale_in(bt_onnx_node *n, uint32_t i)
{
    const bt_value *scale = node_need(n, i);
    if (!n->status && value_rank(n, scale) == 1 && value_dim(n, scale, 0) > 1)
        node_fail(n, BT_ERR_TYPE, "input %u is %lld scales; one is expected", i,
                  (long long)value_dim(n, scale, 0));
    return n->status ? NULL : checked(n, i, as_scalar(n, scale));
}

int check_zero(bt_onnx_node *n, const bt_value *zero, bt_dtype codes)
{
    char is[BT_DTYPE_NAME_SIZE], of[BT_DTYPE_NAME_SIZE];
    if (!n->status && zero && value_dtype(zero) != codes)
        node_fail(n, BT_ERR_TYPE, "a zero point is %s, and its codes are %s",
                  bt_dtype_name(value_dtype(zero), is, sizeof(is)),
                  bt_dtype_name(codes, of, sizeof(of)));
    return !n->status;
}

static const bt_value *zero_or(bt_onnx_node *n, const bt_value *zero, bt_dtype dtype)
{
    return zero ? zero : emit_scalar(n, dtype, 0);
}

const bt_value *quantized(bt_onnx_node *n, const bt_value *x, const bt_value *scale,
                          const bt_value *zero, bt_dtype dtype, const char *attrs)
{
    // a float type may have a cast of its own, by attribute `saturate`
    const bt_dtype as = bt_dtype_is_float(dtype) ? (bt_dtype)BT_FLOAT32 : dtype;
    char name[BT_DTYPE_NAME_SIZE];
    attrs = node_format(n, "out_dtype=\"%s\"%s%s", bt_dtype_name(as, name, sizeof(name)),
                        attrs ? ", " : "", attrs ? attrs : "");
    const bt_value *y =
        emit3(n, "qnn.quantize", attrs, x, scale, zero_or(n, zero, dtype));
    return n->status ? NULL : cast_by_attr(n, y, dtype);
}

const bt_value *dequantized(bt_onnx_node *n, const bt_value *x, const bt_value *scale,
                            const bt_value *zero, const char *attrs)
{
    return n->status || !check_zero(n, zero, value_dtype(x))
               ? NULL
               : emit3(n, "qnn.dequantize", attrs, x, scale,
                       zero_or(n, zero, value_dtype(x)));
}

/* Data of nothing but zeros has the scale 1, as ONNX Runtime has it. */
const bt_value *quantized_by_range(bt_onnx_node *n, const bt_value *x,
                                   const bt_value **scale, const bt_value **zero)
{
    const bt_value *none = scalar_like(n, x, 0);
    const bt_value *low = lesser_of(n, emit1(n, "min", "axis=None", x), none),
                   *high = greater_of(n, emit1(n, "max", "axis=None", x), none);
    *scale = chosen(n, emit2(n, "equal", NULL, low, high), scalar_like(n, x, 1),
                    over_number(n, minus(n, high, low), 255));
    *zero = emit3(n, "qnn.quantize", "out_dtype=\"uint8\"", applied(n, "negative", low),
                  *scale, emit_scalar(n, BT_UINT8, 0));
    return quantized(n, x, *scale, *zero, BT_UINT8, NULL);
}

const bt_value *centred(bt_onnx_node *n, const bt_value *x, const bt_value *zero)
{
    x = cast_to(n, x, BT_INT32);
    return zero ? minus(n, x, cast_to(n, zero, BT_INT32)) : x;
}

/* A factor or zero point of the shape of data, which it broadcasts to. */
static const bt_value *spread(bt_onnx_node *n, const bt_value *x, const bt_value *data)
{
    return emit2(n, "broadcast_to_like", NULL, x, data);
}

/* With scales along more than one axis, an element of each has its own. */
const bt_value *requantized(bt_onnx_node *n, const bt_value *sums, int axis,
                            const bt_value *scale, const bt_value *y_scale,
                            const bt_value *zero)
{
    char name[BT_DTYPE_NAME_SIZE];
    if (n->status)
        return NULL;
    y_scale = cast_to(n, y_scale, BT_FLOAT32);
    if (value_rank(n, scale) > 1 || value_rank(n, y_scale) > 1 ||
        value_rank(n, zero) > 1) {
        scale = spread(n, scale, sums);
        y_scale = value_rank(n, y_scale) ? spread(n, y_scale, sums) : y_scale;
        zero = value_rank(n, zero) ? spread(n, zero, sums) : zero;
    }
    const bt_value *args[] = { sums, scale, emit_scalar(n, BT_INT32, 0), y_scale, zero };
    const char *attrs = node_format(
        n, "axis=%d, compute_dtype=\"float32\", rounding=\"TOEVEN\", out_dtype=\"%s\"",
        axis, n->status ? "" : bt_dtype_name(value_dtype(zero), name, sizeof(name)));
    return emit(n, "qnn.requantize", attrs, 5, args);
}

const bt_value *integer_product(bt_onnx_node *n, const bt_value *a,
                                const bt_value *a_zero, const bt_value *b,
                                const bt_value *b_zero, const char *attrs)
{
    uint32_t a_rank = value_rank(n, a), b_rank = value_rank(n, b);
    if (a_rank < 1 || b_rank < 1)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "operands of rank %u and %u; at least 1 is needed for both", a_rank,
                  b_rank);
    if (n->status || !check_zero(n, a_zero, value_dtype(a)) ||
        !check_zero(n, b_zero, value_dtype(b)))
        return NULL;
    // a vector is a row, or a column, which the result does not have
    const bt_value *args[] = { a_rank == 1 ? with_axes(n, a, 0, 1) : a,
                               b_rank == 1 ? with_axes(n, b, 1, 1) : b,
                               zero_or(n, a_zero, value_dtype(a)),
                               zero_or(n, b_zero, value_dtype(b)) };
    const bt_value *y = emit(n, "qnn.batch_matmul", attrs, 4, args);
    if (b_rank == 1)
        y = without_axis(n, y, a_rank == 1 ? 1 : a_rank - 1);
    return a_rank == 1 ? without_axis(n, y, b_rank > 2 ? b_rank - 2 : 0) : y;
}

const bt_value *of_rows(bt_onnx_node *n, const bt_value *x)
{
    return x && value_rank(n, x) == 1 ? with_axes(n, x, 1, 1) : x;
}
