/* Winograd's transforms for AVX2 with FMA. */
#include "winograd.h"
#include "vectors.h"

#ifdef __AVX2__

#define WINOGRAD_TABLE   cpu_winograds_avx2
#define WINOGRAD_CALLEES cpu_winograd_rows_avx2
#define WINOGRAD_SUFFIX  "avx2"
#include "winograd_rows.h"

#else

const struct cpu_winograd cpu_winograds_avx2[] = { { 0 } };
const struct cpu_callee cpu_winograd_rows_avx2[] = { { 0 } };

#endif
