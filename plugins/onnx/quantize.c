#include "quantize.h"

#include <math.h>

static int is_quantized(bt_dtype dtype)
{
    return !bt_dtype_is_float(dtype) && dtype != BT_BOOL && BT_DTYPE_BITS(dtype) <= 16;
}

const bt_value *saturated(bt_onnx_node *n, const bt_value *x, bt_dtype dtype)
{
    int is_signed = BT_DTYPE_CLASS(dtype) == BT_CLASS_INT;
    double range = ldexp(1, (int)BT_DTYPE_BITS(dtype));
    if (!is_quantized(dtype))
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "the element type of the result is not supported; integers of 16 bits "
                  "or fewer are");
    double low = is_signed ? -range / 2 : 0;
    return cast_to(n, clipped(n, x, low, low + range - 1), dtype);
}

const bt_value *quantized(bt_onnx_node *n, const bt_value *x, const bt_value *scale,
                          const bt_value *zero, bt_dtype dtype)
{
    const int is_float = bt_dtype_is_float(dtype);
    const bt_value *y = over(n, x, scale);
    y = is_float ? y : applied(n, "round_even", y);
    y = zero ? plus(n, y, cast_to(n, zero, BT_FLOAT32)) : y;
    return is_float ? cast_by_attr(n, y, dtype) : saturated(n, y, dtype);
}

const bt_value *quantized_by_range(bt_onnx_node *n, const bt_value *x,
                                   const bt_value **scale, const bt_value **zero)
{
    const bt_value *none = scalar_like(n, x, 0);
    const bt_value *low = lesser_of(n, emit1(n, "min", "axis=None", x), none),
                   *high = greater_of(n, emit1(n, "max", "axis=None", x), none);
    *scale = over_number(n, minus(n, high, low), 255);
    *zero = applied(n, "round_even", applied(n, "negative", over(n, low, *scale)));
    *zero = saturated(n, *zero, BT_UINT8);
    return quantized(n, x, *scale, *zero, BT_UINT8);
}

const bt_value *centred(bt_onnx_node *n, const bt_value *x, const bt_value *zero)
{
    const bt_dtype of = value_dtype(x);
    const bt_dtype dtype = bt_dtype_is_float(of)    ? BT_FLOAT32
                           : BT_DTYPE_BITS(of) <= 8 ? BT_INT16
                                                    : BT_INT32;
    x = cast_to(n, x, dtype);
    return zero ? minus(n, x, cast_to(n, zero, dtype)) : x;
}

const bt_value *dequantized(bt_onnx_node *n, const bt_value *x, const bt_value *scale,
                            const bt_value *zero)
{
    return times(n, cast_to(n, centred(n, x, zero), BT_FLOAT32),
                 cast_to(n, scale, BT_FLOAT32));
}

const bt_value *requantized(bt_onnx_node *n, const bt_value *sums, const bt_value *scale,
                            const bt_value *y_scale, const bt_value *zero)
{
    const bt_value *factor = over(n, scale, cast_to(n, y_scale, BT_FLOAT32));
    const bt_value *y =
        applied(n, "round_even", times(n, cast_to(n, sums, BT_FLOAT32), factor));
    return n->status ? NULL
                     : saturated(n, plus(n, y, cast_to(n, zero, BT_FLOAT32)),
                                 value_dtype(zero));
}

const bt_value *of_rows(bt_onnx_node *n, const bt_value *x)
{
    return x && value_rank(n, x) == 1 && value_dim(n, x, 0) != 1 ? with_axes(n, x, 1, 1)
                                                                 : x;
}

const bt_value *integer_product(bt_onnx_node *n, const bt_value *a, const bt_value *b)
{
    uint32_t a_rank = value_rank(n, a), b_rank = value_rank(n, b);
    if (a_rank < 2 || b_rank < 2)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "operands of rank %u and %u; at least 2 is needed for both", a_rank,
                  b_rank);
    return n->status ? NULL : emit2(n, "nn.matmul", "out_dtype=\"int32\"", a, b);
}
