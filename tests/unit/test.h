/* What every unit test includes. A test program ends in TEST_MAIN(tests); its argument is
 * one test's name, none runs all. */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <baton/base.h>

/* Fails the test with the rendered diagnostic unless the status is success. */
#define assert_ok(ctx, expr)                                 \
    do {                                                     \
        bt_status assert_status = (expr);                    \
        if (assert_status) {                                 \
            bt_text assert_text;                             \
            bt_text_init(&assert_text, bt_ctx_scratch(ctx)); \
            bt_diag_render(assert_status, 0, &assert_text);  \
            fail_msg("%s", bt_text_get(&assert_text));       \
        }                                                    \
    } while (0)

/* Fails the test unless the status is an error of this code whose message contains
 * `part`. */
#define assert_error(expr, expected_code, part)                                 \
    do {                                                                        \
        bt_status assert_status = (expr);                                       \
        assert_non_null(assert_status);                                         \
        assert_int_equal(assert_status->code, (expected_code));                 \
        if (!strstr(assert_status->message, (part)))                            \
            fail_msg("expected \"%s\" in: %s", (part), assert_status->message); \
    } while (0)

/* A row of `tests` for a file with a setup and a teardown. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static inline int test_run(const struct CMUnitTest *tests, size_t ntest, int argc,
                           char **argv)
{
    if (argc > 1) {
        for (size_t i = 0; i < ntest; i++) {
            if (strcmp(tests[i].name, argv[1]) == 0)
                return _cmocka_run_group_tests(argv[1], &tests[i], 1, NULL, NULL);
        }
        fprintf(stderr, "no test is named %s\n", argv[1]);
        return 2;
    }
    return _cmocka_run_group_tests("unit", tests, ntest, NULL, NULL);
}

#define TEST_MAIN(tests)                                                      \
    int main(int argc, char **argv)                                           \
    {                                                                         \
        return test_run(tests, sizeof(tests) / sizeof(*(tests)), argc, argv); \
    }

#endif
