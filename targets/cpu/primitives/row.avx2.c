/* Rows of windows for AVX2 with FMA. */
#include "row.h"

#ifdef __AVX2__

#define ROW_ISA    CPU_ISA_AVX2
#define ROW_TABLE  cpu_rows_avx2
#define ROW_SUFFIX "avx2"
#include "row_kinds.h"

#else

const struct cpu_row cpu_rows_avx2[] = { { 0 } };

#endif
