#include "range.h"

#include <math.h>

struct format {
    int digits, least,
        most; /* of the fraction; exponents of the least and the greatest */
};

static struct format format_of(bt_dtype dtype)
{
    switch (dtype) {
    case BT_FLOAT16: return (struct format){ 10, -14, 15 };
    case BT_BFLOAT16: return (struct format){ 7, -126, 127 };
    case BT_FLOAT32: return (struct format){ 23, -126, 127 };
    default: return (struct format){ 52, -1022, 1023 };
    }
}

double range_step(bt_dtype dtype, double x)
{
    const struct format f = format_of(dtype);
    const int exponent = x == 0 ? f.least : ilogb(x);
    return ldexp(1, (exponent < f.least ? f.least : exponent) - f.digits);
}

double range_rounded(bt_dtype dtype, double x)
{
    if (dtype == BT_FLOAT64 || !isfinite(x))
        return x;
    const double step = range_step(dtype, x), y = rint(x / step) * step;
    return ilogb(y) > format_of(dtype).most && y != 0 ? copysign((double)INFINITY, x) : y;
}

double range_below(bt_dtype dtype, double x)
{
    int exponent;
    const double step = range_step(dtype, x);
    // below a power of two numbers lie closer together than above it
    const int is_power = x > 0 && frexp(x, &exponent) == 0.5;
    return x - (is_power && exponent - 1 > format_of(dtype).least ? step / 2 : step);
}
