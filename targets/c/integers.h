/*
 * As floats.h, behind it: scalars.def of integers, conversions and roundings of dtypes.
 *
 * i_ integers, in int64_t; u_ uint64, whose bits an int64_t holds
 */

/* ---- integers: arithmetic in uint64_t, which wraps ---- */

static int64_t i_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t i_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t i_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t i_neg(int64_t a)
{
    return (int64_t)(0 - (uint64_t)a);
}

static int64_t i_abs(int64_t a)
{
    return a < 0 ? i_neg(a) : a;
}

static int64_t i_sign(int64_t a)
{
    return (a > 0) - (a < 0);
}

static int64_t i_truncdiv(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? i_neg(a) : a / b;
}

static int64_t i_truncmod(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t i_floordiv(int64_t a, int64_t b)
{
    return i_truncdiv(a, b) - (i_truncmod(a, b) != 0 && (a < 0) != (b < 0));
}

static int64_t i_ceildiv(int64_t a, int64_t b)
{
    return i_truncdiv(a, b) + (i_truncmod(a, b) != 0 && (a < 0) == (b < 0));
}

static int64_t i_mod(int64_t a, int64_t b)
{
    const int64_t rest = i_truncmod(a, b);
    return rest != 0 && (a < 0) != (b < 0) ? rest + b : rest;
}

static int64_t i_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t i_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t i_wrap(int64_t a, int64_t b)
{
    return a < 0 ? i_add(a, b) : a;
}

static int64_t i_shift_left(int64_t a, int64_t b)
{
    return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}

static int64_t i_shift_right(int64_t a, int64_t b)
{
    return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b;
}

static int64_t u_pow(int64_t x, int64_t z)
{
    uint64_t a = (uint64_t)x, b = (uint64_t)z, y = 1;
    for (; b; b >>= 1, a *= a) {
        if (b & 1)
            y *= a;
    }
    return (int64_t)y;
}

static int64_t i_pow(int64_t a, int64_t b)
{
    if (b >= 0)
        return u_pow(a, b);
    return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
}

static int64_t u_truncdiv(int64_t a, int64_t b)
{
    return b ? (int64_t)((uint64_t)a / (uint64_t)b) : 0;
}

static int64_t u_truncmod(int64_t a, int64_t b)
{
    return b ? (int64_t)((uint64_t)a % (uint64_t)b) : 0;
}

static int64_t u_ceildiv(int64_t a, int64_t b)
{
    return u_truncdiv(a, b) + (u_truncmod(a, b) != 0);
}

static int64_t u_lt(int64_t a, int64_t b)
{
    return (uint64_t)a < (uint64_t)b;
}

static int64_t u_le(int64_t a, int64_t b)
{
    return (uint64_t)a <= (uint64_t)b;
}

static int64_t u_max(int64_t a, int64_t b)
{
    return u_lt(b, a) ? a : b;
}

static int64_t u_min(int64_t a, int64_t b)
{
    return u_lt(a, b) ? a : b;
}

static int64_t u_shift_right(int64_t a, int64_t b)
{
    return (uint64_t)b > 63 ? 0 : (int64_t)((uint64_t)a >> b);
}

/* ---- conversions ---- */

/* float16 (10, 15) or bfloat16 (7, 127): digits of the fraction, greatest exponent. */
static uint16_t f64_to_short(double a, int digits, int most)
{
    const uint64_t bits = f_bits(a), fraction = bits & UINT64_C(0xfffffffffffff);
    const uint64_t sign = bits >> 63 << 15;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023, least = 1 - most;
    const uint64_t infinity = (uint64_t)(2 * most + 1) << digits;
    const uint64_t significand = fraction | UINT64_C(1) << 52;
    const int drop = 52 - digits + (exponent < least ? least - exponent : 0);
    uint64_t kept, lost, half, biased;
    if (exponent == 1024)
        return (uint16_t)(sign | infinity |
                          (fraction
                               ? fraction >> (52 - digits) | UINT64_C(1) << (digits - 1)
                               : 0));
    if (exponent > most)
        return (uint16_t)(sign | infinity);
    if (exponent < least - digits - 1)
        return (uint16_t)sign;
    kept = significand >> drop;
    lost = significand & ((UINT64_C(1) << drop) - 1);
    half = UINT64_C(1) << (drop - 1);
    kept += lost > half || (lost == half && (kept & 1));
    biased = exponent < least ? 0 : (uint64_t)(exponent + most - 1);
    return (uint16_t)(sign | ((biased << digits) + kept));
}

static uint16_t f16_of(double a)
{
    return f64_to_short(a, 10, 15);
}

static uint16_t bf16_of(double a)
{
    return f64_to_short(a, 7, 127);
}

static double f16_value(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t exponent = h >> 10 & 0x1fu, fraction = h & 0x3ffu;
    if (exponent == 0x1f)
        return (double)f32_of_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0)
        return (double)f32_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    return f_of_bits(f_bits((double)(int32_t)fraction * 0x1p-24) | (uint64_t)sign << 32);
}

static double bf16_value(uint16_t b)
{
    return (double)f32_of_bits((uint32_t)b << 16);
}

/* An integer as a double. */
static double f_of_i(int64_t a)
{
    return (double)a;
}

static double f_of_u(int64_t a)
{
    return a >= 0 ? (double)a : 2 * (double)((int64_t)((uint64_t)a >> 1) | (a & 1));
}

/* The same, to be rounded again to fewer digits: what is lost shows in the last bit. */
static double f_of_i_sticky(int64_t a)
{
    uint64_t size = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    if (size >> 53)
        size = (size & ~UINT64_C(2047)) | ((size & 2047) != 0 ? 2048 : 0);
    return a < 0 ? -f_of_u((int64_t)size) : f_of_u((int64_t)size);
}

static double f_of_u_sticky(int64_t a)
{
    uint64_t size = (uint64_t)a;
    if (size >> 53)
        size = (size & ~UINT64_C(2047)) | ((size & 2047) != 0 ? 2048 : 0);
    return f_of_u((int64_t)size);
}

/* A float as an integer: truncated, saturated; 0 of a NaN. */
static int64_t i_of_f(double a, int64_t low, int64_t high)
{
    int64_t i;
    if (f_isnan(a))
        return 0;
    if (a >= 0x1p63)
        return high;
    if (a < -0x1p63)
        return low;
    i = (int64_t)a;
    return i < low ? low : i > high ? high : i;
}

static int64_t u_of_f(double a)
{
    if (f_isnan(a) || a <= 0)
        return 0;
    if (a >= 0x1p64)
        return -1;
    return a < 0x1p63 ? (int64_t)a
                      : (int64_t)((uint64_t)(int64_t)(a - 0x1p63) | UINT64_C(1) << 63);
}
