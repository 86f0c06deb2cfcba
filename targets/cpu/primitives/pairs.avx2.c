/* Pairs of int16: for machines with AVX2 */
#include "pairs.h"

#ifdef __AVX2__

#define PAIRS_TABLE  cpu_pairs_avx2
#define PAIRS_SUFFIX "avx2"
#include "pairs_rows.h"

#else

const struct cpu_callee cpu_pairs_avx2[] = { { 0 } };

#endif
