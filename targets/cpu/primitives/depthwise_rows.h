/*
 * Depthwise convolutions for one instruction set that loads some lanes of a vector as fast as all,
 * in the source compiled for it, which says first:
 *
 *     DEPTHWISE_CALLEES, DEPTHWISE_SUFFIX    its rows, the end of names
 */
#include <math.h>
#include <string.h>

enum { MOST_TAPS = 5, BAND = 65 /* rows of X */, PANEL = 256 /* columns */, FETCH_NBYTES = 16384 };

/* As many sums as registers are left by 9 factors and a row of X. */
#if VECTOR_NBYTES == 64
enum { ROWS_AT_ONCE = 7 };
#else
enum { ROWS_AT_ONCE = 4 };
#endif

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int within(int64_t x, int64_t high)
{
    return (int)(x < 0 ? 0 : x > high ? high : x);
}

/* A compiler that knows where it is from reads it again for each use. */
#define IN_REGISTER(v) __asm__("" : "+v"(v))
/* Of few turns, which the compiler would make much of. */
#define KEEP_LOOP __asm__ volatile("" ::: "memory")

/* Every second element of two vectors one after the other, in an order in which none leaves its 16
 * bytes: SORT puts them right. */
#if defined(__clang__)
#define PICK_OF(a, b, mask, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define PICK_OF(a, b, mask, ...) __builtin_shuffle(a, b, (mask){ __VA_ARGS__ })
#endif
typedef int32_t float_picks __attribute__((vector_size(VECTOR_NBYTES)));
typedef int64_t double_picks __attribute__((vector_size(VECTOR_NBYTES)));
#if VECTOR_NBYTES == 64
#define FLOAT_EVEN  0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30
#define FLOAT_ODD   1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31
#define FLOAT_SORT  0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15
#define DOUBLE_EVEN 0, 8, 2, 10, 4, 12, 6, 14
#define DOUBLE_ODD  1, 9, 3, 11, 5, 13, 7, 15
#define DOUBLE_SORT 0, 2, 4, 6, 1, 3, 5, 7
#else
#define FLOAT_EVEN  0, 2, 8, 10, 4, 6, 12, 14
#define FLOAT_ODD   1, 3, 9, 11, 5, 7, 13, 15
#define FLOAT_SORT  0, 1, 4, 5, 2, 3, 6, 7
#define DOUBLE_EVEN 0, 4, 2, 6
#define DOUBLE_ODD  1, 5, 3, 7
#define DOUBLE_SORT 0, 2, 1, 3
#endif

#define REAL              float
#define VECTOR            float_vector
#define PART_OF_VECTOR    float_lanes
#define PART_LANES        float_lanes_of
#define LOAD_LANES        float_load_lanes
#define STORE_PART        float_store_part
#define MULTIPLY_ADD      float_multiply_add
#define AT_LEAST          float_at_least
#define AT_MOST           float_at_most
#define PICK(which, a, b) PICK_OF(a, b, float_picks, FLOAT_##which)
#define NAME(stem)        stem##_f32
#include "depthwise_float.h"

#define REAL              double
#define VECTOR            double_vector
#define PART_OF_VECTOR    double_lanes
#define PART_LANES        double_lanes_of
#define LOAD_LANES        double_load_lanes
#define STORE_PART        double_store_part
#define MULTIPLY_ADD      double_multiply_add
#define AT_LEAST          double_at_least
#define AT_MOST           double_at_most
#define PICK(which, a, b) PICK_OF(a, b, double_picks, DOUBLE_##which)
#define NAME(stem)        stem##_f64
#include "depthwise_float.h"

/* For each tap of a row. */
enum { DEPTHWISE_PS = 70 };
#define ROW(name, run, TYPE)                                                \
    {                                                                       \
        name DEPTHWISE_SUFFIX, run, CPU_DEPTHWISE, TYPE, TYPE, DEPTHWISE_PS \
    }
const struct cpu_callee DEPTHWISE_CALLEES[] = {
    ROW("depthwise_f32_", run_f32, BT_FLOAT32),
    ROW("depthwise_f64_", run_f64, BT_FLOAT64),
    { 0 },
};
