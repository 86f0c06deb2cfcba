/* Which instruction sets there are, and which of them this machine has. */
#define _GNU_SOURCE
#include "isa.h"

#include <stdint.h>
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

static const char *const names[CPU_ISA_COUNT] = {
#define CPU_ISA(UPPER, lower, flags) #lower,
#include "isa.def"
};

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

/* ---- AMX: registers that a system saves for those who ask for it ---- */

#if defined(__x86_64__) && defined(__linux__)
enum { SUPPORTED = 0x1021, REQUEST = 0x1023, TILE_DATA = 18 }; /* of arch_prctl */

/* Parts of AMX: bits of a register of cpuid. */
enum { BF16 = 1 << 22, TILE = 1 << 24, INT8 = 1 << 25 };

static int has_amx_of(unsigned parts)
{
    unsigned a, b, c, d;
    uint64_t saved = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & parts) == parts &&
           syscall(SYS_arch_prctl, SUPPORTED, &saved) == 0 && (saved >> TILE_DATA & 1);
}

static int request_amx(void)
{
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}
#else
enum { BF16, TILE, INT8 };

static int has_amx_of(unsigned parts)
{
    (void)parts;
    return 0;
}

static int request_amx(void)
{
    return 0;
}
#endif

/* Whether the system has given leave, which it does not take back: like the compiler's memory of
 * the processor it is of the process, as who runs native kernels has no other place for it. */
static int amx_is_granted; /* atomic */

enum cpu_isa cpu_isa_of_machine(void)
{
    const enum cpu_isa widest = widest_but_amx();
    return widest == CPU_ISA_AVX512BF16 && has_amx_of(BF16 | TILE) ? CPU_ISA_AMX : widest;
}

int cpu_isa_request(enum cpu_isa isa)
{
    if (isa != CPU_ISA_AMX)
        return isa <= widest_but_amx();
    if (__atomic_load_n(&amx_is_granted, __ATOMIC_RELAXED))
        return 1;
    if (cpu_isa_of_machine() < isa || !request_amx())
        return 0;
    __atomic_store_n(&amx_is_granted, 1, __ATOMIC_RELAXED);
    return 1;
}

int cpu_isa_multiplies_quads(enum cpu_isa isa)
{
#if defined(__x86_64__)
    if (isa == CPU_ISA_AMX)
        return has_amx_of(TILE | INT8);
    if (isa >= CPU_ISA_AVX512)
        return __builtin_cpu_supports("avx512vnni");
#if !defined(__clang__) && __GNUC__ >= 12 // which know its name, as tile_pairs.h wants
    if (isa == CPU_ISA_AVX2)
        return __builtin_cpu_supports("avxvnni");
#endif
#endif
    (void)isa;
    return 0;
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
