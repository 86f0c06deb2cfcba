/*
 * Scalar operators: the meaning of each row of scalars.def for floats (f_), integers (i_)
 * and uint64 (u_), and strips of them made from the same list. A row without its code
 * does not compile.
 */
#include "compute/graph/scalar.h"

#include <math.h>
#include <string.h>

#include "value/elements.h"

/* ---- floats ---- */

#define F1(name, expr)                      \
    static inline double f_##name(double a) \
    {                                       \
        return expr;                        \
    }
#define F2(name, expr)                                \
    static inline double f_##name(double a, double b) \
    {                                                 \
        return expr;                                  \
    }

F2(add, a + b)
F2(sub, a - b)
F2(mul, a *b)
F2(div, a / b)
F2(truncdiv, trunc(a / b))
F2(truncmod, fmod(a, b))
F2(floordiv, floor(a / b))
F2(ceildiv, ceil(a / b))
F2(max, a > b || a != a ? a : b)
F2(min, a < b || a != a ? a : b)
F2(pow, pow(a, b))
F2(atan2, atan2(a, b))
F2(zmul, a == 0 || b == 0 ? 0 : a * b)
F1(neg, -a)
F1(abs, fabs(a))
F1(sign, a > 0 ? 1 : a < 0 ? -1 : a)
F1(floor, floor(a))
F1(ceil, ceil(a))
F1(trunc, trunc(a))
F1(round, round(a))
F1(round_even, rint(a))
F1(sqrt, sqrt(a))
F1(rsqrt, 1 / sqrt(a))
F1(exp, exp(a))
F1(exp2, exp2(a))
F1(expm1, expm1(a))
F1(log, log(a))
F1(log2, log2(a))
F1(log10, log10(a))
F1(log1p, log1p(a))
F1(sin, sin(a))
F1(cos, cos(a))
F1(tan, tan(a))
F1(asin, asin(a))
F1(acos, acos(a))
F1(atan, atan(a))
F1(sinh, sinh(a))
F1(cosh, cosh(a))
F1(tanh, tanh(a))
F1(asinh, asinh(a))
F1(acosh, acosh(a))
F1(atanh, atanh(a))
F1(erf, erf(a))

static inline double f_mod(double a, double b)
{
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline double f_sigmoid(double a)
{
    // exp of a positive number could overflow
    double e = exp(-fabs(a));
    return a < 0 ? e / (1 + e) : 1 / (1 + e);
}

/* Tests of floats give 0 or 1. */
#define T1(name, expr)                       \
    static inline int64_t f_##name(double a) \
    {                                        \
        return expr;                         \
    }
#define T2(name, expr)                                 \
    static inline int64_t f_##name(double a, double b) \
    {                                                  \
        return expr;                                   \
    }
T1(isnan, a != a)
T1(isinf, isinf(a) != 0)
T1(isfinite, isfinite(a) != 0)
T2(eq, a == b)
T2(ne, a != b)
T2(lt, a < b)
T2(le, a <= b)

/* ---- integers ---- */

/* Arithmetic in uint64, which wraps. */
#define W(x) ((uint64_t)(x))
#define I1(name, expr)                        \
    static inline int64_t i_##name(int64_t a) \
    {                                         \
        return (int64_t)(expr);               \
    }
#define I2(name, expr)                                   \
    static inline int64_t i_##name(int64_t a, int64_t b) \
    {                                                    \
        return (int64_t)(expr);                          \
    }

I2(add, W(a) + W(b))
I2(sub, W(a) - W(b))
I2(mul, W(a) * W(b))
I2(truncdiv, b == 0 ? 0 : b == -1 ? -W(a) : W(a / b))
I2(div, i_truncdiv(a, b))
I2(truncmod, b == 0 || b == -1 ? 0 : a % b)
I2(floordiv, W(i_truncdiv(a, b)) - (i_truncmod(a, b) != 0 && (a < 0) != (b < 0)))
I2(ceildiv, W(i_truncdiv(a, b)) + (i_truncmod(a, b) != 0 && (a < 0) == (b < 0)))
I2(mod, i_truncmod(a, b) + (i_truncmod(a, b) != 0 && (a < 0) != (b < 0) ? b : 0))
I2(max, a > b ? a : b)
I2(min, a < b ? a : b)
I2(wrap, a < 0 ? W(a) + W(b) : W(a))
I1(neg, -W(a))
I1(abs, a < 0 ? -W(a) : W(a))
I1(sign, (a > 0) - (a < 0))
I1(floor, a)
I1(ceil, a)
I1(trunc, a)
I1(round, a)
I1(round_even, a)
I1(isnan, a & 0)
I1(isinf, a & 0)
I1(isfinite, (a & 0) | 1)
I2(bit_and, a &b)
I2(bit_or, a | b)
I2(bit_xor, a ^ b)
I1(bit_not, ~a)
I2(shift_left, b<0 || b> 63 ? 0 : W(a) << b)
I2(shift_right, b<0 || b> 63 ? (a < 0 ? -1 : 0) : a >> b)
I2(eq, a == b)
I2(ne, a != b)
I2(lt, a < b)
I2(le, a <= b)
I2(and, a &b)
I2(or, a | b)
I1(not, !a)

static inline uint64_t power(uint64_t a, uint64_t b)
{
    uint64_t y = 1;
    for (; b; b >>= 1, a *= a) {
        if (b & 1)
            y *= a;
    }
    return y;
}

static inline int64_t i_pow(int64_t a, int64_t b)
{
    if (b >= 0)
        return (int64_t)power(W(a), W(b));
    return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
}

/* ---- uint64 where it differs ---- */

#define U1(name, expr)                        \
    static inline int64_t u_##name(int64_t x) \
    {                                         \
        uint64_t a = W(x);                    \
        return (int64_t)(expr);               \
    }
#define U2(name, expr)                                   \
    static inline int64_t u_##name(int64_t x, int64_t z) \
    {                                                    \
        uint64_t a = W(x), b = W(z);                     \
        return (int64_t)(expr);                          \
    }
U2(truncdiv, b ? a / b : 0)
U2(div, b ? a / b : 0)
U2(truncmod, b ? a % b : 0)
U2(floordiv, b ? a / b : 0)
U2(ceildiv, b ? a / b + (a % b != 0) : 0)
U2(mod, b ? a % b : 0)
U2(max, a > b ? a : b)
U2(min, a < b ? a : b)
U2(pow, power(a, b))
U2(shift_right, b > 63 ? 0 : a >> b)
U2(lt, a < b)
U2(le, a <= b)
U1(abs, a)
U1(sign, a != 0)

/* An unsigned index is never negative. */
static inline int64_t u_wrap(int64_t a, int64_t b)
{
    (void)b;
    return a;
}

/* ---- strips ---- */

/* Three loops each, so that a value shared by all elements costs no memory and the
 * compiler sees plain strides. */
#define STRIP1(prefix, name, in, to)                                                     \
    static void prefix##strip_##name(uint32_t n, bt_cell *out, const bt_cell *a,         \
                                     uint32_t a_step, const bt_cell *b, uint32_t b_step) \
    {                                                                                    \
        (void)b, (void)b_step, (void)a_step;                                             \
        for (uint32_t i = 0; i < n; i++)                                                 \
            out[i].to = prefix##name(a[i].in);                                           \
    }
#define STRIP2(prefix, name, in, to)                                                     \
    static void prefix##strip_##name(uint32_t n, bt_cell *out, const bt_cell *a,         \
                                     uint32_t a_step, const bt_cell *b, uint32_t b_step) \
    {                                                                                    \
        if (a_step && b_step) {                                                          \
            for (uint32_t i = 0; i < n; i++)                                             \
                out[i].to = prefix##name(a[i].in, b[i].in);                              \
        } else if (a_step) {                                                             \
            const bt_cell fixed = *b;                                                    \
            for (uint32_t i = 0; i < n; i++)                                             \
                out[i].to = prefix##name(a[i].in, fixed.in);                             \
        } else {                                                                         \
            const bt_cell fixed = *a;                                                    \
            for (uint32_t i = 0; i < n; i++)                                             \
                out[i].to = prefix##name(fixed.in, b[i * b_step].in);                    \
        }                                                                                \
    }

/* What each class token makes; float operators give floats, float tests integers. */
#define FLOAT_SAME              f
#define FLOAT_BOOL              i
#define ON_F(narg, name, to)    STRIP##narg(f_, name, f, to)
#define ON_I(narg, name)        STRIP##narg(i_, name, i, i)
#define ON_U(narg, name)        STRIP##narg(u_, name, i, i)
#define MAKE_F(narg, name, to)  ON_F(narg, name, to)
#define MAKE_FI(narg, name, to) ON_F(narg, name, to) ON_I(narg, name)
#define MAKE_FIU(narg, name, to) \
    ON_F(narg, name, to)         \
    ON_I(narg, name)             \
    ON_U(narg, name)
#define MAKE_FIB(narg, name, to)      MAKE_FI(narg, name, to)
#define MAKE_FIBU(narg, name, to)     MAKE_FIU(narg, name, to)
#define MAKE_I(narg, name, to)        ON_I(narg, name)
#define MAKE_IU(narg, name, to)       ON_I(narg, name) ON_U(narg, name)
#define MAKE_IB(narg, name, to)       ON_I(narg, name)
#define MAKE_B(narg, name, to)        ON_I(narg, name)
#define MAKE(classes, narg, name, to) MAKE_##classes(narg, name, to)
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    MAKE(classes, narg, name, FLOAT_##result)
#include <baton/scalars.def>

#define FLOATS         BT_CLASS_BITS_FLOAT
#define INTS           BT_CLASS_BITS_INTEGER
#define BOOLS          BT_CLASS_BITS_BOOL
#define BITS_F         FLOATS
#define BITS_FI        (FLOATS | INTS)
#define BITS_FIU       (FLOATS | INTS)
#define BITS_FIB       (FLOATS | INTS | BOOLS)
#define BITS_FIBU      (FLOATS | INTS | BOOLS)
#define BITS_I         INTS
#define BITS_IU        INTS
#define BITS_IB        (INTS | BOOLS)
#define BITS_B         BOOLS
#define FNS_F(name)    f_strip_##name, NULL, NULL
#define FNS_FI(name)   f_strip_##name, i_strip_##name, i_strip_##name
#define FNS_FIU(name)  f_strip_##name, i_strip_##name, u_strip_##name
#define FNS_FIB(name)  FNS_FI(name)
#define FNS_FIBU(name) FNS_FIU(name)
#define FNS_I(name)    NULL, i_strip_##name, i_strip_##name
#define FNS_IU(name)   NULL, i_strip_##name, u_strip_##name
#define FNS_IB(name)   FNS_I(name)
#define FNS_B(name)    FNS_I(name)
#define IS_SAME        0
#define IS_BOOL        1

/* Whether a trait is there: at least three characters can be read, however short they are. */
#define HAS(traits, trait)                                           \
    ((traits "   ")[0] == (trait) || (traits "   ")[1] == (trait) || \
     (traits "   ")[2] == (trait))
static const struct bt__scalar rows[] = {
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    { #name,                                                                        \
      narg,                                                                         \
      BITS_##classes,                                                               \
      IS_##result,                                                                  \
      HAS(traits, 'c'),                                                             \
      HAS(traits, 'w'),                                                             \
      HAS(traits, 'p'),                                                             \
      ulp,                                                                          \
      derivative,                                                                   \
      FNS_##classes(name) },
#include <baton/scalars.def>
};

const char *bt_scalar_name(uint32_t which)
{
    return rows[which].name;
}

const struct bt__scalar *bt__scalar_get(uint32_t which)
{
    return &rows[which];
}

int bt__scalar_find(const char *name)
{
    for (uint32_t i = 0; i < BT_SCALAR_COUNT; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

bt__strip_fn *bt__scalar_strip(uint32_t which, bt_dtype operands)
{
    const struct bt__scalar *s = bt__scalar_get(which);
    return bt_dtype_is_float(operands) ? s->on_floats
           : operands == BT_UINT64     ? s->on_uint64s
                                       : s->on_ints;
}

bt_cell bt_scalar_eval(uint32_t which, bt_dtype operands, const bt_cell *args)
{
    const struct bt__scalar *row = bt__scalar_get(which);
    bt_cell out;
    bt__scalar_strip(which, operands)(1, &out, &args[0], 1, &args[1], 1);
    if (bt_dtype_is_small_float(operands) && !row->is_test)
        out.f = (float)out.f;
    else if (row->wraps && !bt_dtype_is_float(operands))
        out.i = bt__int_wrap(out.i, operands);
    return out;
}

/* ---- dtypes ---- */

void bt_dtype_limits(bt_dtype d, int64_t *low, int64_t *high)
{
    const uint32_t bits = BT_DTYPE_BITS(d);
    if (BT_DTYPE_CLASS(d) == BT_CLASS_INT) {
        *high = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
        *low = -*high - 1;
        return;
    }
    *low = 0;
    *high = BT_DTYPE_CLASS(d) == BT_CLASS_BOOL ? 1
            : bits >= 64                       ? -1
                                               : (INT64_C(1) << bits) - 1;
}

int64_t bt__dtype_low(bt_dtype d)
{
    int64_t low, high;
    bt_dtype_limits(d, &low, &high);
    return low;
}

int64_t bt__dtype_high(bt_dtype d)
{
    int64_t low, high;
    bt_dtype_limits(d, &low, &high);
    return high;
}

int64_t bt__int_wrap(int64_t v, bt_dtype d)
{
    switch (d) {
    case BT_BOOL: return v & 1;
    case BT_INT8: return (int8_t)v;
    case BT_INT16: return (int16_t)v;
    case BT_INT32: return (int32_t)v;
    case BT_UINT8: return (uint8_t)v;
    case BT_UINT16: return (uint16_t)v;
    case BT_UINT32: return (uint32_t)v;
    case BT_INT4: return bt_int_of_bits(v, 4);
    case BT_UINT4: return v & 15;
    case BT_INT2: return bt_int_of_bits(v, 2);
    case BT_UINT2: return v & 3;
    default: return v;
    }
}

double bt__float_round(double v, bt_dtype d)
{
    uint64_t at;
    if (d == BT_FLOAT32)
        return (float)v;
    if (!bt_dtype_is_small_float(d))
        return v;
    bt_cell_store(&at, d, (bt_cell){ .f = v });
    return bt_cell_load(&at, d).f;
}

/* An integer as a float of the dtype, rounded once. */
static double float_from_int(int64_t v, bt_dtype from, bt_dtype to)
{
    if (to == BT_FLOAT64)
        return from == BT_UINT64 ? bt_double_from_uint(v) : (double)v;
    return bt__float_round(
        from == BT_UINT64 ? bt_sticky_from_uint(v) : bt_sticky_from_int(v), to);
}

static int64_t int_from_float(double v, bt_dtype to)
{
    return to == BT_UINT64 ? bt_double_to_uint(v)
                           : bt_double_to_int(v, bt__dtype_low(to), bt__dtype_high(to));
}

bt_cell bt_cell_cast(bt_cell v, bt_dtype from, bt_dtype to)
{
    // a moved one is of the number that it is made of
    int from_float = bt_dtype_is_real(from), to_float = bt_dtype_is_real(to);
    if (to == BT_BOOL)
        return (bt_cell){ .i = from_float ? v.f != 0 : v.i != 0 };
    if (from_float)
        return to_float ? (bt_cell){ .f = bt__float_round(v.f, to) }
                        : (bt_cell){ .i = int_from_float(v.f, to) };
    return to_float ? (bt_cell){ .f = float_from_int(v.i, from, to) }
                    : (bt_cell){ .i = bt__int_wrap(v.i, to) };
}

bt_cell bt_cell_load(const void *at, bt_dtype d)
{
    bt_cell out = { .i = 0 };
    switch (d) {
#define INT_CASE(UPPER, type) \
    case BT_##UPPER: out.i = (int64_t) * (const type *)at; break;
        INT_CASE(BOOL, uint8_t)
        INT_CASE(INT8, int8_t)
        INT_CASE(INT16, int16_t)
        INT_CASE(INT32, int32_t)
        INT_CASE(INT64, int64_t)
        INT_CASE(UINT8, uint8_t)
        INT_CASE(UINT16, uint16_t)
        INT_CASE(UINT32, uint32_t)
        INT_CASE(UINT64, uint64_t)
    case BT_FLOAT8_E4M3FN: out.f = bt_float8_e4m3fn_to_float(*(const uint8_t *)at); break;
    case BT_FLOAT8_E4M3FNUZ:
        out.f = bt_float8_e4m3fnuz_to_float(*(const uint8_t *)at);
        break;
    case BT_FLOAT8_E5M2: out.f = bt_float8_e5m2_to_float(*(const uint8_t *)at); break;
    case BT_FLOAT8_E5M2FNUZ:
        out.f = bt_float8_e5m2fnuz_to_float(*(const uint8_t *)at);
        break;
    case BT_FLOAT4_E2M1FN:
        out.f = bt_float4_e2m1fn_to_float(bt_packed_get(at, 0, 4));
        break;
    case BT_INT4:
    case BT_UINT4:
    case BT_INT2:
    case BT_UINT2: out.i = bt__int_wrap(*(const uint8_t *)at, d); break;
    case BT_FLOAT16: out.f = bt__half_to_float(*(const uint16_t *)at); break;
    case BT_BFLOAT16: out.f = bt_bfloat_to_float(*(const uint16_t *)at); break;
    case BT_FLOAT32: out.f = *(const float *)at; break;
    case BT_FLOAT64: out.f = *(const double *)at; break;
    default: break;
    }
    return out;
}

void bt_cell_store(void *at, bt_dtype d, bt_cell v)
{
    switch (d) {
    case BT_BOOL:
    case BT_INT8:
    case BT_UINT8: *(uint8_t *)at = (uint8_t)v.i; break;
    case BT_INT16:
    case BT_UINT16: *(uint16_t *)at = (uint16_t)v.i; break;
    case BT_INT32:
    case BT_UINT32: *(uint32_t *)at = (uint32_t)v.i; break;
    case BT_INT64:
    case BT_UINT64: *(int64_t *)at = v.i; break;
    case BT_FLOAT8_E4M3FN:
    case BT_FLOAT8_E4M3FNUZ:
    case BT_FLOAT8_E5M2:
    case BT_FLOAT8_E5M2FNUZ:
    case BT_FLOAT4_E2M1FN: *(uint8_t *)at = bt__float8_from_double(v.f, d); break;
    case BT_INT4:
    case BT_UINT4:
    case BT_INT2:
    case BT_UINT2: *(uint8_t *)at = (uint8_t)(v.i & ((1 << BT_DTYPE_BITS(d)) - 1)); break;
    case BT_FLOAT16: *(uint16_t *)at = bt__short_from_double(v.f, BT_FLOAT16); break;
    case BT_BFLOAT16: *(uint16_t *)at = bt__short_from_double(v.f, BT_BFLOAT16); break;
    case BT_FLOAT32: *(float *)at = (float)v.f; break;
    case BT_FLOAT64: *(double *)at = v.f; break;
    default: break;
    }
}
