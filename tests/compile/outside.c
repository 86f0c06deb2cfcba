/* What stands outside of data, in sums of products: left out by the evaluator; a target may
 * multiply zeros instead, which shows where a weight is not finite, and nowhere else. */
#include "programs.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 6 };

static bt_object *convolve(bt_ctx *ctx, const char *corner, int channels, int groups,
                           const char *target)
{
    char text[1024];
    bt_compiled *c;
    bt_tensor *x;
    bt_object *y;
    snprintf(text, sizeof(text),
             "def @main(%%x: Tensor[(1, %d, 6, 6), float32]) {\n"
             "    %%0 = ones(shape=[16, %d, 3, 3], dtype=\"float32\");\n"
             "    %%w = add(%%0, const[(3, 3), float32]{%s, 0, 0, 0, 0, 0, 0, 0, 0});\n"
             "    nn.conv2d(%%x, %%w, padding=[1], groups=%d)\n}",
             channels, channels / groups, corner, groups);
    assert_ok(ctx, compile_text(ctx, text, target, &c));
    const int64_t dims[] = { 1, channels, SIDE, SIDE };
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 4, dims, &x));
    for (int64_t i = 0; i < x->nelem; i++)
        bt_tensor_set(x, i, (double)(1 + i % 5));
    assert_ok(ctx, run_graph(ctx, c, x, &y));
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    return y;
}

/* The tap at the corner lies outside for the first row and the first column. */
static void check_borders(bt_ctx *ctx, const char *corner, int channels, int groups,
                          const char *target)
{
    bt_object *expected = convolve(ctx, corner, channels, groups, "reference"),
              *found = convolve(ctx, corner, channels, groups, target);
    int is_finite = isfinite(strtod(corner, NULL));
    for (int64_t i = 0; i < bt_object_as_tensor(expected)->nelem; i++) {
        double want = bt_tensor_get(bt_object_as_tensor(expected), i),
               got = bt_tensor_get(bt_object_as_tensor(found), i);
        int is_border = i % SIDE == 0 || i / SIDE % SIDE == 0;
        assert_int_equal(isfinite(want) != 0, is_border || is_finite);
        if (got != want && !(isnan(got) && (isnan(want) || (is_border && !is_finite))))
            fail_msg("corner %s, %d channels in %d groups, element %lld: %g, not %g",
                     corner, channels, groups, (long long)i, got, want);
    }
    bt_object_unref(expected);
    bt_object_unref(found);
}

static void test_weights_outside_count_at_most_where_they_are_not_finite(void **state)
{
    static const char *const corners[] = { "1024", "inf", "-inf", "nan" };
    static const int sizes[][2] = { { 1, 1 }, { 3, 1 }, { 16, 1 }, { 16, 16 }, { 8, 2 } };
    bt_ctx *ctx = open_targets(NULL);
    (void)state;
    for (size_t i = 0; i < BT_COUNT(corners); i++) {
        for (size_t k = 0; k < BT_COUNT(sizes); k++)
            check_borders(ctx, corners[i], sizes[k][0], sizes[k][1], "cpu");
    }
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_weights_outside_count_at_most_where_they_are_not_finite),
};
TEST_MAIN(tests)
