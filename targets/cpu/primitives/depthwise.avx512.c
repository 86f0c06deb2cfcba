/* Depthwise convolutions for AVX-512. */
#include "codes.h"
#include "depthwise.h"
#include "vectors.h"

#ifdef __AVX512F__

#define DEPTHWISE_CALLEES cpu_depthwise_avx512
#define DEPTHWISE_SUFFIX  "avx512"
#include "depthwise_rows.h"

#else

const struct cpu_callee cpu_depthwise_avx512[] = { { 0 } };

#endif
