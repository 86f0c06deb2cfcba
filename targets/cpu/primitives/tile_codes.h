/*
 * Tiles that make codes of 8 bits of their sums (tile.h), by a tile that leaves these in memory; included by
 * the sources of tiles.
 */
#ifndef CPU_TILE_CODES_H
#define CPU_TILE_CODES_H

#include "codes.h"
#include "tile.h"

enum { CODES_WIDTH = 128, CODES_ROWS = 32 };

/* What a row of sums goes through. Literals: `by_row`, `is_finite` of the factors. */
static inline __attribute__((always_inline)) void
put_codes(uint8_t *to, const int32_t *sums, const struct codes *c, const int32_t *bias,
          const float *factor, int64_t width, const int by_row, const int is_finite)
{
    int_vector added = by_row ? *bias - (int_vector){ 0 } : (int_vector){ 0 };
    float_vector by = by_row ? *factor - (float_vector){ 0 } : (float_vector){ 0 };
    for (int64_t j = 0; j < width; j += CODES_LANES) {
        if (!by_row) {
            added = int_load(bias + j);
            by = (float_vector)int_load(factor + j);
        }
        codes_store(to + j, is_finite ? codes_of_number(c, int_load(sums + j), added, by)
                                      : codes_of(c, int_load(sums + j), added, by));
    }
}

static int are_finite(const float *factors, int64_t n)
{
    float_vector sums = { 0 }; // of zeros, or NaN
    float sum = 0;
    int64_t i = 0;
    for (; i + CODES_LANES <= n; i += CODES_LANES)
        sums += (float_vector)int_load(factors + i) * 0.0F;
    for (; i < n; i++)
        sum += factors[i] * 0.0F;
    return float_is_zero(sums) && sum == 0;
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

/* So many columns from number `first` on: vectors of one group go to their place at once. */
static inline __attribute__((always_inline)) void
put_rows_by(uint8_t *c, const int32_t *sums, int64_t row, const int32_t *bias,
            const float *factor, int64_t first, int64_t width, const struct codes *codes,
            const int64_t *n, const int by_row, const int is_finite)
{
    const int is_one_group = n[CPU_CODES_WIDTH] >= first + width;
    const int64_t whole = is_one_group ? width / CODES_LANES * CODES_LANES : 0;
    uint8_t made[CODES_WIDTH + CODES_LANES];
    for (int64_t i = 0; i < n[CPU_TILE_M]; i++) {
        const int64_t at = by_row ? i : first, after = by_row ? i : first + whole;
        uint8_t *to = c + i * n[CPU_TILE_C_ROW];
        const int32_t *from = sums + i * row;
        put_codes(to + first, from, codes, bias + at, factor + at, whole, by_row,
                  is_finite);
        if (whole == width)
            continue;
        put_codes(made, from + whole, codes, bias + after, factor + after, width - whole,
                  by_row, is_finite);
        copy_codes(to, made, first + whole, width - whole, n);
    }
}

static void put_rows(uint8_t *c, const int32_t *sums, int64_t row, const int32_t *bias,
                     const float *factor, int64_t first, int64_t width,
                     const struct codes *codes, const int64_t *n)
{
    const int by_row = (n[CPU_TILE_FLAGS] & CPU_TILE_ROW_BIAS) != 0;
    const int is_finite =
        by_row ? are_finite(factor, n[CPU_TILE_M]) : are_finite(factor + first, width);
    if (!is_finite)
        put_rows_by(c, sums, row, bias, factor, first, width, codes, n, by_row, 0);
    else if (by_row)
        put_rows_by(c, sums, row, bias, factor, first, width, codes, n, 1, 1);
    else
        put_rows_by(c, sums, row, bias, factor, first, width, codes, n, 0, 1);
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

/* By a tile with an epilogue of NR columns, which leaves many of them in memory. */
static int32_t run_codes(cpu_primitive *epilogue, int64_t nr, void *const *p,
                         const int64_t *n)
{
    const uint32_t *b = p[CPU_TILE_B], *next = p[CPU_CODES_NEXT];
    const struct codes codes = codes_of_call(n);
    int32_t sums[CODES_ROWS * CODES_WIDTH + CODES_LANES];
    int64_t plain[CPU_TILE_EPILOGUE_NINT] = { 0 };
    memcpy(plain, n, CPU_TILE_NINT * sizeof(*plain));
    plain[CPU_TILE_C_ROW] = CODES_WIDTH;
    plain[CPU_TILE_FLAGS] &= CPU_TILE_PADDED;
    plain[CPU_TILE_NEXT_K] = n[CPU_CODES_NEXT_K];
    plain[CPU_TILE_B_N] = n[CPU_CODES_B_N];
    for (int64_t j = 0; j < n[CPU_TILE_N]; j += CODES_WIDTH) {
        const int64_t left = n[CPU_TILE_N] - j;
        const int64_t step = j / nr * n[CPU_CODES_B_N];
        union {
            const uint32_t *from;
            void *address;
        } at = { .from = b + step }, fetched = { .from = next + step };
        const int64_t width = left < CODES_WIDTH ? left : CODES_WIDTH;
        // whole tiles are faster, and what is behind the last column is there
        plain[CPU_TILE_N] =
            plain[CPU_TILE_FLAGS] & CPU_TILE_PADDED ? (width + nr - 1) / nr * nr : width;
        void *addresses[CPU_TILE_RESIDUAL + 1] = { sums, p[CPU_TILE_A], at.address };
        addresses[CPU_TILE_NEXT] = fetched.address;
        epilogue(addresses, plain);
        put_rows(p[CPU_TILE_C], sums, CODES_WIDTH, p[CPU_TILE_BIAS], p[CPU_CODES_FACTOR],
                 j, width, &codes, n);
    }
    return 0;
}

#endif
