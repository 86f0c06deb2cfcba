/* Strips of codes of 8 bits: sums of two codes, each by a factor, as residuals of networks are; and
 * those of strip_fixed.h. */
#include "code_bytes.h"
#include "strip_fixed.h"
#include "strip_loops.h"

enum { SUM_Y, SUM_A, SUM_B, SUM_FACTOR_A, SUM_FACTOR_B, SUM_LOW, SUM_HIGH };
enum { SUM_COUNT, SUM_ZERO_A, SUM_ZERO_B, SUM_ZERO_Y, SUM_SIGNS }; /* 1: of A, 2: of B */

/* An operand: bytes without a sign, once those that have one are flipped, less their zero. */
struct code_operand {
    int_vector flip;
    float_vector less, factor;
};

/* A byte among the digits of 2^23 is a float, of which all is exact. */
enum { DIGITS = 0x4b000000 };

static struct code_operand operand_of(int64_t zero, const float *factor, int is_signed)
{
    const float less = 8388608.0f + (float)(zero + (is_signed ? 128 : 0));
    return (struct code_operand){
        .flip = (int_vector)((is_signed ? 0x80808080U : 0) - (bits_vector){ 0 }),
        .less = less - (float_vector){ 0 },
        .factor = *factor - (float_vector){ 0 },
    };
}

/* (code - zero) * factor, in the order of make_bytes. */
static inline void decode(float_vector *to, const uint8_t *from,
                          const struct code_operand *o)
{
    const int_vector bytes = int_load(from) ^ o->flip;
    bits_vector v[4];
#if defined(INT_REGISTER)
    const int_vector none = { 0 };
    const int_vector high = (int_vector)((DIGITS >> 16) * 0x10001U - (bits_vector){ 0 });
    const int_vector first = INTERLEAVE(lo, 8, bytes, none);
    const int_vector second = INTERLEAVE(hi, 8, bytes, none);
    v[0] = (bits_vector)INTERLEAVE(lo, 16, first, high);
    v[1] = (bits_vector)INTERLEAVE(hi, 16, first, high);
    v[2] = (bits_vector)INTERLEAVE(lo, 16, second, high);
    v[3] = (bits_vector)INTERLEAVE(hi, 16, second, high);
#else
    uint8_t from_bytes[VECTOR_NBYTES];
    uint32_t made[VECTOR_NBYTES];
    memcpy(from_bytes, &bytes, sizeof(from_bytes));
    for (int i = 0; i < VECTOR_NBYTES; i++)
        made[i] = DIGITS | from_bytes[i];
    memcpy(v, made, sizeof(v));
#endif
    UNROLL
    for (int k = 0; k < 4; k++)
        to[k] = ((float_vector)v[k] - o->less) * o->factor;
}

static inline void sum_bytes(uint8_t *y, const uint8_t *a, const uint8_t *b,
                             const struct code_operand *of_a,
                             const struct code_operand *of_b, const struct finish *finish)
{
    float_vector first[4], second[4];
    int_vector rounded[4];
    decode(first, a, of_a);
    decode(second, b, of_b);
    UNROLL
    for (int k = 0; k < 4; k++)
        rounded[k] = round_numbers(finish, first[k] + second[k]);
    int_store(y, make_bytes(finish, rounded));
}

STRIP(sum_codes)
{
    const uint8_t *a = p[SUM_A], *b = p[SUM_B];
    const struct code_operand of_a =
        operand_of(n[SUM_ZERO_A], p[SUM_FACTOR_A], n[SUM_SIGNS] & 1);
    const struct code_operand of_b =
        operand_of(n[SUM_ZERO_B], p[SUM_FACTOR_B], (n[SUM_SIGNS] & 2) != 0);
    uint8_t *y = p[SUM_Y], rest[3][VECTOR_NBYTES] = { { 0 } };
    int64_t bits[2] = { 0 };
    memcpy(&bits[0], p[SUM_LOW], sizeof(float));
    memcpy(&bits[1], p[SUM_HIGH], sizeof(float));
    const struct finish finish = finish_by(bits[0], bits[1], n[SUM_ZERO_Y]);
    int64_t i = 0;
    for (; i + VECTOR_NBYTES <= n[SUM_COUNT]; i += VECTOR_NBYTES)
        sum_bytes(y + i, a + i, b + i, &of_a, &of_b, &finish);
    if (i < n[SUM_COUNT]) {
        const size_t left = (size_t)(n[SUM_COUNT] - i);
        memcpy(rest[0], a + i, left);
        memcpy(rest[1], b + i, left);
        sum_bytes(rest[2], rest[0], rest[1], &of_a, &of_b, &finish);
        memcpy(y + i, rest[2], left);
    }
    return 0;
}

/* ---- the table ---- */

enum { SUM_PS = 1600 / VECTOR_NBYTES * 4 };
STRIPS_TABLE(codes){
    { "sum_codes.uint8", sum_codes, CPU_SUM_CODES, BT_UINT8, BT_UINT8, SUM_PS },
    { "sum_codes.int8", sum_codes, CPU_SUM_CODES, BT_INT8, BT_INT8, SUM_PS },
    FIXED_ROWS(uint8, BT_UINT8) FIXED_ROWS(int8, BT_INT8){ 0 },
};
