/* Tiles for AVX2 with FMA. */
#include "tile.h"
#include "vectors.h"

#ifdef __AVX2__

#define TILE_ISA          CPU_ISA_AVX2
#define TILE_TABLE        cpu_tiles_avx2
#define TILE_CALLEES      cpu_tile_rows_avx2
#define TILE_PAIRS        cpu_pairs_avx2
#define TILE_SUFFIX       "avx2"
#define TILE_MR           6
#define TILE_EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#include "tile_rows.h"

#else

const struct cpu_tile cpu_tiles_avx2[] = { { 0 } };
const struct cpu_callee cpu_tile_rows_avx2[] = { { 0 } };

#endif
