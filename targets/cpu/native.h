/*
 * What kernels call that run in a program without Baton. With integer.h and the primitives
 * it is libbaton_cpu.a, which executor aot lays beside the text of such kernels.
 */
#ifndef CPU_NATIVE_H
#define CPU_NATIVE_H

#include <stdint.h>

/* Before a kernel's work: takes denormals for zeros, unless it keeps them, and leaves the
 * modes of before in *modes. Gives 0, or 1: this machine does not run the instruction set
 * (enum cpu_isa), and nothing has changed. */
int32_t cpu_native_enter(uint32_t isa, uint32_t keeps_denormals, uint32_t *modes);
/* Behind it. */
void cpu_native_leave(uint32_t modes);

#endif
