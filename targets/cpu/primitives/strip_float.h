/*
 * Strips of scalar operators on float32 and float64, and of the pairs that networks are
 * full of. The functions bear the names of scalars.def: a row without its code does not
 * compile.
 */
#include "strip_math.h"
#if defined(__AVX2__)
#include "strip_exp.h"
#endif

/* ---- one step ---- */

#define F1(type, name, expr)                \
    static inline type##_of_op name(type a) \
    {                                       \
        return expr;                        \
    }
#define F2(type, name, expr)                        \
    static inline type##_of_op name(type a, type b) \
    {                                               \
        return expr;                                \
    }
#define T1(type, name, expr)           \
    static inline uint8_t name(type a) \
    {                                  \
        return expr;                   \
    }
#define T2(type, name, expr)                   \
    static inline uint8_t name(type a, type b) \
    {                                          \
        return expr;                           \
    }
typedef float float_of_op;
typedef double double_of_op;

/* Of both: `s` is the suffix of functions of the C library. */
#define REALS(t, type, s)                                             \
    F2(type, t##_add, a + b)                                          \
    F2(type, t##_sub, a - b)                                          \
    F2(type, t##_mul, a *b)                                           \
    F2(type, t##_div, a / b)                                          \
    F2(type, t##_truncmod, fmod##s(a, b))                             \
    F2(type, t##_max, ((a > b) | (a != a)) ? a : b)                   \
    F2(type, t##_min, ((a < b) | (a != a)) ? a : b)                   \
    F1(type, t##_neg, -a)                                             \
    F1(type, t##_abs, fabs##s(a))                                     \
    F1(type, t##_sign, a > 0 ? 1 : a < 0 ? -1 : a)                    \
    F1(type, t##_floor, floor##s(a))                                  \
    F1(type, t##_ceil, ceil##s(a))                                    \
    F1(type, t##_trunc, trunc##s(a))                                  \
    F1(type, t##_round_even, rint##s(a))                              \
    F1(type, t##_sqrt, sqrt##s(a))                                    \
    F1(type, t##_rsqrt, 1 / sqrt##s(a))                               \
    T1(type, t##_isnan, a != a)                                       \
    T1(type, t##_isinf, fabs##s(a) == (type)INFINITY)                 \
    T1(type, t##_isfinite, fabs##s(a) < (type)INFINITY)               \
    T2(type, t##_eq, a == b)                                          \
    T2(type, t##_ne, a != b)                                          \
    T2(type, t##_lt, a < b)                                           \
    T2(type, t##_le, a <= b)                                          \
    static inline type t##_zmul(type a, type b)                       \
    {                                                                 \
        const type product = a * b;                                   \
        return (a == 0) | (b == 0) ? 0 : product;                     \
    }                                                                 \
    static inline type t##_mod(type a, type b)                        \
    {                                                                 \
        type r = fmod##s(a, b);                                       \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;              \
    }                                                                 \
    static inline type t##_round(type a)                              \
    {                                                                 \
        type whole = trunc##s(a), rest = fabs##s(a - whole);          \
        return rest >= (type)0.5 ? whole + copysign##s(1, a) : whole; \
    }
REALS(f32, float, f)
REALS(f64, double, )

/* ---- float32: what strip_math.h has not ---- */

// a quotient rounded to float32 could be the next whole number
F2(float, f32_truncdiv, (float)trunc((double)a / (double)b))
F2(float, f32_floordiv, (float)floor((double)a / (double)b))
F2(float, f32_ceildiv, (float)ceil((double)a / (double)b))

/* ---- float64: by the C library ---- */

F2(double, f64_truncdiv, trunc(a / b))
F2(double, f64_floordiv, floor(a / b))
F2(double, f64_ceildiv, ceil(a / b))
F2(double, f64_pow, pow(a, b))
F2(double, f64_atan2, atan2(a, b))
#define BY_LIBRARY(name) F1(double, f64_##name, name(a))
BY_LIBRARY(exp)
BY_LIBRARY(exp2)
BY_LIBRARY(expm1)
BY_LIBRARY(log)
BY_LIBRARY(log2)
BY_LIBRARY(log10)
BY_LIBRARY(log1p)
BY_LIBRARY(sin)
BY_LIBRARY(cos)
BY_LIBRARY(tan)
BY_LIBRARY(asin)
BY_LIBRARY(acos)
BY_LIBRARY(atan)
BY_LIBRARY(sinh)
BY_LIBRARY(cosh)
BY_LIBRARY(tanh)
BY_LIBRARY(asinh)
BY_LIBRARY(acosh)
BY_LIBRARY(atanh)
BY_LIBRARY(erf)

static inline double f64_sigmoid(double a)
{
    double e = exp(-fabs(a));
    return (a < 0 ? e : 1) / (1 + e);
}

/* ---- strips of scalars.def ---- */

#if defined(__AVX2__)
#define strip_f32_exp rest_of_exp
#endif
#define OUT_SAME(in) in##_at
#define OUT_BOOL(in) bool_at
#define ON(narg, name, result)                                                   \
    STRIP##narg(strip_f32_##name, f32_##name, float32_at, OUT_##result(float32)) \
        STRIP##narg(strip_f64_##name, f64_##name, float64_at, OUT_##result(float64))
#define MAKE_F(narg, name, result)    ON(narg, name, result)
#define MAKE_FI(narg, name, result)   ON(narg, name, result)
#define MAKE_FIU(narg, name, result)  ON(narg, name, result)
#define MAKE_FIB(narg, name, result)  ON(narg, name, result)
#define MAKE_FIBU(narg, name, result) ON(narg, name, result)
#define MAKE_I(narg, name, result)
#define MAKE_IU(narg, name, result)
#define MAKE_IB(narg, name, result)
#define MAKE_B(narg, name, result)
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    MAKE_##classes(narg, name, result)
#include <baton/scalars.def>
#if defined(__AVX2__)
#undef strip_f32_exp
EXP_STRIP(strip_f32_exp, rest_of_exp, 1, 1, 1, x)
#endif

/* ---- pairs ---- */

/* Each step rounds, as in the single strips. */
#define RELU(type, x) type##_max(x, 0)
#define FMA(name, t, type, expr)                         \
    STRIP(name)                                          \
    {                                                    \
        type##_at *out = p[0];                           \
        const type##_at *a = p[1], *b = p[2], *c = p[3]; \
        EACH(i, n) out[i] = (expr);                      \
        return 0;                                        \
    }
#define PAIRS(t, type)                                      \
    FMA(t##_fma, t, type, a[i] * b[i] + c[i])               \
    FMA(t##_fma_relu, t, type, RELU(t, a[i] * b[i] + c[i])) \
    STRIP(t##_fma_s)                                        \
    {                                                       \
        type##_at *out = p[0];                              \
        const type##_at *a = p[1], *at = p[2], *c = p[3];   \
        const type##_at b = *at;                            \
        EACH(i, n) out[i] = a[i] * b + c[i];                \
        return 0;                                           \
    }                                                       \
    STRIP(t##_fma_relu_s)                                   \
    {                                                       \
        type##_at *out = p[0];                              \
        const type##_at *a = p[1], *at = p[2], *c = p[3];   \
        const type##_at b = *at;                            \
        EACH(i, n) out[i] = RELU(t, a[i] * b + c[i]);       \
        return 0;                                           \
    }
PAIRS(f32, float32)
PAIRS(f64, float64)

static inline float f32_add_relu(float a, float b)
{
    return f32_max(a + b, 0);
}

static inline float f32_add_relu6(float a, float b)
{
    return f32_min(f32_add_relu(a, b), 6);
}

static inline float f32_mul_sigmoid(float a, float b)
{
    return a * f32_sigmoid(b);
}

static inline float f32_mul_erf_1(float a, float b)
{
    return a * (f32_erf(b) + 1);
}

static inline float f32_exp_sub(float a, float b)
{
    return f32_exp(a - b);
}
STRIP2(strip_f32_add_relu, f32_add_relu, float32_at, float32_at)
STRIP2(strip_f32_add_relu6, f32_add_relu6, float32_at, float32_at)
STRIP2(strip_f32_mul_sigmoid, f32_mul_sigmoid, float32_at, float32_at)
STRIP2(strip_f32_mul_erf_1, f32_mul_erf_1, float32_at, float32_at)
#if defined(__AVX2__)
STRIP2(rest_of_exp_sub, f32_exp_sub, float32_at, float32_at)
EXP_STRIP(strip_f32_exp_sub, rest_of_exp_sub, 2, 1, 1, x - y)
EXP_STRIP(strip_f32_exp_sub_s, rest_of_exp_sub_s, 2, 1, 0, x - y)
EXP_STRIP(strip_f32_exp_sub_r, rest_of_exp_sub_r, 2, 0, 1, x - y)
#else
STRIP2(strip_f32_exp_sub, f32_exp_sub, float32_at, float32_at)
#endif

/* ---- the table ---- */

#define DTYPE_SAME(IN) IN
#define DTYPE_BOOL(IN) BT_BOOL
#undef ON
#define ON(narg, name, result)                                                          \
    ROW##narg(#name, strip_f32_##name, BT_FLOAT32, float32, DTYPE_##result(BT_FLOAT32), \
              ps_float_##name) ROW##narg(#name, strip_f64_##name, BT_FLOAT64, float64,  \
                                         DTYPE_##result(BT_FLOAT64), ps_float_##name)

STRIPS_TABLE(float){
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    MAKE_##classes(narg, name, result)
#include <baton/scalars.def>
    // clang-format off
    ROW2("add_relu", strip_f32_add_relu, BT_FLOAT32, float32, BT_FLOAT32, 60)
    ROW2("add_relu6", strip_f32_add_relu6, BT_FLOAT32, float32, BT_FLOAT32, 60)
    ROW2("mul_sigmoid", strip_f32_mul_sigmoid, BT_FLOAT32, float32, BT_FLOAT32, 500)
    ROW2("mul_erf_1", strip_f32_mul_erf_1, BT_FLOAT32, float32, BT_FLOAT32, 500)
    ROW2("exp_sub", strip_f32_exp_sub, BT_FLOAT32, float32, BT_FLOAT32, 400)
// clang-format on
#define ROWS(t, IN, type)                                                    \
    { "fma." #type, t##_fma, CPU_MAP3, IN, IN, PS(60, type) },               \
        { "fma." #type ".s", t##_fma_s, CPU_MAP3_S, IN, IN, PS(60, type) },  \
        { "fma_relu." #type, t##_fma_relu, CPU_MAP3, IN, IN, PS(60, type) }, \
        { "fma_relu." #type ".s", t##_fma_relu_s, CPU_MAP3_S, IN, IN, PS(60, type) },
                    ROWS(f32, BT_FLOAT32, float32) ROWS(f64, BT_FLOAT64, float64){ 0 },
};
