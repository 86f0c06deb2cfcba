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

/* Which halves of floats are wanted. */
enum part { WHOLE, HIGH, LOW };

static inline float_vector part_of(float_vector x, enum part part)
{
    enum { NAN_OR_INFINITE = 0x99, MAX_BITS = 0x7f7f0000 };
    if (part == WHOLE)
        return x;
    const __mmask16 is_odd = _mm512_fpclass_ps_mask((__m512)x, NAN_OR_INFINITE);
    const __m512 most = _mm512_castsi512_ps(_mm512_set1_epi32(MAX_BITS));
    const __m512 bounded = _mm512_min_ps(_mm512_max_ps(x, -most), most);
    const __m512 least = _mm512_mask_mov_ps(bounded, is_odd, x);
    const __m256i halves = (__m256i)_mm512_cvtneps_pbh(least);
    const __m512 high =
        _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
    return part == HIGH ? high : _mm512_maskz_sub_ps((__mmask16)~is_odd, x, high);
}

/* One column of k terms: its pairs lie one behind the other. */
static inline void pack_column(int32_t *to, const float *from, int64_t stride, int64_t k,
                               int64_t depth, enum part part)
{
    for (int64_t i = 0; i < depth; i += LANES) {
        const float_vector first = take(from + 2 * i * stride, k - 2 * i, stride);
        const float_vector second =
            take(from + (2 * i + LANES) * stride, k - 2 * i - LANES, stride);
        put(to + i, round_both(part_of(first, part), part_of(second, part)), depth - i);
    }
}

/* A row of pairs, of which there are `left` terms. */
static inline void pack_row(int32_t *to, const float *from, int64_t left,
                            const int64_t *n, enum part part)
{
    const int64_t k_stride = n[CPU_PAIRS_K_STRIDE], stride = n[CPU_PAIRS_N_STRIDE];
    for (int64_t j = 0; j < n[CPU_PAIRS_WIDTH]; j += LANES) {
        const float *at = from + j * stride;
        const int64_t count = n[CPU_PAIRS_N] - j;
        const float_vector first =
            left > 0 ? take(at, count, stride) : (float_vector){ 0 };
        const float_vector second =
            left > 1 ? take(at + k_stride, count, stride) : (float_vector){ 0 };
        put(to + j, round_each(part_of(first, part), part_of(second, part)),
            n[CPU_PAIRS_WIDTH] - j);
    }
}

static inline void pack(int32_t *to, const float *from, int64_t k, int64_t depth,
                        const int64_t *n, enum part part)
{
    const int64_t stride = n[CPU_PAIRS_K_STRIDE], width = n[CPU_PAIRS_WIDTH];
    if (width == 1) {
        pack_column(to, from, stride, n[CPU_PAIRS_N] ? k : 0, depth, part);
        return;
    }
    for (int64_t i = 0; i < depth; i++)
        pack_row(to + i * width, from + 2 * i * stride, k - 2 * i, n, part);
}

static int32_t run_pairs(void *const *p, const int64_t *n)
{
    pack(p[CPU_PAIRS_TO], p[CPU_PAIRS_FROM], n[CPU_PAIRS_K], n[CPU_PAIRS_DEPTH], n,
         WHOLE);
    return 0;
}

static int32_t run_halves(void *const *p, const int64_t *n)
{
    enum { ROWS = CPU_PAIRS_OF_HALVES };
    int32_t *to = p[CPU_PAIRS_TO];
    const float *from = p[CPU_PAIRS_FROM];
    for (int64_t i = 0; i < n[CPU_PAIRS_DEPTH]; i += 2 * ROWS) {
        pack(to + i * n[CPU_PAIRS_WIDTH], from, n[CPU_PAIRS_K] - i, ROWS, n, HIGH);
        pack(to + (i + ROWS) * n[CPU_PAIRS_WIDTH], from, n[CPU_PAIRS_K] - i, ROWS, n,
             LOW);
        from += 2 * ROWS * n[CPU_PAIRS_K_STRIDE];
    }
    return 0;
}

enum { PAIRS_PS = 100, HALVES_PS = 150 };
const struct cpu_callee cpu_pairs_avx512bf16[] = {
    { "pairs_bf16_avx512bf16", run_pairs, CPU_PAIRS, BT_UINT32, BT_FLOAT32, PAIRS_PS },
    { "halves_bf16_avx512bf16", run_halves, CPU_PAIRS, BT_UINT32, BT_FLOAT32, HALVES_PS },
    { 0 },
};

#else

const struct cpu_callee cpu_pairs_avx512bf16[] = { { 0 } };

#endif
