/* Element types: names, sizes, half floats. */
#include "test.h"

#include <baton/value.h>

#include <math.h>
#include <stdlib.h>

static void test_names_parse_back(void **state)
{
    (void)state;
    static const bt_dtype dtypes[] = {
#define BT_STORED(UPPER, name, class_, bits, c_type)  BT_##UPPER,
#define BT_PACKED(UPPER, name, class_, bits, carrier) BT_##UPPER,
#define BT_MOVED(UPPER, name, class_, bits, part)     BT_##UPPER,
#include <baton/dtypes.def>
        BT_DTYPE(BT_CLASS_FLOAT, 32, 4), BT_DTYPE(BT_CLASS_INT, 3, 1),
        BT_DTYPE(BT_CLASS_BOOL, 8, 65535), BT_DTYPE(255, 255, 65535), BT_DTYPE(7, 64, 1)
    };
    char name[BT_DTYPE_NAME_SIZE];
    for (uint32_t i = 0; i < BT_COUNT(dtypes); i++) {
        bt_dtype_name(dtypes[i], name, sizeof(name));
        assert_int_equal(bt_dtype_parse(name, strlen(name)), dtypes[i]);
    }
    assert_string_equal(bt_dtype_name(BT_BFLOAT16, name, sizeof(name)), "bfloat16");
    assert_string_equal(bt_dtype_name(BT_FLOAT8_E4M3FN, name, sizeof(name)),
                        "float8_e4m3fn");
    assert_string_equal(
        bt_dtype_name(BT_DTYPE(BT_CLASS_FLOAT, 32, 4), name, sizeof(name)), "float32x4");
    assert_string_equal(bt_dtype_name(BT_DTYPE(7, 64, 1), name, sizeof(name)),
                        "class7_64");
    assert_string_equal(bt_dtype_name(0, name, sizeof(name)), "none");
}

static void test_other_names_are_none(void **state)
{
    (void)state;
    static const char *const names[] = { "",
                                         "float",
                                         "float0",
                                         "float032",
                                         "float256",
                                         "float32x",
                                         "float32x1",
                                         "float32x0",
                                         "float32x65536",
                                         "bool8",
                                         "int8 ",
                                         "Int8",
                                         "float32x4x4",
                                         "in",
                                         "uint-8",
                                         "int99999999999",
                                         "class2_32",
                                         "class10_8",
                                         "float8_e4m3f",
                                         "float_e5m2",
                                         "float8_e5m2x1",
                                         "class7",
                                         "class7_",
                                         "class07_8",
                                         "class256_8",
                                         "x4" };
    for (uint32_t i = 0; i < BT_COUNT(names); i++)
        assert_int_equal(bt_dtype_parse(names[i], strlen(names[i])), 0);
    assert_int_equal(bt_dtype_parse("int32", 4), BT_DTYPE(BT_CLASS_INT, 3, 1));
}

static void test_sizes_are_those_of_storage(void **state)
{
    (void)state;
    assert_int_equal(bt_dtype_nbytes(BT_BOOL), 1);
    assert_int_equal(bt_dtype_nbytes(BT_BFLOAT16), 2);
    assert_int_equal(bt_dtype_nbytes(BT_FLOAT8_E5M2), 1);
    assert_int_equal(bt_dtype_nbytes(BT_UINT64), 8);
    assert_int_equal(bt_dtype_nbytes(BT_DTYPE(BT_CLASS_FLOAT, 32, 4)), 0);
    assert_true(bt_dtype_is_stored(BT_FLOAT16));
    assert_false(bt_dtype_is_stored(BT_DTYPE(BT_CLASS_INT, 3, 1)));
    assert_false(bt_dtype_is_stored(0));
}

/* ---- float16 and bfloat16, against a search in the list of all values ---- */

struct format {
    int digits, bias;
    uint16_t infinity;
    float (*to_float)(uint16_t);
    uint16_t (*from_double)(double);
};

static const struct format half = { 10, 15, 0x7c00, bt_half_to_float,
                                    bt_half_from_double };
static const struct format bfloat = { 7, 127, 0x7f80, bt_bfloat_to_float,
                                      bt_bfloat_from_double };

/* The value of a positive finite pattern, by its definition. */
static double defined_value(const struct format *f, uint32_t bits)
{
    int exponent = (int)(bits >> f->digits);
    double fraction = ldexp(bits & ((1u << f->digits) - 1), -f->digits);
    return exponent ? ldexp(1 + fraction, exponent - f->bias)
                    : ldexp(fraction, 1 - f->bias);
}

static void check_all_patterns(const struct format *f)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        uint32_t magnitude = bits & 0x7fff;
        float x = f->to_float((uint16_t)bits);
        assert_int_equal(signbit(x) != 0, bits >> 15);
        if (magnitude > f->infinity) {
            assert_true(isnan(x));
            uint16_t back = f->from_double(x);
            assert_true((back & 0x7fff) > f->infinity);
            assert_int_equal(back >> 15, bits >> 15);
            continue;
        }
        if (magnitude == f->infinity)
            assert_true(isinf(x));
        else
            assert_true(fabs(x) == defined_value(f, magnitude));
        assert_int_equal(f->from_double(x), bits);
    }
}

static void test_every_half_round_trips(void **state)
{
    (void)state;
    check_all_patterns(&half);
}

static void test_every_bfloat_round_trips(void **state)
{
    (void)state;
    check_all_patterns(&bfloat);
}

/* Nearest pattern of a positive double; of two equally near ones the even. The value
 * above the greatest finite one stands where the next would. */
static uint16_t nearest(const struct format *f, double x)
{
    uint32_t low = 0, high = f->infinity;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (defined_value(f, middle) <= x)
            low = middle;
        else
            high = middle;
    }
    double below = defined_value(f, low), above = defined_value(f, high);
    double half_way = below + (above - below) / 2;
    if (x == half_way)
        return (uint16_t)(low & 1 ? high : low);
    return (uint16_t)(x < half_way ? low : high);
}

static void check_rounding(const struct format *f)
{
    for (uint32_t bits = 0; bits < f->infinity; bits++) {
        double a = defined_value(f, bits), b = defined_value(f, bits + 1);
        double half_way = a + (b - a) / 2;
        double tried[] = { half_way, nextafter(half_way, 0),
                           nextafter(half_way, INFINITY), nextafter(a, INFINITY),
                           nextafter(b, 0) };
        for (uint32_t i = 0; i < BT_COUNT(tried); i++) {
            assert_int_equal(f->from_double(tried[i]), nearest(f, tried[i]));
            assert_int_equal(f->from_double(-tried[i]), 0x8000 | nearest(f, tried[i]));
        }
    }
    srand(1);
    for (int i = 0; i < 100000; i++) {
        double x = ldexp(1 + rand() / (RAND_MAX + 1.0), rand() % 320 - 160);
        uint16_t expected =
            x >= 2 * defined_value(f, f->infinity - 1) ? f->infinity : nearest(f, x);
        assert_int_equal(f->from_double(x), expected);
    }
    assert_int_equal(f->from_double(INFINITY), f->infinity);
    assert_int_equal(f->from_double(1e300), f->infinity);
    assert_int_equal(f->from_double(-1e-300), 0x8000);
    assert_int_equal(f->from_double(4.9e-324), 0);
}

static void test_half_rounds_to_nearest_even(void **state)
{
    (void)state;
    check_rounding(&half);
}

static void test_bfloat_rounds_to_nearest_even(void **state)
{
    (void)state;
    check_rounding(&bfloat);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names_parse_back),
    cmocka_unit_test(test_other_names_are_none),
    cmocka_unit_test(test_sizes_are_those_of_storage),
    cmocka_unit_test(test_every_half_round_trips),
    cmocka_unit_test(test_every_bfloat_round_trips),
    cmocka_unit_test(test_half_rounds_to_nearest_even),
    cmocka_unit_test(test_bfloat_rounds_to_nearest_even),
};
TEST_MAIN(tests)
