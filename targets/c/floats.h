/*
 * What C has no operator for, as functions: scalars.def of floats in freestanding C99, in
 * double. f_ are right to 4 units of the last place of a double where they are elementary,
 * else exactly; f64_ are their parts. Target c copies those that a kernel calls into its
 * text, so a blank line stands between two functions and nowhere else, and a function calls
 * only those above it.
 *
 * The same bits everywhere: nothing here depends on a C library, and compilers must not
 * contract a product and a sum (-ffp-contract=off).
 */
#include <baton/convert.h>

static double f_inf(void)
{
    return bt_double_of_bits(UINT64_C(0x7ff0000000000000));
}

static double f_nan(void)
{
    return bt_double_of_bits(UINT64_C(0x7ff8000000000000));
}

/* ---- floats: exact ---- */

static int64_t f_isnan(double a)
{
    return (bt_double_bits(a) & UINT64_C(0x7fffffffffffffff)) >
           UINT64_C(0x7ff0000000000000);
}

static int64_t f_isinf(double a)
{
    return (bt_double_bits(a) & UINT64_C(0x7fffffffffffffff)) ==
           UINT64_C(0x7ff0000000000000);
}

static int64_t f_isfinite(double a)
{
    return (bt_double_bits(a) & UINT64_C(0x7fffffffffffffff)) <
           UINT64_C(0x7ff0000000000000);
}

static double f_abs(double a)
{
    return bt_double_of_bits(bt_double_bits(a) & UINT64_C(0x7fffffffffffffff));
}

/* |a| with the sign of b. */
static double f_signed(double a, double b)
{
    return bt_double_of_bits((bt_double_bits(a) & UINT64_C(0x7fffffffffffffff)) |
                             (bt_double_bits(b) & UINT64_C(0x8000000000000000)));
}

static double f_max(double a, double b)
{
    return a > b || f_isnan(a) ? a : b;
}

static double f_min(double a, double b)
{
    return a < b || f_isnan(a) ? a : b;
}

static double f_zmul(double a, double b)
{
    return a == 0 || b == 0 ? 0.0 : a * b;
}

static double f_sign(double a)
{
    return a > 0 ? 1.0 : a < 0 ? -1.0 : a;
}

static double f_trunc(double a)
{
    const uint64_t bits = bt_double_bits(a);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (exponent >= 52)
        return a;
    if (exponent < 0)
        return f_signed(0.0, a);
    return bt_double_of_bits(bits & ~(UINT64_C(0xfffffffffffff) >> exponent));
}

static double f_floor(double a)
{
    const double whole = f_trunc(a);
    return whole > a ? whole - 1 : whole;
}

static double f_ceil(double a)
{
    const double whole = f_trunc(a);
    return whole < a ? f_signed(whole + 1, a) : whole;
}

static double f_round(double a)
{
    const double whole = f_trunc(a);
    return f_abs(a - whole) >= 0.5 ? whole + f_signed(1.0, a) : whole;
}

static double f_round_even(double a)
{
    const double whole = f_trunc(a), rest = f_abs(a - whole), half = 0.5 * whole;
    if (rest > 0.5 || (rest >= 0.5 && f_trunc(half) != half))
        return whole + f_signed(1.0, a);
    return whole;
}

static double f_truncdiv(double a, double b)
{
    return f_trunc(a / b);
}

static double f_floordiv(double a, double b)
{
    return f_floor(a / b);
}

static double f_ceildiv(double a, double b)
{
    return f_ceil(a / b);
}

/* Every subtraction is exact. */
static double f_truncmod(double a, double b)
{
    const double y = f_abs(b);
    double x = f_abs(a), t = y;
    if (!f_isfinite(a) || !(y > 0))
        return f_nan();
    if (!f_isfinite(b))
        return a;
    while (t + t <= x)
        t += t;
    for (; t >= y; t *= 0.5) {
        if (x >= t)
            x -= t;
    }
    return f_signed(x, a);
}

static double f_mod(double a, double b)
{
    const double rest = f_truncmod(a, b);
    return (rest < 0 && b > 0) || (rest > 0 && b < 0) ? rest + b : rest;
}

/* a * 2^k, rounded once. */
static double f_scaled(double a, int k)
{
    const int limited = k < -2000 ? -2000 : k > 2000 ? 2000 : k;
    const int half = limited / 2;
    const double first = bt_double_of_bits((uint64_t)(half + 1023) << 52);
    const double second = bt_double_of_bits((uint64_t)(limited - half + 1023) << 52);
    return a * first * second;
}

/* Of a positive number, *m * 2^k with 1 <= *m < 2; gives k. */
static int f_split(double a, double *m)
{
    const int is_small = a < 0x1p-1022;
    const uint64_t bits = bt_double_bits(is_small ? a * 0x1p54 : a);
    *m = bt_double_of_bits((bits & UINT64_C(0xfffffffffffff)) |
                           UINT64_C(0x3ff0000000000000));
    return (int)(bits >> 52) - 1023 - (is_small ? 54 : 0);
}

/* By Newton's steps, then exactly: the square of the root's 53 digits differs from the
 * argument by less than 64 bits hold, so it is enough to know both modulo 2^64. */
static double f_sqrt(double a)
{
    double m, y;
    int k, i;
    uint64_t square, root;
    int64_t rest;
    if (!(a > 0) || !f_isfinite(a))
        return a < 0 ? f_nan() : a;
    k = f_split(a, &m);
    if (k % 2 != 0) {
        m += m;
        k--;
    }
    y = 0.5 + 0.5 * m;
    for (i = 0; i < 5; i++)
        y = 0.5 * (y + m / y);
    square = (uint64_t)(int64_t)(m * 0x1p52) << 52;
    root = (uint64_t)(int64_t)(y * 0x1p52);
    rest = (int64_t)(square - root * root);
    while (rest < 0) {
        root--;
        rest += (int64_t)(2 * root + 1);
    }
    while (rest > (int64_t)(2 * root)) {
        rest -= (int64_t)(2 * root + 1);
        root++;
    }
    if (rest > (int64_t)root)
        root++;
    return f_scaled((double)(int64_t)root * 0x1p-52, k / 2);
}

static double f_rsqrt(double a)
{
    return 1 / f_sqrt(a);
}

/* ---- floats: exponentials and logarithms ---- */

/* The sum of c[i] * x^i. */
static double f64_series(const double *c, int n, double x)
{
    double y = c[n - 1];
    int i;
    for (i = n - 2; i >= 0; i--)
        y = y * x + c[i];
    return y;
}

/* exp(r) - 1 - r of |r| < 0.36, by its series. */
static double f64_exp_rest(double r)
{
    static const double series[] = { 0x1.0000000000000p-1,  0x1.5555555555555p-3,
                                     0x1.5555555555555p-5,  0x1.1111111111111p-7,
                                     0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13,
                                     0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19,
                                     0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26,
                                     0x1.1eed8eff8d898p-29, 0x1.6124613a86d09p-33,
                                     0x1.93974a8c07c9dp-37 };
    return f64_series(series, 13, r) * r * r;
}

/* exp of a + more, where |more| is small. */
static double f64_exp_sum(double a, double more)
{
    double k, r, tail, x, lost;
    if (f_isnan(a) || a > 710 || a < -750)
        return f_isnan(a) ? a : a > 0 ? f_inf() : 0.0;
    k = f_round(a * 0x1.71547652b82fep+0);
    r = a - k * 0x1.62e42feep-1;
    tail = more - k * 0x1.a39ef35793c76p-33;
    x = r + tail;
    lost = (r - x) + tail;
    return f_scaled(1 + (x + (f64_exp_rest(x) + (lost + lost * x))), (int)k);
}

static double f_exp(double a)
{
    return f64_exp_sum(a, 0.0);
}

static double f_exp2(double a)
{
    double k, r;
    if (f_isnan(a) || a > 1025 || a < -1080)
        return f_isnan(a) ? a : a > 0 ? f_inf() : 0.0;
    k = f_round(a);
    r = (a - k) * 0x1.62e42fefa39efp-1;
    return f_scaled(1 + (r + f64_exp_rest(r)), (int)k);
}

static double f_expm1(double a)
{
    double k, r, tail, x, power;
    if (f_isnan(a) || a == 0 || a > 700)
        return a == 0 ? a : f_exp(a);
    if (a < -50)
        return -1.0;
    if (f_abs(a) < 0.35)
        return a + f64_exp_rest(a);
    k = f_round(a * 0x1.71547652b82fep+0);
    r = a - k * 0x1.62e42feep-1;
    tail = -k * 0x1.a39ef35793c76p-33;
    x = r + tail;
    power = f_scaled(1.0, (int)k);
    return (power - 1) + power * (x + (f64_exp_rest(x) + ((r - x) + tail)));
}

/* log((1 + s) / (1 - s)) / s of |s| < 0.1716, by its series of z = s * s: what stands
 * behind 2 + z * 2 / 3, by z * z. */
static double f64_log_tail(double z)
{
    static const double series[] = { 0x1.999999999999ap-2, 0x1.2492492492492p-2,
                                     0x1.c71c71c71c71cp-3, 0x1.745d1745d1746p-3,
                                     0x1.3b13b13b13b14p-3, 0x1.1111111111111p-3,
                                     0x1.e1e1e1e1e1e1ep-4, 0x1.af286bca1af28p-4,
                                     0x1.8618618618618p-4, 0x1.642c8590b2164p-4 };
    return f64_series(series, 10, z);
}

/* The same, behind 2. */
static double f64_log_rest(double z)
{
    return (f64_log_tail(z) * z + 0x1.5555555555555p-1) * z;
}

/* log(1 + f) of sqrt(1/2) <= 1 + f < sqrt(2). */
static double f64_log_near(double f)
{
    const double s = f / (2 + f), half = 0.5 * f * f;
    return f - (half - s * (half + f64_log_rest(s * s)));
}

/* As f_split, with sqrt(1/2) <= *m < sqrt(2). */
static int f64_log_split(double a, double *m)
{
    const int k = f_split(a, m);
    if (*m < 0x1.6a09e667f3bcdp+0)
        return k;
    *m *= 0.5;
    return k + 1;
}

/* Whether a has no finite logarithm; *out is then what it has. */
static int f64_log_edge(double a, double *out)
{
    *out = a < 0 ? f_nan() : f_isnan(a) || a > 0 ? a : -f_inf();
    return !(a > 0) || !f_isfinite(a);
}

static double f_log(double a)
{
    double m, out;
    int k;
    if (f64_log_edge(a, &out))
        return out;
    k = f64_log_split(a, &m);
    return k * 0x1.62e42feep-1 + (f64_log_near(m - 1) + k * 0x1.a39ef35793c76p-33);
}

static double f_log2(double a)
{
    double m, out;
    int k;
    if (f64_log_edge(a, &out))
        return out;
    k = f64_log_split(a, &m);
    return k + f64_log_near(m - 1) * 0x1.71547652b82fep+0;
}

static double f_log10(double a)
{
    double m, out;
    int k;
    if (f64_log_edge(a, &out))
        return out;
    k = f64_log_split(a, &m);
    return k * 0x1.34413508p-2 +
           (f64_log_near(m - 1) * 0x1.bcb7b1526e50ep-2 + k * 0x1.f79fef311f12bp-34);
}

static double f_log1p(double a)
{
    const double whole = 1 + a;
    double out;
    if (a > -0.25 && a < 0.25)
        return a == 0 ? a : f64_log_near(a);
    if (f64_log_edge(whole, &out))
        return f_isnan(a) ? a : out;
    return f_log(whole) + (a > 1 ? (1 - (whole - a)) : a - (whole - 1)) / whole;
}

static double f_sigmoid(double a)
{
    const double e = f_exp(-f_abs(a));
    return (a < 0 ? e : 1.0) / (1 + e);
}

static double f_sinh(double a)
{
    const double x = f_abs(a);
    double e;
    if (x > 700) {
        e = f_exp(0.5 * x);
        return f_signed(0.5 * e * e, a);
    }
    e = f_expm1(x);
    return f_isnan(a) ? a : f_signed(0.5 * (e + e / (e + 1)), a);
}

static double f_cosh(double a)
{
    const double x = f_abs(a), e = f_exp(x > 700 ? 0.5 * x : x);
    return x > 700 ? 0.5 * e * e : 0.5 * e + 0.5 / e;
}

static double f_tanh(double a)
{
    const double x = f_abs(a);
    double e;
    if (f_isnan(a) || x > 22)
        return f_isnan(a) ? a : f_signed(1.0, a);
    e = f_expm1(2 * x);
    return f_signed(e / (e + 2), a);
}

static double f_asinh(double a)
{
    const double x = f_abs(a), z = x * x;
    if (!f_isfinite(a))
        return a;
    if (x > 0x1p28)
        return f_signed(f_log(x) + 0x1.62e42fefa39efp-1, a);
    return f_signed(f_log1p(x + z / (1 + f_sqrt(z + 1))), a);
}

static double f_acosh(double a)
{
    const double t = a - 1;
    if (a < 1)
        return f_nan();
    if (a > 0x1p28)
        return f_log(a) + 0x1.62e42fefa39efp-1;
    return f_log1p(t + f_sqrt(t * (t + 2)));
}

static double f_atanh(double a)
{
    const double x = f_abs(a);
    if (f_isnan(a) || x > 1)
        return f_nan();
    return f_signed(0.5 * f_log1p(2 * x / (1 - x)), a);
}

/* ---- floats: powers ---- */

/* a * b as a sum of two, exactly. */
static double f64_product(double a, double b, double *low)
{
    const double p = a * b;
    const double s = a * 134217729.0, t = b * 134217729.0;
    const double ah = s - (s - a), bh = t - (t - b), al = a - ah, bl = b - bh;
    *low = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    return p;
}

/* log of a positive number as a sum of two. */
static double f64_log_sum(double a, double *low)
{
    double m, f, d, s, rest, z, high, more, cube, part, sum;
    const int k = f64_log_split(a, &m);
    f = m - 1;
    d = 2 + f;
    s = f / d;
    high = f64_product(s, d, &more);
    rest = ((f - high) - more - s * (f - (d - 2))) / d; // of s
    z = f64_product(s, s, &more);
    cube = f64_product(z, 0x1.5555555555555p-1, &part);
    part += z * 0x1.5555555555555p-55 + more * 0x1.5555555555555p-1;
    more = s * part;
    cube = f64_product(s, cube, &part);
    more += part + 2 * rest + 2 * z * rest + s * (z * z * f64_log_tail(z));
    high = 2 * s + cube;
    more += (2 * s - high) + cube;
    sum = k * 0x1.62e42feep-1 + high;
    more += (k * 0x1.62e42feep-1 - sum) + high + k * 0x1.a39ef35793c76p-33;
    high = sum + more;
    *low = (sum - high) + more;
    return high;
}

static double f_pow(double a, double b)
{
    const double size = f_abs(a), half = 0.5 * b;
    const int is_whole = f_isinf(b) || f_trunc(b) == b;
    const int is_odd = is_whole && f_isfinite(b) && f_trunc(half) != half;
    const double sign = is_odd ? f_signed(1.0, a) : 1.0;
    double high, low, product, rest;
    if (a == 1 || b == 0)
        return 1.0;
    if (f_isnan(a) || f_isnan(b))
        return f_nan();
    if (f_isinf(b))
        return size == 1 ? 1.0 : (size > 1) == (b > 0) ? f_inf() : 0.0;
    if (size == 0 || f_isinf(a))
        return (size > 0) == (b > 0) ? sign * f_inf() : sign * 0.0;
    if (a < 0 && !is_whole)
        return f_nan();
    high = f64_log_sum(size, &low);
    if (f_abs(b) > 0x1p80 || f_abs(high * b) > 1000)
        return high == 0 ? sign : (high > 0) == (b > 0) ? sign * f_inf() : sign * 0.0;
    product = f64_product(high, b, &rest);
    return sign * f64_exp_sum(product, rest + low * b);
}

/* ---- floats: angles ---- */

/* |a| from 2^19 on in quarter turns, modulo 4: a product with those bits of 2 / pi that
 * matter. Gives the angle that is left, in radians; *quarter: whole quarter turns. */
static double f64_turn_large(double a, uint32_t *quarter)
{
    static const uint32_t bits[] = {
        0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
        0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
        0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41,
        0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
        0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
        0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08,
        0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d
    };
    const uint64_t pattern = bt_double_bits(a);
    const uint64_t m = (pattern & UINT64_C(0xfffffffffffff)) | UINT64_C(1) << 52;
    // bits of weight 4 and more after the product are not needed; before the point are none
    const int skip = (int)(pattern >> 52 & 0x7ff) - 1075 - 2 + 64;
    uint64_t factors[2], digits[7] = { 0 }, high, low;
    double turn;
    int i, k;
    factors[0] = m & 0xffffffff;
    factors[1] = m >> 32;
    for (i = 4; i >= 0; i--) {
        const int at = skip / 32 + i - 2, shift = skip % 32;
        const uint64_t first = at >= 0 && at < 40 ? bits[at] : 0;
        const uint64_t second = at + 1 >= 0 && at + 1 < 40 ? bits[at + 1] : 0;
        const uint64_t word = ((first << 32 | second) >> (32 - shift)) & 0xffffffff;
        for (k = 0; k < 2 && i - k >= 0; k++) {
            const uint64_t product = word * factors[k];
            uint64_t carry = product;
            int to = i - k;
            for (; to >= 0 && carry; to--) {
                carry += digits[to];
                digits[to] = carry & 0xffffffff;
                carry >>= 32;
            }
        }
    }
    high = (digits[0] << 34 | digits[1] << 2 | digits[2] >> 30);
    low = (digits[2] << 34 | digits[3] << 2 | digits[4] >> 30);
    *quarter = (uint32_t)(digits[0] >> 30);
    if (high >> 63) // the nearest whole one
        ++*quarter;
    turn = (double)(int64_t)(high & ~UINT64_C(0x7ff)) * 0x1p-64;
    turn += (double)(int64_t)(high & 0x7ff) * 0x1p-64 +
            (double)(int64_t)(low >> 1) * 0x1p-127;
    *quarter = a < 0 ? 0 - *quarter : *quarter;
    turn = turn * 0x1.921fb54442d18p+0;
    return a < 0 ? -turn : turn;
}

static double f64_turn(double a, uint32_t *quarter)
{
    double k, r;
    *quarter = 0;
    if (!f_isfinite(a))
        return f_nan();
    if (f_abs(a) >= 0x1p19)
        return f64_turn_large(a, quarter);
    k = f_round(a * 0x1.45f306dc9c883p-1);
    r = (a - k * 0x1.921fb544p+0) - k * 0x1.0b4611a6p-34;
    *quarter = (uint32_t)(int32_t)k;
    return (r - k * 0x1.3198a2ep-69) - k * 0x1.b839a252049c1p-104;
}

/* Of |r| <= pi / 4, by its series. */
static double f64_sin(double r)
{
    const double z = r * r;
    static const double series[] = { -0x1.5555555555555p-3,  0x1.1111111111111p-7,
                                     -0x1.a01a01a01a01ap-13, 0x1.71de3a556c734p-19,
                                     -0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33,
                                     -0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49 };
    return r + r * (z * f64_series(series, 8, z));
}

static double f64_cos(double r)
{
    const double z = r * r, half = 0.5 * z, first = 1 - half;
    static const double series[] = { 0x1.5555555555555p-5,  -0x1.6c16c16c16c17p-10,
                                     0x1.a01a01a01a01ap-16, -0x1.27e4fb7789f5cp-22,
                                     0x1.1eed8eff8d898p-29, -0x1.93974a8c07c9dp-37,
                                     0x1.ae7f3e733b81fp-45, -0x1.6827863b97d97p-53 };
    return first + (((1 - first) - half) + z * z * f64_series(series, 8, z));
}

static double f_sin(double a)
{
    uint32_t quarter;
    const double r = f64_turn(a, &quarter);
    const double y = quarter & 1 ? f64_cos(r) : f64_sin(r);
    return a == 0 ? a : quarter & 2 ? -y : y;
}

static double f_cos(double a)
{
    uint32_t quarter;
    const double r = f64_turn(a, &quarter);
    const double y = quarter & 1 ? f64_sin(r) : f64_cos(r);
    return (quarter + 1) & 2 ? -y : y;
}

static double f_tan(double a)
{
    uint32_t quarter;
    const double r = f64_turn(a, &quarter), s = f64_sin(r), c = f64_cos(r);
    return a == 0 ? a : quarter & 1 ? -c / s : s / c;
}

/* Of 0 <= a <= 1: that of the nearest eighth, and the series of what is left. */
static double f64_atan(double a)
{
    static const double eighths[] = {
        0x0p+0,
        0x1.fd5ba9aac2f6ep-4,
        0x1.f5b75f92c80ddp-3,
        0x1.6f61941e4def1p-2,
        0x1.dac670561bb4fp-2,
        0x1.1e00babdefeb4p-1,
        0x1.4978fa3269ee1p-1,
        0x1.700a7c5784634p-1,
        0x1.921fb54442d18p-1,
    };
    const int i = (int)(8 * a + 0.5);
    const double c = 0.125 * i, t = (a - c) / (1 + a * c), z = t * t;
    static const double series[] = { 0x1.5555555555555p-2, -0x1.999999999999ap-3,
                                     0x1.2492492492492p-3, -0x1.c71c71c71c71cp-4,
                                     0x1.745d1745d1746p-4, -0x1.3b13b13b13b14p-4,
                                     0x1.1111111111111p-4 };
    return eighths[i] + (t - t * (z * f64_series(series, 7, z)));
}

static double f_atan2(double a, double b)
{
    const double y = f_abs(a), x = f_abs(b);
    double angle;
    if (f_isnan(a) || f_isnan(b))
        return f_nan();
    if (x == y)
        angle = x == 0 ? 0.0 : 0x1.921fb54442d18p-1;
    else
        angle = y < x ? f64_atan(y / x)
                      : 0x1.921fb54442d18p+0 - (f64_atan(x / y) - 0x1.1a62633145c07p-54);
    if (bt_double_bits(b) >> 63)
        angle = 0x1.921fb54442d18p+1 - (angle - 0x1.1a62633145c07p-53);
    return f_signed(angle, a);
}

static double f_atan(double a)
{
    return f_atan2(a, 1.0);
}

static double f_asin(double a)
{
    return f_atan2(a, f_sqrt((1 - a) * (1 + a)));
}

static double f_acos(double a)
{
    return f_atan2(f_sqrt((1 - a) * (1 + a)), a);
}

/* By polynomials around the middles of 0..1 (of the square), 1..2, 2..3, 3..4.5, 4.5..6. */
static double f_erf(double a)
{
    static const double near[] = { 0x1.ee51eb23cb7eap-1,  -0x1.1fd16292151fdp-2,
                                   0x1.454368017b042p-4,  -0x1.2b902b7b2f28ep-6,
                                   0x1.c82aa249df460p-9,  -0x1.263991b802ee6p-11,
                                   0x1.486638bc9befep-14, -0x1.429e93e668f24p-17,
                                   0x1.1ad5edf90dd80p-20, -0x1.bf8d2c72b9b8cp-24,
                                   0x1.428e938efe043p-27, -0x1.acbabce2865e7p-31,
                                   0x1.05ffd737fb32ep-34 };
    static const double far[4][19] = {
        { 0x1.eea5557137ae0p-1, 0x1.e723726b824a9p-4, -0x1.6d5a95d0a1b3ap-3,
          0x1.1c2a02beb6a99p-3, -0x1.6d5a95d0a8e2dp-5, -0x1.e723726b75a2bp-7,
          0x1.3ca3d72e94d2cp-6, -0x1.36d73a65ecb0ap-8, -0x1.35ae4fb43b234p-9,
          0x1.c0380d88e655ap-10, -0x1.85b3d151e9cfdp-14, -0x1.0acf353ecb714p-12,
          0x1.45cc7994de082p-14, 0x1.2d574ba32d17bp-16, -0x1.d70efbc5f9ed6p-17,
          0x1.32b587a24f780p-21, 0x1.7c67db8e155e0p-20, -0x1.305d37a851c9dp-22, 0 },
        { 0x1.ffcaa8f4c9beap-1, 0x1.1d83170fbf6fcp-9, -0x1.64e3dcd3af2d3p-8,
          0x1.119da0c46cc88p-7, -0x1.1a89b97cf1214p-7, 0x1.90e81283fccadp-8,
          -0x1.6ecdbf63b4dcep-9, 0x1.1c610bc8e5f86p-11, 0x1.11551b52fb796p-12,
          -0x1.06717857ad0fap-12, 0x1.4a84c20123815p-14, 0x1.58bbca2bba994p-18,
          -0x1.d88c48f8a82b3p-17, 0x1.3ad68181439ecp-18, 0x1.9f3af4d2b1565p-23,
          -0x1.595d63766c65ep-21, 0x1.495bf0556d5dep-23, 0x1.8353e53661806p-26, 0 },
        { 0x1.fffffc2f171e3p-1, 0x1.d9371e304c6c8p-21, -0x1.bba3ac4cf5594p-19,
          0x1.0b6a7b0ce6334p-17, -0x1.d06f5860e1d5cp-17, 0x1.3436bcc269adfp-16,
          -0x1.4357b54fb2ddap-16, 0x1.110de2acad9aep-16, -0x1.7566bf7360902p-17,
          0x1.99f6016a878edp-18, -0x1.5d68f3f2301bcp-19, 0x1.a03a759af8699p-21,
          -0x1.833bd91deaad0p-24, -0x1.eafd1507c4e5fp-25, 0x1.6e21557e3308fp-25,
          -0x1.f214ca0233bbap-27, 0x1.c739a7f7b36f7p-30, 0x1.2e4e9cae5ea1bp-30,
          -0x1.10affd3496e91p-31 },
        { 0x1.ffffffffffc05p-1, 0x1.5422642be0ea3p-40, -0x1.be6dd17103979p-38,
          0x1.7f8cf5428b65ap-36, -0x1.e4cba7ff7b550p-35, 0x1.e032b03b2ee96p-34,
          -0x1.83e80851d53e4p-33, 0x1.068b924b45a52p-32, -0x1.2ed1f4a535cc2p-32,
          0x1.2d0fb6d35f155p-32, -0x1.07365cafb7b5cp-32, 0x1.9be5731082e08p-33,
          -0x1.13bffa7eb9339p-33, 0x1.2ae1d462cde1ap-34, -0x1.4ce0f171f0189p-35,
          0x1.b98ef919ff12cp-36, -0x1.45232a611dec3p-37, 0, 0 }
    };
    static const double middles[] = { 1.5, 2.5, 3.75, 5.25 };
    const double x = f_abs(a);
    int which;
    if (f_isnan(a) || x >= 6)
        return f_isnan(a) ? a : f_signed(1.0, a);
    if (x < 1)
        return f64_series(near, 13, a * a - 0.5) * a;
    which = x < 2 ? 0 : x < 3 ? 1 : x < 4.5 ? 2 : 3;
    return f_signed(f64_series(far[which], 19, x - middles[which]), a);
}
