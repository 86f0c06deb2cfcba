/*
 * Conversions between the element types, for everybody who computes: freestanding C99 that
 * includes nothing else of Baton. Generated C has copies of those that it calls, so a blank
 * line stands between two functions and nowhere else, and a function calls only those above
 * it.
 *
 * All are total. To a float: rounded once, to nearest even; a NaN stays one, and is the greatest
 * number where there is none; a number beyond all becomes infinity, of 8 or 4 bits the greatest
 * number, and so does infinity where there is none; what becomes a power of two is said there. To
 * an integer: truncated and saturated; of NaN 0. A uint64 is an int64_t of the same bits.
 */
#ifndef BATON_CONVERT_H
#define BATON_CONVERT_H

#include <stdint.h>

/* ---- bits ---- */

static inline uint64_t bt_double_bits(double a)
{
    union {
        double f;
        uint64_t i;
    } x;
    x.f = a;
    return x.i;
}

static inline double bt_double_of_bits(uint64_t bits)
{
    union {
        double f;
        uint64_t i;
    } x;
    x.i = bits;
    return x.f;
}

static inline float bt_float_of_bits(uint32_t bits)
{
    union {
        float f;
        uint32_t i;
    } x;
    x.i = bits;
    return x.f;
}

/* ---- float16 and bfloat16 ---- */

static inline float bt_half_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t exponent = h >> 10 & 0x1fu, fraction = h & 0x3ffu;
    // subnormal: fraction * 2^-24, exact in float
    const float small = (float)(int32_t)fraction * 0x1p-24f;
    if (exponent == 0)
        return sign ? -small : small;
    return bt_float_of_bits(sign | fraction << 13 |
                            (exponent == 0x1f ? 0xffu : exponent + 112u) << 23);
}

static inline float bt_bfloat_to_float(uint16_t b)
{
    return bt_float_of_bits((uint32_t)b << 16);
}

/* The magnitude's code, rounded, with so many digits of the fraction and this bias, were there
 * no greatest exponent. Not of a NaN. */
static inline uint64_t bt_short_code(double a, int digits, int bias)
{
    const uint64_t bits = bt_double_bits(a), fraction = bits & UINT64_C(0xfffffffffffff);
    const uint64_t significand = fraction | UINT64_C(1) << 52;
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023, least = 1 - bias;
    const int drop = 52 - digits + (exponent < least ? least - exponent : 0);
    uint64_t kept, lost, half, biased;
    if (exponent < least - digits - 1) // below half of the least subnormal
        return 0;
    kept = significand >> drop;
    lost = significand & ((UINT64_C(1) << drop) - 1);
    half = UINT64_C(1) << (drop - 1);
    kept += lost > half || (lost == half && (kept & 1));
    // a carry moves into the exponent by itself
    biased = exponent < least ? 0 : (uint64_t)(exponent + bias - 1);
    return (biased << digits) + kept;
}

/* float16 (10, 15) or bfloat16 (7, 127): digits of the fraction, bias. A NaN becomes quiet and
 * keeps the upper bits that fit. */
static inline uint16_t bt_short_from_double(double a, int digits, int bias)
{
    const uint64_t bits = bt_double_bits(a), fraction = bits & UINT64_C(0xfffffffffffff);
    const uint64_t sign = bits >> 63 << 15;
    const uint64_t infinity = (uint64_t)(2 * bias + 1) << digits;
    uint64_t code = infinity | fraction >> (52 - digits) | UINT64_C(1) << (digits - 1);
    if (a == a) {
        code = bt_short_code(a, digits, bias);
        code = code < infinity ? code : infinity;
    }
    return (uint16_t)(sign | code);
}

static inline uint16_t bt_half_from_double(double a)
{
    return bt_short_from_double(a, 10, 15);
}

static inline uint16_t bt_bfloat_from_double(double a)
{
    return bt_short_from_double(a, 7, 127);
}

/* ---- floats of 8 bits ---- */

/* Digits of the fraction, bias; not of what is no number. */
static inline float bt_float8_to_float(uint8_t b, int digits, int bias)
{
    const uint32_t sign = (uint32_t)(b & 0x80u) << 24, exponent = (b & 0x7fu) >> digits;
    const uint32_t fraction = b & ((1u << digits) - 1u);
    // subnormal: fraction * 2^(1 - bias - digits), exact in float
    const float unit = bt_float_of_bits((uint32_t)(128 - bias - digits) << 23);
    const float small = (float)(int32_t)fraction * unit;
    if (exponent == 0)
        return sign ? -small : small;
    return bt_float_of_bits(sign | fraction << (23 - digits) |
                            (exponent + 127u - (uint32_t)bias) << 23);
}

/* ... and the code of the greatest number, which stands for all beyond. */
static inline uint8_t bt_float8_from_double(double a, int digits, int bias, uint32_t most)
{
    const uint64_t code = bt_short_code(a, digits, bias);
    return (uint8_t)(bt_double_bits(a) >> 63 << 7 | (code < most ? code : most));
}

static inline float bt_float8_e4m3fn_to_float(uint8_t b)
{
    const uint32_t nan = (uint32_t)(b & 0x80u) << 24 | 0x7fc00000u;
    return (b & 0x7fu) == 0x7fu ? bt_float_of_bits(nan) : bt_float8_to_float(b, 3, 7);
}

/* Without infinity. */
static inline uint8_t bt_float8_e4m3fn_from_double(double a)
{
    return a == a ? bt_float8_from_double(a, 3, 7, 0x7e)
                  : (uint8_t)(bt_double_bits(a) >> 63 << 7 | 0x7fu);
}

static inline float bt_float8_e4m3fnuz_to_float(uint8_t b)
{
    return b == 0x80u ? bt_float_of_bits(0x7fc00000u) : bt_float8_to_float(b, 3, 8);
}

/* Without infinity and negative zero, the code of which is the one NaN. */
static inline uint8_t bt_float8_e4m3fnuz_from_double(double a)
{
    const uint8_t code = a == a ? bt_float8_from_double(a, 3, 8, 0x7f) : 0;
    return a != a ? 0x80u : code == 0x80u ? 0 : code;
}

/* The upper half of a float16. */
static inline float bt_float8_e5m2_to_float(uint8_t b)
{
    return bt_half_to_float((uint16_t)(b << 8));
}

/* An infinity stays one; numbers do not become one. */
static inline uint8_t bt_float8_e5m2_from_double(double a)
{
    const uint64_t bits = bt_double_bits(a), sign = bits >> 63 << 7;
    if (a != a)
        return (uint8_t)(sign | 0x7eu | (bits >> 50 & 1u));
    return (bits << 1 >> 53) == 0x7ffu ? (uint8_t)(sign | 0x7cu)
                                       : bt_float8_from_double(a, 2, 15, 0x7b);
}

static inline float bt_float8_e5m2fnuz_to_float(uint8_t b)
{
    return b == 0x80u ? bt_float_of_bits(0x7fc00000u) : bt_float8_to_float(b, 2, 16);
}

static inline uint8_t bt_float8_e5m2fnuz_from_double(double a)
{
    const uint8_t code = a == a ? bt_float8_from_double(a, 2, 16, 0x7f) : 0;
    return a != a ? 0x80u : code == 0x80u ? 0 : code;
}

/* ---- float4_e2m1fn: 0, 0.5, 1, 1.5, 2, 3, 4, 6, and as many below 0 ---- */

static inline float bt_float4_e2m1fn_to_float(uint8_t b)
{
    return bt_float8_to_float((uint8_t)((b & 8u) << 4 | (b & 7u)), 1, 1);
}

static inline uint8_t bt_float4_e2m1fn_from_double(double a)
{
    const uint8_t code = a == a ? bt_float8_from_double(a, 1, 1, 7) : 7;
    return (uint8_t)(code >> 4 | (code & 7u));
}

/* ---- float8_e8m0fnu: 2^(code - 127); 255 is NaN ---- */

static inline float bt_float8_e8m0fnu_to_float(uint8_t b)
{
    return bt_float_of_bits(b == 0xffu ? 0x7fc00000u
                            : b        ? (uint32_t)b << 23
                                       : 0x00400000u);
}

/* To the nearest power of two, of two the greater one; what is beyond gives the least or the
 * greatest of them, 0 the least, and what is below 0 is none. */
static inline uint8_t bt_float8_e8m0fnu_from_double(double a)
{
    const uint64_t bits = bt_double_bits(a);
    const int code = (int)(bits >> 52 & 0x7ffu) - 1023 + 127 + (int)(bits >> 51 & 1u);
    if (!(a >= 0))
        return 0xffu;
    return (uint8_t)(code < 0 ? 0 : code > 254 ? 254 : code);
}

/* ---- packed elements: element i has the bits width * i ... from the lowest bit on ---- */

static inline uint8_t bt_packed_get(const uint8_t *at, int64_t i, int width)
{
    return (uint8_t)(at[i * width >> 3] >> (i * width & 7) & ((1 << width) - 1));
}

static inline void bt_packed_set(uint8_t *at, int64_t i, int width, uint8_t code)
{
    const int mask = (1 << width) - 1, shift = (int)(i * width & 7);
    uint8_t *to = &at[i * width >> 3];
    *to = (uint8_t)((*to & ~(mask << shift)) | (code & mask) << shift);
}

/* A code of an integer as a number, and any integer as one of so many bits. */
static inline int64_t bt_int_of_bits(int64_t a, int width)
{
    const int64_t sign = INT64_C(1) << (width - 1);
    return ((a & (2 * sign - 1)) ^ sign) - sign;
}

/* ---- integers ---- */

/* Of a uint64; without the conversion for which some compilers call a library. */
static inline double bt_double_from_uint(int64_t a)
{
    return a >= 0 ? (double)a : 2 * (double)((int64_t)((uint64_t)a >> 1) | (a & 1));
}

/* To be rounded again to fewer digits: what is lost shows in the last bit, so that no tie is
 * made. */
static inline double bt_sticky_from_uint(int64_t a)
{
    const uint64_t size = (uint64_t)a, lost = size & 2047u;
    return size >> 53
               ? bt_double_from_uint((int64_t)((size - lost) | (lost ? 2048u : 0u)))
               : (double)a;
}

static inline double bt_sticky_from_int(int64_t a)
{
    return a < 0 ? -bt_sticky_from_uint((int64_t)(0 - (uint64_t)a))
                 : bt_sticky_from_uint(a);
}

/* Between low and high. */
static inline int64_t bt_double_to_int(double a, int64_t low, int64_t high)
{
    int64_t i;
    if (!(a >= -0x1p63)) // NaN is not below 0 either
        return a < 0 ? low : 0;
    if (a >= 0x1p63)
        return high;
    i = (int64_t)a;
    return i < low ? low : i > high ? high : i;
}

static inline int64_t bt_double_to_uint(double a)
{
    if (!(a > 0))
        return 0;
    if (a >= 0x1p64)
        return -1;
    return a < 0x1p63 ? (int64_t)a
                      : (int64_t)((uint64_t)(int64_t)(a - 0x1p63) | UINT64_C(1) << 63);
}

#endif
