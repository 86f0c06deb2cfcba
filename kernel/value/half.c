/* float16 and bfloat16 from and to wider floats, in integer arithmetic: round to nearest
 * even, a NaN stays a NaN (made quiet, upper bits of the payload kept). */
#include <baton/value.h>

#include <string.h>

static float float_of_bits(uint32_t bits)
{
    float out;
    memcpy(&out, &bits, sizeof(out));
    return out;
}

float bt_bfloat_to_float(uint16_t b)
{
    return float_of_bits((uint32_t)b << 16);
}

float bt_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t exponent = h >> 10 & 0x1fu, fraction = h & 0x3ffu;
    if (exponent == 0x1f)
        return float_of_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0)
        return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    // Subnormal: fraction * 2^-24, exact in float.
    float magnitude = (float)fraction * 0x1p-24f;
    return sign ? -magnitude : magnitude;
}

/* Rounds |x| to `digits` bits of fraction with the exponent range of `max_exponent` (15
 * or 127) and returns exponent and fraction joined, without the sign. */
static uint16_t round_magnitude(uint64_t bits, int digits, int max_exponent)
{
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    uint32_t infinity = (2u * (unsigned)max_exponent + 1) << digits;
    if (exponent == 1024) {
        uint32_t payload = (uint32_t)(fraction >> (52 - digits)) | 1u << (digits - 1);
        return (uint16_t)(infinity | (fraction ? payload : 0));
    }
    if (exponent > max_exponent)
        return (uint16_t)infinity;
    int least = 1 - max_exponent;
    // A double that is subnormal itself is far below half of the least subnormal here.
    if (exponent < least - digits - 1)
        return 0;
    uint64_t significand = fraction | UINT64_C(1) << 52;
    int drop = 52 - digits + (exponent < least ? least - exponent : 0);
    uint64_t kept = significand >> drop, lost = significand & ((UINT64_C(1) << drop) - 1);
    uint64_t half = UINT64_C(1) << (drop - 1);
    kept += lost > half || (lost == half && (kept & 1));
    // A carry moves into the exponent by itself, from subnormal to normal and up to
    // infinity.
    uint64_t biased = exponent < least ? 0 : (uint64_t)(exponent + max_exponent - 1);
    return (uint16_t)((biased << digits) + kept);
}

static uint16_t from_double(double x, int digits, int max_exponent)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return (uint16_t)(bits >> 63 << 15 | round_magnitude(bits, digits, max_exponent));
}

uint16_t bt_half_from_double(double x)
{
    return from_double(x, 10, 15);
}

uint16_t bt_bfloat_from_double(double x)
{
    return from_double(x, 7, 127);
}
