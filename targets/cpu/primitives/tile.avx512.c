/* Tiles for AVX-512. */
#include "tile.h"
#include "vectors.h"

#ifdef __AVX512F__

#define TILE_ISA     CPU_ISA_AVX512
#define TILE_TABLE   cpu_tiles_avx512
#define TILE_CALLEES cpu_tile_rows_avx512
#define TILE_PAIRS   cpu_pairs_avx512
#define TILE_SUFFIX  "avx512"
#define TILE_MR      14
#define TILE_EACH_ROWS(X) \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#include "tile_rows.h"

#else

const struct cpu_tile cpu_tiles_avx512[] = { { 0 } };
const struct cpu_callee cpu_tile_rows_avx512[] = { { 0 } };

#endif
