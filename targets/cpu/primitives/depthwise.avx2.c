/* Depthwise convolutions for AVX2 with FMA. */
#include "codes.h"
#include "depthwise.h"
#include "vectors.h"

#ifdef __AVX2__

#define DEPTHWISE_CALLEES cpu_depthwise_avx2
#define DEPTHWISE_SUFFIX  "avx2"
#include "depthwise_rows.h"

#else

const struct cpu_callee cpu_depthwise_avx2[] = { { 0 } };

#endif
