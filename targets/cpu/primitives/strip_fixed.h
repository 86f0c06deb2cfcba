/*
 * Strips of codes of 8 bits from int32 sums by fixed point: a whole factor, then bits moved down.
 *
 *     y = clamp(moved(int64(a) * m, s) + zero, low, high)
 *
 * How that is rounded is an integer of the call (fixed.h).
 */
#include "fixed.h"
#include "strip_loops.h"
#include "vectors.h"

#define LITERAL static inline __attribute__((always_inline))

static inline int64_t shifted_right(int64_t x, int64_t by)
{
    return x >> ((uint64_t)by > 63 ? 63 : by);
}

static inline int64_t half_of(const int64_t *n, int64_t shift)
{
    const int64_t one = (uint64_t)shift > 63 ? 0 : (int64_t)((uint64_t)1 << shift);
    return n[CPU_FIXED_HALF] < 0 ? one >> 1 : n[CPU_FIXED_HALF];
}

static inline int64_t at_least_0(int64_t x)
{
    return x < 0 ? 0 : x;
}

static inline int64_t saturated(int64_t x)
{
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x;
}

static inline int64_t sum_of(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

LITERAL uint8_t fixed_code(int32_t sum, int64_t m, int64_t shift, const int64_t *n,
                           const int rounding)
{
    int64_t a = sum;
    if (rounding == CPU_FIXED_GEMMLOWP) {
        const int64_t left = at_least_0((int64_t)(31 - (uint64_t)shift));
        a = saturated((uint64_t)left > 63 ? 0 : (int64_t)((uint64_t)a << left));
        shift = at_least_0((int64_t)((uint64_t)shift - 31));
    }
    int64_t x = (int64_t)((uint64_t)a * (uint64_t)m);
    if (rounding == CPU_FIXED_GEMMLOWP)
        x = shifted_right(sum_of(x, 1 << 30), 31);
    int64_t half = half_of(n, shift);
    if (rounding == CPU_FIXED_EVEN)
        half = at_least_0(half - 1) + (shift > 0 ? shifted_right(x, shift) & 1 : 0);
    const int is_turned =
        (rounding == CPU_FIXED_AWAY || rounding == CPU_FIXED_GEMMLOWP) && x < 0;
    const int64_t turned = is_turned ? (int64_t)(0 - (uint64_t)x) : x;
    const int64_t moved = shifted_right(sum_of(turned, half), shift);
    const int64_t code =
        sum_of(is_turned ? (int64_t)(0 - (uint64_t)moved) : moved, n[CPU_FIXED_ZERO]);
    return (uint8_t)(code < n[CPU_FIXED_LOW]    ? n[CPU_FIXED_LOW]
                     : code > n[CPU_FIXED_HIGH] ? n[CPU_FIXED_HIGH]
                                                : code);
}

/* ---- registers ---- */

/* The same of some elements at a time, of m that int32 holds. */
#if defined(__AVX512F__)
typedef __m512i wide_vector;
enum { FIXED_LANES = 8 };
#define WIDE_ALL  _mm512_set1_epi64
#define WIDE_MUL  _mm512_mul_epi32
#define WIDE_ADD  _mm512_add_epi64
#define WIDE_SUB  _mm512_sub_epi64
#define WIDE_XOR  _mm512_xor_si512
#define WIDE_AND  _mm512_and_si512
#define WIDE_LEFT _mm512_sllv_epi64

static inline wide_vector wide_sign(wide_vector x)
{
    return _mm512_srai_epi64(x, 63);
}

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
#define WIDE_ALL  _mm256_set1_epi64x
#define WIDE_MUL  _mm256_mul_epi32
#define WIDE_ADD  _mm256_add_epi64
#define WIDE_SUB  _mm256_sub_epi64
#define WIDE_XOR  _mm256_xor_si256
#define WIDE_AND  _mm256_and_si256
#define WIDE_LEFT _mm256_sllv_epi64

static inline wide_vector wide_sign(wide_vector x)
{
    return _mm256_cmpgt_epi64(_mm256_setzero_si256(), x);
}

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
/* What goes with a factor. */
struct fixed_factor {
    wide_vector m, left, shift, half;
};

LITERAL struct fixed_factor factor_of(wide_vector m, wide_vector shift, const int64_t *n,
                                      const int rounding)
{
    const wide_vector none = WIDE_ALL(0), most = WIDE_ALL(INT64_MAX);
    struct fixed_factor f = { .m = m, .left = none, .shift = shift };
    if (rounding == CPU_FIXED_GEMMLOWP) {
        f.left = wide_clamp(WIDE_SUB(WIDE_ALL(31), shift), none, most);
        f.shift = wide_clamp(WIDE_SUB(shift, WIDE_ALL(31)), none, most);
    }
    f.half = n[CPU_FIXED_HALF] < 0 ? wide_half(f.shift) : WIDE_ALL(n[CPU_FIXED_HALF]);
    if (rounding == CPU_FIXED_EVEN)
        f.half = wide_clamp(WIDE_SUB(f.half, WIDE_ALL(1)), none, most);
    return f;
}

LITERAL wide_vector moved_by(wide_vector a, const struct fixed_factor *f,
                             const int rounding)
{
    if (rounding == CPU_FIXED_GEMMLOWP)
        a = wide_clamp(WIDE_LEFT(a, f->left), WIDE_ALL(INT32_MIN), WIDE_ALL(INT32_MAX));
    wide_vector x = WIDE_MUL(a, f->m), half = f->half;
    if (rounding == CPU_FIXED_GEMMLOWP)
        x = wide_right(WIDE_ADD(x, WIDE_ALL(1 << 30)), WIDE_ALL(31));
    if (rounding == CPU_FIXED_EVEN) // 0 where nothing is moved
        half = WIDE_ADD(half, WIDE_AND(WIDE_AND(wide_right(x, f->shift), WIDE_ALL(1)),
                                       wide_sign(WIDE_SUB(WIDE_ALL(0), f->shift))));
    if (rounding != CPU_FIXED_AWAY && rounding != CPU_FIXED_GEMMLOWP)
        return wide_right(WIDE_ADD(x, half), f->shift);
    const wide_vector sign = wide_sign(x);
    const wide_vector turned = WIDE_SUB(WIDE_XOR(x, sign), sign);
    const wide_vector moved = wide_right(WIDE_ADD(turned, half), f->shift);
    return WIDE_SUB(WIDE_XOR(moved, sign), sign);
}

LITERAL int64_t fixed_registers(void *const *p, const int64_t *n, const int is_one,
                                const int rounding)
{
    const int32_at *a = p[CPU_FIXED_A];
    const int64_at *m = p[CPU_FIXED_M], *shift = p[CPU_FIXED_SHIFT];
    const wide_vector zero = WIDE_ALL(n[CPU_FIXED_ZERO]),
                      low = WIDE_ALL(n[CPU_FIXED_LOW]),
                      high = WIDE_ALL(n[CPU_FIXED_HIGH]);
    uint8_t *y = p[CPU_FIXED_Y];
    struct fixed_factor f = { zero, zero, zero, zero };
    if (is_one)
        f = factor_of(WIDE_ALL(*m), WIDE_ALL(*shift), n, rounding);
    int64_t i = 0;
    for (; i + FIXED_LANES <= n[CPU_FIXED_COUNT]; i += FIXED_LANES) {
        if (!is_one)
            f = factor_of(wide_load(m + i), wide_load(shift + i), n, rounding);
        const wide_vector moved = moved_by(wide_sums(a + i), &f, rounding);
        wide_store(y + i, wide_clamp(WIDE_ADD(moved, zero), low, high));
    }
    return i;
}
#else
LITERAL int64_t fixed_registers(void *const *p, const int64_t *n, const int is_one,
                                const int rounding)
{
    (void)p, (void)n, (void)is_one, (void)rounding;
    return 0;
}
#endif

/* ---- strips ---- */

LITERAL int32_t run_rounding(void *const *p, const int64_t *n, const int is_one,
                             const int rounding)
{
    const int32_at *a = p[CPU_FIXED_A];
    const int64_at *m = p[CPU_FIXED_M], *shift = p[CPU_FIXED_SHIFT];
    const int64_t nfactor = is_one && n[CPU_FIXED_COUNT] > 0 ? 1 : n[CPU_FIXED_COUNT];
    uint64_t beyond = 0; // some bit, where int32 does not hold a factor
    uint8_t *y = p[CPU_FIXED_Y];
    for (int64_t i = 0; i < nfactor; i++)
        beyond |= ((uint64_t)m[i] + 0x80000000U) >> 32;
    int64_t i = beyond || !nfactor ? 0 : fixed_registers(p, n, is_one, rounding);
    for (; i < n[CPU_FIXED_COUNT]; i++)
        y[i] = fixed_code(a[i], m[is_one ? 0 : i], shift[is_one ? 0 : i], n, rounding);
    return 0;
}

LITERAL int32_t run_fixed(void *const *p, const int64_t *n, const int is_one)
{
    switch (n[CPU_FIXED_ROUNDING]) {
    case CPU_FIXED_AWAY: return run_rounding(p, n, is_one, CPU_FIXED_AWAY);
    case CPU_FIXED_EVEN: return run_rounding(p, n, is_one, CPU_FIXED_EVEN);
    case CPU_FIXED_GEMMLOWP: return run_rounding(p, n, is_one, CPU_FIXED_GEMMLOWP);
    default: return run_rounding(p, n, is_one, CPU_FIXED_UP);
    }
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
