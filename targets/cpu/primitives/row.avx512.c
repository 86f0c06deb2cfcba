/* Rows of windows for AVX-512. */
#include "row.h"

#ifdef __AVX512F__

#define ROW_ISA    CPU_ISA_AVX512
#define ROW_TABLE  cpu_rows_avx512
#define ROW_SUFFIX "avx512"
#include "row_kinds.h"

#else

const struct cpu_row cpu_rows_avx512[] = { { 0 } };

#endif
