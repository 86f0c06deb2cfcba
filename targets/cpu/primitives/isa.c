/* Which instruction sets there are, and which of them this machine has. */
#include "isa.h"

#include <string.h>

/* Native kernels ask in each run. The compiler's own check remembers the answer; cpuid leaves a
 * virtual machine, which takes longer than a small network, and is for the clang that does not
 * know F16C. */
#if defined(__x86_64__)
#if defined(__clang__) && __clang_major__ < 19
#include <cpuid.h>

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
                                                  "avx512bf16" };

enum cpu_isa cpu_isa_of_machine(void)
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
