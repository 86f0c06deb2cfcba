/* Floats of 8 bits: every code by the definition of its format, and rounding against a search
 * among all codes, with exact numbers. */
#include "test.h"

#include <baton/value.h>

#include <math.h>
#include <string.h>

struct format {
    bt_dtype dtype;
    int digits, bias;
    uint32_t most; /* code of the greatest number */
    float (*to_float)(uint8_t);
    uint8_t (*from_double)(double);
};

static const struct format formats[] = {
    { BT_FLOAT8_E4M3FN, 3, 7, 0x7e, bt_float8_e4m3fn_to_float,
      bt_float8_e4m3fn_from_double },
    { BT_FLOAT8_E4M3FNUZ, 3, 8, 0x7f, bt_float8_e4m3fnuz_to_float,
      bt_float8_e4m3fnuz_from_double },
    { BT_FLOAT8_E5M2, 2, 15, 0x7b, bt_float8_e5m2_to_float, bt_float8_e5m2_from_double },
    { BT_FLOAT8_E5M2FNUZ, 2, 16, 0x7f, bt_float8_e5m2fnuz_to_float,
      bt_float8_e5m2fnuz_from_double },
};

static int has_one_zero(const struct format *f)
{
    return f->dtype == BT_FLOAT8_E4M3FNUZ || f->dtype == BT_FLOAT8_E5M2FNUZ;
}

static double size_of(const struct format *f, uint32_t code)
{
    const int exponent = (int)(code >> f->digits);
    const double fraction = ldexp(code & ((1u << f->digits) - 1), -f->digits);
    return exponent ? ldexp(1 + fraction, exponent - f->bias)
                    : ldexp(fraction, 1 - f->bias);
}

static void check_code(const struct format *f, uint32_t code)
{
    const uint32_t size = code & 0x7f;
    const double x = (double)f->to_float((uint8_t)code);
    const uint32_t back = f->from_double(x);
    if (has_one_zero(f) && code == 0x80) {
        assert_true(isnan(x));
        assert_int_equal(back, code);
    } else if (size <= f->most) {
        assert_true(fabs(x) == size_of(f, size));
        assert_int_equal(signbit(x) != 0, code >> 7);
        assert_int_equal(back, code);
    } else if (f->dtype == BT_FLOAT8_E5M2 && size == 0x7c) {
        assert_true(isinf(x) && (x < 0) == (code >> 7 != 0));
        assert_int_equal(back, code);
    } else {
        assert_true(isnan(x) && isnan(f->to_float((uint8_t)back)));
        assert_int_equal(back >> 7, code >> 7);
    }
}

static void test_every_code_round_trips(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < BT_COUNT(formats); k++) {
        for (uint32_t code = 0; code < 256; code++)
            check_code(&formats[k], code);
        assert_true(bt_dtype_most(formats[k].dtype) ==
                    size_of(&formats[k], formats[k].most));
        assert_true(1 + bt_dtype_epsilon(formats[k].dtype) ==
                    size_of(&formats[k], formats[k].from_double(1) + 1u));
    }
}

/* Of a finite number. Where the number after the greatest one would stand counts, too. */
static uint32_t nearest(const struct format *f, double x)
{
    const double size = fabs(x);
    uint32_t low = 0, high = f->most + 1;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (size_of(f, middle) <= size)
            low = middle;
        else
            high = middle;
    }
    const double half_way = (size_of(f, low) + size_of(f, high)) / 2;
    uint32_t code = size > half_way || (size == half_way && low & 1) ? high : low;
    code = code > f->most ? f->most : code;
    return code == 0 && has_one_zero(f) ? 0 : code | (signbit(x) ? 0x80 : 0);
}

static void check_number(const struct format *f, double x)
{
    if (f->from_double(x) != nearest(f, x))
        fail_msg("%a gives %x, not %x", x, f->from_double(x), nearest(f, x));
}

static void test_numbers_are_rounded_once(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < BT_COUNT(formats); k++) {
        const struct format *f = &formats[k];
        for (uint32_t code = 0; code <= f->most; code++) {
            const double a = size_of(f, code), b = size_of(f, code + 1);
            const double tie = (a + b) / 2;
            const double tried[] = { a,
                                     tie,
                                     nextafter(tie, 0),
                                     nextafter(tie, INFINITY),
                                     nextafter(a, INFINITY),
                                     nextafter(b, 0) };
            for (uint32_t i = 0; i < BT_COUNT(tried); i++) {
                check_number(f, tried[i]);
                check_number(f, -tried[i]);
            }
        }
        const double others[] = { 4.9e-324, 1e-300, 1e300, 0x1p-18, 0x1.8p-18 };
        for (uint32_t i = 0; i < BT_COUNT(others); i++) {
            check_number(f, others[i]);
            check_number(f, -others[i]);
        }
        const uint32_t infinite = f->dtype == BT_FLOAT8_E5M2 ? 0x7c : f->most;
        assert_int_equal(f->from_double(INFINITY), infinite);
        assert_int_equal(f->from_double(-INFINITY), infinite | 0x80);
    }
}

static void test_floats_at_steps_are_rounded_once(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 65521) {
        const float x = bt_float_of_bits((uint32_t)bits);
        for (uint32_t k = 0; k < BT_COUNT(formats) && isfinite(x); k++)
            check_number(&formats[k], (double)x);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_code_round_trips),
    cmocka_unit_test(test_numbers_are_rounded_once),
    cmocka_unit_test(test_floats_at_steps_are_rounded_once),
};
TEST_MAIN(tests)
