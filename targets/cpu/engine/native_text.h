/*
 * Bytecode as C text for programs without Baton, which link with libbaton_cpu.a: a kernel's
 * function does all phases in the caller's thread, and primitives are called by their rows.
 *
 *     extern const struct cpu_row cpu_float_avx2[];
 *     #define cpu_add_float32 cpu_float_avx2[0].run
 */
#ifndef CPU_NATIVE_TEXT_H
#define CPU_NATIVE_TEXT_H

#include "engine.h"

/* Kernels without bytecode (NULL) are left out. */
void native_text(bt_text *, const struct cpu_engine_request *, uint32_t n,
                 const struct bytecode *const *bytecodes);
/* What a kernel's function says, behind its checks, of a dim that it cannot take. */
#define NATIVE_TEXT_DIM "a dim is negative or too large"

#endif
