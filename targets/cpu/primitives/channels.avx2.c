/* Windows over channels for AVX2. */
#include "channels.h"

#ifdef __AVX2__

#define CHANNELS_CALLEES cpu_channels_avx2
#define CHANNELS_SUFFIX  "avx2"
#define CHANNELS_SUM_PS  80
#include "channels_rows.h"

#else

const struct cpu_callee cpu_channels_avx2[] = { { 0 } };

#endif
