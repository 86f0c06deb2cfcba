/*
 * Tiles that make codes of 8 bits of their sums (tile.h), by a tile that leaves these in memory; included by
 * the sources of tiles.
 */
#ifndef CPU_TILE_CODES_H
#define CPU_TILE_CODES_H

#include "tile.h"
#include "vectors.h"

enum {
    CODES_LANES = VECTOR_NBYTES / sizeof(int32_t),
    CODES_WIDTH = 128,
    CODES_ROWS = 32
};

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

static inline int_vector codes_of(const struct codes *c, int_vector sum, int_vector bias,
                                  float_vector factor)
{
    const float_vector nearest = 12582912.0F - (float_vector){ 0 }; // 1.5 * 2^23
    typedef uint32_t bits __attribute__((vector_size(VECTOR_NBYTES)));
    const float_vector x =
        __builtin_convertvector(int_add(sum, bias), float_vector) * factor;
    const int_vector is_number = x == x;
    const float_vector y = (float_vector)(((int_vector)x & is_number) |
                                          ((int_vector)c->of_nan & ~is_number));
    const float_vector bounded = float_at_most(float_at_least(y, c->low), c->high);
    return (int_vector)((bits)(bounded + nearest) - (bits)nearest + (bits)c->zero);
}

static inline float_vector codes_load(const float *from)
{
    float_vector v;
    memcpy(&v, from, sizeof(v));
    return v;
}

/* Codes of a row of sums, those behind `width` of any. `by_row` is a literal. */
static inline __attribute__((always_inline)) void
put_codes(uint8_t *to, const int32_t *sums, const struct codes *c, const int32_t *bias,
          const float *factor, int64_t width, const int by_row)
{
    int_vector added = by_row ? *bias - (int_vector){ 0 } : (int_vector){ 0 };
    float_vector by = by_row ? *factor - (float_vector){ 0 } : (float_vector){ 0 };
    for (int64_t j = 0; j < width; j += CODES_LANES) {
        if (!by_row) {
            added = int_load(bias + j);
            by = codes_load(factor + j);
        }
        codes_store(to + j, codes_of(c, int_load(sums + j), added, by));
    }
}

/* Columns from number `first` on of a row, but for those between groups. */
static void copy_codes(uint8_t *c, const uint8_t *codes, int64_t first, int64_t width,
                       const int64_t *n)
{
    const int64_t group = n[CPU_CODES_GROUP], wanted = n[CPU_CODES_WIDTH];
    for (int64_t j = 0; j < width;) {
        const int64_t number = (first + j) / group, at = (first + j) % group;
        const int64_t left = group - at < width - j ? group - at : width - j;
        const int64_t count = wanted - at < left ? wanted - at : left;
        if (count > 0)
            memcpy(c + number * n[CPU_CODES_C_GROUP] + at, codes + j, (size_t)count);
        j += left;
    }
}

static float codes_bound(int64_t bits)
{
    float bound;
    memcpy(&bound, &bits, sizeof(bound));
    return bound;
}

static struct codes codes_of_call(const int64_t *n)
{
    return (struct codes){
        .low = codes_bound(n[CPU_CODES_LOW]) - (float_vector){ 0 },
        .high = codes_bound(n[CPU_CODES_HIGH]) - (float_vector){ 0 },
        .of_nan = codes_bound(n[CPU_CODES_OF_NAN]) - (float_vector){ 0 },
        .zero = (int32_t)n[CPU_CODES_ZERO] - (int_vector){ 0 },
    };
}

/* So many columns from number `first` on. */
static void put_rows(uint8_t *c, const int32_t *sums, int64_t row, const int32_t *bias,
                     const float *factor, int64_t first, int64_t width,
                     const struct codes *codes, const int64_t *n)
{
    const int by_row = (n[CPU_TILE_FLAGS] & CPU_TILE_ROW_BIAS) != 0;
    uint8_t made[CODES_WIDTH + CODES_LANES];
    for (int64_t i = 0; i < n[CPU_TILE_M]; i++) {
        if (by_row)
            put_codes(made, sums + i * row, codes, bias + i, factor + i, width, 1);
        else
            put_codes(made, sums + i * row, codes, bias + first, factor + first, width,
                      0);
        copy_codes(c + i * n[CPU_TILE_C_ROW], made, first, width, n);
    }
}

static int32_t run_sums_codes(void *const *p, const int64_t *n)
{
    const struct codes codes = codes_of_call(n);
    const int32_t *sums = p[CPU_SUMS_CODES_SUMS];
    for (int64_t j = 0; j < n[CPU_TILE_N]; j += CODES_WIDTH) {
        const int64_t left = n[CPU_TILE_N] - j;
        put_rows(p[CPU_SUMS_CODES_C], sums + j, n[CPU_SUMS_CODES_ROW],
                 p[CPU_SUMS_CODES_BIAS], p[CPU_SUMS_CODES_FACTOR], j,
                 left < CODES_WIDTH ? left : CODES_WIDTH, &codes, n);
    }
    return 0;
}

/* By a tile of NR columns, or if it takes more of a B without panels, by many of it. */
static int32_t run_codes(cpu_primitive *block, int64_t nr, int takes_columns,
                         void *const *p, const int64_t *n)
{
    const int64_t chunk = takes_columns && n[CPU_CODES_B_N] == nr ? CODES_WIDTH : nr;
    const uint32_t *b = p[CPU_TILE_B];
    const struct codes codes = codes_of_call(n);
    int32_t sums[CODES_ROWS * CODES_WIDTH + CODES_LANES];
    int64_t plain[CPU_TILE_NINT];
    memcpy(plain, n, sizeof(plain));
    plain[CPU_TILE_C_ROW] = chunk;
    plain[CPU_TILE_FLAGS] &= CPU_TILE_PADDED;
    for (int64_t j = 0; j < n[CPU_TILE_N]; j += chunk) {
        const int64_t left = n[CPU_TILE_N] - j;
        union {
            const uint32_t *from;
            void *address;
        } at = { .from = b + j / nr * n[CPU_CODES_B_N] };
        plain[CPU_TILE_N] = left < chunk ? left : chunk;
        block((void *[]){ sums, p[CPU_TILE_A], at.address }, plain);
        put_rows(p[CPU_TILE_C], sums, chunk, p[CPU_TILE_BIAS], p[CPU_CODES_FACTOR], j,
                 plain[CPU_TILE_N], &codes, n);
    }
    return 0;
}

#endif
