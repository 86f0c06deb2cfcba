/*
 * Strips that compute nothing: conversions between any two dtypes, copies, fills, selects,
 * elements at strides and at indices.
 */
#include "strip_loops.h"

#include "every_second.h"

/* ---- float16 and bfloat16 ---- */

/* A NaN becomes quiet, as in instructions. */
static inline float float_of_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    uint32_t normal = (rest << 13) + (112u << 23);
    uint32_t small = bits_of_float((float)(int32_t)rest * 0x1p-24f);
    uint32_t beyond = normal | (rest > 0x7c00 ? 0x7fc00000u : 0x7f800000u);
    uint32_t bits = rest < 0x400 ? small : rest < 0x7c00 ? normal : beyond;
    return float_of_bits(sign | bits);
}

static inline float float_of_bfloat(uint16_t b)
{
    return float_of_bits((uint32_t)b << 16);
}

/* To nearest even; a NaN becomes quiet and keeps the upper bits that fit. */
static inline uint16_t half_of(float x)
{
    uint32_t bits = bits_of_float(x), sign = bits >> 16 & 0x8000u, a = bits & 0x7fffffffu;
    uint32_t normal = (a - (112u << 23) + 0xfff + (a >> 13 & 1)) >> 13;
    // the last digit of 1/2 is the unit of subnormals
    uint32_t small = bits_of_float(float_of_bits(a) + 0.5f) - 0x3f000000u;
    uint32_t nan = 0x7e00u | (a >> 13 & 0x3ffu);
    uint32_t rest = a < 0x38800000u    ? small
                    : a < 0x47800000u  ? normal
                    : a <= 0x7f800000u ? 0x7c00u
                                       : nan;
    return (uint16_t)(sign | rest);
}

static inline uint16_t bfloat_of(float x)
{
    uint32_t bits = bits_of_float(x), nan = bits >> 16 | 0x40u;
    uint32_t y = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : y);
}

/* ---- floats of 8 bits ---- */

/* D digits of the fraction; adding DIFFERENCE to a code's exponent makes it float32's, and UNIT
 * is the least subnormal. */
#define FLOAT8(name, D, DIFFERENCE, UNIT, MOST)                                       \
    static inline float wide_##name(uint8_t b)                                        \
    {                                                                                 \
        uint32_t sign = (uint32_t)(b & 0x80u) << 24, rest = b & 0x7fu;                \
        uint32_t normal = (rest << (23 - D)) + (DIFFERENCE##u << 23);                 \
        uint32_t small = bits_of_float((float)(int32_t)rest * UNIT);                  \
        return float_of_bits(sign | (rest < 1u << D ? small : normal));               \
    }                                                                                 \
    /* Of a magnitude's bits; what is beyond MOST is so here, too, or is infinite. */ \
    static inline uint32_t code_##name(uint32_t a)                                    \
    {                                                                                 \
        const uint32_t half = (1u << (22 - D)) - 1 + (a >> (23 - D) & 1);             \
        uint32_t normal = (a - (DIFFERENCE##u << 23) + half) >> (23 - D);             \
        /* the last digit of this is the unit of subnormals */                        \
        uint32_t unit = bits_of_float(UNIT * 0x1p23f);                                \
        uint32_t small = bits_of_float(float_of_bits(a) + UNIT * 0x1p23f) - unit;     \
        uint32_t code = a < (DIFFERENCE##u + 1) << 23 ? small : normal;               \
        return code < MOST ? code : MOST;                                             \
    }
FLOAT8(e4m3fn, 3, 120, 0x1p-9f, 0x7e)
FLOAT8(e4m3fnuz, 3, 119, 0x1p-10f, 0x7f)
FLOAT8(e5m2, 2, 112, 0x1p-16f, 0x7b)
FLOAT8(e5m2fnuz, 2, 111, 0x1p-17f, 0x7f)
#undef FLOAT8

static inline float float_of_e4m3fn(uint8_t b)
{
    float nan = float_of_bits((uint32_t)(b & 0x80u) << 24 | 0x7fc00000u);
    return (b & 0x7f) == 0x7f ? nan : wide_e4m3fn(b);
}

static inline float float_of_e5m2(uint8_t b)
{
    return float_of_half((uint16_t)(b << 8));
}

static inline float float_of_e4m3fnuz(uint8_t b)
{
    return b == 0x80 ? float_of_bits(0x7fc00000u) : wide_e4m3fnuz(b);
}

static inline float float_of_e5m2fnuz(uint8_t b)
{
    return b == 0x80 ? float_of_bits(0x7fc00000u) : wide_e5m2fnuz(b);
}

static inline uint8_t e4m3fn_of(float x)
{
    uint32_t bits = bits_of_float(x), a = bits & 0x7fffffffu;
    return (uint8_t)((bits >> 24 & 0x80) | (a > 0x7f800000u ? 0x7f : code_e4m3fn(a)));
}

/* Only infinity becomes infinity. */
static inline uint8_t e5m2_of(float x)
{
    uint32_t bits = bits_of_float(x), a = bits & 0x7fffffffu;
    uint32_t code = a < 0x7f800000u    ? code_e5m2(a)
                    : a == 0x7f800000u ? 0x7c
                                       : 0x7e | (a >> 21 & 1);
    return (uint8_t)((bits >> 24 & 0x80) | code);
}

/* Zero has no sign: that code is NaN. */
#define UNSIGNED_ZERO(name)                                       \
    static inline uint8_t name##_of(float x)                      \
    {                                                             \
        uint32_t bits = bits_of_float(x), a = bits & 0x7fffffffu; \
        uint32_t code = code_##name(a), sign = bits >> 24 & 0x80; \
        uint32_t number = code ? sign | code : 0;                 \
        return (uint8_t)(a > 0x7f800000u ? 0x80 : number);        \
    }
UNSIGNED_ZERO(e4m3fnuz)
UNSIGNED_ZERO(e5m2fnuz)

/* Rounded to odd: what is lost shows in the last bit, so that the next rounding is as if
 * it were the only one. */
static inline float odd_of(double x)
{
    float y = (float)x;
    uint32_t bits = bits_of_float(y);
    uint32_t odd = fabs((double)y) > fabs(x) ? bits - 1 : bits + 1;
    int is_even = ((double)y != x) & (x == x) & !(bits & 1);
    return float_of_bits(is_even ? odd : bits);
}

/* Of the integers beyond 2^53, the digits that float64 lacks become its last one. */
static inline double near_of_uint64(uint64_t v)
{
    uint64_t odd = (v & ~UINT64_C(2047)) | (v & 2047 ? 2048 : 0);
    return (double)(v >> 53 ? odd : v);
}

static inline double near_of_int64(int64_t v)
{
    double size = near_of_uint64(v < 0 ? -(uint64_t)v : (uint64_t)v);
    return v < 0 ? -size : size;
}

/* ---- float to integer: truncated, saturated, 0 of NaN ---- */

#define TO_INT(type, prefix, name, MIN, MAX)                            \
    static inline name##_t prefix##_to_##name(type a)                   \
    {                                                                   \
        type low = (type)(MIN), high = (type)(MAX);                     \
        name##_t inside = (name##_t)(((a > low) & (a < high)) ? a : 0); \
        name##_t outside = (name##_t)(a >= high ? (MAX) : (MIN));       \
        return ((a >= high) | (a <= low)) ? outside : inside;           \
    }
/* Where the type holds both limits. */
#define TO_SHORT(type, prefix, name, MIN, MAX)        \
    static inline name##_t prefix##_to_##name(type a) \
    {                                                 \
        type inside = a == a ? a : 0;                 \
        inside = inside > (MIN) ? inside : (MIN);     \
        inside = inside < (MAX) ? inside : (MAX);     \
        return (name##_t)(int32_t)inside;             \
    }
#define TO_INTS(type, prefix)                           \
    TO_SHORT(type, prefix, int8, INT8_MIN, INT8_MAX)    \
    TO_SHORT(type, prefix, int16, INT16_MIN, INT16_MAX) \
    TO_INT(type, prefix, int32, INT32_MIN, INT32_MAX)   \
    TO_INT(type, prefix, int64, INT64_MIN, INT64_MAX)   \
    TO_SHORT(type, prefix, uint8, 0, UINT8_MAX)         \
    TO_SHORT(type, prefix, uint16, 0, UINT16_MAX)       \
    TO_INT(type, prefix, uint32, 0, UINT32_MAX)         \
    TO_INT(type, prefix, uint64, 0, UINT64_MAX)
TO_INTS(float, float)
TO_INTS(double, double)

/* ---- casts: <kind of value>_TO_<dtype>(value) ---- */

#define INT_TO_bool(v)            ((v) != 0)
#define INT_TO_int8(v)            ((int8_t)(v))
#define INT_TO_int16(v)           ((int16_t)(v))
#define INT_TO_int32(v)           ((int32_t)(v))
#define INT_TO_int64(v)           ((int64_t)(v))
#define INT_TO_uint8(v)           ((uint8_t)(v))
#define INT_TO_uint16(v)          ((uint16_t)(v))
#define INT_TO_uint32(v)          ((uint32_t)(v))
#define INT_TO_uint64(v)          ((uint64_t)(v))
#define INT_TO_float8_e4m3fn(v)   e4m3fn_of(odd_of(NEAR(v)))
#define INT_TO_float8_e4m3fnuz(v) e4m3fnuz_of(odd_of(NEAR(v)))
#define INT_TO_float8_e5m2(v)     e5m2_of(odd_of(NEAR(v)))
#define INT_TO_float8_e5m2fnuz(v) e5m2fnuz_of(odd_of(NEAR(v)))
#define INT_TO_float16(v)         half_of(odd_of(NEAR(v)))
#define INT_TO_bfloat16(v)        bfloat_of(odd_of(NEAR(v)))
#define INT_TO_float32(v)         ((float)(v))
#define INT_TO_float64(v)         ((double)(v))
#define NEAR(v)                        \
    _Generic((v), int64_t              \
             : near_of_int64, uint64_t \
             : near_of_uint64, default \
             : double_of)(v)

static inline double double_of(double v)
{
    return v;
}

#define FLOAT_TO_bool(v)             ((v) != 0)
#define FLOAT_TO_int8(v)             float_to_int8(v)
#define FLOAT_TO_int16(v)            float_to_int16(v)
#define FLOAT_TO_int32(v)            float_to_int32(v)
#define FLOAT_TO_int64(v)            float_to_int64(v)
#define FLOAT_TO_uint8(v)            float_to_uint8(v)
#define FLOAT_TO_uint16(v)           float_to_uint16(v)
#define FLOAT_TO_uint32(v)           float_to_uint32(v)
#define FLOAT_TO_uint64(v)           float_to_uint64(v)
#define FLOAT_TO_float8_e4m3fn(v)    e4m3fn_of(v)
#define FLOAT_TO_float8_e4m3fnuz(v)  e4m3fnuz_of(v)
#define FLOAT_TO_float8_e5m2(v)      e5m2_of(v)
#define FLOAT_TO_float8_e5m2fnuz(v)  e5m2fnuz_of(v)
#define FLOAT_TO_float16(v)          half_of(v)
#define FLOAT_TO_bfloat16(v)         bfloat_of(v)
#define FLOAT_TO_float32(v)          (v)
#define FLOAT_TO_float64(v)          ((double)(v))

#define DOUBLE_TO_bool(v)            ((v) != 0)
#define DOUBLE_TO_int8(v)            double_to_int8(v)
#define DOUBLE_TO_int16(v)           double_to_int16(v)
#define DOUBLE_TO_int32(v)           double_to_int32(v)
#define DOUBLE_TO_int64(v)           double_to_int64(v)
#define DOUBLE_TO_uint8(v)           double_to_uint8(v)
#define DOUBLE_TO_uint16(v)          double_to_uint16(v)
#define DOUBLE_TO_uint32(v)          double_to_uint32(v)
#define DOUBLE_TO_uint64(v)          double_to_uint64(v)
#define DOUBLE_TO_float8_e4m3fn(v)   e4m3fn_of(odd_of(v))
#define DOUBLE_TO_float8_e4m3fnuz(v) e4m3fnuz_of(odd_of(v))
#define DOUBLE_TO_float8_e5m2(v)     e5m2_of(odd_of(v))
#define DOUBLE_TO_float8_e5m2fnuz(v) e5m2fnuz_of(odd_of(v))
#define DOUBLE_TO_float16(v)         half_of(odd_of(v))
#define DOUBLE_TO_bfloat16(v)        bfloat_of(odd_of(v))
#define DOUBLE_TO_float32(v)         ((float)(v))
#define DOUBLE_TO_float64(v)         (v)

/* From every dtype: X(UPPER, name, kind of value, the value of an element a). */
#define FROM_ALL(X)                                                  \
    X(BOOL, bool, INT, a)                                            \
    X(INT8, int8, INT, a)                                            \
    X(INT16, int16, INT, a)                                          \
    X(INT32, int32, INT, a)                                          \
    X(INT64, int64, INT, a)                                          \
    X(UINT8, uint8, INT, a)                                          \
    X(UINT16, uint16, INT, a)                                        \
    X(UINT32, uint32, INT, a)                                        \
    X(UINT64, uint64, INT, a)                                        \
    X(FLOAT8_E4M3FN, float8_e4m3fn, FLOAT, float_of_e4m3fn(a))       \
    X(FLOAT8_E4M3FNUZ, float8_e4m3fnuz, FLOAT, float_of_e4m3fnuz(a)) \
    X(FLOAT8_E5M2, float8_e5m2, FLOAT, float_of_e5m2(a))             \
    X(FLOAT8_E5M2FNUZ, float8_e5m2fnuz, FLOAT, float_of_e5m2fnuz(a)) \
    X(FLOAT16, float16, FLOAT, float_of_half(a))                     \
    X(BFLOAT16, bfloat16, FLOAT, float_of_bfloat(a))                 \
    X(FLOAT32, float32, FLOAT, a)                                    \
    X(FLOAT64, float64, DOUBLE, a)

#define CAST(from, to, KIND, value)         \
    STRIP(cast_##from##_##to)               \
    {                                       \
        to##_at *out = p[0];                \
        const from##_at *in = p[1];         \
        EACH(i, n)                          \
        {                                   \
            const from##_at a = in[i];      \
            out[i] = KIND##_TO_##to(value); \
        }                                   \
        return 0;                           \
    }
#define CASTS(UPPER, from, KIND, value)      \
    CAST(from, bool, KIND, value)            \
    CAST(from, int8, KIND, value)            \
    CAST(from, int16, KIND, value)           \
    CAST(from, int32, KIND, value)           \
    CAST(from, int64, KIND, value)           \
    CAST(from, uint8, KIND, value)           \
    CAST(from, uint16, KIND, value)          \
    CAST(from, uint32, KIND, value)          \
    CAST(from, uint64, KIND, value)          \
    CAST(from, float8_e4m3fn, KIND, value)   \
    CAST(from, float8_e4m3fnuz, KIND, value) \
    CAST(from, float8_e5m2, KIND, value)     \
    CAST(from, float8_e5m2fnuz, KIND, value) \
    CAST(from, float16, KIND, value)         \
    CAST(from, bfloat16, KIND, value)        \
    CAST(from, float32, KIND, value)         \
    CAST(from, float64, KIND, value)
FROM_ALL(CASTS)

#if defined(__F16C__)
/* The same bits by the instructions for them: vectors, of which the last ends where the strip
 * does and does some elements again. */
#include <immintrin.h>
#if defined(__AVX512F__)
enum { HALVES = 16 };
#define WIDEN_HALVES(to, from) \
    _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(from))))
#define NARROW_HALVES(to, from)                                               \
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtps_ph(_mm512_loadu_ps(from), \
                                                       _MM_FROUND_TO_NEAREST_INT))
#else
enum { HALVES = 8 };
#define WIDEN_HALVES(to, from) \
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from))))
#define NARROW_HALVES(to, from)     \
    _mm_storeu_si128((__m128i *)to, \
                     _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT))
#endif
#define HALVES_CAST(name, from, to, convert)                            \
    STRIP(name)                                                         \
    {                                                                   \
        if (n[0] < HALVES)                                              \
            return cast_##from##_##to(p, n);                            \
        for (int64_t i = 0; i < n[0]; i += HALVES) {                    \
            const int64_t at = n[0] - i < HALVES ? n[0] - HALVES : i;   \
            void *out = (to##_at *)p[0] + at;                           \
            convert(out, (const void *)((const from##_at *)p[1] + at)); \
        }                                                               \
        return 0;                                                       \
    }
HALVES_CAST(widen_halves, float16, float32, WIDEN_HALVES)
HALVES_CAST(narrow_halves, float32, float16, NARROW_HALVES)
#define cast_float16_float32 widen_halves
#define cast_float32_float16 narrow_halves
#endif

/* ---- by width ---- */

#define MOVES(nbytes, type)                         \
    STRIP(copy_##nbytes)                            \
    {                                               \
        memmove(p[0], p[1], (size_t)n[0] * nbytes); \
        return 0;                                   \
    }                                               \
    STRIP(fill_##nbytes)                            \
    {                                               \
        type *out = p[0];                           \
        const type *at = p[1];                      \
        const type value = *at;                     \
        EACH(i, n) out[i] = value;                  \
        return 0;                                   \
    }                                               \
    STRIP(select_##nbytes)                          \
    {                                               \
        type *out = p[0];                           \
        const bool_at *mask = p[1];                 \
        const type *a = p[2], *b = p[3];            \
        EACH(i, n)                                  \
        {                                           \
            const type yes = a[i], no = b[i];       \
            out[i] = mask[i] ? yes : no;            \
        }                                           \
        return 0;                                   \
    }                                               \
    STRIP(gather_##nbytes)                          \
    {                                               \
        type *out = p[0];                           \
        const type *a = p[1];                       \
        const int64_at *index = p[2];               \
        EACH(i, n) out[i] = a[index[i]];            \
        return 0;                                   \
    }                                               \
    STRIP(scatter_##nbytes)                         \
    {                                               \
        type *out = p[0];                           \
        const type *a = p[1];                       \
        const int64_at *index = p[2];               \
        for (int64_t i = 0; i < n[0]; i++)          \
            out[index[i]] = a[i];                   \
        return 0;                                   \
    }                                               \
    STRIP(load_##nbytes)                            \
    {                                               \
        type *out = p[0];                           \
        const type *a = p[1];                       \
        const int64_t step = n[1];                  \
        if (step == 0)                              \
            return fill_##nbytes(p, n);             \
        if (step == 1)                              \
            return copy_##nbytes(p, n);             \
        if (step == 2)                              \
            every_second_##nbytes(out, a, n[0]);    \
        else                                        \
            EACH(i, n) out[i] = a[i * step];        \
        return 0;                                   \
    }                                               \
    STRIP(store_##nbytes)                           \
    {                                               \
        type *out = p[0];                           \
        const type *a = p[1];                       \
        const int64_t step = n[1];                  \
        EACH(i, n) out[i * step] = a[i];            \
        return 0;                                   \
    }
/* By the strip for one row: rows of `columns` elements, the first of which may be met in part. */
#define ROWS(name, each, each_at, rows_at)                                         \
    STRIP(name)                                                                    \
    {                                                                              \
        const int64_t columns = n[1], row = n[2], step = n[3];                     \
        int64_t at = n[4] % columns, in_row = n[4] / columns * row;                \
        for (int64_t done = 0, count; done < n[0]; done += count, in_row += row) { \
            count = columns - at < n[0] - done ? columns - at : n[0] - done;       \
            void *const of[] = { each_at, rows_at };                               \
            each(of, (int64_t[]){ count, step });                                  \
            at = 0;                                                                \
        }                                                                          \
        return 0;                                                                  \
    }
#define MOVES_ROWS(W, type)                                       \
    ROWS(load_rows_##W, load_##W, (type *)p[0] + done,            \
         (type *)p[1] + in_row + at * step)                       \
    ROWS(store_rows_##W, store_##W, (type *)p[0] + in_row + at * step, \
         (type *)p[1] + done)
MOVES(1, uint8_at)
MOVES(2, uint16_at)
MOVES(4, uint32_at)
MOVES(8, uint64_at)
MOVES_ROWS(1, uint8_at)
MOVES_ROWS(2, uint16_at)
MOVES_ROWS(4, uint32_at)
MOVES_ROWS(8, uint64_at)

#define IOTA(type)                                                    \
    STRIP(iota_##type)                                                \
    {                                                                 \
        type##_at *out = p[0];                                        \
        const uint64_t start = (uint64_t)n[1], step = (uint64_t)n[2]; \
        EACH(i, n) out[i] = (type##_t)(start + (uint64_t)i * step);   \
        return 0;                                                     \
    }
IOTA(int32)
IOTA(int64)

/* ---- the table ---- */

#define CAST_ROW(UPPER, from, to, TO) \
    { "cast." #from "." #to,          \
      cast_##from##_##to,             \
      CPU_MAP1,                       \
      BT_##TO,                        \
      BT_##UPPER,                     \
      sizeof(from##_at) == 8 ? PS(60, from) : PS(60, to) },
#define CAST_ROWS(UPPER, from, KIND, value)                 \
    CAST_ROW(UPPER, from, bool, BOOL)                       \
    CAST_ROW(UPPER, from, int8, INT8)                       \
    CAST_ROW(UPPER, from, int16, INT16)                     \
    CAST_ROW(UPPER, from, int32, INT32)                     \
    CAST_ROW(UPPER, from, int64, INT64)                     \
    CAST_ROW(UPPER, from, uint8, UINT8)                     \
    CAST_ROW(UPPER, from, uint16, UINT16)                   \
    CAST_ROW(UPPER, from, uint32, UINT32)                   \
    CAST_ROW(UPPER, from, uint64, UINT64)                   \
    CAST_ROW(UPPER, from, float8_e4m3fn, FLOAT8_E4M3FN)     \
    CAST_ROW(UPPER, from, float8_e4m3fnuz, FLOAT8_E4M3FNUZ) \
    CAST_ROW(UPPER, from, float8_e5m2, FLOAT8_E5M2)         \
    CAST_ROW(UPPER, from, float8_e5m2fnuz, FLOAT8_E5M2FNUZ) \
    CAST_ROW(UPPER, from, float16, FLOAT16)                 \
    CAST_ROW(UPPER, from, bfloat16, BFLOAT16)               \
    CAST_ROW(UPPER, from, float32, FLOAT32)                 \
    CAST_ROW(UPPER, from, float64, FLOAT64)

#define OF_8(stem)  stem##_1
#define OF_16(stem) stem##_2
#define OF_32(stem) stem##_4
#define OF_64(stem) stem##_8

STRIPS_TABLE(move){
    FROM_ALL(CAST_ROWS)
#define BT_STORED(UPPER, name, class_, bits, c_type)                                    \
    { "fill." #name, OF_##bits(fill), CPU_FILL, BT_##UPPER, BT_##UPPER, PS(30, name) }, \
        { "select." #name, OF_##bits(select), CPU_SELECT,                               \
          BT_##UPPER,      BT_##UPPER,        PS(60, name) },
#include <baton/dtypes.def>
#define WIDTH(W, TYPE)                                                 \
    { "copy." #W, copy_##W, CPU_COPY, TYPE, TYPE, 40 },                \
        { "gather." #W, gather_##W, CPU_GATHER, TYPE, TYPE, 500 },     \
        { "scatter." #W, scatter_##W, CPU_SCATTER, TYPE, TYPE, 1000 }, \
        { "load." #W, load_##W, CPU_LOAD, TYPE, TYPE, 300 },           \
        { "store." #W, store_##W, CPU_STORE, TYPE, TYPE, 400 },        \
        { "load_rows." #W, load_rows_##W, CPU_LOAD_ROWS, TYPE, TYPE, 400 },    \
        { "store_rows." #W, store_rows_##W, CPU_STORE_ROWS, TYPE, TYPE, 500 },
        WIDTH(1, BT_UINT8) WIDTH(2, BT_UINT16) WIDTH(4, BT_UINT32) WIDTH(8, BT_UINT64){
            "iota.int32", iota_int32, CPU_IOTA, BT_INT32, BT_INT32, 100 },
    { "iota.int64", iota_int64, CPU_IOTA, BT_INT64, BT_INT64, 200 },
    { 0 },
};
