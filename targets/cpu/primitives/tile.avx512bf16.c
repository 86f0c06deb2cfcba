/*
 * Tiles of pairs of bfloat16: an element of A and of B is two terms' factors, the first in its low
 * half, which a product of two such adds both of, to sums in float32. Of denormals, zeros are taken
 * and made, whatever the modes are.
 */
#include "tile.h"
#include "pairs.h"
#include "vectors.h"

#ifdef __AVX512BF16__

#include "tile_block.h"

#define TILE_MR 14
#define TILE_EACH_ROWS(X) \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)

static inline float_vector multiply_add_pairs(float_vector a, float_vector b,
                                              float_vector c)
{
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}

/* Bits: some that are a pair of numbers are no float that may be computed with. */
static inline float_vector spread_pair(const float *at)
{
    int32_t pair;
    memcpy(&pair, at, sizeof(pair));
    return (float_vector)_mm512_set1_epi32(pair);
}

static inline int is_zero_pair(const float *at)
{
    int32_t pair;
    memcpy(&pair, at, sizeof(pair));
    return pair == 0;
}

#define TILE_GOES_NOT_ACROSS
#define MULTIPLY_ADD multiply_add_pairs
#define SPREAD       spread_pair
#define IS_ZERO      is_zero_pair
#define NAME(stem)   stem##_bf16
#include "tile_float32.h"

enum { TILE_PS = 8, LINE_PS = 40, TILE_NR = 2 * VECTOR_NBYTES / sizeof(float) };
const struct cpu_callee cpu_tile_rows_avx512bf16[] = {
    { "tile_bf16_avx512bf16", run_bf16, CPU_TILE, BT_FLOAT32, BT_UINT32, TILE_PS },
    { "epilogue_bf16_avx512bf16", run_epilogue_bf16, CPU_TILE_EPILOGUE, BT_FLOAT32,
      BT_FLOAT32, TILE_PS },
    { "line_bf16_avx512bf16", run_line_bf16, CPU_TILE, BT_FLOAT32, BT_FLOAT32, LINE_PS },
    { 0 },
};

const struct cpu_tile cpu_tiles_avx512bf16[] = {
    { .block = &cpu_tile_rows_avx512bf16[0],
      .line = &cpu_tile_rows_avx512bf16[2],
      .epilogue = &cpu_tile_rows_avx512bf16[1],
      .a = BT_UINT32,
      .b = BT_UINT32,
      .c = BT_FLOAT32,
      .mr = TILE_MR,
      .nr = TILE_NR,
      .isa = CPU_ISA_AVX512BF16,
      .pairs = &cpu_pairs_avx512bf16[0],
      .nterm = 2 },
    { 0 },
};

#else

const struct cpu_tile cpu_tiles_avx512bf16[] = { { 0 } };
const struct cpu_callee cpu_tile_rows_avx512bf16[] = { { 0 } };

#endif
