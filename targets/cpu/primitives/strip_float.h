/*
 * Strips of scalar operators on float32 and float64, and of the pairs that networks are
 * full of. The functions bear the names of scalars.def: a row without its code does not
 * compile.
 */
#include "strip_math.h"

/* ---- float32: what strip_math.h has not ---- */

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

F2(float, f32_add, a + b)
F2(float, f32_sub, a - b)
F2(float, f32_mul, a *b)
F2(float, f32_div, a / b)
// a quotient rounded to float32 could be the next whole number
F2(float, f32_truncdiv, (float)trunc((double)a / (double)b))
F2(float, f32_floordiv, (float)floor((double)a / (double)b))
F2(float, f32_ceildiv, (float)ceil((double)a / (double)b))
F2(float, f32_truncmod, fmodf(a, b))
F2(float, f32_max, ((a > b) | (a != a)) ? a : b)
F2(float, f32_min, ((a < b) | (a != a)) ? a : b)
F1(float, f32_neg, -a)
F1(float, f32_abs, fabsf(a))
F1(float, f32_sign, a > 0 ? 1 : a < 0 ? -1 : a)
F1(float, f32_floor, floorf(a))
F1(float, f32_ceil, ceilf(a))
F1(float, f32_trunc, truncf(a))
F1(float, f32_round_even, rintf(a))
F1(float, f32_sqrt, sqrtf(a))
F1(float, f32_rsqrt, 1 / sqrtf(a))
T1(float, f32_isnan, a != a)
T1(float, f32_isinf, fabsf(a) == INFINITY)
T1(float, f32_isfinite, fabsf(a) < INFINITY)
T2(float, f32_eq, a == b)
T2(float, f32_ne, a != b)
T2(float, f32_lt, a < b)
T2(float, f32_le, a <= b)

static inline float f32_mod(float a, float b)
{
    float r = fmodf(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline float f32_round(float a)
{
    float whole = truncf(a);
    return fabsf(a - whole) >= 0.5f ? whole + copysignf(1, a) : whole;
}

/* ---- float64: by the C library where it is not one instruction ---- */

F2(double, f64_add, a + b)
F2(double, f64_sub, a - b)
F2(double, f64_mul, a *b)
F2(double, f64_div, a / b)
F2(double, f64_truncdiv, trunc(a / b))
F2(double, f64_floordiv, floor(a / b))
F2(double, f64_ceildiv, ceil(a / b))
F2(double, f64_truncmod, fmod(a, b))
F2(double, f64_max, ((a > b) | (a != a)) ? a : b)
F2(double, f64_min, ((a < b) | (a != a)) ? a : b)
F2(double, f64_pow, pow(a, b))
F2(double, f64_atan2, atan2(a, b))
F1(double, f64_neg, -a)
F1(double, f64_abs, fabs(a))
F1(double, f64_sign, a > 0 ? 1 : a < 0 ? -1 : a)
F1(double, f64_floor, floor(a))
F1(double, f64_ceil, ceil(a))
F1(double, f64_trunc, trunc(a))
F1(double, f64_round_even, rint(a))
F1(double, f64_sqrt, sqrt(a))
F1(double, f64_rsqrt, 1 / sqrt(a))
F1(double, f64_exp, exp(a))
F1(double, f64_exp2, exp2(a))
F1(double, f64_expm1, expm1(a))
F1(double, f64_log, log(a))
F1(double, f64_log2, log2(a))
F1(double, f64_log10, log10(a))
F1(double, f64_log1p, log1p(a))
F1(double, f64_sin, sin(a))
F1(double, f64_cos, cos(a))
F1(double, f64_tan, tan(a))
F1(double, f64_asin, asin(a))
F1(double, f64_acos, acos(a))
F1(double, f64_atan, atan(a))
F1(double, f64_sinh, sinh(a))
F1(double, f64_cosh, cosh(a))
F1(double, f64_tanh, tanh(a))
F1(double, f64_asinh, asinh(a))
F1(double, f64_acosh, acosh(a))
F1(double, f64_atanh, atanh(a))
F1(double, f64_erf, erf(a))
T1(double, f64_isnan, a != a)
T1(double, f64_isinf, fabs(a) == (double)INFINITY)
T1(double, f64_isfinite, fabs(a) < (double)INFINITY)
T2(double, f64_eq, a == b)
T2(double, f64_ne, a != b)
T2(double, f64_lt, a < b)
T2(double, f64_le, a <= b)

static inline double f64_mod(double a, double b)
{
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline double f64_round(double a)
{
    double whole = trunc(a);
    return fabs(a - whole) >= 0.5 ? whole + copysign(1, a) : whole;
}

static inline double f64_sigmoid(double a)
{
    double e = exp(-fabs(a));
    return (a < 0 ? e : 1) / (1 + e);
}

/* ---- strips of scalars.def ---- */

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

static inline float f32_mul_sigmoid(float a, float b)
{
    return a * f32_sigmoid(b);
}
STRIP2(strip_f32_add_relu, f32_add_relu, float32_at, float32_at)
STRIP2(strip_f32_mul_sigmoid, f32_mul_sigmoid, float32_at, float32_at)

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
    ROW2("add_relu", strip_f32_add_relu, BT_FLOAT32, float32, BT_FLOAT32, 60)
        ROW2("mul_sigmoid", strip_f32_mul_sigmoid, BT_FLOAT32, float32, BT_FLOAT32, 500)
#define ROWS(t, IN, type)                                                    \
    { "fma." #type, t##_fma, CPU_MAP3, IN, IN, PS(60, type) },               \
        { "fma." #type ".s", t##_fma_s, CPU_MAP3_S, IN, IN, PS(60, type) },  \
        { "fma_relu." #type, t##_fma_relu, CPU_MAP3, IN, IN, PS(60, type) }, \
        { "fma_relu." #type ".s", t##_fma_relu_s, CPU_MAP3_S, IN, IN, PS(60, type) },
            ROWS(f32, BT_FLOAT32, float32) ROWS(f64, BT_FLOAT64, float64){ 0 },
};
