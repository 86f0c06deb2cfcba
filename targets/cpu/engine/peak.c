#include "peak.h"

// 12 chains hide the latency of today's processors.
#define EACH(X)              X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CHAIN(i)             vector s##i = (vector){ 0 } + (float)i;
#define KEEP(i)              kept += s##i[0];
#define MULTIPLY_THEN_ADD(i) s##i = s##i * x + y;
#define FUSED(i)             __asm__("vfmadd132ps %1, %2, %0" : "+v"(s##i) : "v"(x), "v"(y));
#define PAIRS(i)             __asm__("vdpbf16ps %1, %2, %0" : "+v"(s##i) : "v"(x), "v"(y));
#define PEAK(name, target, nbytes, STEP)                              \
    target static double name(int64_t iterations)                     \
    {                                                                 \
        typedef float vector __attribute__((vector_size(nbytes)));    \
        vector x = (vector){ 0 } + 0.999f, y = (vector){ 0 } + 1e-3f; \
        volatile float kept = 0;                                      \
        EACH(CHAIN)                                                   \
        for (int64_t t = 0; t < iterations; t++) {                    \
            EACH(STEP)                                                \
        }                                                             \
        EACH(KEEP)                                                    \
        (void)kept;                                                   \
        return (double)iterations * 12 * 2 * (nbytes / 4);            \
    }
PEAK(peak_portable, , 16, MULTIPLY_THEN_ADD)
#if defined(__x86_64__)
PEAK(peak_avx2, __attribute__((target("avx2,fma"))), 32, FUSED)
PEAK(peak_avx512, __attribute__((target("avx512f"))), 64, FUSED)
PEAK(peak_bf16, __attribute__((target("avx512f"))), 64,
     PAIRS) // counted as vectors of floats
#else
#define peak_avx2   peak_portable
#define peak_avx512 peak_portable
#endif

enum { ITERATIONS = 50000, NSAMPLE = 50 };

/* arg: the loop. */
static int32_t work(void *arg, int64_t first, int64_t end, uint32_t worker)
{
    double (*const *loop)(int64_t) = arg;
    (void)worker;
    for (int64_t i = first; i < end; i++)
        (void)(*loop)(ITERATIONS);
    return 0;
}

double cpu_peak(struct cpu_pool *pool, uint32_t nthread, enum cpu_isa isa)
{
    static double (*const loops[CPU_ISA_COUNT])(int64_t) = {
        [CPU_ISA_PORTABLE] = peak_portable, [CPU_ISA_AVX2] = peak_avx2,
        [CPU_ISA_AVX512] = peak_avx512,     [CPU_ISA_AVX512BF16] = peak_avx512,
        [CPU_ISA_AMX] = peak_avx512,
    };
    double (*loop)(int64_t) = loops[isa];
    uint32_t most = cpu_pool_nthread(pool),
             n = nthread && nthread < most ? nthread : most;
    double nflop = loop(1) * ITERATIONS * n, best = 0;
    for (int i = 0; i < NSAMPLE; i++) {
        uint64_t start = bt_now_ns();
        cpu_pool_run(pool, n, 0, work, &loop);
        double rate = nflop / (1e-9 * (double)(bt_now_ns() - start));
        best = rate > best ? rate : best;
    }
    return best;
}

#if defined(__x86_64__)
/* The best of some samples, so short that few are interrupted. */
static uint64_t time_of(double (*loop)(int64_t))
{
    enum { FEW_ITERATIONS = 2000, NSAMPLE_OF_TIME = 20 };
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < NSAMPLE_OF_TIME; i++) {
        const uint64_t start = bt_now_ns();
        (void)loop(FEW_ITERATIONS);
        const uint64_t time = bt_now_ns() - start;
        best = time < best ? time : best;
    }
    return best;
}

int cpu_has_fast_bf16(void)
{
    // as many products: in as long as those of float32 take, there are twice as many
    return cpu_isa_of_machine() >= CPU_ISA_AVX512BF16 &&
           2 * (double)time_of(peak_avx512) > 1.5 * (double)time_of(peak_bf16);
}
#else
int cpu_has_fast_bf16(void)
{
    return 0;
}
#endif
