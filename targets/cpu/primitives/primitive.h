/* What bytecode and machine code call. */
#ifndef CPU_PRIMITIVE_H
#define CPU_PRIMITIVE_H

#include <stdint.h>

/* Addresses and integers, no state, no failure: gives 0. */
typedef int32_t cpu_primitive(void *const *p, const int64_t *n);

#endif
