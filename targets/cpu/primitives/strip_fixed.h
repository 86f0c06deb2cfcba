/*
 * Strips of codes of 8 bits from int32 sums by fixed point: a whole factor, then bits moved down.
 *
 *     y = clamp(shift_right(int64(a) * m + half, s) + zero, low, high)
 *
 * half is a number below 2^61, or if that is negative, half of 2^s.
 */
#include "strip_loops.h"
#include "vectors.h"

enum { FIXED_Y, FIXED_A, FIXED_M, FIXED_SHIFT };
enum { FIXED_COUNT, FIXED_HALF, FIXED_ZERO, FIXED_LOW, FIXED_HIGH };

static inline int64_t shifted_right(int64_t x, int64_t by)
{
    return x >> ((uint64_t)by > 63 ? 63 : by);
}

static inline int64_t half_of(const int64_t *n, int64_t shift)
{
    const int64_t one = (uint64_t)shift > 63 ? 0 : (int64_t)((uint64_t)1 << shift);
    return n[FIXED_HALF] < 0 ? one >> 1 : n[FIXED_HALF];
}

static inline uint8_t fixed_code(int32_t a, int64_t m, int64_t shift, const int64_t *n)
{
    const uint64_t product =
        (uint64_t)(int64_t)a * (uint64_t)m + (uint64_t)half_of(n, shift);
    const int64_t code = (int64_t)((uint64_t)shifted_right((int64_t)product, shift) +
                                   (uint64_t)n[FIXED_ZERO]);
    return (uint8_t)(code < n[FIXED_LOW]    ? n[FIXED_LOW]
                     : code > n[FIXED_HIGH] ? n[FIXED_HIGH]
                                            : code);
}

/* ---- registers ---- */

/* The same of some elements at a time, of m that int32 holds. */
#if defined(__AVX512F__)
typedef __m512i wide_vector;
enum { FIXED_LANES = 8 };
#define WIDE_ALL _mm512_set1_epi64
#define WIDE_MUL _mm512_mul_epi32
#define WIDE_ADD _mm512_add_epi64

static inline wide_vector wide_load(const int64_at *from)
{
    return _mm512_loadu_si512(from);
}

static inline wide_vector wide_sums(const int32_at *from)
{
    return _mm512_cvtepi32_epi64(_mm256_loadu_si256((const void *)from));
}

static inline wide_vector wide_right(wide_vector x, wide_vector by)
{
    return _mm512_srav_epi64(x, by);
}

static inline wide_vector wide_half(wide_vector by)
{
    return _mm512_srai_epi64(_mm512_sllv_epi64(WIDE_ALL(1), by), 1);
}

static inline wide_vector wide_clamp(wide_vector x, wide_vector low, wide_vector high)
{
    return _mm512_min_epi64(_mm512_max_epi64(x, low), high);
}

static inline void wide_store(uint8_t *to, wide_vector v)
{
    _mm_storel_epi64((void *)to, _mm512_cvtepi64_epi8(v));
}
#elif defined(__AVX2__)
typedef __m256i wide_vector;
enum { FIXED_LANES = 4 };
#define WIDE_ALL _mm256_set1_epi64x
#define WIDE_MUL _mm256_mul_epi32
#define WIDE_ADD _mm256_add_epi64

static inline wide_vector wide_load(const int64_at *from)
{
    return _mm256_loadu_si256((const void *)from);
}

static inline wide_vector wide_sums(const int32_at *from)
{
    return _mm256_cvtepi32_epi64(_mm_loadu_si128((const void *)from));
}

/* Bits that are all as the sign come and go with it. */
static inline wide_vector wide_right(wide_vector x, wide_vector by)
{
    const wide_vector sign = _mm256_cmpgt_epi64(_mm256_setzero_si256(), x);
    return _mm256_xor_si256(_mm256_srlv_epi64(_mm256_xor_si256(x, sign), by), sign);
}

static inline wide_vector wide_half(wide_vector by)
{
    return wide_right(_mm256_sllv_epi64(WIDE_ALL(1), by), WIDE_ALL(1));
}

static inline wide_vector wide_clamp(wide_vector x, wide_vector low, wide_vector high)
{
    x = _mm256_blendv_epi8(x, low, _mm256_cmpgt_epi64(low, x));
    return _mm256_blendv_epi8(x, high, _mm256_cmpgt_epi64(x, high));
}

static inline void wide_store(uint8_t *to, wide_vector v)
{
    const __m256i halves =
        _mm256_shuffle_epi8(v, _mm256_setr_epi8(0, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                                -1, -1, -1, -1, -1, -1, -1, 0, 8, -1, -1,
                                                -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
    const int codes = _mm_cvtsi128_si32(_mm_or_si128(
        _mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1)));
    memcpy(to, &codes, sizeof(codes));
}
#endif

#if defined(__AVX2__)
static inline __attribute__((always_inline)) int64_t
fixed_registers(void *const *p, const int64_t *n, const int is_one)
{
    const int32_at *a = p[FIXED_A];
    const int64_at *m_at = p[FIXED_M], *shift_at = p[FIXED_SHIFT];
    const wide_vector zero = WIDE_ALL(n[FIXED_ZERO]), low = WIDE_ALL(n[FIXED_LOW]),
                      high = WIDE_ALL(n[FIXED_HIGH]);
    uint8_t *y = p[FIXED_Y];
    wide_vector m = zero, shift = zero, half = WIDE_ALL(n[FIXED_HALF]);
    if (is_one) {
        m = WIDE_ALL(*m_at);
        shift = WIDE_ALL(*shift_at);
        half = WIDE_ALL(half_of(n, *shift_at));
    }
    int64_t i = 0;
    for (; i + FIXED_LANES <= n[FIXED_COUNT]; i += FIXED_LANES) {
        if (!is_one) {
            m = wide_load(m_at + i);
            shift = wide_load(shift_at + i);
            half = n[FIXED_HALF] < 0 ? wide_half(shift) : half;
        }
        const wide_vector product = WIDE_ADD(WIDE_MUL(wide_sums(a + i), m), half);
        wide_store(y + i,
                   wide_clamp(WIDE_ADD(wide_right(product, shift), zero), low, high));
    }
    return i;
}
#else
static inline int64_t fixed_registers(void *const *p, const int64_t *n, const int is_one)
{
    (void)p, (void)n, (void)is_one;
    return 0;
}
#endif

/* ---- strips ---- */

static inline __attribute__((always_inline)) int32_t
run_fixed(void *const *p, const int64_t *n, const int is_one)
{
    const int32_at *a = p[FIXED_A];
    const int64_at *m = p[FIXED_M], *shift = p[FIXED_SHIFT];
    const int64_t nfactor = is_one && n[FIXED_COUNT] > 0 ? 1 : n[FIXED_COUNT];
    uint64_t beyond = 0; // some bit, where int32 does not hold a factor
    uint8_t *y = p[FIXED_Y];
    for (int64_t i = 0; i < nfactor; i++)
        beyond |= ((uint64_t)m[i] + 0x80000000U) >> 32;
    for (int64_t i = beyond ? 0 : fixed_registers(p, n, is_one); i < n[FIXED_COUNT]; i++)
        y[i] = fixed_code(a[i], m[is_one ? 0 : i], shift[is_one ? 0 : i], n);
    return 0;
}

STRIP(fixed)
{
    return run_fixed(p, n, 0);
}

STRIP(fixed_s)
{
    return run_fixed(p, n, 1);
}

/* ---- rows ---- */

enum { FIXED_PS = VECTOR_NBYTES == 64 ? 250 : VECTOR_NBYTES == 32 ? 700 : 2500 };
#define FIXED_ROWS(to, TYPE)                                               \
    { "fixed_" #to ".int32", fixed, CPU_FIXED, TYPE, BT_INT32, FIXED_PS }, \
        { "fixed_" #to ".int32.s", fixed_s, CPU_FIXED_S, TYPE, BT_INT32, FIXED_PS },
