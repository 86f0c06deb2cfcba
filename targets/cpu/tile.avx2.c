/* Tiles for AVX2 with FMA. */
#include "tile.h"

#ifdef __AVX2__
#include <immintrin.h>

typedef float float_vector __attribute__((vector_size(32)));
typedef double double_vector __attribute__((vector_size(32)));

static inline float_vector float_multiply_add(float_vector a, float_vector b,
                                              float_vector c)
{
    return _mm256_fmadd_ps(a, b, c);
}

static inline double_vector double_multiply_add(double_vector a, double_vector b,
                                                double_vector c)
{
    return _mm256_fmadd_pd(a, b, c);
}

#define TILE_ISA          CPU_ISA_AVX2
#define TILE_TABLE        cpu_tiles_avx2
#define TILE_SUFFIX       "avx2"
#define TILE_MR           6
#define TILE_EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#include "tile_rows.h"

#else

const struct cpu_tile cpu_tiles_avx2[] = { { 0 } };

#endif
