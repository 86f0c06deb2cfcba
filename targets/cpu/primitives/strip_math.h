/*
 * Elementary functions of float32, without branches, calls or integers wider than the
 * lanes can take: loops over them become vectors on every instruction set, and give the
 * same bits on all. Terms of a polynomial are summed by pairs: what follows waits for fewer steps.
 *
 * The hot ones (exp, exp2, tanh, sigmoid, erf) stay in float32, within 3 ulp. The others
 * go through float64 with polynomials good to 2^-33 or better, and so come out within 0.51
 * ulp; subnormals need no care there. Coefficients interpolate at Chebyshev points; the
 * comment beside each is its relative error.
 */
#ifndef CPU_STRIP_MATH_H
#define CPU_STRIP_MATH_H

#include "strip_loops.h"
#include "strip_turns.h"

#define LN2    0x1.62e42fefa39efp-1
#define LOG2_E 0x1.71547652b82fep0

/* Adding it leaves a number rounded to whole in the low bits. */
#define WHOLE_F 0x1.8p23f
#define WHOLE_D 0x1.8p52

static inline float limit_f(float x, float low, float high)
{
    x = x < low ? low : x;
    return x > high ? high : x; // a NaN stays
}

static inline double limit_d(double x, double low, double high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* ---- float32: exponentials ---- */

/* 2^k of a whole number k that was added to WHOLE_F, in -126 ... 127. */
static inline float power_f(float whole)
{
    return float_of_bits((bits_of_float(whole) << 23) + 0x3f800000u);
}

/* x * 2^k in two steps, each within the exponents that there are; the first is exact. */
static inline float scale_f(float x, float whole)
{
    uint32_t k = bits_of_float(whole) - (bits_of_float(WHOLE_F) - 512); // from 0
    uint32_t half = k >> 1;
    float first = float_of_bits((half + (127 - 256)) << 23);
    float second = float_of_bits((k - half + (127 - 256)) << 23);
    return x * first * second;
}

/* Of floats, and of vectors of these:
 *     exp(r) - 1 - r of |r| <= ln(2) / 2                                      2^-22.8
 *     x - k * ln(2); the first product is exact, as its factor has 9 digits */
#define EXP_PARTS(type, of)                                          \
    static inline type exp_rest##of(type r)                          \
    {                                                                \
        type z = r * r, high = 0x1.6d10fcp-10f * r + 0x1.120b62p-7f; \
        type low = 0x1.55551ap-5f * r + 0x1.5554dep-3f;              \
        return ((high * z + low) * r + 0.5f) * z;                    \
    }                                                                \
    static inline type exp_reduced##of(type x, type k)               \
    {                                                                \
        return (x - k * 0x1.63p-1f) - k * -0x1.bd0106p-13f;          \
    }
EXP_PARTS(float, )

static inline float f32_exp(float a)
{
    // beyond these all is inf, or 0
    float x = limit_f(a, -104.0f, 89.0f);
    float whole = x * (float)LOG2_E + WHOLE_F, r = exp_reduced(x, whole - WHOLE_F);
    return scale_f(1 + (r + exp_rest(r)), whole);
}

/* 2^f of |f| <= 1/2, less 1                                                   2^-26.3 */
static inline float exp2_rest(float f)
{
    float z = f * f, high = 0x1.44138ap-13f * f + 0x1.5f089p-10f;
    float middle = 0x1.3b2a54p-7f * f + 0x1.c6af6cp-5f;
    return 0x1.62e43p-1f * f + ((high * z + middle) * f + 0x1.ebfbep-3f) * z;
}

static inline float f32_exp2(float a)
{
    float x = limit_f(a, -151.0f, 129.0f);
    float whole = x + WHOLE_F, f = x - (whole - WHOLE_F);
    return scale_f(1 + exp2_rest(f), whole);
}

/* By exp of a negative number, as that of a positive one could overflow. */
static inline float f32_sigmoid(float a)
{
    float e = f32_exp(-fabsf(a));
    return (a < 0 ? e : 1) / (1 + e);
}

/* By exp(2 |a|) - 1, exact near 0. */
static inline float f32_tanh(float a)
{
    float x = 2 * fabsf(a);
    x = x > 20 ? 20 : x;
    float whole = x * (float)LOG2_E + WHOLE_F, r = exp_reduced(x, whole - WHOLE_F);
    float power = power_f(whole);
    float e = power * (r + exp_rest(r)) + (power - 1);
    return copysignf(e / (e + 2), a);
}

/* -log2(1 - erf(x)) of 0 <= x <= 4, relative to what 1 less the power is       2^-27.8 */
static inline float erf_power(float x)
{
    float z = x * x,
          last = -0x1.c04ba0p-17f * z + (0x1.640d5ap-13f * x + -0x1.dec8cap-11f);
    float y = last * z + (0x1.3b48ecp-9f * x + -0x1.e63a14p-13f);
    float first = (-0x1.c4b808p-6f * x + 0x1.2fabd8p-3f) * z;
    return (y * (z * z) + (first + (0x1.d63ec4p-1f * x + 0x1.a0be84p0f))) * x;
}

/* By 1 - 2^-q(|a|), exact near 0; beyond 4 that is 1. */
static inline float f32_erf(float a)
{
    float x = fabsf(a), q = erf_power(x > 4 ? 4 : x);
    float whole = WHOLE_F - q, power = power_f(whole);
    float e = power * exp2_rest(-q - (whole - WHOLE_F)) + (power - 1);
    return copysignf(e, a);
}

/* ---- float64: cores ---- */

/* 2^k of a whole number k that was added to WHOLE_D, in -1022 ... 1023. */
static inline double power_d(double whole)
{
    return double_of_bits((bits_of_double(whole) << 52) + 0x3ff0000000000000u);
}

/* 2^f of |f| <= 1/2, less 1                                                   2^-31.8 */
static inline double exp2_rest_d(double f)
{
    double y = 0x1.00a581594758ep-16;
    y = y * f + 0x1.443fffc90db59p-13;
    y = y * f + 0x1.5d879ead06a82p-10;
    y = y * f + 0x1.3b2a1b7152befp-7;
    y = y * f + 0x1.c6b08d883dca1p-5;
    y = y * f + 0x1.ebfbe045f4d3cp-3;
    y = y * f + 0x1.62e42fefa39efp-1;
    return y * f;
}

/* 2^x; what is beyond float32 either way need not be right. */
static inline double exp2_d(double x)
{
    double y = limit_d(x, -1000, 1000), whole = y + WHOLE_D;
    double rest = exp2_rest_d(y - (whole - WHOLE_D)), power = power_d(whole);
    return power + power * rest;
}

/* 2^x - 1, exact near 0. */
static inline double exp2m1_d(double x)
{
    double y = limit_d(x, -1000, 1000), whole = y + WHOLE_D;
    double rest = exp2_rest_d(y - (whole - WHOLE_D)), power = power_d(whole);
    return power * rest + (power - 1);
}

/* A positive normal number as 2^exponent * m, sqrt(1/2) <= m < sqrt(2). */
static inline double split_d(double x, double *m)
{
    const uint64_t root = 0x3fe6a09e667f3bcdu;
    uint64_t bits = bits_of_double(x) + (0x3ff0000000000000u - root);
    *m = double_of_bits((bits & 0xfffffffffffffu) + root);
    // the exponent as the digits of a number from 2^52
    return double_of_bits((bits >> 52) | 0x4330000000000000u) - (0x1p52 + 1023);
}

/* log((1 + s) / (1 - s)) of |s| <= 0.1716                                     2^-36.4 */
static inline double log_ratio_d(double s)
{
    double z = s * s, y = 0x1.8c92867b49a01p-4;
    y = y * z + 0x1.c67a84e8a4ba0p-4;
    y = y * z + 0x1.249324907dae3p-3;
    y = y * z + 0x1.999998ca249fbp-3;
    y = y * z + 0x1.5555555564fdap-2;
    return 2 * (s + s * (z * y));
}

/* What a logarithm is of the numbers that have none, or inf. */
static inline double log_edges(double x, double y)
{
    double edge = x == 0 ? -(double)INFINITY : (double)NAN;
    return x > 0 ? (x < (double)INFINITY ? y : x) : edge;
}

/* log(x) * scale, where log(2) * scale is `two`. */
static inline double log_d(double x, double two, double scale)
{
    double m, exponent = split_d(x, &m);
    return log_edges(x, exponent * two + log_ratio_d((m - 1) / (m + 1)) * scale);
}

/* log(1 + x), exact near 0. */
static inline double log1p_d(double x)
{
    int is_near = fabs(x) < 0.25;
    double m, exponent = split_d(1 + x, &m);
    double above = is_near ? x : m - 1, below = is_near ? 2 + x : m + 1;
    double y = (is_near ? -0.0 : exponent * LN2) + log_ratio_d(above / below);
    return log_edges(1 + x, y);
}

/* Quarter turns of x radians: *k whole ones, added to WHOLE_D; gives the angle left, in
 * -pi/4 ... pi/4. */
static inline double turns_d(float x, double *k)
{
    // x = m * 2^i
    int32_t exponent = (int32_t)(bits_of_float(x) >> 23 & 0xff) - 150;
    int64_t i = exponent < 0 ? 0 : exponent;
    i = i < NTURN ? i : NTURN - 1;
    double m = (double)x * double_of_bits((uint64_t)(1023 - i) << 52);
    double high = m * turns_high[i], low = m * turns_low[i];
    *k = (high + low) + WHOLE_D;
    return ((high - (*k - WHOLE_D)) + low) * 0x1.921fb54442d18p0;
}

/* Of |r| <= pi/4                                                              2^-32.4 */
static inline double sin_d(double r)
{
    double z = r * r, y = 0x1.6dbcfb4dee452p-19;
    y = y * z + -0x1.a013a455bd213p-13;
    y = y * z + 0x1.11110decc73fdp-7;
    y = y * z + -0x1.555555545d0dap-3;
    return r * (1 + z * y);
}

/* Of |r| <= pi/4                                                              2^-34.0 */
static inline double cos_d(double r)
{
    double z = r * r, y = -0x1.25239a9550aefp-22;
    y = y * z + 0x1.a015c25366932p-16;
    y = y * z + -0x1.6c16bf534c9ebp-10;
    y = y * z + 0x1.55555555027adp-5;
    return 1 - 0.5 * z + z * z * y;
}

/* The angle of the point (x, y), by one division: tan of it, or less pi/4, or pi/2. */
static inline double angle_d(double y, double x)
{
    // inf by inf is to be a ratio of one
    double v = limit_d(fabs(y), 0, 0x1p1000), u = limit_d(fabs(x), 0, 0x1p1000);
    int is_low = v <= u * 0x1.a827999fcef32p-2; // tan(pi/8)
    int is_mid = v <= u * 0x1.3504f333f9de6p1;  // tan(3 pi/8)
    double above = is_low ? v : is_mid ? v - u : -u;
    double below = is_low ? u : is_mid ? v + u : v;
    double base = is_low ? 0 : is_mid ? 0x1.921fb54442d18p-1 : 0x1.921fb54442d18p0;
    double t = above / (below == 0 ? 1 : below), z = t * t;
    double p = -0x1.4b107f787f968p-5; //                                       2^-34.0
    p = p * z + 0x1.2439d1666cb6dp-4;
    p = p * z + -0x1.71d214eaeb143p-4;
    p = p * z + 0x1.c6f664c251f89p-4;
    p = p * z + -0x1.2491bfec7eaaap-3;
    p = p * z + 0x1.9999982386384p-3;
    p = p * z + -0x1.55555555018d3p-2;
    double angle = base + t * (1 + z * p);
    angle = bits_of_double(x) >> 63 ? 0x1.921fb54442d18p1 - angle : angle;
    return y != y || x != x ? y + x : copysign(angle, y);
}

/* ---- float32 by float64 ---- */

static inline float f32_expm1(float a)
{
    float y = (float)exp2m1_d(a * LOG2_E);
    return a == 0 ? a : y;
}

static inline float f32_log(float a)
{
    return (float)log_d(a, LN2, 1);
}

static inline float f32_log2(float a)
{
    return (float)log_d(a, 1, LOG2_E);
}

static inline float f32_log10(float a)
{
    return (float)log_d(a, 0x1.34413509f79ffp-2, 0x1.bcb7b1526e50ep-2);
}

static inline float f32_log1p(float a)
{
    return (float)log1p_d(a);
}

static inline float f32_sin(float a)
{
    double whole, r = turns_d(a, &whole);
    uint64_t k = bits_of_double(whole);
    double s = sin_d(r), c = cos_d(r), y = k & 1 ? c : s;
    return (float)(k & 2 ? -y : y);
}

static inline float f32_cos(float a)
{
    double whole, r = turns_d(a, &whole);
    uint64_t k = bits_of_double(whole) + 1;
    double s = sin_d(r), c = cos_d(r), y = k & 1 ? c : s;
    return (float)(k & 2 ? -y : y);
}

static inline float f32_tan(float a)
{
    double whole, r = turns_d(a, &whole), s = sin_d(r), c = cos_d(r);
    int is_odd = bits_of_double(whole) & 1;
    return (float)((is_odd ? -c : s) / (is_odd ? s : c));
}

static inline float f32_atan2(float a, float b)
{
    return (float)angle_d(a, b);
}

static inline float f32_atan(float a)
{
    return (float)angle_d(a, 1);
}

static inline float f32_asin(float a)
{
    double x = a;
    return (float)angle_d(x, sqrt((1 - x) * (1 + x)));
}

static inline float f32_acos(float a)
{
    double x = a;
    return (float)angle_d(sqrt((1 - x) * (1 + x)), x);
}

static inline float f32_sinh(float a)
{
    double e = exp2m1_d(fabs((double)a) * LOG2_E);
    return copysignf((float)(0.5 * (e + e / (e + 1))), a);
}

static inline float f32_cosh(float a)
{
    double e = exp2_d(fabs((double)a) * LOG2_E);
    return (float)(0.5 * (e + 1 / e));
}

static inline float f32_asinh(float a)
{
    double x = fabs((double)a), z = x * x;
    double y = log1p_d(x + z / (1 + sqrt(z + 1)));
    return copysignf(x < (double)INFINITY ? (float)y : (float)x, a);
}

static inline float f32_acosh(float a)
{
    double t = (double)a - 1;
    double y = log1p_d(t + sqrt(t * (t + 2)));
    return a < 1 ? NAN : (float)y;
}

static inline float f32_atanh(float a)
{
    double x = fabs((double)a);
    return copysignf((float)(0.5 * log1p_d(2 * x / (1 - x))), a);
}

static inline float f32_pow(float a, float b)
{
    double x = a, y = b, size = fabs(x), half = 0.5 * y;
    // of 1 anything is 1, inf powers too
    double power = exp2_d(size == 1 ? 0 : log_d(size, 1, LOG2_E) * y);
    int is_whole = floor(y) == y, is_odd = is_whole & (floor(half) != half);
    int is_finite = (fabs(y) < (double)INFINITY) & (size < (double)INFINITY);
    double sign = is_odd ? copysign(1, x) : 1;
    power = ((x < 0) & !is_whole & is_finite) ? (double)NAN : power * sign;
    power = ((x != x) | (y != y)) ? (double)NAN : power;
    return (float)(((x == 1) | (y == 0)) ? 1 : power);
}

#endif
