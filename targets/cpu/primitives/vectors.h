/*
 * Vectors as wide as the registers of the set that a source is compiled for. Products
 * and sums are fused where the set has that.
 */
#ifndef CPU_VECTORS_H
#define CPU_VECTORS_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define VECTOR_NBYTES 64
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define VECTOR_NBYTES 32
#else
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#define VECTOR_NBYTES 16
#endif

typedef float float_vector __attribute__((vector_size(VECTOR_NBYTES)));
typedef double double_vector __attribute__((vector_size(VECTOR_NBYTES)));

/* The first n lanes, 1 or more: the others are zero, and are left as they are. */
#if defined(__AVX512F__)
static inline float_vector float_load_part(const float *from, int64_t n)
{
    return _mm512_maskz_loadu_ps((__mmask16)((1U << n) - 1), from);
}

static inline void float_store_part(float *to, float_vector v, int64_t n)
{
    _mm512_mask_storeu_ps(to, (__mmask16)((1U << n) - 1), v);
}

static inline double_vector double_load_part(const double *from, int64_t n)
{
    return _mm512_maskz_loadu_pd((__mmask8)((1U << n) - 1), from);
}

static inline void double_store_part(double *to, double_vector v, int64_t n)
{
    _mm512_mask_storeu_pd(to, (__mmask8)((1U << n) - 1), v);
}
#elif defined(__AVX2__) && defined(__FMA__)
static inline __m256i float_mask(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline float_vector float_load_part(const float *from, int64_t n)
{
    return _mm256_maskload_ps(from, float_mask(n));
}

/* In at most three stores: one under a mask takes some processors 12 cycles. */
static inline void float_store_part(float *to, float_vector v, int64_t n)
{
    __m128 rest = _mm256_castps256_ps128(v);
    if (n >= 8) {
        _mm256_storeu_ps(to, v);
        return;
    }
    if (n & 4) {
        _mm_storeu_ps(to, rest);
        rest = _mm256_extractf128_ps(v, 1);
        to += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)to, rest);
        rest = _mm_movehl_ps(rest, rest);
        to += 2;
    }
    if (n & 1)
        _mm_store_ss(to, rest);
}

static inline __m256i double_mask(int64_t n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}

static inline double_vector double_load_part(const double *from, int64_t n)
{
    return _mm256_maskload_pd(from, double_mask(n));
}

static inline void double_store_part(double *to, double_vector v, int64_t n)
{
    __m128d rest = _mm256_castpd256_pd128(v);
    if (n >= 4) {
        _mm256_storeu_pd(to, v);
        return;
    }
    if (n & 2) {
        _mm_storeu_pd(to, rest);
        rest = _mm256_extractf128_pd(v, 1);
        to += 2;
    }
    if (n & 1)
        _mm_store_sd(to, rest);
}
#else
static inline float_vector float_load_part(const float *from, int64_t n)
{
    return (float_vector){ from[0], n > 1 ? from[1] : 0, n > 2 ? from[2] : 0,
                           n > 3 ? from[3] : 0 };
}

static inline void float_store_part(float *to, float_vector v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = v[i];
}

static inline double_vector double_load_part(const double *from, int64_t n)
{
    return (double_vector){ from[0], n > 1 ? from[1] : 0 };
}

static inline void double_store_part(double *to, double_vector v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = v[i];
}
#endif

/* a * b + c */
static inline float_vector float_multiply_add(float_vector a, float_vector b,
                                              float_vector c)
{
#if defined(__AVX512F__)
    return _mm512_fmadd_ps(a, b, c);
#elif defined(__AVX2__) && defined(__FMA__)
    return _mm256_fmadd_ps(a, b, c);
#else
    return a * b + c;
#endif
}

static inline double_vector double_multiply_add(double_vector a, double_vector b,
                                                double_vector c)
{
#if defined(__AVX512F__)
    return _mm512_fmadd_pd(a, b, c);
#elif defined(__AVX2__) && defined(__FMA__)
    return _mm256_fmadd_pd(a, b, c);
#else
    return a * b + c;
#endif
}

/* max(v, bound) and min(v, bound) of scalars.def for bounds that are numbers: of equal ones the
 * bound, of a NaN that. */
#if defined(__AVX512F__)
#define BOUND(name, type, suffix, number, compare)                                  \
    static inline type##_vector type##_##name(type##_vector v, type##_vector bound) \
    {                                                                               \
        return _mm512_mask_blend_##suffix(                                          \
            _mm512_cmp_##suffix##_mask(v, bound, _CMP_##compare##_OQ), v, bound);   \
    }
#elif defined(__AVX2__) && defined(__FMA__)
#define BOUND(name, type, suffix, number, compare)                                  \
    static inline type##_vector type##_##name(type##_vector v, type##_vector bound) \
    {                                                                               \
        return _mm256_blendv_##suffix(                                              \
            v, bound, _mm256_cmp_##suffix(v, bound, _CMP_##compare##_OQ));          \
    }
#else
#define BOUND_LE <=
#define BOUND_GE >=
#define BOUND(name, type, suffix, number, compare)                                  \
    static inline type##_vector type##_##name(type##_vector v, type##_vector bound) \
    {                                                                               \
        typedef number mask __attribute__((vector_size(VECTOR_NBYTES)));            \
        const mask is_bound = v BOUND_##compare bound;                              \
        return (type##_vector)(((mask)bound & is_bound) | ((mask)v & ~is_bound));   \
    }
#endif
BOUND(at_least, float, ps, int32_t, LE)
BOUND(at_most, float, ps, int32_t, GE)
BOUND(at_least, double, pd, int64_t, LE)
BOUND(at_most, double, pd, int64_t, GE)
#undef BOUND

/* ---- int32, and pairs of int16 in their place ---- */

typedef int32_t int_vector __attribute__((vector_size(VECTOR_NBYTES)));

static inline int_vector int_load(const void *from)
{
    int_vector v;
    memcpy(&v, from, sizeof(v));
    return v;
}

static inline void int_store(void *to, int_vector v)
{
    memcpy(to, &v, sizeof(v));
}

#if defined(__AVX512F__)
#define INT_REGISTER   __m512i
#define INT_CALL(name) _mm512_##name
#elif defined(__AVX2__) && defined(__FMA__)
#define INT_REGISTER   __m256i
#define INT_CALL(name) _mm256_##name
#elif defined(__SSE2__)
#define INT_REGISTER   __m128i
#define INT_CALL(name) _mm_##name
#endif

/* ---- squares turned round ---- */

/* In each 16 bytes of as many vectors as these hold elements of `nbytes` stands a square, which
 * is turned round: element j of vector i is element i of vector j then. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define TURN_SIDE(nbytes) (16 / (nbytes))
#if defined(INT_REGISTER)
#define INTERLEAVE(half, bits, a, b) \
    ((int_vector)INT_CALL(unpack##half##_epi##bits)((INT_REGISTER)(a), (INT_REGISTER)(b)))
#define TURN_SQUARE(nbytes, bits)                                                 \
    static inline void turn_square_##nbytes(int_vector *v)                        \
    {                                                                             \
        enum { SIDE = TURN_SIDE(nbytes) };                                        \
        int_vector from[SIDE];                                                    \
        UNROLL                                                                    \
        for (int step = 1; step < SIDE; step *= 2) {                              \
            UNROLL                                                                \
            for (int i = 0; i < SIDE; i++)                                        \
                from[i] = v[i];                                                   \
            UNROLL                                                                \
            for (int i = 0; i < SIDE / 2; i++) {                                  \
                v[2 * i] = INTERLEAVE(lo, bits, from[i], from[i + SIDE / 2]);     \
                v[2 * i + 1] = INTERLEAVE(hi, bits, from[i], from[i + SIDE / 2]); \
            }                                                                     \
        }                                                                         \
    }
#else
#define TURN_SQUARE(nbytes, bits)                          \
    static inline void turn_square_##nbytes(int_vector *v) \
    {                                                      \
        enum { SIDE = TURN_SIDE(nbytes) };                 \
        uint##bits##_t from[SIDE][SIDE], to[SIDE][SIDE];   \
        memcpy(from, v, sizeof(from));                     \
        for (int i = 0; i < SIDE; i++) {                   \
            for (int j = 0; j < SIDE; j++)                 \
                to[i][j] = from[j][i];                     \
        }                                                  \
        memcpy(v, to, sizeof(to));                         \
    }
#endif
TURN_SQUARE(1, 8)
TURN_SQUARE(2, 16)
TURN_SQUARE(4, 32)
TURN_SQUARE(8, 64)

/* A vector of the 16 bytes at RUN(0), RUN(1), ... */
#if defined(__AVX512F__)
#define LOAD_RUN(v, i) _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(RUN(i))), i)
#define LOAD_ALL_RUNS \
    LOAD_RUN(LOAD_RUN(LOAD_RUN(LOAD_RUN(_mm512_setzero_si512(), 0), 1), 2), 3)
#elif defined(__AVX2__) && defined(__FMA__)
#define LOAD_ALL_RUNS _mm256_loadu2_m128i((const void *)(RUN(1)), (const void *)(RUN(0)))
#else
#define LOAD_ALL_RUNS int_load(RUN(0))
#endif
/* ... from element `at` on of columns 0, TURN_SIDE, 2 * TURN_SIDE ... */
#define RUN(i) (columns[(i)*TURN_SIDE(sizeof(**columns))] + at)
static inline int_vector load_runs_4(const float *const *columns, int64_t at)
{
    return (int_vector)LOAD_ALL_RUNS;
}

static inline int_vector load_runs_8(const double *const *columns, int64_t at)
{
    return (int_vector)LOAD_ALL_RUNS;
}
#undef RUN
/* ... `stride` elements apart. */
#define RUN(i) (from + (i)*stride)
static inline int_vector load_runs_apart_4(const float *from, int64_t stride)
{
    (void)stride;
    return (int_vector)LOAD_ALL_RUNS;
}

static inline int_vector load_runs_apart_8(const double *from, int64_t stride)
{
    (void)stride;
    return (int_vector)LOAD_ALL_RUNS;
}
#undef RUN

/* Its 16 bytes, `stride` elements apart. */
static inline void int_store_runs(float *to, int64_t stride, int_vector v)
{
#if defined(__AVX512F__)
    _mm_storeu_ps(to, _mm512_castps512_ps128((__m512)v));
    _mm_storeu_ps(to + stride, _mm512_extractf32x4_ps((__m512)v, 1));
    _mm_storeu_ps(to + 2 * stride, _mm512_extractf32x4_ps((__m512)v, 2));
    _mm_storeu_ps(to + 3 * stride, _mm512_extractf32x4_ps((__m512)v, 3));
#elif defined(__AVX2__) && defined(__FMA__)
    _mm256_storeu2_m128(to + stride, to, (__m256)v);
#else
    (void)stride;
    int_store(to, v);
#endif
}

/* Lanes of a vector: those from `first` to before `end`. */
#if defined(__AVX512F__)
typedef __mmask16 float_lanes;
typedef __mmask8 double_lanes;
static inline float_lanes float_lanes_of(int first, int end)
{
    return (float_lanes)(((1U << end) - 1) & ~((1U << first) - 1));
}

static inline double_lanes double_lanes_of(int first, int end)
{
    return (double_lanes)(((1U << end) - 1) & ~((1U << first) - 1));
}
#elif defined(__AVX2__) && defined(__FMA__)
typedef __m256i float_lanes, double_lanes;
static inline float_lanes float_lanes_of(int first, int end)
{
    return _mm256_andnot_si256(float_mask(first), float_mask(end));
}

static inline double_lanes double_lanes_of(int first, int end)
{
    return _mm256_andnot_si256(double_mask(first), double_mask(end));
}
#else
typedef struct {
    int first, end;
} float_lanes;
static inline float_lanes float_lanes_of(int first, int end)
{
    return (float_lanes){ first, end };
}
#endif

/* These lanes, of which alone there must be elements; the others are zero. */
static inline float_vector float_load_lanes(const float *from, float_lanes lanes)
{
#if defined(__AVX512F__)
    return _mm512_maskz_loadu_ps(lanes, from);
#elif defined(__AVX2__) && defined(__FMA__)
    return _mm256_maskload_ps(from, lanes);
#else
    float_vector v = { 0 };
    for (int i = lanes.first; i < lanes.end; i++)
        v[i] = from[i];
    return v;
#endif
}

#if defined(__AVX2__) && defined(__FMA__)
static inline double_vector double_load_lanes(const double *from, double_lanes lanes)
{
#if defined(__AVX512F__)
    return _mm512_maskz_loadu_pd(lanes, from);
#else
    return _mm256_maskload_pd(from, lanes);
#endif
}
#endif

/* Of elements in four vectors one after the other, number 4 * i + k becomes lane i of v[k]. */
static inline void float_deinterleave_4(float_vector *v)
{
#if defined(__AVX512F__)
    const __m512i first =
        _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
    const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(2));
    const __m512i low =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    const __m512 ab = _mm512_permutex2var_ps(v[0], first, v[1]);
    const __m512 cd = _mm512_permutex2var_ps(v[2], first, v[3]);
    const __m512 ab_2 = _mm512_permutex2var_ps(v[0], second, v[1]);
    const __m512 cd_2 = _mm512_permutex2var_ps(v[2], second, v[3]);
    v[0] = _mm512_permutex2var_ps(ab, low, cd);
    v[1] = _mm512_permutex2var_ps(ab, high, cd);
    v[2] = _mm512_permutex2var_ps(ab_2, low, cd_2);
    v[3] = _mm512_permutex2var_ps(ab_2, high, cd_2);
#else
    int_vector turned[TURN_SIDE(4)];
#if defined(__AVX2__) && defined(__FMA__)
    turned[0] = (int_vector)_mm256_permute2f128_ps(v[0], v[2], 0x20);
    turned[1] = (int_vector)_mm256_permute2f128_ps(v[0], v[2], 0x31);
    turned[2] = (int_vector)_mm256_permute2f128_ps(v[1], v[3], 0x20);
    turned[3] = (int_vector)_mm256_permute2f128_ps(v[1], v[3], 0x31);
#else
    memcpy(turned, v, sizeof(turned));
#endif
    turn_square_4(turned);
    memcpy(v, turned, sizeof(turned));
#endif
}

/* Lanes 1, 2, ... of v, then `last`. */
static inline float_vector float_shift(float_vector v, float last)
{
#if defined(__AVX512F__)
    return (float_vector)_mm512_alignr_epi32((__m512i)_mm512_set1_ps(last), (__m512i)v,
                                             1);
#elif defined(__AVX2__) && defined(__FMA__)
    const __m256i next = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 0);
    return _mm256_blend_ps(_mm256_permutevar8x32_ps(v, next), _mm256_set1_ps(last), 0x80);
#else
    return (float_vector){ v[1], v[2], v[3], last };
#endif
}

/* The nearest whole number, of two the even one; below 2^21 either side of 0. */
static inline int_vector float_to_nearest(float_vector v)
{
#if defined(INT_REGISTER)
    return (int_vector)INT_CALL(cvtps_epi32)(v);
#else
    typedef uint32_t bits __attribute__((vector_size(VECTOR_NBYTES)));
    const float_vector nearest = 12582912.0F - (float_vector){ 0 }; // 1.5 * 2^23
    return (int_vector)((bits)(v + nearest) - (bits)nearest);
#endif
}

/* Whether all lanes are 0, and none is NaN. */
static inline int float_is_zero(float_vector v)
{
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)v, _mm512_setzero_ps(), _CMP_NEQ_UQ) == 0;
#elif defined(__AVX2__)
    return _mm256_movemask_ps(
               _mm256_cmp_ps((__m256)v, _mm256_setzero_ps(), _CMP_NEQ_UQ)) == 0;
#else
    int is = 1;
    for (int i = 0; i < (int)(VECTOR_NBYTES / sizeof(float)); i++)
        is &= v[i] == 0;
    return is;
#endif
}

/* Of two rows of as many int16 as two vectors have lanes: pairs of one column. Those of each
 * eight neighbours are in lanes side by side, the first half of them in `low`; int_pairs_first
 * and int_pairs_second give what was computed of both in the order of columns.
 * int_multiply_add_pairs: s + factor.first * pairs.first + factor.second * pairs.second, which
 * wraps, as int_add does. */
static inline int_vector int_add(int_vector a, int_vector b)
{
    typedef uint32_t bits __attribute__((vector_size(VECTOR_NBYTES)));
    return (int_vector)((bits)a + (bits)b);
}

#if defined(__AVX512F__)
static inline int_vector int_pairs_first(int_vector low, int_vector high)
{
    return (int_vector)_mm512_permutex2var_epi64(
        (__m512i)low, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), (__m512i)high);
}

static inline int_vector int_pairs_second(int_vector low, int_vector high)
{
    return (int_vector)_mm512_permutex2var_epi64(
        (__m512i)low, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), (__m512i)high);
}
#elif defined(__AVX2__) && defined(__FMA__)
static inline int_vector int_pairs_first(int_vector low, int_vector high)
{
    return (int_vector)_mm256_permute2x128_si256((__m256i)low, (__m256i)high, 0x20);
}

static inline int_vector int_pairs_second(int_vector low, int_vector high)
{
    return (int_vector)_mm256_permute2x128_si256((__m256i)low, (__m256i)high, 0x31);
}
#else
#define int_pairs_first(low, high)  (low)
#define int_pairs_second(low, high) (high)
#endif

#if defined(INT_REGISTER)
static inline int_vector int_pairs_low(const int16_t *a, const int16_t *b)
{
    return (int_vector)INT_CALL(unpacklo_epi16)((INT_REGISTER)int_load(a),
                                                (INT_REGISTER)int_load(b));
}

static inline int_vector int_pairs_high(const int16_t *a, const int16_t *b)
{
    return (int_vector)INT_CALL(unpackhi_epi16)((INT_REGISTER)int_load(a),
                                                (INT_REGISTER)int_load(b));
}

static inline int_vector int_multiply_add_pairs(int_vector s, int_vector factor,
                                                int_vector pairs)
{
    return int_add(
        s, (int_vector)INT_CALL(madd_epi16)((INT_REGISTER)factor, (INT_REGISTER)pairs));
}
#else
static inline int_vector int_pairs_low(const int16_t *a, const int16_t *b)
{
    int_vector v;
    for (int i = 0; i < 4; i++)
        v[i] = (int32_t)((uint32_t)(uint16_t)a[i] | (uint32_t)(uint16_t)b[i] << 16);
    return v;
}

static inline int_vector int_pairs_high(const int16_t *a, const int16_t *b)
{
    return int_pairs_low(a + 4, b + 4);
}

static inline int_vector int_multiply_add_pairs(int_vector s, int_vector factor,
                                                int_vector pairs)
{
    for (int i = 0; i < 4; i++)
        s[i] = (int32_t)((uint32_t)s[i] +
                         (uint32_t)((int16_t)factor[i] * (int16_t)pairs[i]) +
                         (uint32_t)((factor[i] >> 16) * (pairs[i] >> 16)));
    return s;
}
#endif

/* ---- 32 bits, which wrap: int32, or what stands for two int16 ---- */

typedef uint32_t bits_vector __attribute__((vector_size(VECTOR_NBYTES)));

/* Of these types nothing is computed here: bits are moved. */
static inline bits_vector bits_load_part(const uint32_t *from, int64_t n)
{
    return (bits_vector)float_load_part((const float *)(const void *)from, n);
}

static inline void bits_store_part(uint32_t *to, bits_vector v, int64_t n)
{
    float_store_part((float *)(void *)to, (float_vector)v, n);
}

static inline int_vector bits_load_apart(const uint32_t *from, int64_t stride)
{
    return load_runs_apart_4((const float *)(const void *)from, stride);
}

/* a.first * b.first + a.second * b.second + c */
static inline bits_vector bits_multiply_add_pairs(bits_vector a, bits_vector b,
                                                  bits_vector c)
{
    return (bits_vector)int_multiply_add_pairs((int_vector)c, (int_vector)a,
                                               (int_vector)b);
}

/* The sum of c and of four products of bytes: of u without a sign by s with one. */
static inline bits_vector bits_multiply_add_quads(bits_vector u, bits_vector s,
                                                  bits_vector c)
{
    typedef int16_t shorts __attribute__((vector_size(VECTOR_NBYTES)));
    const bits_vector low = 0x00ff00ff - (bits_vector){ 0 };
    const shorts pairs = (shorts)s;
    c = bits_multiply_add_pairs(u & low, (bits_vector)(pairs << 8 >> 8), c);
    return bits_multiply_add_pairs(u >> 8 & low, (bits_vector)(pairs >> 8), c);
}

/* Of int32: max(v, bound) and min(v, bound). */
static inline bits_vector int_at_least(bits_vector v, bits_vector bound)
{
    const int_vector is = (int_vector)v < (int_vector)bound;
    return (bits_vector)(((int_vector)bound & is) | ((int_vector)v & ~is));
}

static inline bits_vector int_at_most(bits_vector v, bits_vector bound)
{
    const int_vector is = (int_vector)v > (int_vector)bound;
    return (bits_vector)(((int_vector)bound & is) | ((int_vector)v & ~is));
}

#endif
