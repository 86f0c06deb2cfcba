/* Functions that target c writes, against the C library: within what scalars.def allows, and
 * exactly where it allows nothing. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include <baton/value.h>

#include "floats.h"
#include "integers.h" // behind it
#include "test.h"

static double allowed(const char *name)
{
    static const struct {
        const char *name;
        int ulp;
    } rows[] = {
#define BT_SCALAR(UPPER, name, narg, classes, result, traits, ulp, derivative, doc) \
    { #name, ulp },
#include <baton/scalars.def>
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].ulp;
    }
    fail_msg("%s is no scalar operator", name);
    return 0;
}

static uint64_t seed = 88172645463325252U;
static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static double value(void)
{
    static const double special[] = {
        0,
        -0.0,
        1,
        -1,
        0.5,
        -0.5,
        1.5,
        2.5,
        INFINITY,
        -INFINITY,
        NAN,
        0x1p1023,
        0x1p-1074,
        0x1p-1022,
        709.78,
        -745.2,
        0x1.921fb54442d18p+1,
        2,
        10,
        1000,
        0.70710678118654757,
        0x1p52,
        -0x1p53,
        6,
    };
    const double u = (double)(draw() >> 11) * 0x1p-53;
    switch (draw() % 7) {
    case 0: return (u - 0.5) * 4;
    case 1: return (u - 0.5) * 40;
    case 2: return bt_double_of_bits(draw());
    case 3: return u * 0x1p-10;
    case 4: return (u - 0.5) * 1500;
    case 5: return 1 + (u - 0.5) * 0x1p-10;
    default: return special[draw() % (sizeof(special) / sizeof(special[0]))];
    }
}

/* In units of the last place of what is right. */
static double distance(double got, double want)
{
    if ((isnan(got) && isnan(want)) || (got == want && signbit(got) == signbit(want)))
        return 0;
    if (isnan(got) || isnan(want) || isinf(got) || isinf(want) || got == want)
        return INFINITY;
    const double above = fabs(nextafter(want, INFINITY) - want),
                 below = fabs(nextafter(want, -INFINITY) - want);
    return fabs(got - want) / (below < above ? below : above);
}

enum { TIMES = 200000 };

static void check_one(const char *name, double (*got)(double), double (*want)(double))
{
    for (int i = 0; i < TIMES; i++) {
        const double a = value();
        if (distance(got(a), want(a)) > allowed(name))
            fail_msg("%s(%a) is %a, not %a", name, a, got(a), want(a));
    }
}

static void check_two(const char *name, double (*got)(double, double),
                      double (*want)(double, double))
{
    for (int i = 0; i < TIMES; i++) {
        const double a = value(), b = value();
        if (distance(got(a, b), want(a, b)) > allowed(name))
            fail_msg("%s(%a, %a) is %a, not %a", name, a, b, got(a, b), want(a, b));
    }
}

static double rsqrt_by_library(double a)
{
    return 1 / sqrt(a);
}

static double product_but_of_zero(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

static void test_exact_functions_have_the_bits_of_the_library(void **state)
{
    (void)state;
    check_one("abs", f_abs, fabs);
    check_one("floor", f_floor, floor);
    check_one("ceil", f_ceil, ceil);
    check_one("trunc", f_trunc, trunc);
    check_one("round", f_round, round);
    check_one("round_even", f_round_even, rint);
    check_one("sqrt", f_sqrt, sqrt);
    check_two("truncmod", f_truncmod, fmod);
    check_two("zmul", f_zmul, product_but_of_zero);
}

static void test_elementary_functions_are_within_the_list(void **state)
{
    (void)state;
    check_one("rsqrt", f_rsqrt, rsqrt_by_library);
    check_one("exp", f_exp, exp);
    check_one("exp2", f_exp2, exp2);
    check_one("expm1", f_expm1, expm1);
    check_one("log", f_log, log);
    check_one("log2", f_log2, log2);
    check_one("log10", f_log10, log10);
    check_one("log1p", f_log1p, log1p);
    check_one("sin", f_sin, sin);
    check_one("cos", f_cos, cos);
    check_one("tan", f_tan, tan);
    check_one("asin", f_asin, asin);
    check_one("acos", f_acos, acos);
    check_one("atan", f_atan, atan);
    check_one("sinh", f_sinh, sinh);
    check_one("cosh", f_cosh, cosh);
    check_one("tanh", f_tanh, tanh);
    check_one("asinh", f_asinh, asinh);
    check_one("acosh", f_acosh, acosh);
    check_one("atanh", f_atanh, atanh);
    check_one("erf", f_erf, erf);
    check_two("pow", f_pow, pow);
    check_two("atan2", f_atan2, atan2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_exact_functions_have_the_bits_of_the_library),
    cmocka_unit_test(test_elementary_functions_are_within_the_list),
};
TEST_MAIN(tests)
