/* Pairs of int16: for machines with AVX-512 */
#include "pairs.h"

#ifdef __AVX512F__

#define PAIRS_TABLE  cpu_pairs_avx512
#define PAIRS_SUFFIX "avx512"
#include "pairs_rows.h"

#else

const struct cpu_callee cpu_pairs_avx512[] = { { 0 } };

#endif
