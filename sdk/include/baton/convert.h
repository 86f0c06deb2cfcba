/*
 * Conversions between the element types, for everybody who computes: freestanding C99 that
 * includes nothing else of Baton. Generated C has copies of those that it calls, so a blank
 * line stands between two functions and nowhere else, and a function calls only those above
 * it.
 *
 * All are total. To a float: rounded once, to nearest even; a NaN stays one. To an integer:
 * truncated and saturated; of NaN 0. A uint64 is an int64_t of the same bits.
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

/* float16 (10, 15) or bfloat16 (7, 127): digits of the fraction, greatest exponent. A NaN
 * becomes quiet and keeps the upper bits that fit. */
static inline uint16_t bt_short_from_double(double a, int digits, int most)
{
    const uint64_t bits = bt_double_bits(a), fraction = bits & UINT64_C(0xfffffffffffff);
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
    if (exponent < least - digits - 1) // below half of the least subnormal
        return (uint16_t)sign;
    kept = significand >> drop;
    lost = significand & ((UINT64_C(1) << drop) - 1);
    half = UINT64_C(1) << (drop - 1);
    kept += lost > half || (lost == half && (kept & 1));
    // a carry moves into the exponent by itself, up to infinity
    biased = exponent < least ? 0 : (uint64_t)(exponent + most - 1);
    return (uint16_t)(sign | ((biased << digits) + kept));
}

static inline uint16_t bt_half_from_double(double a)
{
    return bt_short_from_double(a, 10, 15);
}

static inline uint16_t bt_bfloat_from_double(double a)
{
    return bt_short_from_double(a, 7, 127);
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
