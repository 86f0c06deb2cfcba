/* The version. */
#include "test.h"

#include <baton/baton.h>

static void test_version_has_three_numbers(void **state)
{
    (void)state;
    unsigned a, b, c;
    assert_int_equal(sscanf(bt_version(), "%u.%u.%u", &a, &b, &c), 3);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_version_has_three_numbers),
};
TEST_MAIN(tests)
