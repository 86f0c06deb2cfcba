/* Which instruction sets there are, and which of them this machine has. */
#define _GNU_SOURCE
#include "isa.h"

#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

/* Native kernels ask in each run. The compiler's own check remembers the answer; cpuid leaves a
 * virtual machine, which takes longer than a small network, and is for the clang that does not
 * know F16C. */
#if defined(__x86_64__)
#if defined(__clang__) && __clang_major__ < 19
static int has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#else
static int has_f16c(void)
{
    return __builtin_cpu_supports("f16c");
}
#endif
#endif

static const char *const names[CPU_ISA_COUNT] = { "portable", "avx2", "avx512",
                                                  "avx512bf16", "amx" };

static enum cpu_isa widest_but_amx(void)
{
#if defined(__x86_64__)
    // The compiler's own check asks the system, too: whether it saves wide registers.
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c())
        return CPU_ISA_PORTABLE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return CPU_ISA_AVX2;
    return __builtin_cpu_supports("avx512bf16") ? CPU_ISA_AVX512BF16 : CPU_ISA_AVX512;
#else
    return CPU_ISA_PORTABLE;
#endif
}

/* The system gives leave where the processor has AMX only. */
static int has_amx(void)
{
#if defined(__x86_64__) && defined(__linux__)
    enum { REQUEST = 0x1023, TILE_DATA = 18, BF16_AND_TILE = 1 << 22 | 1 << 24 };
    unsigned a, b, c, d;
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0 &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (d & BF16_AND_TILE) == BF16_AND_TILE;
#else
    return 0;
#endif
}

enum cpu_isa cpu_isa_of_machine(void)
{
    const enum cpu_isa widest = widest_but_amx();
    return widest == CPU_ISA_AVX512BF16 && has_amx() ? CPU_ISA_AMX : widest;
}

int cpu_isa_is_here(enum cpu_isa isa)
{
    return isa <= (isa == CPU_ISA_AMX ? cpu_isa_of_machine() : widest_but_amx());
}

const char *cpu_isa_name(enum cpu_isa isa)
{
    return names[isa];
}

int cpu_isa_find(const char *name)
{
    for (int i = 0; i < CPU_ISA_COUNT; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return -1;
}

enum cpu_isa cpu_isa_chosen(const char *wanted)
{
    int isa = wanted ? cpu_isa_find(wanted) : -1;
    enum cpu_isa widest = cpu_isa_of_machine();
    return isa >= 0 && isa < (int)widest ? (enum cpu_isa)isa : widest;
}
