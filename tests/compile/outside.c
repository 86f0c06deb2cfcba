/* What stands outside of data, in sums of products: left out by the evaluator; of a convolution a
 * target may multiply zeros instead, which shows where a weight is not finite, and nowhere
 * else. Of a transposed convolution it shows nowhere. */
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

/* ---- transposed ---- */

enum { NIN = 2, NOUT = 16 };

/* `n` after another, as dims. */
static void add_dims(bt_text *text, int a, int b, int n, int rank)
{
    bt_text_addf(text, "(%d, %d", a, b);
    for (int i = 0; i < rank; i++)
        bt_text_addf(text, ", %d", n);
    bt_text_addf(text, ")");
}

/* Ones, the first of which is another. */
static void add_ones(bt_text *text, int64_t n, const char *first)
{
    bt_text_addf(text, "{%s", first);
    for (int64_t i = 1; i < n; i++)
        bt_text_addf(text, ", 1");
    bt_text_addf(text, "}");
}

struct transposed {
    int rank, is_constant; /* the weight is; else the data are */
    const char *dtype, *corner;
};

static int64_t power(int64_t a, int n)
{
    return n ? a * power(a, n - 1) : 1;
}

static void write_transposed(bt_text *text, const struct transposed *t)
{
    bt_text_addf(text, "def @main(%%a: Tensor[");
    if (t->is_constant)
        add_dims(text, 1, NIN, SIDE, t->rank);
    else
        add_dims(text, NIN, NOUT, 3, t->rank);
    bt_text_addf(text, ", %s]) {\n    nn.conv%dd_transpose(%s", t->dtype, t->rank,
                 t->is_constant ? "%a, const[" : "const[");
    if (t->is_constant)
        add_dims(text, NIN, NOUT, 3, t->rank);
    else
        add_dims(text, 1, NIN, SIDE, t->rank);
    bt_text_addf(text, ", %s]", t->dtype);
    add_ones(text,
             t->is_constant ? NIN * NOUT * power(3, t->rank) : NIN * power(SIDE, t->rank),
             t->is_constant ? t->corner : "2");
    bt_text_addf(text, "%s, padding=[1])\n}", t->is_constant ? "" : ", %a");
}

/* *flag: what the kernel reads beside data and weight, if that is constant. */
static bt_object *transpose(bt_ctx *ctx, const struct transposed *t, const char *target,
                            const bt_tensor **flag, bt_compiled **c)
{
    const int64_t rest = t->is_constant ? SIDE : 3;
    const int64_t dims[] = { t->is_constant ? 1 : NIN, t->is_constant ? NIN : NOUT, rest,
                             rest, rest };
    bt_registry *registry = bt_ctx_registry(ctx);
    bt_arena *arena = bt_arena_create(registry);
    bt_tensor *a;
    bt_object *y;
    bt_text text;
    bt_text_init(&text, arena);
    write_transposed(&text, t);
    assert_ok(ctx, compile_text(ctx, bt_text_get(&text), target, c));
    assert_ok(ctx, bt_tensor_create(ctx, t->dtype[5] == '6' ? BT_FLOAT64 : BT_FLOAT32,
                                    (uint32_t)t->rank + 2, dims, &a));
    for (int64_t i = 0; i < a->nelem; i++)
        bt_tensor_set(
            a, i, i || t->is_constant ? (double)(1 + i % 5) : strtod(t->corner, NULL));
    assert_ok(ctx, run_graph(ctx, *c, a, &y));
    bt_tensor_unref(a);
    bt_arena_destroy(arena);
    *flag = NULL;
    if (bt_as_tuple(find_call(*c, "memory.invoke", 0)->args[0])->nfield == 3)
        *flag = bt_const_tensor(input_of(*c, 0, 2));
    return y;
}

static void check_transposed(bt_ctx *ctx, const struct transposed *t)
{
    const bt_tensor *flag;
    bt_compiled *compiled[2];
    bt_object *expected = transpose(ctx, t, "reference", &flag, &compiled[0]),
              *found = transpose(ctx, t, "cpu", &flag, &compiled[1]);
    int is_finite = isfinite(strtod(t->corner, NULL));
    int64_t nodd = 0, n = bt_object_as_tensor(expected)->nelem;
    for (int64_t i = 0; i < n; i++) {
        double want = bt_tensor_get(bt_object_as_tensor(expected), i),
               got = bt_tensor_get(bt_object_as_tensor(found), i);
        nodd += !isfinite(want);
        if (got != want && !(isnan(got) && isnan(want)))
            fail_msg("%dd, %s, constant: %d, corner %s, element %lld: %g, not %g",
                     t->rank, t->dtype, t->is_constant, t->corner, (long long)i, got,
                     want);
    }
    assert_true(is_finite ? nodd == 0 : nodd > 0 && nodd < n / NOUT);
    if (t->is_constant) // terms that are outside are left out, and nobody asks
        assert_null(flag);
    bt_object_unref(expected);
    bt_object_unref(found);
    bt_compiled_unref(compiled[0]);
    bt_compiled_unref(compiled[1]);
}

static void test_transposed_convolutions_have_nothing_outside(void **state)
{
    static const char *const corners[] = { "3", "inf", "nan" };
    static const char *const dtypes[] = { "float32", "float64" };
    bt_ctx *ctx = open_targets(NULL);
    (void)state;
    for (int i = 0; i < 3 * 2 * 3 * 2; i++) {
        check_transposed(ctx, &(struct transposed){ .rank = 1 + i % 3,
                                                    .is_constant = i / 3 % 2,
                                                    .dtype = dtypes[i / 18],
                                                    .corner = corners[i / 6 % 3] });
    }
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_transposed_convolutions_have_nothing_outside),
    cmocka_unit_test(test_weights_outside_count_at_most_where_they_are_not_finite),
};
TEST_MAIN(tests)
