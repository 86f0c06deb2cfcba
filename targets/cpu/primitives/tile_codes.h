/*
 * Tiles that make codes of 8 bits of their sums (tile.h), by a tile that leaves these in memory; included by
 * the sources of tiles.
 */
#ifndef CPU_TILE_CODES_H
#define CPU_TILE_CODES_H

#include "codes.h"
#include "tile.h"

enum { CODES_WIDTH = 128, CODES_ROWS = 32 };

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
            by = (float_vector)int_load(factor + j);
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

static struct codes codes_of_call(const int64_t *n)
{
    return codes_by(n[CPU_CODES_LOW], n[CPU_CODES_HIGH], n[CPU_CODES_OF_NAN],
                    n[CPU_CODES_ZERO]);
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
