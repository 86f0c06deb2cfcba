/*
 * Codes of 8 bits from numbers that are no NaN, as many as a vector has bytes:
 *
 *     code = zero + round_even(clamp(number, low, high))        int16 holds the bounds and the zero
 */
#ifndef CPU_CODE_BYTES_H
#define CPU_CODE_BYTES_H

#include "vectors.h"

struct finish {
    float_vector low, high;
    int16_t zero;
    int_vector least; /* bytes: what low comes to */
    int_vector flip;  /* what makes bytes with a sign of those without */
};

/* What is below the least code stays so. */
static inline int_vector round_numbers(const struct finish *f, float_vector v)
{
#if defined(INT_REGISTER)
    return float_to_nearest((float_vector)INT_CALL(min_ps)(v, f->high));
#else
    return float_to_nearest(float_at_most(float_at_least(v, f->low), f->high));
#endif
}

/* The bytes of such numbers: those of vector k become number 16 * i + 4 * k ... 16 * i + 4 * k + 3 from
 * lane 4 * i on. */
static inline int_vector make_bytes(const struct finish *f, const int_vector *v)
{
#if defined(INT_REGISTER)
    const INT_REGISTER zeros = INT_CALL(set1_epi16)(f->zero);
    const INT_REGISTER low = INT_CALL(adds_epi16)(
        INT_CALL(packs_epi32)((INT_REGISTER)v[0], (INT_REGISTER)v[1]), zeros);
    const INT_REGISTER high = INT_CALL(adds_epi16)(
        INT_CALL(packs_epi32)((INT_REGISTER)v[2], (INT_REGISTER)v[3]), zeros);
    return (int_vector)INT_CALL(max_epu8)(INT_CALL(packus_epi16)(low, high),
                                          (INT_REGISTER)f->least) ^
           f->flip;
#else
    int32_t numbers[VECTOR_NBYTES];
    uint8_t bytes[VECTOR_NBYTES];
    int_vector out;
    memcpy(numbers, v, sizeof(numbers));
    for (int i = 0; i < VECTOR_NBYTES; i++)
        bytes[i] = (uint8_t)(numbers[i] + f->zero);
    memcpy(&out, bytes, sizeof(out));
    return out ^ f->flip;
#endif
}

/* Of bits of floats, and a zero; codes that may be below 0 have a sign. */
static inline struct finish finish_by(int64_t low_bits, int64_t high_bits, int64_t zero)
{
    float low, high;
    memcpy(&low, &low_bits, sizeof(low));
    memcpy(&high, &high_bits, sizeof(high));
    const int is_signed = low + (float)zero < 0;
    return (struct finish){
        .low = low - (float_vector){ 0 },
        .high = high - (float_vector){ 0 },
        .zero = (int16_t)(zero + (is_signed ? 128 : 0)),
        .least = (int_vector)(((uint32_t)(int32_t)low + (uint32_t)zero +
                               (is_signed ? 128 : 0)) *
                                  0x01010101U -
                              (bits_vector){ 0 }),
        .flip = (int_vector)((is_signed ? 0x80808080U : 0) - (bits_vector){ 0 }),
    };
}

#endif
