/* What the machine's vector units do at most. */
#ifndef CPU_PEAK_H
#define CPU_PEAK_H

#include "pool.h"
#include "primitives/isa.h"

/* Floating-point operations in a second, of float32 and with multiply-adds counted as two:
 * the best of many short loops in which `nthread` threads of the pool keep to registers. */
double cpu_peak(struct cpu_pool *, uint32_t nthread, enum cpu_isa);

/* Whether this machine multiplies pairs of bfloat16 (CPU_ISA_AVX512BF16), and so much faster than
 * float32 that it pays: some do twice as many in a time, some half as many. */
int cpu_has_fast_bf16(void);

#endif
