/* Winograd's transforms for AVX-512. */
#include "winograd.h"
#include "vectors.h"

#ifdef __AVX512F__

#define WINOGRAD_TABLE   cpu_winograds_avx512
#define WINOGRAD_CALLEES cpu_winograd_rows_avx512
#define WINOGRAD_SUFFIX  "avx512"
#include "winograd_rows.h"

#else

const struct cpu_winograd cpu_winograds_avx512[] = { { 0 } };
const struct cpu_callee cpu_winograd_rows_avx512[] = { { 0 } };

#endif
