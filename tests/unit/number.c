/* Decimal to binary and back, against the C library where that is right. */
#include "test.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "value/decimal.h"

static uint64_t seed = 12345;
static uint64_t random64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static double read_as(const char *text, bt_dtype dtype)
{
    return bt__float_read(text, strlen(text), bt__float_format_of(dtype));
}

static void test_decimals_round_as_the_c_library_does(void **state)
{
    (void)state;
    static const char *const hard[] = {
        "0",
        "1",
        "0.1",
        "123456789.123456789",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "9007199254740993",
        "9007199254740992.5",
        "1e-400",
        "1e22",
        "1e23",
        "8.5e-46",
        "7.006492321624085e-46",
        "3.4028235677973366e38",
        "3.4028235e38",
        "16777217",
        "1.00000017881393421514957253748434595763683319091796875001",
        "1.00000017881393421514957253748434595763683319091796875",
        "0.000000000000000000000000000000000000000000000000000001e54",
        "100000000000000000000000000000000000000000000000000000000000000000000e-68",
    };
    for (size_t i = 0; i < sizeof(hard) / sizeof(*hard); i++) {
        assert_true(read_as(hard[i], BT_FLOAT64) == strtod(hard[i], NULL));
        assert_true(read_as(hard[i], BT_FLOAT32) == (double)strtof(hard[i], NULL));
    }
    for (int i = 0; i < 100000; i++) {
        char text[80];
        int exponent = (int)(random64() % 700) - 350;
        snprintf(text, sizeof(text), "%llu.%llue%d",
                 (unsigned long long)(random64() >> random64() % 64),
                 (unsigned long long)(random64() >> random64() % 64), exponent);
        if (read_as(text, BT_FLOAT64) != strtod(text, NULL) ||
            read_as(text, BT_FLOAT32) != (double)strtof(text, NULL))
            fail_msg("%s", text);
    }
}

static void test_long_decimals_keep_their_last_digit(void **state)
{
    (void)state;
    // Half way between 1 and the next float64, then a trace more, 1000 digits later.
    char text[1200] = "1.00000000000000011102230246251565404236316680908203125";
    assert_true(read_as(text, BT_FLOAT64) == 1.0);
    size_t n = strlen(text);
    memset(text + n, '0', 1000);
    text[n + 1000] = '1';
    text[n + 1001] = 0;
    assert_true(read_as(text, BT_FLOAT64) == 1.0 + DBL_EPSILON);
    memset(text, '9', 1100);
    text[1100] = 0;
    assert_true(isinf(read_as(text, BT_FLOAT64)));
}

/* The written text, in the arena. */
static const char *write_as(bt_arena *arena, double value, bt_dtype dtype)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt__float_write(&text, value, bt__float_format_of(dtype));
    return bt_text_get(&text);
}

static double read_signed(const char *text, bt_dtype dtype)
{
    return *text == '-' ? -read_as(text + 1, dtype) : read_as(text, dtype);
}

static void test_what_is_written_reads_back(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    bt_arena *arena = bt_arena_create(r);
    const void *mark = bt_arena_mark(arena);
    for (uint32_t i = 0; i < 0x10000; i++) {
        double half = bt_half_to_float((uint16_t)i);
        double bfloat = bt_bfloat_to_float((uint16_t)i);
        if (isfinite(half))
            assert_true(read_signed(write_as(arena, half, BT_FLOAT16), BT_FLOAT16) ==
                        half);
        if (isfinite(bfloat))
            assert_true(read_signed(write_as(arena, bfloat, BT_BFLOAT16), BT_BFLOAT16) ==
                        bfloat);
        bt_arena_release(arena, mark);
    }
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random64();
        uint32_t low = (uint32_t)bits;
        double wide;
        float narrow;
        memcpy(&wide, &bits, sizeof(wide));
        memcpy(&narrow, &low, sizeof(narrow));
        if (isfinite(wide))
            assert_true(read_signed(write_as(arena, wide, BT_FLOAT64), BT_FLOAT64) ==
                        wide);
        if (isfinite(narrow))
            assert_true(read_signed(write_as(arena, (double)narrow, BT_FLOAT32),
                                    BT_FLOAT32) == (double)narrow);
        bt_arena_release(arena, mark);
    }
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

static void test_the_shortest_form_is_written(void **state)
{
    (void)state;
    bt_registry *r = bt_registry_create(NULL);
    bt_arena *arena = bt_arena_create(r);
    static const struct {
        double value;
        bt_dtype dtype;
        const char *text;
    } rows[] = {
        { 0.1, BT_FLOAT64, "0.1" },
        { (double)0.1f, BT_FLOAT32, "0.1" },
        { (double)0.1f, BT_FLOAT64, "0.10000000149011612" },
        { -0.0, BT_FLOAT32, "-0" },
        { 1e-5, BT_FLOAT64, "1e-05" },
        { 0.00015, BT_FLOAT64, "0.00015" },
        { 1e15, BT_FLOAT64, "1000000000000000" },
        { 1e16, BT_FLOAT64, "1e+16" },
        { 1.5e300, BT_FLOAT64, "1.5e+300" },
        { 123456.75, BT_FLOAT32, "123456.75" },
        { INFINITY, BT_FLOAT16, "inf" },
        { -INFINITY, BT_FLOAT16, "-inf" },
        { 5e-324, BT_FLOAT64, "5e-324" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_string_equal(write_as(arena, rows[i].value, rows[i].dtype), rows[i].text);
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

/* A process whose numbers have a comma. 0: its locale cannot be made here. */
static int take_comma(char *folder)
{
    char command[200];
    if (setenv("LOCPATH", folder, 1) != 0)
        return 0;
    snprintf(command, sizeof(command),
             "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 > %s/said 2>&1", folder, folder);
    return system(command) == 0 && setlocale(LC_ALL, "de_DE.UTF-8") &&
           *localeconv()->decimal_point == ',';
}

static void test_texts_are_the_same_in_a_locale_with_a_comma(void **state)
{
    (void)state;
    char folder[] = "/tmp/baton_localeXXXXXX", command[80];
    assert_non_null(mkdtemp(folder));
    const int is_comma = take_comma(folder);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    if (!is_comma) {
        print_message(
            "localedef makes no de_DE.UTF-8 (Debian: packages libc-bin, locales)\n");
        skip();
    }
    bt_registry *r = bt_registry_create(NULL);
    bt_arena *arena = bt_arena_create(r);
    bt_text text;
    double back;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%g %.3f %s", 0.5, -1.25, "1,5 Äpfel");
    assert_string_equal(bt_text_get(&text), "0.5 -1.250 1,5 Äpfel");
    assert_string_equal(write_as(arena, 1.5e300, BT_FLOAT64), "1.5e+300");
    assert_int_equal(bt_number_read("0.25,", &back), 4);
    assert_true(back == 0.25);
    assert_int_equal(*localeconv()->decimal_point, ','); // the process's own is left
    setlocale(LC_ALL, "C");
    bt_arena_destroy(arena);
    bt_registry_unref(r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_decimals_round_as_the_c_library_does),
    cmocka_unit_test(test_long_decimals_keep_their_last_digit),
    cmocka_unit_test(test_what_is_written_reads_back),
    cmocka_unit_test(test_the_shortest_form_is_written),
    cmocka_unit_test(test_texts_are_the_same_in_a_locale_with_a_comma),
};
TEST_MAIN(tests)
