#include "peak.h"

// 12 chains hide the latency of today's processors.
#define EACH(X)              X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define CHAIN(i)             vector s##i = (vector){ 0 } + (float)i;
#define KEEP(i)              kept += s##i[0];
#define MULTIPLY_THEN_ADD(i) s##i = s##i * x + y;
#define FUSED(i)             __asm__("vfmadd132ps %1, %2, %0" : "+v"(s##i) : "v"(x), "v"(y));
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
    static double (*const loops[])(int64_t) = { peak_portable, peak_avx2, peak_avx512 };
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
