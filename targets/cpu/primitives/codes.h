/*
 * Codes of 8 bits from sums, a register at a time:
 *
 *     code = zero + round_even(clamp(float32(sum + bias) * factor, low, high))    NaN: of_nan, then as numbers
 */
#ifndef CPU_CODES_H
#define CPU_CODES_H

#include "vectors.h"

enum { CODES_LANES = VECTOR_NBYTES / sizeof(int32_t) };

/* The low bytes of all lanes. */
static inline void codes_store(uint8_t *to, int_vector v)
{
#if defined(__AVX512F__)
    _mm_storeu_si128((void *)to, _mm512_cvtepi32_epi8((__m512i)v));
#elif defined(__AVX2__)
    const __m256i low =
        _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0,
                         4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i halves = _mm256_shuffle_epi8((__m256i)v, low);
    _mm_storel_epi64((void *)to, _mm_unpacklo_epi32(_mm256_castsi256_si128(halves),
                                                    _mm256_extracti128_si256(halves, 1)));
#else
    for (int i = 0; i < CODES_LANES; i++)
        to[i] = (uint8_t)v[i];
#endif
}

/* What a sum goes through; as strip_int.h has it for one. */
struct codes {
    float_vector low, high, of_nan;
    int_vector zero;
};

/* Between two bounds, as float_at_least and float_at_most have it, but for the sign of 0: no NaN. */
static inline float_vector codes_bounded(const struct codes *c, float_vector x)
{
#if defined(INT_REGISTER)
    return (float_vector)INT_CALL(min_ps)(INT_CALL(max_ps)(x, c->low), c->high);
#else
    return float_at_most(float_at_least(x, c->low), c->high);
#endif
}

/* Of a factor that is finite, so that no product is NaN. */
static inline int_vector codes_of_number(const struct codes *c, int_vector sum,
                                         int_vector bias, float_vector factor)
{
    const float_vector x =
        __builtin_convertvector(int_add(sum, bias), float_vector) * factor;
    return int_add(float_to_nearest(codes_bounded(c, x)), c->zero);
}

static inline int_vector codes_of(const struct codes *c, int_vector sum, int_vector bias,
                                  float_vector factor)
{
    const float_vector x =
        __builtin_convertvector(int_add(sum, bias), float_vector) * factor;
    const int_vector is_number = x == x;
    const float_vector y = (float_vector)(((int_vector)x & is_number) |
                                          ((int_vector)c->of_nan & ~is_number));
    return int_add(float_to_nearest(float_at_most(float_at_least(y, c->low), c->high)),
                   c->zero);
}

/* A float among the integers of a call. */
static inline float_vector codes_bound(int64_t bits)
{
    float bound;
    memcpy(&bound, &bits, sizeof(bound));
    return bound - (float_vector){ 0 };
}

/* Bits of floats, but for the zero. */
static inline struct codes codes_by(int64_t low, int64_t high, int64_t of_nan,
                                    int64_t zero)
{
    return (struct codes){ codes_bound(low), codes_bound(high), codes_bound(of_nan),
                           (int32_t)zero - (int_vector){ 0 } };
}

#endif
