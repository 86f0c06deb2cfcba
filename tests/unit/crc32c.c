/* CRC-32C against published values, and its two ways against each other. */
#include "test.h"

#include <stdlib.h>

#include "base/crc.h"

/* RFC 3720, section B.4. */
static void test_published_values(void **state)
{
    (void)state;
    unsigned char bytes[32] = { 0 };
    assert_int_equal(bt__crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(bt__crc32c(0, bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(bt__crc32c(0, bytes, 32), 0x62a8ab43u);
    for (unsigned char i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(bt__crc32c(0, bytes, 32), 0x46dd794eu);
    assert_int_equal(bt__crc32c_tables(0, bytes, 32), 0x46dd794eu);
    assert_int_equal(bt__crc32c(0, bytes, 0), 0);
}

static void test_both_ways_agree_at_any_length_and_cut(void **state)
{
    (void)state;
    unsigned char bytes[80];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * 37 + 11);
    for (size_t n = 0; n < sizeof(bytes) - 8; n++) {
        uint32_t whole = bt__crc32c_tables(0, bytes + n % 8, n);
        assert_int_equal(bt__crc32c(0, bytes + n % 8, n), whole);
        uint32_t first = bt__crc32c(0, bytes + n % 8, n / 3);
        assert_int_equal(bt__crc32c(first, bytes + n % 8 + n / 3, n - n / 3), whole);
    }
}

/* Long ones are taken in runs side by side. */
static void test_long_ones(void **state)
{
    (void)state;
    enum { RUNS = 3 << 16, MOST = 2 * RUNS + 100 };
    static const size_t lengths[] = { RUNS - 1, RUNS,         RUNS + 1,
                                      RUNS + 9, 2 * RUNS - 8, 2 * RUNS + 77 };
    unsigned char *bytes = malloc(MOST);
    uint32_t seed = 1;
    assert_non_null(bytes);
    for (size_t i = 0; i < MOST; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(seed >> 24);
    }
    for (size_t i = 0; i < BT_COUNT(lengths); i++) {
        const size_t n = lengths[i], at = i % 8;
        const uint32_t whole = bt__crc32c_tables(7, bytes + at, n);
        assert_int_equal(bt__crc32c(7, bytes + at, n), whole);
        const uint32_t first = bt__crc32c(7, bytes + at, 1000);
        assert_int_equal(bt__crc32c(first, bytes + at + 1000, n - 1000), whole);
    }
    free(bytes);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_published_values),
    cmocka_unit_test(test_both_ways_agree_at_any_length_and_cut),
    cmocka_unit_test(test_long_ones),
};
TEST_MAIN(tests)
