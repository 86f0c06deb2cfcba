/* Every reducer, for every dtype, along and across memory, over nothing, with ties. */
#include "formula.h"

#include <math.h>

#include "compute/graph/reduce.h"

static const bt_dtype dtypes[] = { BT_BOOL,    BT_INT8,   BT_INT32,   BT_INT64,
                                   BT_UINT8,   BT_UINT64, BT_FLOAT16, BT_BFLOAT16,
                                   BT_FLOAT32, BT_FLOAT64 };
enum { ROWS = 7, COLUMNS = 300 };

/* ---- what they should give, element by element ---- */

/* -1, 0, 1: below, same, above; NaN above all (`most`) or below all. */
static int order(const bt_tensor *t, int64_t a, int64_t b, int most)
{
    double x = bt_tensor_get(t, a), y = bt_tensor_get(t, b);
    if (isnan(x) || isnan(y))
        return (isnan(x) - isnan(y)) * (most ? 1 : -1);
    if (t->dtype == BT_INT64 || t->dtype == BT_UINT64) {
        int64_t i = bt_tensor_get_int(t, a), j = bt_tensor_get_int(t, b);
        if (t->dtype == BT_UINT64)
            return ((uint64_t)i > (uint64_t)j) - ((uint64_t)i < (uint64_t)j);
        return (i > j) - (i < j);
    }
    return (x > y) - (x < y);
}

/* Position of the greatest (least) of n elements, the first or last of several. */
static int64_t extreme(const bt_tensor *t, int64_t first, int64_t step, int64_t n,
                       int most, int last)
{
    int64_t best = -1;
    for (int64_t k = 0; k < n; k++) {
        int o = best < 0 ? 1 : order(t, first + k * step, first + best * step, most);
        if (best < 0 || (most ? o > 0 : o < 0) || (o == 0 && last))
            best = k;
    }
    return best;
}

static void check(const char *name, const bt_tensor *x, int64_t first, int64_t step,
                  int64_t n, const bt_tensor *y, int64_t at)
{
    double got = bt_tensor_get(y, at), f = strcmp(name, "prod") == 0 ? 1 : 0, e = 0;
    uint64_t i = strcmp(name, "prod") == 0 ? 1 : 0;
    int most = strncmp(name, "argmax", 6) == 0 || strcmp(name, "max") == 0;
    int64_t best = extreme(x, first, step, n, most, strstr(name, "last") != NULL);
    int is_float = bt_dtype_is_float(x->dtype);
    if (strncmp(name, "arg", 3) == 0) {
        assert_int_equal(bt_tensor_get_int(y, at), best);
        return;
    }
    if (strcmp(name, "max") == 0 || strcmp(name, "min") == 0) {
        if (n > 0 && is_float) {
            double wanted = bt_tensor_get(x, first + best * step);
            // NaN wins in min as well
            for (int64_t k = 0; k < n; k++)
                wanted = isnan(bt_tensor_get(x, first + k * step)) ? NAN : wanted;
            assert_true(got == wanted || (isnan(got) && isnan(wanted)));
        } else if (n > 0) {
            assert_int_equal(bt_tensor_get_int(y, at),
                             bt_tensor_get_int(x, first + best * step));
        }
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        double v = bt_tensor_get(x, first + k * step);
        uint64_t w = (uint64_t)bt_tensor_get_int(x, first + k * step);
        f = strcmp(name, "prod") == 0 ? f * v : f + v;
        i = strcmp(name, "prod") == 0 ? i * w : i + w;
        e += exp(v);
    }
    if (strcmp(name, "all") == 0) {
        assert_int_equal(bt_tensor_get_int(y, at), i == (uint64_t)n);
    } else if (strcmp(name, "any") == 0) {
        assert_int_equal(bt_tensor_get_int(y, at), i > 0);
    } else if (!is_float) {
        uint32_t bits = BT_DTYPE_BITS(x->dtype);
        uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        assert_true(((uint64_t)bt_tensor_get_int(y, at) & mask) == (i & mask));
    } else {
        double wanted = strcmp(name, "logsumexp") == 0 ? log(e) : f;
        double error = x->dtype == BT_FLOAT64   ? 1e-13
                       : x->dtype == BT_FLOAT32 ? 1e-7
                                                : 4e-3;
        if (!(got == wanted || (isnan(got) && isnan(wanted)) ||
              fabs(got - wanted) <= error * fabs(wanted) + 1e-12))
            fail_msg("%s is %.17g, expected %.17g", name, got, wanted);
    }
}

/* Elements with many ties; floats hold NaN in one row and column. */
static bt_tensor *operand(struct world *w, bt_dtype d, const char *name, int64_t n)
{
    bt_tensor *t = tensor_random(w, d, 5, DIMS(ROWS, n));
    int is_float = bt_dtype_is_float(d);
    for (int64_t i = 0; i < t->nelem; i++) {
        if (strcmp(name, "prod") == 0 && is_float)
            bt_tensor_set(t, i, 1 + bt_tensor_get(t, i) / 1024);
        else if (strcmp(name, "prod") == 0)
            bt_tensor_set_int(t, i, i % 2 ? 3 : 1);
        else if (d == BT_UINT64 && i % 5 == 0)
            bt_tensor_set_int(t, i, INT64_MIN + i % 3);
    }
    if (is_float && n > 2 && strcmp(name, "prod") != 0) {
        bt_tensor_set(t, n + 1, NAN);
        bt_tensor_set(t, n + 2, NAN);
        bt_tensor_set(t, 3 * n, -INFINITY);
    }
    return t;
}

static void check_reducer(struct world *w, uint32_t which, bt_dtype d, int64_t n)
{
    const struct bt__reducer *row = bt__reducer_get(which);
    const char *result = row->result == BT__RESULT_INT64  ? "int64"
                         : row->result == BT__RESULT_BOOL ? "bool"
                                                          : "t";
    char text[128];
    struct formula f = { .inputs = { { "x", "t[m, n]", 0, 0 } }, .text = text };
    bt_tensor *x = operand(w, d, row->name, n);
    for (int along = 0; along < 2; along++) {
        snprintf(text, sizeof(text), "y: %s[%s] = %s(%s: x[i, j])", result,
                 along ? "i" : "j", row->name, along ? "j" : "i");
        bt_tensor *y = formula_run(w, &f, 1, &x);
        assert_int_equal(y->nelem, along ? ROWS : n);
        for (int64_t k = 0; k < y->nelem; k++)
            check(row->name, x, along ? k * n : k, along ? 1 : n, along ? n : ROWS, y, k);
        bt_tensor_unref(y);
    }
    bt_tensor_unref(x);
}

static void test_reducers_along_and_across(void **state)
{
    (void)state;
    const int64_t sizes[] = { COLUMNS, 3, 1, 0 };
    for (uint32_t d = 0; d < BT_COUNT(dtypes); d++) {
        struct world w = world_open();
        for (uint32_t i = 0; i < BT_REDUCER_COUNT; i++) {
            for (uint32_t s = 0; s < BT_COUNT(sizes); s++) {
                if (bt__reducer_get(i)->classes >> BT_DTYPE_CLASS(dtypes[d]) & 1)
                    check_reducer(&w, i, dtypes[d], sizes[s]);
            }
        }
        world_close(&w);
    }
}

static double over_nothing(struct world *w, const char *text, bt_dtype d)
{
    struct formula f = { .inputs = { { "x", "t[n]", 0, 0 } }, .text = text };
    bt_tensor *x = tensor_new(w, d, DIMS(0));
    bt_tensor *y = formula_run(w, &f, 1, &x);
    double v = bt_tensor_get(y, 0);
    bt_tensor_unref(x);
    bt_tensor_unref(y);
    return v;
}

static void test_over_nothing_there_is_the_identity(void **state)
{
    (void)state;
    struct world w = world_open();
    assert_true(over_nothing(&w, "y: t[] = sum(k: x[k])", BT_FLOAT32) == 0);
    assert_true(over_nothing(&w, "y: t[] = prod(k: x[k])", BT_INT8) == 1);
    assert_true(over_nothing(&w, "y: t[] = max(k: x[k])", BT_FLOAT16) == -INFINITY);
    assert_true(over_nothing(&w, "y: t[] = min(k: x[k])", BT_FLOAT32) == INFINITY);
    assert_true(over_nothing(&w, "y: t[] = max(k: x[k])", BT_INT8) == -128);
    assert_true(over_nothing(&w, "y: t[] = min(k: x[k])", BT_UINT8) == 255);
    assert_true(over_nothing(&w, "y: t[] = max(k: x[k])", BT_UINT16) == 0);
    assert_true(over_nothing(&w, "y: int64[] = argmax(k: x[k])", BT_INT8) == -1);
    assert_true(over_nothing(&w, "y: t[] = logsumexp(k: x[k])", BT_FLOAT64) == -INFINITY);
    assert_true(over_nothing(&w, "y: bool[] = all(k: x[k])", BT_BOOL) == 1);
    assert_true(over_nothing(&w, "y: bool[] = any(k: x[k])", BT_BOOL) == 0);
    // nothing but for a condition
    assert_true(over_nothing(&w, "y: t[] = max(k in 4 | k > 9: t(k))", BT_INT8) == -128);
    assert_true(over_nothing(&w, "y: int64[] = argmin(k in 4 | k > 9: k)", BT_INT8) ==
                -1);
    world_close(&w);
}

static void test_written_accumulators_are_wider(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { { "x", "int8[n]", 0, 0 } },
                         .text = "y: int32[] = sum[int32](k: x[k]);"
                                 "z: int8[] = sum(k: x[k]); -> y, z",
                         .nresult = 2 };
    bt_tensor *x = tensor_new(&w, BT_INT8, DIMS(400)), *out[2];
    for (int64_t i = 0; i < 400; i++)
        bt_tensor_set_int(x, i, 100);
    assert_ok(w.ctx, formula_try(&w, &f, 1, &x, out));
    assert_int_equal(bt_tensor_get_int(out[0], 0), 40000);
    assert_int_equal(bt_tensor_get_int(out[1], 0), (int8_t)40000);
    bt_tensor_unref(x);
    bt_tensor_unref(out[0]);
    bt_tensor_unref(out[1]);
    world_close(&w);
}

static void test_logsumexp_does_not_overflow(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { { "x", "t[n]", 0, 0 } },
                         .text = "y: t[] = logsumexp(k: x[k])" };
    bt_tensor *x = tensor_new(&w, BT_FLOAT32, DIMS(4));
    for (int64_t i = 0; i < 4; i++)
        bt_tensor_set(x, i, 1000);
    bt_tensor *y = formula_run(&w, &f, 1, &x);
    assert_true(fabs(bt_tensor_get(y, 0) - 1000 - log(4)) < 1e-4);
    bt_tensor_unref(y);
    bt_tensor_set(x, 1, INFINITY);
    bt_tensor_set(x, 2, INFINITY);
    y = formula_run(&w, &f, 1, &x);
    assert_true(bt_tensor_get(y, 0) == INFINITY);
    bt_tensor_unref(y);
    bt_tensor_unref(x);
    world_close(&w);
}

/* 16777217 is no float32: where one is asked for, by a cast or as the accumulator, the
 * value is rounded there and not before. */
static void test_written_floats_round(void **state)
{
    static const struct {
        const char *text;
        double expected;
    } rows[] = {
        { "y: float64[] = float64(sum(k: x[k]))", 16777217 },
        { "y: float64[] = float64(sum[float32](k: x[k]))", 16777216 },
        { "y: float64[] = float64(float32(sum(k: x[k])))", 16777216 },
        { "y: float64[] = sum[float64](k: x[k])", 16777217 },
        { "y: float64[] = float64(x[0] + x[1])", 16777217 },
        { "y: float64[] = float64(float32(x[0] + x[1]))", 16777216 },
        // 2^24 + 1 - 2^24 inside: one rounding, at the end
        { "y: float64[] = float64(sum[float32](k in 3: x[mod(k, 2)] * select(k == 2, "
          "-1.0, 1.0)))",
          1 },
        { "y: float32[] = float32(x[0] + x[1])", 16777216 },
    };
    struct world w = world_open();
    bt_tensor *x = tensor_new(&w, BT_FLOAT32, DIMS(2));
    (void)state;
    bt_tensor_set(x, 0, 16777216);
    bt_tensor_set(x, 1, 1);
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        struct formula f = { .inputs = { { "x", "t[n]", 0, 0 } }, .text = rows[i].text };
        bt_tensor *y = formula_run(&w, &f, 1, &x);
        if (bt_tensor_get(y, 0) != rows[i].expected)
            fail_msg("%s: %.1f, expected %.1f", rows[i].text, bt_tensor_get(y, 0),
                     rows[i].expected);
        bt_tensor_unref(y);
    }
    bt_tensor_unref(x);
    world_close(&w);
}

/* Positions over several indices count them row by row, in the order in which they are
 * reduced; conditions leave places out, and change none. */
static void test_positions_count_all_indices(void **state)
{
    (void)state;
    static const char *const names[] = { "argmax", "argmin", "argmax_last",
                                         "argmin_last" };
    static const bt_dtype of[] = { BT_INT8, BT_INT64, BT_UINT64, BT_FLOAT16, BT_FLOAT64 };
    enum { A = 3, B = 4, C = 5 };
    struct world w = world_open();
    for (uint32_t d = 0; d < BT_COUNT(of); d++) {
        bt_tensor *x = tensor_random(&w, of[d], d + 1, DIMS(A, B, C));
        for (uint32_t r = 0; r < BT_COUNT(names); r++) {
            const int most = strncmp(names[r], "argmax", 6) == 0;
            const int last = strstr(names[r], "last") != NULL;
            char text[160];
            struct formula f = { .inputs = { { "x", "t[a, b, c]", 0, 0 } },
                                 .text = text };
            snprintf(text, sizeof(text), "y: int64[i] = %s(j, k: x[i, j, k])", names[r]);
            bt_tensor *y = formula_run(&w, &f, 1, &x);
            for (int64_t i = 0; i < A; i++)
                assert_int_equal(bt_tensor_get_int(y, i),
                                 extreme(x, i * B * C, 1, B * C, most, last));
            bt_tensor_unref(y);
            // the other order, without one of them
            snprintf(text, sizeof(text),
                     "y: int64[k] = %s(j, i | i + j != 3: x[i, j, k])", names[r]);
            y = formula_run(&w, &f, 1, &x);
            for (int64_t k = 0; k < C; k++) {
                int64_t best = -1, at = -1;
                for (int64_t n = 0; n < A * B; n++) {
                    const int64_t j = n / A, i = n % A, here = (i * B + j) * C + k;
                    int o = best < 0 ? 1 : order(x, here, best, most);
                    if (i + j == 3)
                        continue;
                    if (best < 0 || (most ? o > 0 : o < 0) || (o == 0 && last)) {
                        best = here;
                        at = n;
                    }
                }
                assert_int_equal(bt_tensor_get_int(y, k), at);
            }
            bt_tensor_unref(y);
        }
        bt_tensor_unref(x);
    }
    world_close(&w);
}

/* ---- derivatives ---- */

/* The sum of what one reducer gives, after one element has been moved. */
static double moved(struct world *w, const char *name, bt_tensor *x, int64_t at,
                    double by)
{
    char text[80];
    struct formula f = { .inputs = { { "x", "float64[n]", 0, 0 } }, .text = text };
    snprintf(text, sizeof(text), "y: float64[] = %s(i: x[i])", name);
    const double was = bt_tensor_get(x, at);
    bt_tensor_set(x, at, was + by);
    bt_tensor *y = formula_run(w, &f, 1, &x);
    const double value = bt_tensor_get(y, 0);
    bt_tensor_set(x, at, was);
    bt_tensor_unref(y);
    return value;
}

/* Those that are written in the notation; `first` and `others` are names of what is no
 * formula of one element. */
static void test_derivatives_agree_with_differences(void **state)
{
    (void)state;
    enum { N = 6 };
    struct world w = world_open();
    uint32_t nformula = 0, nname = 0;
    bt_tensor *x = tensor_random(&w, BT_FLOAT64, 9, DIMS(N));
    for (uint32_t r = 0; r < BT_REDUCER_COUNT; r++) {
        const struct bt__reducer *row = bt__reducer_get(r);
        int is_name = strcmp(row->derivative, "first") == 0 ||
                      strcmp(row->derivative, "others") == 0;
        char text[160];
        struct formula f = { .inputs = { { "x", "float64[n]", 0, 0 } }, .text = text };
        nname += is_name;
        if (is_name || !row->derivative[0])
            continue;
        nformula++;
        // a and y as stages
        snprintf(text, sizeof(text),
                 "r: float64[] = %s(j: x[j]); d: float64[i] = 0 * x[i] + ", row->name);
        char *to = text + strlen(text);
        for (const char *c = row->derivative; *c; c++) {
            const int is_alone =
                c == row->derivative ||
                !((c[-1] >= 'a' && c[-1] <= 'z') || (c[1] >= 'a' && c[1] <= 'z'));
            to += sprintf(to,
                          *c == 'a' && is_alone   ? "x[i]"
                          : *c == 'y' && is_alone ? "r[]"
                                                  : "%c",
                          *c);
        }
        bt_tensor *d = formula_run(&w, &f, 1, &x);
        for (int64_t i = 0; i < N; i++) {
            const double slope =
                (moved(&w, row->name, x, i, 1e-4) - moved(&w, row->name, x, i, -1e-4)) /
                2e-4;
            if (!(fabs(bt_tensor_get(d, i) - slope) < 1e-7))
                fail_msg("%s by element %d: %g, differences give %g", row->name, (int)i,
                         bt_tensor_get(d, i), slope);
        }
        bt_tensor_unref(d);
    }
    assert_int_equal(nformula, 2);
    assert_int_equal(nname, 3);
    bt_tensor_unref(x);
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_written_floats_round),
    cmocka_unit_test(test_reducers_along_and_across),
    cmocka_unit_test(test_positions_count_all_indices),
    cmocka_unit_test(test_derivatives_agree_with_differences),
    cmocka_unit_test(test_over_nothing_there_is_the_identity),
    cmocka_unit_test(test_written_accumulators_are_wider),
    cmocka_unit_test(test_logsumexp_does_not_overflow),
};
TEST_MAIN(tests)
