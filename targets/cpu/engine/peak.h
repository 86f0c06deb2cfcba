/* What the machine's vector units do at most. */
#ifndef CPU_PEAK_H
#define CPU_PEAK_H

#include "pool.h"
#include "primitives/isa.h"

/* Floating-point operations in a second, of float32 and with multiply-adds counted as two:
 * the best of many short loops in which `nthread` threads of the pool keep to registers. */
double cpu_peak(struct cpu_pool *, uint32_t nthread, enum cpu_isa);

#endif
