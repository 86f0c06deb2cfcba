/*
 * Tiles of pairs of bfloat16 and of quads by AMX: 32 x 32 sums in four registers of 16 x 16, or fewer;
 * an element of A and of B is the factors of two terms or of four (pairs.h). N is any, K a multiple of
 * the tile's depth, and A_K is 1. Included by who says what the registers 0 ... 7 do, of which each has
 * rows of up to 64 bytes:
 *
 *     AMX_CONFIGURE(config)        their shapes; zeros in all
 *     AMX_RELEASE()                none is used any more
 *     AMX_ZERO(t)
 *     AMX_LOAD(t, at, stride)      rows so many bytes apart; AMX_STORE likewise
 *     AMX_DOT(c, a, b)             c[i, j] += sum(k: a[i, k] * b[k, j]) of pairs, in float32
 *     AMX_DOT_US(c, a, b)          ... of quads, a without a sign and b with one, in int32, which wraps
 *     AMX_DOT_SU(c, a, b)          ... likewise, a with a sign and b without one
 *
 * Halves: where sums are to be as of float32, a factor is the sum of two bfloat16, high and low, and
 * 16 pairs of high ones are followed by 16 of low ones; three products of these are one of float32
 * but for what the two low ones give, 2^-16 of it. An infinite one gives NaN, as inf - inf is; sums
 * that are not finite are added once more, term by term.
 */
#define AMX_SIDE  16
#define AMX_WIDTH (2 * AMX_SIDE)

struct amx_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t nbytes[16]; /* of a row */
    uint8_t rows[16];
};

/* What elements are, which literals say below. */
enum amx_kind { AMX_PAIRS, AMX_HALVES, AMX_US, AMX_SU };

/* Rows and columns of a block of sums: a register has up to 16 of either. */
struct amx_shape {
    int64_t rows, columns;
};

/* Sums in registers 0 and 1, below these 2 and 3; A's in 4, below it 5; B's in 6, beside it 7. */
static void amx_configure(const struct amx_shape *s)
{
    struct amx_config config = { .palette = 1 };
    for (int t = 0; t < 8; t++) {
        const int is_second_row = t < 4 ? t / 2 : t == 5;
        const int is_second_column = t < 4 ? t % 2 : t == 7;
        int64_t rows = s->rows - (is_second_row ? AMX_SIDE : 0);
        int64_t columns = s->columns - (is_second_column ? AMX_SIDE : 0);
        rows = t >= 6 || rows > AMX_SIDE ? AMX_SIDE : rows;
        columns = t / 2 == 2 || columns > AMX_SIDE ? AMX_SIDE : columns;
        if (rows <= 0 || columns <= 0) // it is not used
            continue;
        config.rows[t] = (uint8_t)rows;
        config.nbytes[t] = (uint16_t)(columns * (int64_t)sizeof(float));
    }
    AMX_CONFIGURE(&config);
}

/* Literals below say which registers there are. */
#define AMX_INLINE static inline __attribute__((always_inline))

AMX_INLINE void amx_load_a(const uint32_t *a, int64_t row, const int is_tall)
{
    AMX_LOAD(4, a, row * 4);
    if (is_tall)
        AMX_LOAD(5, a + AMX_SIDE * row, row * 4);
}

AMX_INLINE void amx_load_b(const uint32_t *b, int64_t b_k, const int is_wide)
{
    AMX_LOAD(6, b, b_k * 4);
    if (is_wide)
        AMX_LOAD(7, b + AMX_SIDE, b_k * 4);
}

#define AMX_MULTIPLY(dot, is_tall, is_wide) \
    do {                                    \
        dot(0, 4, 6);                       \
        if (is_wide)                        \
            dot(1, 4, 7);                   \
        if (is_tall)                        \
            dot(2, 5, 6);                   \
        if ((is_tall) && (is_wide))         \
            dot(3, 5, 7);                   \
    } while (0)

AMX_INLINE void amx_multiply(const enum amx_kind kind, const int is_tall,
                             const int is_wide)
{
    if (kind == AMX_US)
        AMX_MULTIPLY(AMX_DOT_US, is_tall, is_wide);
    else if (kind == AMX_SU)
        AMX_MULTIPLY(AMX_DOT_SU, is_tall, is_wide);
    else
        AMX_MULTIPLY(AMX_DOT, is_tall, is_wide);
}

/* 16 elements; or of halves, high by low, high by high, low by high. */
AMX_INLINE void amx_step(const uint32_t *a, int64_t row, const uint32_t *b, int64_t b_k,
                         const enum amx_kind kind, const int is_tall, const int is_wide)
{
    const int has_halves = kind == AMX_HALVES;
    amx_load_a(a, row, is_tall);
    if (has_halves) {
        amx_load_b(b + AMX_SIDE * b_k, b_k, is_wide);
        amx_multiply(kind, is_tall, is_wide);
    }
    amx_load_b(b, b_k, is_wide);
    amx_multiply(kind, is_tall, is_wide);
    if (has_halves) {
        amx_load_a(a + AMX_SIDE, row, is_tall);
        amx_multiply(kind, is_tall, is_wide);
    }
}

AMX_INLINE void amx_sum(uint32_t *sums, const uint32_t *a, const uint32_t *b,
                        const struct tile_block *block, const enum amx_kind kind,
                        const int is_tall, const int is_wide)
{
    const int64_t depth = kind == AMX_HALVES ? 2 * AMX_SIDE : AMX_SIDE;
    AMX_ZERO(0);
    if (is_wide)
        AMX_ZERO(1);
    if (is_tall)
        AMX_ZERO(2);
    if (is_tall && is_wide)
        AMX_ZERO(3);
    for (int64_t k2 = block->k2; k2 > 0; k2--) {
        for (int64_t k1 = block->k1; k1 > 0; k1--) {
            for (int64_t k = block->k; k > 0; k -= depth) {
                amx_step(a, block->a_row, b, block->b_k, kind, is_tall, is_wide);
                a += depth;
                b += depth * block->b_k;
            }
            a += block->a_k1;
            b += block->b_k1;
        }
        a += block->a_k2;
        b += block->b_k2;
    }
    AMX_STORE(0, sums, AMX_WIDTH * 4);
    if (is_wide)
        AMX_STORE(1, sums + AMX_SIDE, AMX_WIDTH * 4);
    if (is_tall)
        AMX_STORE(2, sums + AMX_SIDE * AMX_WIDTH, AMX_WIDTH * 4);
    if (is_tall && is_wide)
        AMX_STORE(3, sums + AMX_SIDE * AMX_WIDTH + AMX_SIDE, AMX_WIDTH * 4);
}

/* Sums of any kind: what they are, those who read them know. */
AMX_INLINE void amx_sum_shape(uint32_t *sums, const uint32_t *a, const uint32_t *b,
                              const struct tile_block *block, const struct amx_shape *s,
                              const enum amx_kind kind)
{
    const int is_tall = s->rows > AMX_SIDE, is_wide = s->columns > AMX_SIDE;
    if (is_tall && is_wide)
        amx_sum(sums, a, b, block, kind, 1, 1);
    else if (is_tall)
        amx_sum(sums, a, b, block, kind, 1, 0);
    else if (is_wide)
        amx_sum(sums, a, b, block, kind, 0, 1);
    else
        amx_sum(sums, a, b, block, kind, 0, 0);
}

/* ---- what is not finite ---- */

static float amx_float_of(uint32_t high_bits)
{
    float x;
    memcpy(&x, &high_bits, sizeof(x));
    return x;
}

/* The factors of two terms, each of which is a high and a low half. */
static float amx_add_pair(float sum, uint32_t a, uint32_t a_low, uint32_t b,
                          uint32_t b_low)
{
    for (int shift = 16; shift >= 0; shift -= 16) {
        const uint32_t half = 0xffff0000U;
        sum += (amx_float_of(a << shift & half) + amx_float_of(a_low << shift & half)) *
               (amx_float_of(b << shift & half) + amx_float_of(b_low << shift & half));
    }
    return sum;
}

static float amx_sum_terms(const uint32_t *a, const uint32_t *b,
                           const struct tile_block *block)
{
    float sum = 0;
    for (int64_t k2 = block->k2; k2 > 0; k2--) {
        for (int64_t k1 = block->k1; k1 > 0; k1--) {
            for (int64_t k = block->k; k > 0; k -= 2 * AMX_SIDE) {
                for (int64_t i = 0; i < AMX_SIDE; i++)
                    sum = amx_add_pair(sum, a[i], a[i + AMX_SIDE], b[i * block->b_k],
                                       b[(i + AMX_SIDE) * block->b_k]);
                a += 2 * AMX_SIDE;
                b += 2 * AMX_SIDE * block->b_k;
            }
            a += block->a_k1;
            b += block->b_k1;
        }
        a += block->a_k2;
        b += block->b_k2;
    }
    return sum;
}

static void amx_make_right(float *sums, const uint32_t *a, const uint32_t *b,
                           const struct tile_block *block, const struct amx_shape *s)
{
    for (int64_t i = 0; i < s->rows; i++) {
        for (int64_t j = 0; j < s->columns; j++) {
            float *sum = sums + i * AMX_WIDTH + j;
            if (*sum * 0 != 0)
                *sum = amx_sum_terms(a + i * block->a_row, b + j, block);
        }
    }
}

static int amx_is_finite(const float *sums, const struct amx_shape *s)
{
    const int64_t lanes = VECTOR_NBYTES / sizeof(float);
    float_vector bad = { 0 };
    for (int64_t i = 0; i < s->rows; i++) {
        for (int64_t j = 0; j < s->columns; j += lanes)
            bad += float_load_part(sums + i * AMX_WIDTH + j,
                                   s->columns - j < lanes ? s->columns - j : lanes) *
                   0.0F;
    }
    return float_is_zero(bad);
}

/* ---- calls ---- */

#define REAL       float
#define VECTOR     float_vector
#define LOAD_PART  float_load_part
#define STORE_PART float_store_part
#define AT_LEAST   float_at_least
#define AT_MOST    float_at_most
#define NAME(stem) stem##_amx
#include "tile_amx_run.h"

#define REAL       uint32_t
#define VECTOR     bits_vector
#define LOAD_PART  bits_load_part
#define STORE_PART bits_store_part
#define AT_LEAST   int_at_least
#define AT_MOST    int_at_most
#define NAME(stem) stem##_quads_amx
#include "tile_amx_run.h"

#define AMX_RUNS(stem, type, kind)                                             \
    static int32_t run_##stem##_amx(void *const *p, const int64_t *n)          \
    {                                                                          \
        return run_block_##type(p, n, kind);                                   \
    }                                                                          \
                                                                               \
    static int32_t run_##stem##_epilogue_amx(void *const *p, const int64_t *n) \
    {                                                                          \
        return run_epilogue_##type(p, n, kind);                                \
    }
AMX_RUNS(pairs, amx, AMX_PAIRS)
AMX_RUNS(halves, amx, AMX_HALVES)
AMX_RUNS(quads_us, quads_amx, AMX_US)
AMX_RUNS(quads_su, quads_amx, AMX_SU)
