/* Running reductions, sum(k | k <= i: x[k]): the evaluator lets each place take what the
 * one before it has. Against loops over all pairs. */
#include "formula.h"

#include <math.h>

enum { ROWS = 7, COLUMNS = 9 };

static int upto(int i, int k, double v)
{
    (void)v;
    return k <= i;
}
static int before(int i, int k, double v)
{
    (void)v;
    return k < i;
}
static int from(int i, int k, double v)
{
    (void)v;
    return k >= i;
}
static int two_before(int i, int k, double v)
{
    (void)v;
    return k <= i - 2;
}
static int two_behind(int i, int k, double v)
{
    (void)v;
    return k <= i + 2;
}
static int far_behind(int i, int k, double v)
{
    (void)v;
    return k >= i + 20;
}
static int far_before(int i, int k, double v)
{
    (void)v;
    return k >= i - 20;
}
static int upto_positive(int i, int k, double v)
{
    return k <= i && v > 0;
}
static int window(int i, int k, double v)
{
    (void)v;
    return k <= i && k > i - 3;
}
static int twice(int i, int k, double v)
{
    (void)v;
    return 2 * k <= i;
}

static double sum(double a, double v)
{
    return a + v;
}
static double prod(double a, double v)
{
    return a * v;
}
static double greatest(double a, double v)
{
    return v > a ? v : a;
}
static double least(double a, double v)
{
    return v < a ? v : a;
}

static const struct row {
    const char *condition;
    int (*takes)(int i, int k, double v);
} rows[] = {
    { "k <= i", upto },
    { "k < i", before },
    { "k >= i", from },
    { "k <= i - 2", two_before },
    { "k <= i + 2", two_behind },
    { "k >= i + 20", far_behind },
    { "k >= i - 20", far_before },
    { "k <= i && x[k, j] > 0", upto_positive },
    { "k <= i && k > i - 3", window },
    { "2 * k <= i", twice },
};
static const struct reducer {
    const char *name;
    double start;
    double (*take)(double, double);
} reducers[] = {
    { "sum", 0, sum },
    { "prod", 1, prod },
    { "max", -INFINITY, greatest },
    { "min", INFINITY, least },
};

/* Values are quarters, so sums are exact in any order; of products the first rows. */
static void check(struct world *w, const struct row *row, const struct reducer *reducer)
{
    char text[160];
    bt_tensor *x = tensor_random(w, BT_FLOAT64, 5, DIMS(ROWS, COLUMNS));
    snprintf(text, sizeof(text),
             "y: t[i in extent(x, 0), j in extent(x, 1)] = %s(k in extent(x, 0) | %s: "
             "x[k, j]) + 1.0",
             reducer->name, row->condition);
    struct formula f = { .inputs = { { "x", "t[m, n]", 0, 0 } }, .text = text };
    bt_tensor *y = formula_run(w, &f, 1, &x);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            double expected = reducer->start;
            for (int k = 0; k < ROWS; k++) {
                double v = bt_tensor_get(x, k * COLUMNS + j);
                if (row->takes(i, k, v))
                    expected = reducer->take(expected, v);
            }
            if (bt_tensor_get(y, i * COLUMNS + j) != expected + 1)
                fail_msg("%s at %d, %d: %g, expected %g", text, i, j,
                         bt_tensor_get(y, i * COLUMNS + j), expected + 1);
        }
    }
    bt_tensor_unref(x);
    bt_tensor_unref(y);
}

static void test_running_reductions_take_what_they_should(void **state)
{
    struct world w = world_open();
    (void)state;
    for (uint32_t r = 0; r < BT_COUNT(reducers); r++) {
        for (uint32_t i = 0; i < BT_COUNT(rows); i++)
            check(&w, &rows[i], &reducers[r]);
    }
    world_close(&w);
}

static bt_tensor *run(struct world *w, const char *text, bt_tensor *x)
{
    struct formula f = { .inputs = { { "x", "t[n]", 0, 0 } }, .text = text };
    bt_tensor *y = formula_run(w, &f, 1, &x);
    bt_tensor_unref(x);
    return y;
}

static void test_integers_wrap_and_booleans_stay(void **state)
{
    struct world w = world_open();
    bt_tensor *x = tensor_new(&w, BT_INT8, DIMS(6)), *y;
    (void)state;
    for (int i = 0; i < 6; i++)
        bt_tensor_set_int(x, i, 100);
    y = run(&w, "y: t[i in n] = sum(k in n | k <= i: x[k])", x);
    for (int i = 0; i < 6; i++)
        assert_int_equal(bt_tensor_get_int(y, i), (int8_t)(100 * (i + 1)));
    bt_tensor_unref(y);
    x = tensor_new(&w, BT_BOOL, DIMS(6));
    bt_tensor_set_int(x, 3, 1);
    y = run(&w, "y: t[i in n] = any(k in n | k <= i: x[k])", x);
    for (int i = 0; i < 6; i++)
        assert_int_equal(bt_tensor_get_int(y, i), i >= 3);
    bt_tensor_unref(y);
    world_close(&w);
}

static void test_positions_are_found_as_ever(void **state)
{
    struct world w = world_open();
    bt_tensor *x = tensor_new(&w, BT_FLOAT32, DIMS(4)), *y;
    static const double values[] = { 1, 3, 2, 3 };
    (void)state;
    for (int i = 0; i < 4; i++)
        bt_tensor_set(x, i, values[i]);
    y = run(&w, "y: int64[i in n] = argmax_last(k in n | k <= i: x[k])", x);
    static const int64_t expected[] = { 0, 1, 1, 3 };
    for (int i = 0; i < 4; i++)
        assert_int_equal(bt_tensor_get_int(y, i), expected[i]);
    bt_tensor_unref(y);
    world_close(&w);
}

/* Over all pairs this would take hours. */
static void test_time_is_linear(void **state)
{
    enum { N = 1 << 21 };
    struct world w = world_open();
    bt_tensor *x = tensor_new(&w, BT_INT32, DIMS(N)), *y;
    (void)state;
    for (int64_t i = 0; i < N; i++)
        bt_tensor_set_int(x, i, 1);
    y = run(&w, "y: t[i in n] = sum(k in n | k < i: x[k])", x);
    assert_int_equal(bt_tensor_get_int(y, 0), 0);
    assert_int_equal(bt_tensor_get_int(y, N - 1), N - 1);
    bt_tensor_unref(y);
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_running_reductions_take_what_they_should),
    cmocka_unit_test(test_integers_wrap_and_booleans_stay),
    cmocka_unit_test(test_positions_are_found_as_ever),
    cmocka_unit_test(test_time_is_linear),
};
TEST_MAIN(tests)
