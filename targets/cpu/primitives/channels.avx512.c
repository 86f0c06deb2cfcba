/* Windows over channels for AVX-512. */
#include "channels.h"

#ifdef __AVX512F__

#define CHANNELS_CALLEES cpu_channels_avx512
#define CHANNELS_SUFFIX  "avx512"
#define CHANNELS_SUM_PS  45
#include "channels_rows.h"

#else

const struct cpu_callee cpu_channels_avx512[] = { { 0 } };

#endif
