/* Pairs of bfloat16 for AVX-512 with BF16. */
#include "pairs.h"

#include "vectors.h"

#ifdef __AVX512BF16__

enum { LANES = VECTOR_NBYTES / sizeof(float) };

/* Pairs of what is side by side: { first[0], first[1] } ... { second[0], ... } ... */
static inline int_vector round_both(float_vector first, float_vector second)
{
    return (int_vector)_mm512_cvtne2ps_pbh(second, first);
}

/* { first[0], second[0] }, { first[1], second[1] } ... */
static inline int_vector round_each(float_vector first, float_vector second)
{
    const __m512i halves = (__m512i)round_both(first, second);
    const __m512i order = _mm512_setr_epi32(
        0x100000, 0x110001, 0x120002, 0x130003, 0x140004, 0x150005, 0x160006, 0x170007,
        0x180008, 0x190009, 0x1a000a, 0x1b000b, 0x1c000c, 0x1d000d, 0x1e000e, 0x1f000f);
    return (int_vector)_mm512_permutexvar_epi16(order, halves);
}

/* Up to LANES elements. */
static inline float_vector take(const float *from, int64_t n, int64_t stride)
{
    float some[LANES] = { 0 };
    if (stride == 1)
        return n <= 0 ? (float_vector){ 0 }
                      : float_load_part(from, n < LANES ? n : LANES);
    for (int64_t i = 0; i < n && i < LANES; i++)
        some[i] = from[i * stride];
    return (float_vector)int_load(some);
}

static inline void put(int32_t *to, int_vector pairs, int64_t n)
{
    if (n >= LANES)
        int_store(to, pairs);
    else
        _mm512_mask_storeu_epi32(to, (__mmask16)((1U << n) - 1), (__m512i)pairs);
}

/* One column: its pairs lie one behind the other. */
static void pack_column(int32_t *to, const float *from, const int64_t *n)
{
    const int64_t stride = n[CPU_PAIRS_K_STRIDE], k = n[CPU_PAIRS_N] ? n[CPU_PAIRS_K] : 0;
    for (int64_t i = 0; i < n[CPU_PAIRS_DEPTH]; i += LANES) {
        const float_vector first = take(from + 2 * i * stride, k - 2 * i, stride);
        const float_vector second =
            take(from + (2 * i + LANES) * stride, k - 2 * i - LANES, stride);
        put(to + i, round_both(first, second), n[CPU_PAIRS_DEPTH] - i);
    }
}

/* A row of pairs. */
static void pack_row(int32_t *to, const float *from, int64_t left, const int64_t *n)
{
    const int64_t k_stride = n[CPU_PAIRS_K_STRIDE], stride = n[CPU_PAIRS_N_STRIDE];
    for (int64_t j = 0; j < n[CPU_PAIRS_WIDTH]; j += LANES) {
        const float *at = from + j * stride;
        const int64_t count = n[CPU_PAIRS_N] - j;
        const float_vector first =
            left > 0 ? take(at, count, stride) : (float_vector){ 0 };
        const float_vector second =
            left > 1 ? take(at + k_stride, count, stride) : (float_vector){ 0 };
        put(to + j, round_each(first, second), n[CPU_PAIRS_WIDTH] - j);
    }
}

static int32_t run_pairs(void *const *p, const int64_t *n)
{
    int32_t *to = p[CPU_PAIRS_TO];
    const float *from = p[CPU_PAIRS_FROM];
    if (n[CPU_PAIRS_WIDTH] == 1) {
        pack_column(to, from, n);
        return 0;
    }
    for (int64_t k = 0; k < n[CPU_PAIRS_DEPTH]; k++)
        pack_row(to + k * n[CPU_PAIRS_WIDTH], from + 2 * k * n[CPU_PAIRS_K_STRIDE],
                 n[CPU_PAIRS_K] - 2 * k, n);
    return 0;
}

enum { PAIRS_PS = 100 };
const struct cpu_callee cpu_pairs_avx512bf16[] = {
    { "pairs_bf16_avx512bf16", run_pairs, CPU_PAIRS, BT_UINT32, BT_FLOAT32, PAIRS_PS },
    { 0 },
};

#else

const struct cpu_callee cpu_pairs_avx512bf16[] = { { 0 } };

#endif
