/* A thread's modes of floating point: how it rounds, what it does with denormals. */
#ifndef CPU_MODES_H
#define CPU_MODES_H

#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline uint32_t cpu_modes_get(void)
{
#if defined(__x86_64__)
    return _mm_getcsr();
#else
    return 0; // threads have those of the pool's creator
#endif
}

static inline void cpu_modes_set(uint32_t modes)
{
#if defined(__x86_64__)
    if (modes != cpu_modes_get())
        _mm_setcsr(modes);
#else
    (void)modes;
#endif
}

/* Those that kernels run with. The flags of exceptions, which nobody asks for, are set
 * beforehand: a processor may lose a hundred nanoseconds where the first inexact result sets
 * one. */
static inline uint32_t cpu_modes_of_kernels(uint32_t modes, int keeps_denormals)
{
#if defined(__x86_64__)
    enum { DENORMALS_ARE_ZEROS = 0x40 };
    return modes | _MM_EXCEPT_MASK |
           (keeps_denormals ? 0 : _MM_FLUSH_ZERO_ON | DENORMALS_ARE_ZEROS);
#else
    (void)keeps_denormals;
    return modes;
#endif
}

#endif
