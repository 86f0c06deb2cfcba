/*
 * Depthwise convolutions for one instruction set that loads some lanes of a vector as fast as all,
 * in the source compiled for it, which says first:
 *
 *     DEPTHWISE_CALLEES, DEPTHWISE_SUFFIX    its rows, the end of names
 */
#include <math.h>
#include <string.h>

enum { MAX_TAPS = 5, BAND = 65 /* rows of X */, PANEL = 256 /* columns */ };

/* Vectors side by side, as many as registers hold sums of; rows of them if each has two short ones;
 * how many rows before they are read those of X are fetched. */
enum { MAX_VECTORS = 3, PAIRS = 4, ROWS_AHEAD = 4 };

/* How vectors are filled: of some side by side the outer ones lack lanes of outer loads; one may lack
 * any; so may two of the same columns, one in rows below the other's. */
enum { SIDES, EDGES, STACKED };

/* What is literal in loops. */
struct depthwise_shape {
    int nvector, ntap, step, fill;
};

static inline int is_at_side(int load, int v, struct depthwise_shape s)
{
    const int is_left = s.step == 1 ? load < s.ntap / 2 : load % 2 == 0;
    const int is_right = s.step == 1 ? load > s.ntap / 2 : load % 2 == 1;
    return (v == 0 && is_left) || (v == s.nvector - 1 && is_right);
}

#undef UNROLL
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int within(int64_t x, int64_t high)
{
    return (int)(x < 0 ? 0 : x > high ? high : x);
}

/* Of zeros either one (bits.md), so that it is one instruction: of a NaN that, as v comes second. */
#if VECTOR_NBYTES == 64
#define float_limit_low(v, bound)   _mm512_max_ps(bound, v)
#define float_limit_high(v, bound)  _mm512_min_ps(bound, v)
#define double_limit_low(v, bound)  _mm512_max_pd(bound, v)
#define double_limit_high(v, bound) _mm512_min_pd(bound, v)
#else
#define float_limit_low(v, bound)   _mm256_max_ps(bound, v)
#define float_limit_high(v, bound)  _mm256_min_ps(bound, v)
#define double_limit_low(v, bound)  _mm256_max_pd(bound, v)
#define double_limit_high(v, bound) _mm256_min_pd(bound, v)
#endif

/* A compiler that knows where it is from reads it again for each use. */
#define IN_REGISTER(v) __asm__("" : "+v"(v))
/* Few registers are for sums: a constant is read for each row, as a compiler that may keep it would
 * rather send sums to memory, and fewer vectors go side by side where each has many sums. */
#if VECTOR_NBYTES == 64
#define FROM_MEMORY(constants)
#define IN_REGISTER_FOR_NOW(v)
#define HAS_ROOM(ntap, step) 1
#else
#define FROM_MEMORY(constants) __asm__("" : "+m"(constants))
#define IN_REGISTER_FOR_NOW(v) IN_REGISTER(v)
#define HAS_ROOM(ntap, step)   ((ntap) / (step) < 5)
#endif
#if defined(__clang__)
#define SHUFFLE(a, b, mask, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, mask, ...) __builtin_shuffle(a, b, (mask){ __VA_ARGS__ })
#endif
typedef int32_t float_picks __attribute__((vector_size(VECTOR_NBYTES)));
typedef int64_t double_picks __attribute__((vector_size(VECTOR_NBYTES)));

/* What is picked of vectors a and b, one after the other:
 *
 *     pick(j, a, b)               what tap j reads with a step of 2
 *     pick_sort(sums)             sums of that in order
 *     pick_pair(j, step, a, b)    what tap j reads of each of a and b, in half a vector
 *     pick_below(sums)            the second half of that as the first
 */
#if VECTOR_NBYTES == 64
#define FLOAT_LANES \
    ((float_picks){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 })
#define DOUBLE_LANES ((double_picks){ 0, 1, 2, 3, 4, 5, 6, 7 })
/* Last lanes of two loads that have what is picked of no more. */
#define PICKS_LOSE(ntap) ((ntap) / 2)
#define HAS_PAIRS        1
#define PICKS(type, suffix, LANES, HALF)                                                \
    static inline type##_vector type##_pick(int j, type##_vector a, type##_vector b)    \
    {                                                                                   \
        return _mm512_permutex2var_##suffix(a, (__m512i)(LANES * 2 + j), b);            \
    }                                                                                   \
    static inline type##_vector type##_pick_sort(type##_vector sums)                    \
    {                                                                                   \
        return sums;                                                                    \
    }                                                                                   \
    static inline type##_vector type##_pick_pair(int j, int step, type##_vector a,      \
                                                 type##_vector b)                       \
    {                                                                                   \
        const type##_picks of_half = (LANES & (HALF - 1)) * step + j;                   \
        return _mm512_permutex2var_##suffix(a, (__m512i)(of_half + (LANES & HALF) * 2), \
                                            b);                                         \
    }                                                                                   \
    static inline type##_vector type##_pick_below(type##_vector sums)                   \
    {                                                                                   \
        return (type##_vector)_mm512_shuffle_i64x2((__m512i)sums, (__m512i)sums, 0x4e); \
    }
PICKS(float, ps, FLOAT_LANES, 8)
PICKS(double, pd, DOUBLE_LANES, 4)
#undef PICKS
#else
/* In an order in which none leaves its 16 bytes. */
#define PICKS_LOSE(ntap) (0 * (ntap))
#define HAS_PAIRS        0
static inline float_vector float_pick(int j, float_vector a, float_vector b)
{
    return j % 2 ? SHUFFLE(a, b, float_picks, 1, 3, 9, 11, 5, 7, 13, 15)
                 : SHUFFLE(a, b, float_picks, 0, 2, 8, 10, 4, 6, 12, 14);
}

static inline float_vector float_pick_sort(float_vector sums)
{
    return (float_vector)_mm256_permute4x64_pd((__m256d)sums, 0xd8);
}

static inline double_vector double_pick(int j, double_vector a, double_vector b)
{
    return j % 2 ? SHUFFLE(a, b, double_picks, 1, 5, 3, 7)
                 : SHUFFLE(a, b, double_picks, 0, 4, 2, 6);
}

static inline double_vector double_pick_sort(double_vector sums)
{
    return SHUFFLE(sums, sums, double_picks, 0, 2, 1, 3);
}
#endif

#define REAL           float
#define VECTOR         float_vector
#define PART_OF_VECTOR float_lanes
#define PART_LANES     float_lanes_of
#define LOAD_LANES     float_load_lanes
#define STORE_PART     float_store_part
#define MULTIPLY_ADD   float_multiply_add
#define LIMIT_LOW      float_limit_low
#define LIMIT_HIGH     float_limit_high
#define PICK           float_pick
#define PICK_PAIR      float_pick_pair
#define PICK_BELOW     float_pick_below
#define PICK_SORT      float_pick_sort
#define NAME(stem)     stem##_f32
#include "depthwise_float.h"

#define REAL           double
#define VECTOR         double_vector
#define PART_OF_VECTOR double_lanes
#define PART_LANES     double_lanes_of
#define LOAD_LANES     double_load_lanes
#define STORE_PART     double_store_part
#define MULTIPLY_ADD   double_multiply_add
#define LIMIT_LOW      double_limit_low
#define LIMIT_HIGH     double_limit_high
#define PICK           double_pick
#define PICK_PAIR      double_pick_pair
#define PICK_BELOW     double_pick_below
#define PICK_SORT      double_pick_sort
#define NAME(stem)     stem##_f64
#include "depthwise_float.h"

#include "depthwise_short.h"

/* For each tap of a row. */
enum { DEPTHWISE_PS = 70, SHORT_PS = 50 };
#define ROW(name, run, form, Y, X, ps)             \
    {                                              \
        name DEPTHWISE_SUFFIX, run, form, Y, X, ps \
    }
const struct cpu_callee DEPTHWISE_CALLEES[] = {
    ROW("depthwise_f32_", run_f32, CPU_DEPTHWISE, BT_FLOAT32, BT_FLOAT32, DEPTHWISE_PS),
    ROW("depthwise_f64_", run_f64, CPU_DEPTHWISE, BT_FLOAT64, BT_FLOAT64, DEPTHWISE_PS),
    ROW("depthwise_i16_", run_i16, CPU_DEPTHWISE, BT_INT32, BT_INT16, SHORT_PS),
    ROW("depthwise_u8_", run_u8, CPU_DEPTHWISE, BT_INT32, BT_UINT8, SHORT_PS),
    ROW("depthwise_s8_", run_s8, CPU_DEPTHWISE, BT_INT32, BT_INT8, SHORT_PS),
    ROW("depthwise_codes_i16_", run_codes_i16, CPU_DEPTHWISE_CODES, BT_UINT8, BT_INT16,
        SHORT_PS),
    ROW("depthwise_codes_u8_", run_codes_u8, CPU_DEPTHWISE_CODES, BT_UINT8, BT_UINT8,
        SHORT_PS),
    ROW("depthwise_codes_s8_", run_codes_s8, CPU_DEPTHWISE_CODES, BT_UINT8, BT_INT8,
        SHORT_PS),
    { 0 },
};
