/*
 * Strips that one accumulator takes. A few floats go one after the other, more by 32
 * partial results: the order of additions is the same on every instruction set. Integers
 * may go in any order.
 */
#include "strip_best.h"
#include "strip_math.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { NPART = 32 };

/* ---- floats ---- */

#if defined(__AVX512F__)
#define VECTOR_NBYTES 64
#elif defined(__AVX2__)
#define VECTOR_NBYTES 32
#else
#define VECTOR_NBYTES 16
#endif

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define VECTOR(nbytes) __attribute__((vector_size(nbytes)))
typedef float float32_vec VECTOR(VECTOR_NBYTES);
typedef double float64_vec VECTOR(VECTOR_NBYTES);
typedef int32_t float32_mask VECTOR(VECTOR_NBYTES);
typedef int64_t float64_mask VECTOR(VECTOR_NBYTES);
typedef float32_vec float32_vec_at AT;
typedef float64_vec float64_vec_at AT;
typedef float half_vec VECTOR(VECTOR_NBYTES / 2);
typedef half_vec half_vec_at AT;

/* Lane k is lane k ^ half of v. */
#if VECTOR_NBYTES == 64
#define float32_LANES 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define float64_LANES 0, 1, 2, 3, 4, 5, 6, 7
#elif VECTOR_NBYTES == 32
#define float32_LANES 0, 1, 2, 3, 4, 5, 6, 7
#define float64_LANES 0, 1, 2, 3
#else
#define float32_LANES 0, 1, 2, 3
#define float64_LANES 0, 1
#endif
#if defined(__clang__)
#define SWAP(type, v, half) swap_##type(v, half)
#define SWAP_OF(type)                                             \
    static inline __attribute__((always_inline))                  \
    type##_vec swap_##type(type##_vec v, int half)                \
    {                                                             \
        type##_vec x = v;                                         \
        UNROLL                                                    \
        for (int k = 0; k < (int)(sizeof(v) / sizeof(v[0])); k++) \
            x[k] = v[k ^ half];                                   \
        return x;                                                 \
    }
SWAP_OF(float32)
SWAP_OF(float64)
#else
#define SWAP(type, v, half) __builtin_shuffle(v, (type##_mask){ type##_LANES } ^ (half))
#endif

#define LOAD(type, at) (*(const type##_vec_at *)(at))
/* Of float32, as float64. */
#if defined(__AVX512F__)
#define WIDEN(at) ((float64_vec)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)(at))))
#elif defined(__AVX2__)
#define WIDEN(at) ((float64_vec)_mm256_cvtps_pd(_mm_loadu_ps((const float *)(at))))
#else
#define WIDEN(at) __builtin_convertvector(*(const half_vec_at *)(at), float64_vec)
#endif

/* Of the n elements at an address, less than fill a vector, one with zeros behind them; and of a
 * vector its first n lanes, the others from `none`. */
#if defined(__AVX512F__)
#define FIRST(n) ((1U << (n)) - 1)
static inline float32_vec first_float32(const float32_at *at, int64_t n)
{
    return _mm512_maskz_loadu_ps((__mmask16)FIRST(n), at);
}

static inline float64_vec first_float64(const float64_at *at, int64_t n)
{
    return _mm512_maskz_loadu_pd((__mmask8)FIRST(n), at);
}

static inline float64_vec first_wide(const float32_at *at, int64_t n)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps((__mmask8)FIRST(n), at));
}

static inline float32_vec keep_float32(float32_vec v, float32_vec none, int64_t n)
{
    return _mm512_mask_mov_ps(none, (__mmask16)FIRST(n), v);
}

static inline float64_vec keep_float64(float64_vec v, float64_vec none, int64_t n)
{
    return _mm512_mask_mov_pd(none, (__mmask8)FIRST(n), v);
}
#elif defined(__AVX2__)
static inline __m256i first_lanes_float32(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n),
                              _mm256_setr_epi32(float32_LANES));
}

static inline __m256i first_lanes_float64(int64_t n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(float64_LANES));
}

static inline float32_vec first_float32(const float32_at *at, int64_t n)
{
    return _mm256_maskload_ps((const float *)at, first_lanes_float32(n));
}

static inline float64_vec first_float64(const float64_at *at, int64_t n)
{
    return _mm256_maskload_pd((const double *)at, first_lanes_float64(n));
}

static inline float64_vec first_wide(const float32_at *at, int64_t n)
{
    const __m128i lanes = _mm256_castsi256_si128(first_lanes_float32(n));
    return _mm256_cvtps_pd(_mm_maskload_ps((const float *)at, lanes));
}

static inline float32_vec keep_float32(float32_vec v, float32_vec none, int64_t n)
{
    return _mm256_blendv_ps(none, v, (__m256)first_lanes_float32(n));
}

static inline float64_vec keep_float64(float64_vec v, float64_vec none, int64_t n)
{
    return _mm256_blendv_pd(none, v, (__m256d)first_lanes_float64(n));
}
#else
#define FIRST_OF(name, type, in)                                        \
    static inline type##_vec first_##name(const in##_at *at, int64_t n) \
    {                                                                   \
        type##_vec v = { 0 };                                           \
        for (int64_t i = 0; i < n; i++)                                 \
            v[i] = at[i];                                               \
        return v;                                                       \
    }
#define KEEP_OF(type)                                                              \
    static inline type##_vec keep_##type(type##_vec v, type##_vec none, int64_t n) \
    {                                                                              \
        for (int64_t i = 0; i < n; i++)                                            \
            none[i] = v[i];                                                        \
        return none;                                                               \
    }
FIRST_OF(float32, float32, float32)
FIRST_OF(float64, float64, float64)
FIRST_OF(wide, float64, float32)
KEEP_OF(float32)
KEEP_OF(float64)
#endif

#define SUM(type, a, x)               ((a) + (x))
#define PROD(type, a, x)              ((a) * (x))
#define MAX(type, a, x)               ((x) > (a) || (x) != (x) ? (x) : (a))
#define MIN(type, a, x)               ((x) < (a) || (x) != (x) ? (x) : (a))
#define SUM_VEC                       SUM
#define PROD_VEC                      PROD
#define MAX_VEC(type, a, x)           BEST_VEC(max, type, VECTOR_NBYTES, a, x)
#define MIN_VEC(type, a, x)           BEST_VEC(min, type, VECTOR_NBYTES, a, x)
#define BEST_VEC(name, type, V, a, x) BEST_BY(name, type, V)(a, x)
#define BEST_BY(name, type, V)        name##_##type##_##V

/* What is reduced, of whole vectors and of what is left behind the last one. */
#define LOAD_WHOLE(type, at)    LOAD(type, at)
#define LOAD_FIRST(type, at)    first_##type(at, n - end)
#define WIDEN_WHOLE(at)         WIDEN(at)
#define WIDEN_FIRST(at)         first_wide(at, n - end)
#define ITEM(type, part, at)    LOAD_##part(type, A(type) + (at))
#define PRODUCT(type, part, at) ITEM(type, part, at) * LOAD_##part(type, B(type) + (at))
#define WIDE(type, part, at)    WIDEN_##part(A(float32) + (at))
#define WIDE_PRODUCT(type, part, at) \
    WIDE(type, part, at) * WIDEN_##part(B(float32) + (at))

/* `type` of the accumulator; `none` changes no result; `VEC` and `one`: a vector of terms, and
 * term i. */
#define REDUCE(name, type, OP, start, none, VEC, one)                     \
    static inline __attribute__((always_inline)) void take_##name(        \
        type##_at *acc, const void *a, const void *b, int64_t n)          \
    {                                                                     \
        enum { LANES = sizeof(type##_vec) / sizeof(type##_at) };          \
        enum { NSUM = NPART / LANES };                                    \
        type##_vec sums[NSUM];                                            \
        int64_t i = 0;                                                    \
        for (; n <= CPU_FEW_TERMS && i < n; i++)                          \
            *acc = OP(type, *acc, (one));                                 \
        if (i == n)                                                       \
            return;                                                       \
        const int64_t end = n / LANES * LANES;                            \
        for (int k = 0; k < NSUM; k++)                                    \
            sums[k] = (type##_vec){ 0 } + (start);                        \
        for (i = 0; i + NPART <= n; i += NPART) {                         \
            for (int k = 0; k < NSUM; k++) {                              \
                const int64_t at = i + k * LANES;                         \
                const type##_vec x = VEC(type, WHOLE, at);                \
                sums[k] = OP##_VEC(type, sums[k], x);                     \
            }                                                             \
        }                                                                 \
        UNROLL                                                            \
        for (int k = 0; k < NSUM; k++) {                                  \
            const int64_t at = i + k * LANES;                             \
            if (at > end || at == n)                                      \
                continue;                                                 \
            type##_vec x = (none) - (type##_vec){ 0 };                    \
            if (at < end)                                                 \
                x = VEC(type, WHOLE, at);                                 \
            else                                                          \
                x = keep_##type(VEC(type, FIRST, at), x, n - end);        \
            sums[k] = OP##_VEC(type, sums[k], x);                         \
        }                                                                 \
        UNROLL                                                            \
        for (int half = NSUM / 2; half > 0; half /= 2) {                  \
            UNROLL                                                        \
            for (int k = 0; k < half; k++)                                \
                sums[k] = OP##_VEC(type, sums[k], sums[k + half]);        \
        }                                                                 \
        UNROLL                                                            \
        for (int half = LANES / 2; half > 0; half /= 2)                   \
            sums[0] = OP##_VEC(type, sums[0], SWAP(type, sums[0], half)); \
        *acc = OP(type, *acc, sums[0][0]);                                \
        (void)b;                                                          \
    }                                                                     \
    STRIP(name)                                                           \
    {                                                                     \
        take_##name(p[0], p[1], p[2], n[0]);                              \
        return 0;                                                         \
    }
/* Row after row. */
#define ROWS_OF(name, type, in)                                                        \
    STRIP(rows_##name)                                                                 \
    {                                                                                  \
        for (int64_t i = 0; i < n[0]; i++)                                             \
            take_##name((type##_at *)p[0] + i, (const in##_at *)p[1] + i * n[2], NULL, \
                        n[1]);                                                         \
        return 0;                                                                      \
    }
#define A(type) ((const type##_at *)a)
#define B(type) ((const type##_at *)b)
#define REDUCERS(type)                                                    \
    REDUCE(sum_##type, type, SUM, 0, -0.0F, ITEM, A(type)[i])             \
    REDUCE(prod_##type, type, PROD, 1, 1, ITEM, A(type)[i])               \
    REDUCE(max_##type, type, MAX, -INFINITY, -INFINITY, ITEM, A(type)[i]) \
    REDUCE(min_##type, type, MIN, INFINITY, INFINITY, ITEM, A(type)[i])   \
    REDUCE(dot_##type, type, SUM, 0, -0.0F, PRODUCT, A(type)[i] * B(type)[i])
REDUCERS(float32)
REDUCERS(float64)
REDUCE(sum_wide, float64, SUM, 0, -0.0, WIDE, (double)A(float32)[i])
REDUCE(prod_wide, float64, PROD, 1, 1, WIDE, (double)A(float32)[i])
REDUCE(dot_wide, float64, SUM, 0, -0.0, WIDE_PRODUCT,
       (double)A(float32)[i] * (double)B(float32)[i])

#define ROWS_OF_ALL(type)            \
    ROWS_OF(sum_##type, type, type)  \
    ROWS_OF(prod_##type, type, type) \
    ROWS_OF(max_##type, type, type)  \
    ROWS_OF(min_##type, type, type)
ROWS_OF_ALL(float32)
ROWS_OF_ALL(float64)
ROWS_OF(sum_wide, float64, float32)
ROWS_OF(prod_wide, float64, float32)

/* ---- integers and bool ---- */

/* W is unsigned, at least as wide as int, so that what leaves it wraps. */
#define TAKE(name, type, W, expr)   \
    STRIP(name)                     \
    {                               \
        type##_at *acc = p[0];      \
        const type##_at *in = p[1]; \
        W y = (W)*acc;              \
        EACH(i, n)                  \
        {                           \
            const W x = (W)in[i];   \
            y = expr;               \
        }                           \
        *acc = (type##_at)y;        \
        return 0;                   \
    }
#define TAKES(type, W)                              \
    TAKE(sum_##type, type, W, y + x)                \
    TAKE(prod_##type, type, W, y *x)                \
    TAKE(max_##type, type, type##_t, x > y ? x : y) \
    TAKE(min_##type, type, type##_t, x < y ? x : y)
TAKES(int8, uint32_t)
TAKES(int16, uint32_t)
TAKES(int32, uint32_t)
TAKES(int64, uint64_t)
TAKES(uint8, uint32_t)
TAKES(uint16, uint32_t)
TAKES(uint32, uint32_t)
TAKES(uint64, uint64_t)
TAKE(all_bool, bool, uint32_t, y &x)
TAKE(any_bool, bool, uint32_t, y | x)

/* ---- whether all are finite ---- */

/* W has the bits of a float: all of its exponent's are set in what is not finite. */
#define FINITE(type, W, exponent)                                       \
    STRIP(finite_##type)                                                \
    {                                                                   \
        const W *in = p[1];                                             \
        W is_any = 0;                                                   \
        EACH(i, n) is_any |= ((in[i] & (exponent)) == (exponent)) & 1u; \
        *(bool_at *)p[0] = !is_any;                                     \
        return 0;                                                       \
    }
FINITE(float32, uint32_at, 0x7f800000u)
FINITE(float64, uint64_at, 0x7ff0000000000000u)

/* ---- positions ---- */

/* What is not a number is beyond all numbers, either way; positions decide ties. */
#define ABOVE(x, y) ((x) > (y) || ((x) != (x) && (y) == (y)))
#define BELOW(x, y) ((x) < (y) || ((x) != (x) && (y) == (y)))
#define TIED(x, y)  ((x) == (y) || ((x) != (x) && (y) != (y)))
#define ARG(name, type, BETTER, closer)                                             \
    STRIP(name##_##type)                                                            \
    {                                                                               \
        type##_at *acc = p[0];                                                      \
        int64_at *acc_position = p[1];                                              \
        const type##_at *in = p[2];                                                 \
        type##_at y = *acc;                                                         \
        int64_t best = *acc_position;                                               \
        for (int64_t i = 0; i < n[0]; i++) {                                        \
            const type##_at x = in[i];                                              \
            const int64_t position = n[1] + i * n[2];                               \
            if (best < 0 || BETTER(x, y) || (TIED(x, y) && position closer best)) { \
                y = x;                                                              \
                best = position;                                                    \
            }                                                                       \
        }                                                                           \
        *acc = y;                                                                   \
        *acc_position = best;                                                       \
        return 0;                                                                   \
    }
#define ARGS(type)                   \
    ARG(argmax, type, ABOVE, <)      \
    ARG(argmin, type, BELOW, <)      \
    ARG(argmax_last, type, ABOVE, >) \
    ARG(argmin_last, type, BELOW, >)
ARGS(int8)
ARGS(int16)
ARGS(int32)
ARGS(int64)
ARGS(uint8)
ARGS(uint16)
ARGS(uint32)
ARGS(uint64)
ARGS(float32)
ARGS(float64)

/* ---- scans ---- */

/* Element i takes the one before it, as the operator has it. */
#define SCAN(name, type, W, expr)            \
    STRIP(scan_##name)                       \
    {                                        \
        type##_at *at = p[0];                \
        W y = n[0] > 0 ? (W)at[0] : 0;       \
        for (int64_t i = 1; i < n[0]; i++) { \
            const W x = (W)at[i * n[1]];     \
            y = expr;                        \
            at[i * n[1]] = (type##_at)y;     \
        }                                    \
        return 0;                            \
    }
#define SCANS(type, W)                               \
    SCAN(sum_##type, type, W, x + y)                 \
    SCAN(prod_##type, type, W, x *y)                 \
    SCAN(max_##type, type, type##_t, SCAN_MAX(x, y)) \
    SCAN(min_##type, type, type##_t, SCAN_MIN(x, y))
#define SCAN_MAX(x, y) ((x) > (y) || (x) != (x) ? (x) : (y))
#define SCAN_MIN(x, y) ((x) < (y) || (x) != (x) ? (x) : (y))
typedef float float32_t;
typedef double float64_t;
SCANS(int8, uint32_t)
SCANS(int16, uint32_t)
SCANS(int32, uint32_t)
SCANS(int64, uint64_t)
SCANS(uint8, uint32_t)
SCANS(uint16, uint32_t)
SCANS(uint32, uint32_t)
SCANS(uint64, uint64_t)
SCANS(float32, float)
SCANS(float64, double)

/* ---- the table ---- */

#define ROW(reducer, UPPER, type, FORM, ps) \
    { "reduce_" #reducer "." #type,         \
      reducer##_##type,                     \
      CPU_##FORM,                           \
      BT_##UPPER,                           \
      BT_##UPPER,                           \
      PS(ps, type) },
#define ROWS_ROW(reducer, UPPER, type) \
    { "rows_" #reducer "." #type,      \
      rows_##reducer##_##type,         \
      CPU_ROWS,                        \
      BT_##UPPER,                      \
      BT_##UPPER,                      \
      PS(150, type) },
#define ROWS_ROWS(UPPER, type) \
    ROWS_ROW(sum, UPPER, type) \
    ROWS_ROW(prod, UPPER, type) ROWS_ROW(max, UPPER, type) ROWS_ROW(min, UPPER, type)
#define SCAN_ROW(reducer, UPPER, type) \
    { "scan_" #reducer "." #type,      \
      scan_##reducer##_##type,         \
      CPU_SCAN,                        \
      BT_##UPPER,                      \
      BT_##UPPER,                      \
      1000 },
#define ROWS(UPPER, type)                     \
    ROW(sum, UPPER, type, REDUCE, 60)         \
    ROW(prod, UPPER, type, REDUCE, 60)        \
    ROW(max, UPPER, type, REDUCE, 60)         \
    ROW(min, UPPER, type, REDUCE, 60)         \
    ROW(argmax, UPPER, type, BEST, 1000)      \
    ROW(argmin, UPPER, type, BEST, 1000)      \
    ROW(argmax_last, UPPER, type, BEST, 1000) \
    ROW(argmin_last, UPPER, type, BEST, 1000) \
    SCAN_ROW(sum, UPPER, type)                \
    SCAN_ROW(prod, UPPER, type)               \
    SCAN_ROW(max, UPPER, type)                \
    SCAN_ROW(min, UPPER, type)

// clang-format off
STRIPS_TABLE(reduce){
    ROWS(INT8, int8) ROWS(INT16, int16) ROWS(INT32, int32) ROWS(INT64, int64)
    ROWS(UINT8, uint8) ROWS(UINT16, uint16) ROWS(UINT32, uint32) ROWS(UINT64, uint64)
    ROWS(FLOAT32, float32) ROWS(FLOAT64, float64)
    ROW(all, BOOL, bool, REDUCE, 60)
    ROW(any, BOOL, bool, REDUCE, 60)
    { "finite.float32", finite_float32, CPU_REDUCE, BT_BOOL, BT_FLOAT32, 60 },
    { "finite.float64", finite_float64, CPU_REDUCE, BT_BOOL, BT_FLOAT64, 120 },
    { "dot.float32", dot_float32, CPU_DOT, BT_FLOAT32, BT_FLOAT32, 60 },
    { "dot.float64", dot_float64, CPU_DOT, BT_FLOAT64, BT_FLOAT64, 120 },
    { "reduce_sum.float32.wide", sum_wide, CPU_REDUCE, BT_FLOAT64, BT_FLOAT32, 60 },
    { "reduce_prod.float32.wide", prod_wide, CPU_REDUCE, BT_FLOAT64, BT_FLOAT32, 60 },
    ROWS_ROWS(FLOAT32, float32) ROWS_ROWS(FLOAT64, float64)
    { "rows_sum.float32.wide", rows_sum_wide, CPU_ROWS, BT_FLOAT64, BT_FLOAT32, 150 },
    { "rows_prod.float32.wide", rows_prod_wide, CPU_ROWS, BT_FLOAT64, BT_FLOAT32, 150 },
    { "dot.float32.wide", dot_wide, CPU_DOT, BT_FLOAT64, BT_FLOAT32, 60 },
    { 0 },
};
// clang-format on
