/* Strips of scalar operators on integers and bool. */
#include "integers.h"
#include "strip_loops.h"

/* ---- strips ---- */

#define OUT_SAME(in) in##_at
#define OUT_BOOL(in) bool_at
#define ON(narg, name, result, in) \
    STRIP##narg(strip_##in##_##name, in##_##name, in##_at, OUT_##result(in))
#define ON_INTS(narg, name, result) \
    ON(narg, name, result, int8)    \
    ON(narg, name, result, int16)   \
    ON(narg, name, result, int32)   \
    ON(narg, name, result, int64)   \
    ON(narg, name, result, uint8)   \
    ON(narg, name, result, uint16)  \
    ON(narg, name, result, uint32)  \
    ON(narg, name, result, uint64)
#define MAKE_F(narg, name, result)
#define MAKE_FI(narg, name, result)  ON_INTS(narg, name, result)
#define MAKE_FIU(narg, name, result) ON_INTS(narg, name, result)
#define MAKE_FIB(narg, name, result) \
    ON_INTS(narg, name, result) ON(narg, name, result, bool)
#define MAKE_FIBU(narg, name, result) \
    ON_INTS(narg, name, result) ON(narg, name, result, bool)
#define MAKE_I(narg, name, result)  ON_INTS(narg, name, result)
#define MAKE_IU(narg, name, result) ON_INTS(narg, name, result)
#define MAKE_IB(narg, name, result) \
    ON_INTS(narg, name, result) ON(narg, name, result, bool)
#define MAKE_B(narg, name, result) ON(narg, name, result, bool)
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    MAKE_##classes(narg, name, result)
#include <baton/scalars.def>

/* ---- codes ---- */

/* To the nearest, of two as near the even one: the digits of a float of this size end at 1. */
#define NEAREST 12582912.0f /* 1.5 * 2^23 */

/* All that a number goes through; bounds are whole numbers below 2^21, so that a number beyond them
 * may be bounded before it is rounded. */
static inline int32_t code_of(float x, float low, float high, float of_nan, int32_t zero)
{
    x = x == x ? x : of_nan;
    x = x > low ? x : low;
    x = x < high ? x : high;
    return (int32_t)(bits_of_float(x + NEAREST) - bits_of_float(NEAREST) +
                     (uint32_t)zero);
}

#define REQUANTIZE(name, to, factor)                                               \
    STRIP(name)                                                                    \
    {                                                                              \
        to##_at *out = p[0];                                                       \
        const int32_at *a = p[1], *zero_at = p[6];                                 \
        const float32_at *b = p[2], *low_at = p[3], *high_at = p[4];               \
        const float32_at *nan_at = p[5];                                           \
        const float first = n[0] > 0 ? *b : 0, low = *low_at, high = *high_at;     \
        const float of_nan = *nan_at;                                              \
        const int32_t zero = *zero_at;                                             \
        (void)first;                                                               \
        EACH(i, n)                                                                 \
        out[i] = (to##_t)code_of((float)a[i] * (factor), low, high, of_nan, zero); \
        return 0;                                                                  \
    }
#define ENCODE(to)                                                          \
    STRIP(encode_to_##to)                                                   \
    {                                                                       \
        to##_at *out = p[0];                                                \
        const float32_at *a = p[1], *low_at = p[2], *high_at = p[3];        \
        const float32_at *nan_at = p[4];                                    \
        const int32_at *zero_at = p[5];                                     \
        const float low = *low_at, high = *high_at, of_nan = *nan_at;       \
        const int32_t zero = *zero_at;                                      \
        EACH(i, n) out[i] = (to##_t)code_of(a[i], low, high, of_nan, zero); \
        return 0;                                                           \
    }
ENCODE(int8)
ENCODE(uint8)
REQUANTIZE(requantize_to_int8, int8, b[i])
REQUANTIZE(requantize_to_int8_s, int8, first)
REQUANTIZE(requantize_to_uint8, uint8, b[i])
REQUANTIZE(requantize_to_uint8_s, uint8, first)

/* ---- random words ---- */

/* The bits of a turned to the left, then xor b: half a round of Threefry. */
STRIP(rotate_xor_uint32_s)
{
    uint32_at *out = p[0];
    const uint32_at *a = p[1], *turn = p[2], *b = p[3];
    const uint32_t by = n[0] > 0 ? *turn & 31 : 0;
    EACH(i, n) out[i] = (a[i] << by | a[i] >> (-by & 31)) ^ b[i];
    return 0;
}

/* ---- the table ---- */

enum {
#define BT_STORED(UPPER, name, class_, bits, c_type) dtype_##name = BT_##UPPER,
#include <baton/dtypes.def>
};
#define DTYPE_SAME(in) dtype_##in
#define DTYPE_BOOL(in) BT_BOOL
#undef ON
#define ON(narg, name, result, in)                                            \
    ROW##narg(#name, strip_##in##_##name, dtype_##in, in, DTYPE_##result(in), \
              ps_int_##name)

STRIPS_TABLE(int){
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    MAKE_##classes(narg, name, result)
#include <baton/scalars.def>
#define REQUANTIZE_ROW(to, TYPE)        \
    {                                   \
        "requantize_" #to ".int32",     \
        requantize_to_##to,             \
        CPU_REQUANTIZE,                 \
        TYPE,                           \
        BT_INT32,                       \
        120                             \
    },                                  \
        { "requantize_" #to ".int32.s", \
          requantize_to_##to##_s,       \
          CPU_REQUANTIZE_S,             \
          TYPE,                         \
          BT_INT32,                     \
          120 },
    REQUANTIZE_ROW(int8, BT_INT8) REQUANTIZE_ROW(uint8, BT_UINT8){
        "encode_int8.float32", encode_to_int8, CPU_ENCODE, BT_INT8, BT_FLOAT32, 100 },
    { "encode_uint8.float32", encode_to_uint8, CPU_ENCODE, BT_UINT8, BT_FLOAT32, 100 },
    { "rotate_xor.uint32.s", rotate_xor_uint32_s, CPU_MAP3_S, BT_UINT32, BT_UINT32, 80 },
    { 0 },
};
