/*
 * What OpenCL C has no operator for, or leaves open, as functions: scalars.def. Each is of one type of
 * values: i32_ also of 8 and 16 bits and bool, u32_, i64_, u64_; f32_ also of shorter floats, f64_.
 */
#define INTEGERS(p, type, utype, bits)                                                          \
    static type p##_add(type a, type b) { return (type)((utype)a + (utype)b); }                 \
    static type p##_sub(type a, type b) { return (type)((utype)a - (utype)b); }                 \
    static type p##_mul(type a, type b) { return (type)((utype)a * (utype)b); }                 \
    static type p##_neg(type a) { return (type)(0 - (utype)a); }                                \
    static type p##_max(type a, type b) { return a > b ? a : b; }                               \
    static type p##_min(type a, type b) { return a < b ? a : b; }                               \
    static type p##_shift_left(type a, type b)                                                  \
    {                                                                                           \
        return (utype)b > bits - 1 ? (type)0 : (type)((utype)a << (b & (bits - 1)));            \
    }                                                                                           \
    static type p##_shift_right(type a, type b)                                                 \
    {                                                                                           \
        return (utype)b > bits - 1 ? (type)(a < 0 ? -1 : 0) : (type)(a >> (b & (bits - 1)));    \
    }                                                                                           \
    static utype p##_power(utype a, utype b)                                                    \
    {                                                                                           \
        utype y = 1;                                                                            \
        for (; b; b >>= 1, a *= a)                                                              \
            y *= b & 1 ? a : (utype)1;                                                          \
        return y;                                                                               \
    }

#define SIGNED(p, type, utype)                                                                  \
    static type p##_abs(type a) { return a < 0 ? p##_neg(a) : a; }                              \
    static type p##_sign(type a) { return (a > 0) - (a < 0); }                                  \
    static type p##_truncdiv(type a, type b)                                                    \
    {                                                                                           \
        return b == 0 ? (type)0 : b == -1 ? p##_neg(a) : (type)(a / b);                         \
    }                                                                                           \
    static type p##_truncmod(type a, type b)                                                    \
    {                                                                                           \
        return b == 0 || b == -1 ? (type)0 : (type)(a % b);                                     \
    }                                                                                           \
    static type p##_floordiv(type a, type b)                                                    \
    {                                                                                           \
        return p##_truncdiv(a, b) - (p##_truncmod(a, b) != 0 && (a < 0) != (b < 0));            \
    }                                                                                           \
    static type p##_ceildiv(type a, type b)                                                     \
    {                                                                                           \
        return p##_truncdiv(a, b) + (p##_truncmod(a, b) != 0 && (a < 0) == (b < 0));            \
    }                                                                                           \
    static type p##_mod(type a, type b)                                                         \
    {                                                                                           \
        const type rest = p##_truncmod(a, b);                                                   \
        return rest != 0 && (a < 0) != (b < 0) ? rest + b : rest;                               \
    }                                                                                           \
    static type p##_wrap(type a, type b) { return a < 0 ? p##_add(a, b) : a; }                  \
    static type p##_pow(type a, type b)                                                         \
    {                                                                                           \
        if (b >= 0)                                                                             \
            return (type)p##_power((utype)a, (utype)b);                                         \
        return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;                                     \
    }

#define UNSIGNED(p, type)                                                                       \
    static type p##_truncdiv(type a, type b) { return b ? a / b : (type)0; }                    \
    static type p##_truncmod(type a, type b) { return b ? a % b : (type)0; }                    \
    static type p##_floordiv(type a, type b) { return p##_truncdiv(a, b); }                     \
    static type p##_ceildiv(type a, type b)                                                     \
    {                                                                                           \
        return p##_truncdiv(a, b) + (p##_truncmod(a, b) != 0);                                  \
    }                                                                                           \
    static type p##_mod(type a, type b) { return p##_truncmod(a, b); }                          \
    static type p##_pow(type a, type b) { return p##_power(a, b); }

INTEGERS(i32, int, uint, 32)
INTEGERS(u32, uint, uint, 32)
INTEGERS(i64, long, ulong, 64)
INTEGERS(u64, ulong, ulong, 64)
SIGNED(i32, int, uint)
SIGNED(i64, long, ulong)
UNSIGNED(u32, uint)
UNSIGNED(u64, ulong)

/* ---- floats ---- */

/* exp(r) - 1 - r of |r| <= ln(2) / 2                                              2^-22.8 */
static float f32_exp_rest(float r)
{
    const float z = r * r, high = 0x1.6d10fcp-10f * r + 0x1.120b62p-7f;
    const float low = 0x1.55551ap-5f * r + 0x1.5554dep-3f;
    return ((high * z + low) * r + 0.5f) * z;
}

/* 2^f of |f| <= 1/2, less 1                                                       2^-26.3 */
static float f32_exp2_rest(float f)
{
    const float z = f * f, high = 0x1.44138ap-13f * f + 0x1.5f089p-10f;
    const float middle = 0x1.3b2a54p-7f * f + 0x1.c6af6cp-5f;
    return 0x1.62e43p-1f * f + ((high * z + middle) * f + 0x1.ebfbep-3f) * z;
}

/* 2^k of a whole number k that was added to 0x1.8p23, which leaves it in the low bits. */
static float f32_power(float whole)
{
    return as_float((as_uint(whole) << 23) + 0x3f800000u);
}

/* x * 2^k of such a number, in two steps, each within the exponents that there are. */
static float f32_scale(float x, float whole)
{
    const uint k = as_uint(whole) - (0x4b400000u - 512), half_way = k >> 1;
    return x * as_float((half_way + (127 - 256)) << 23) *
           as_float((k - half_way + (127 - 256)) << 23);
}

/* Beyond the limits all is inf, or 0; a NaN stays. Plain arithmetic, of which loops make vectors. */
static float f32_exp(float a)
{
    float x = a < -104.0f ? -104.0f : a;
    x = x > 89.0f ? 89.0f : x;
    const float whole = x * 0x1.715476p+0f + 0x1.8p23f, k = whole - 0x1.8p23f;
    const float r = (x - k * 0x1.63p-1f) - k * -0x1.bd0106p-13f;
    return f32_scale(1 + (r + f32_exp_rest(r)), whole);
}

static float f32_exp2(float a)
{
    float x = a < -151.0f ? -151.0f : a;
    x = x > 129.0f ? 129.0f : x;
    const float whole = x + 0x1.8p23f;
    return f32_scale(1 + f32_exp2_rest(x - (whole - 0x1.8p23f)), whole);
}

#define FLOATS(p, type)                                                                         \
    static type p##_max(type a, type b) { return a > b || a != a ? a : b; }                     \
    static type p##_min(type a, type b) { return a < b || a != a ? a : b; }                     \
    static type p##_sign(type a) { return a > 0 ? (type)1 : a < 0 ? (type)-1 : a; }             \
    static type p##_zmul(type a, type b) { return a == 0 || b == 0 ? (type)0 : a * b; }         \
    static type p##_mod(type a, type b)                                                         \
    {                                                                                           \
        const type rest = fmod(a, b);                                                           \
        return (rest < 0 && b > 0) || (rest > 0 && b < 0) ? rest + b : rest;                    \
    }                                                                                           \
    static type p##_sigmoid(type a)                                                             \
    {                                                                                           \
        const type e = p##_exp(-fabs(a));                                                       \
        return (a < 0 ? e : (type)1) / (1 + e);                                                 \
    }
FLOATS(f32, float)

/* A quotient near a whole number may round to it, so the remainder, which is exact, decides. */
static float f32_truncdiv(float a, float b)
{
    if (b == 0 || !isfinite(a) || !isfinite(b))
        return trunc(a / b);
    return rint((a - fmod(a, b)) / b);
}

static float f32_floordiv(float a, float b)
{
    const float rest = fmod(a, b);
    if (b == 0 || !isfinite(a) || !isfinite(b))
        return floor(a / b);
    return rint((a - rest) / b) - (rest != 0 && (rest < 0) != (b < 0) ? 1.0f : 0.0f);
}

static float f32_ceildiv(float a, float b)
{
    const float rest = fmod(a, b);
    if (b == 0 || !isfinite(a) || !isfinite(b))
        return ceil(a / b);
    return rint((a - rest) / b) + (rest != 0 && (rest < 0) == (b < 0) ? 1.0f : 0.0f);
}

/* The device's functions of these may be wrong by 5 to 16 units of the last place; those of double,
 * rounded to float, are right. */
#ifdef cl_khr_fp64
#define BY_DOUBLE(name)       static float f32_##name(float a) { return (float)name((double)a); }
#define BY_DOUBLE_OF_TWO(name) \
    static float f32_##name(float a, float b) { return (float)name((double)a, (double)b); }
#else
#define BY_DOUBLE(name)        static float f32_##name(float a) { return name(a); }
#define BY_DOUBLE_OF_TWO(name) static float f32_##name(float a, float b) { return name(a, b); }
#endif
BY_DOUBLE(tan)
BY_DOUBLE(atan)
BY_DOUBLE(atanh)
BY_DOUBLE_OF_TWO(atan2)
BY_DOUBLE_OF_TWO(pow)

/* By exp(2 |a|) - 1, exact near 0. */
static float f32_tanh(float a)
{
    float x = 2 * fabs(a);
    x = x > 20 ? 20.0f : x;
    const float whole = x * 0x1.715476p+0f + 0x1.8p23f, k = whole - 0x1.8p23f;
    const float r = (x - k * 0x1.63p-1f) - k * -0x1.bd0106p-13f, power = f32_power(whole);
    const float e = power * (r + f32_exp_rest(r)) + (power - 1);
    return copysign(e / (e + 2), a);
}

/* By 1 - 2^-q(|a|), exact near 0; beyond 4 that is 1. q: -log2(1 - erf(x))        2^-27.8 */
static float f32_erf(float a)
{
    const float size = fabs(a), x = size > 4 ? 4.0f : size, z = x * x;
    const float last = -0x1.c04ba0p-17f * z + (0x1.640d5ap-13f * x + -0x1.dec8cap-11f);
    const float y = last * z + (0x1.3b48ecp-9f * x + -0x1.e63a14p-13f);
    const float first = (-0x1.c4b808p-6f * x + 0x1.2fabd8p-3f) * z;
    const float q = (y * (z * z) + (first + (0x1.d63ec4p-1f * x + 0x1.a0be84p0f))) * x;
    const float whole = 0x1.8p23f - q, power = f32_power(whole);
    return copysign(power * f32_exp2_rest(-q - (whole - 0x1.8p23f)) + (power - 1), a);
}

/* ---- to integers: of NaN 0 ---- */

#define TO_INTEGERS(p, type)                                                                    \
    static int p##_to_i8(type a) { return a != a ? 0 : convert_char_sat_rtz(a); }               \
    static int p##_to_u8(type a) { return a != a ? 0 : convert_uchar_sat_rtz(a); }              \
    static int p##_to_i16(type a) { return a != a ? 0 : convert_short_sat_rtz(a); }             \
    static int p##_to_u16(type a) { return a != a ? 0 : convert_ushort_sat_rtz(a); }            \
    static int p##_to_i32(type a) { return a != a ? 0 : convert_int_sat_rtz(a); }               \
    static uint p##_to_u32(type a) { return a != a ? 0 : convert_uint_sat_rtz(a); }             \
    static long p##_to_i64(type a) { return a != a ? 0 : convert_long_sat_rtz(a); }             \
    static ulong p##_to_u64(type a) { return a != a ? 0 : convert_ulong_sat_rtz(a); }
TO_INTEGERS(f32, float)

/* ---- floats of fewer bits ---- */

/* To be rounded again to fewer digits: what is lost shows in the last bit, so that no tie is made. */
static float u64_to_odd(ulong a)
{
    uint drop = 0;
    ulong kept = a;
    while (kept >> 24) {
        kept >>= 1;
        drop++;
    }
    return (float)(uint)(kept | (drop && kept << drop != a)) * as_float((drop + 127) << 23);
}

static float i64_to_odd(long a)
{
    return a < 0 ? -u64_to_odd(0 - (ulong)a) : u64_to_odd((ulong)a);
}

/* The magnitude's code, rounded, with so many digits of the fraction and this bias, were there no
 * greatest exponent. Not of a NaN. */
static uint short_code(float a, int digits, int bias)
{
    const uint bits = as_uint(a) & 0x7fffffffu;
    const int exponent = (int)(bits >> 23) - 127, least = 1 - bias;
    const uint significand = (bits & 0x7fffffu) | (bits >> 23 ? 0x800000u : 0u);
    const int drop = 23 - digits + (exponent < least ? least - exponent : 0);
    // bfloat16 has the exponents of float, and subnormals of these
    const int by = bits >> 23 ? drop : 23 - digits;
    if (by > 25 || (!(bits >> 23) && bias != 127))
        return 0;
    const uint lost = significand & ((1u << by) - 1), half_way = by ? 1u << (by - 1) : 0;
    uint kept = significand >> by;
    kept += by && (lost > half_way || (lost == half_way && (kept & 1)));
    // a carry moves into the exponent by itself
    return (exponent < least ? 0u : (uint)(exponent + bias - 1) << digits) + kept;
}

/* The digits move to their place; the product moves the exponents, and makes subnormals right. */
static float f32_of_float16(ushort h)
{
    const float size = as_float((h & 0x7fffu) << 13) * 0x1p112f;
    const uint bits = (h & 0x7c00u) == 0x7c00u ? as_uint(size) | 0x7f800000u : as_uint(size);
    return as_float(bits | (h & 0x8000u) << 16);
}

/* Subnormals are rounded by a sum with a number whose last digit is theirs. */
static ushort f32_to_float16(float a)
{
    const uint sign = as_uint(a) >> 31 << 15, bits = as_uint(a) & 0x7fffffffu;
    const uint normal = (bits + 0xfffu + (bits >> 13 & 1u) - (112u << 23)) >> 13;
    const uint small = as_uint(as_float(bits) + 0.5f) - 0x3f000000u;
    uint code = bits < 0x38800000u ? small : normal;
    code = bits >= 0x477ff000u ? 0x7c00u : code;
    code = bits > 0x7f800000u ? 0x7e00u | (bits >> 13 & 0x3ffu) : code;
    return (ushort)(sign | code);
}

static float f32_of_bfloat16(ushort b)
{
    return as_float((uint)b << 16);
}

static ushort f32_to_bfloat16(float a)
{
    const uint sign = as_uint(a) >> 31 << 15, code = short_code(a, 7, 127);
    if (a != a)
        return (ushort)(as_uint(a) >> 16 | 0x40u);
    return (ushort)(sign | (code < 0x7f80u ? code : 0x7f80u));
}

static float f32_of_float8(uint b, int digits, int bias)
{
    const uint sign = (b & 0x80u) << 24, exponent = (b & 0x7fu) >> digits;
    const uint fraction = b & ((1u << digits) - 1u);
    const float small = (float)fraction * as_float((uint)(128 - bias - digits) << 23);
    if (exponent == 0)
        return sign ? -small : small;
    return as_float(sign | fraction << (23 - digits) | (exponent + 127u - (uint)bias) << 23);
}

/* ... and the code of the greatest number, which stands for all beyond. */
static uchar f32_to_float8(float a, int digits, int bias, uint most)
{
    const uint code = isinf(a) ? most : short_code(a, digits, bias);
    return (uchar)(as_uint(a) >> 31 << 7 | (code < most ? code : most));
}

static float f32_of_float8_e4m3fn(uchar b)
{
    return (b & 0x7fu) == 0x7fu ? as_float((b & 0x80u) << 24 | 0x7fc00000u)
                                : f32_of_float8(b, 3, 7);
}

static uchar f32_to_float8_e4m3fn(float a)
{
    return a == a ? f32_to_float8(a, 3, 7, 0x7e) : (uchar)(as_uint(a) >> 31 << 7 | 0x7fu);
}

static float f32_of_float8_e4m3fnuz(uchar b)
{
    return b == 0x80u ? as_float(0x7fc00000u) : f32_of_float8(b, 3, 8);
}

static uchar f32_to_float8_e4m3fnuz(float a)
{
    const uchar code = a == a ? f32_to_float8(a, 3, 8, 0x7f) : 0;
    return a != a ? 0x80u : code == 0x80u ? 0 : code;
}

static float f32_of_float8_e5m2(uchar b)
{
    if ((b & 0x7cu) == 0x7cu)
        return as_float((b & 0x80u) << 24 | 0x7f800000u | (b & 3u) << 21);
    return f32_of_float8(b, 2, 15);
}

static uchar f32_to_float8_e5m2(float a)
{
    const uint sign = as_uint(a) >> 31 << 7;
    if (a != a)
        return (uchar)(sign | 0x7eu | (as_uint(a) >> 21 & 1u));
    return isinf(a) ? (uchar)(sign | 0x7cu) : f32_to_float8(a, 2, 15, 0x7b);
}

static float f32_of_float8_e5m2fnuz(uchar b)
{
    return b == 0x80u ? as_float(0x7fc00000u) : f32_of_float8(b, 2, 16);
}

static uchar f32_to_float8_e5m2fnuz(float a)
{
    const uchar code = a == a ? f32_to_float8(a, 2, 16, 0x7f) : 0;
    return a != a ? 0x80u : code == 0x80u ? 0 : code;
}

/* A float rounded to the numbers of a shorter type. */
#define AS_CODED(name) \
    static float f32_as_##name(float a) { return f32_of_##name(f32_to_##name(a)); }
AS_CODED(float16)
AS_CODED(bfloat16)
AS_CODED(float8_e4m3fn)
AS_CODED(float8_e4m3fnuz)
AS_CODED(float8_e5m2)
AS_CODED(float8_e5m2fnuz)

/* ---- double, where the device has it ---- */

#ifdef cl_khr_fp64
static double f64_exp(double a) { return exp(a); }
FLOATS(f64, double)
TO_INTEGERS(f64, double)
static double f64_truncdiv(double a, double b) { return trunc(a / b); }
static double f64_floordiv(double a, double b) { return floor(a / b); }
static double f64_ceildiv(double a, double b) { return ceil(a / b); }

/* As u64_to_odd. */
static float f64_to_odd(double a)
{
    float near = (float)a;
    if (near != near || (double)near == a)
        return near;
    if (fabs((double)near) > fabs(a))
        near = as_float(as_uint(near) - 1);
    return as_float(as_uint(near) | 1);
}
#endif
