/* The rules of index notation: what is refused and where, laziness, data indices,
 * solutions, strides. */
#include "formula.h"

#include <math.h>

static const bt_op_input xs[] = { { "x", "t[n]", 0, 0, 0 } };

/* The error of a formula over x: float32[4], with its place. */
static void check_refused(const char *text, uint32_t code, const char *part,
                          uint32_t column)
{
    struct world w = world_open();
    struct formula f = { .inputs = { xs[0], { "idx", "int32[m]", 0, 0 } }, .text = text };
    bt_tensor *in[2] = { tensor_random(&w, BT_FLOAT32, 1, DIMS(4)),
                         tensor_random(&w, BT_INT32, 1, DIMS(3)) };
    bt_tensor *out[1];
    bt_status status = formula_try(&w, &f, 2, in, out);
    if (!status)
        fail_msg("not refused: %s", text);
    if (status->code != code || !strstr(status->message, part))
        fail_msg("%s\n    %s: expected \"%s\"", text, status->message, part);
    if (column) {
        assert_string_equal(status->place.file, "test.op");
        assert_int_equal(status->place.line, 1);
        assert_int_equal(status->place.column, column);
    }
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    world_close(&w);
}

static void test_wrong_text_is_refused_at_its_place(void **state)
{
    (void)state;
    check_refused("", BT_ERR_SYNTAX, "expected a stage", 1);
    check_refused("y: t[i] x[i]", BT_ERR_SYNTAX, "expected `=`", 9);
    check_refused("y: t[i] = ", BT_ERR_SYNTAX, "found the end", 11);
    check_refused("y: t[i] = x[i", BT_ERR_SYNTAX, "expected `]`", 14);
    check_refused("y: t[i] = x[i] @ 2", BT_ERR_SYNTAX, "expected a name, number or sign",
                  16);
    check_refused("y: t[i] = x[i] < 1 < 2", BT_ERR_SYNTAX, "between comparisons", 20);
    check_refused("y: t[i] = 99999999999999999999", BT_ERR_SYNTAX, "64 bits", 11);
    check_refused("y: t[i] = x[i]; y: t[i] = x[i]", BT_ERR_NAME, "two stages", 17);
    check_refused("y: t[i] = x[i] -> z", BT_ERR_NAME, "no array stage is called `z`", 19);
    check_refused("n2 = n", BT_ERR_SYNTAX, "expected a stage that is an array", 7);
    check_refused("y: t[i] = x[..", BT_ERR_SYNTAX, "expected `]`", 15);
    check_refused("y: t[i] = sum(k x[k])", BT_ERR_SYNTAX, "expected `)`, found `x`", 17);
    check_refused("y: t[i] = x[i] + sum(i)", BT_ERR_NAME, "sum is a reducer", 18);
}

static void test_deep_text_is_refused(void **state)
{
    (void)state;
    enum { DEPTH = 10000 };
    char *text = test_malloc(2 * DEPTH + 40);
    size_t n = (size_t)sprintf(text, "y: t[i] = ");
    memset(text + n, '(', DEPTH);
    memcpy(text + n + DEPTH, "x[i]", 4);
    memset(text + n + DEPTH + 4, ')', DEPTH);
    text[n + 2 * DEPTH + 4] = 0;
    check_refused(text, BT_ERR_LIMIT, "nested deeper", 0);
    // a long chain is a deep tree
    n = (size_t)sprintf(text, "y: t[i] = x[i]");
    for (int i = 0; i < 3000; i++)
        n += (size_t)sprintf(text + n, "+n");
    check_refused(text, BT_ERR_LIMIT, "nested deeper", 0);
    test_free(text);
}

static void test_names_and_types_are_checked(void **state)
{
    (void)state;
    check_refused("y: t[i] = x[j]", BT_ERR_TYPE, "the extent of `i` is not known, as no read is indexed", 6);
    check_refused("y: t[i in n] = x[j]", BT_ERR_NAME, "unknown name `j`", 18);
    check_refused("y: t[i] = z[i]", BT_ERR_TYPE, "the extent of `i` is not known", 6);
    check_refused("y: t[i in 3] = z[i]", BT_ERR_NAME, "no array or list is called `z`",
                  16);
    check_refused("y: s[i] = x[i]", BT_ERR_NAME, "no dtype is called `s`", 1);
    check_refused("y: t[i] = x[i, i]", BT_ERR_TYPE, "rank 1, the read has 2 indices", 0);
    check_refused("y: t[i in n] = x", BT_ERR_TYPE, "x is an array: write x[...]", 16);
    check_refused("y: t[i] = x[i] + i", BT_ERR_TYPE, "float32 and int64", 16);
    check_refused("y: int8[i] = x[i]", BT_ERR_TYPE, "expected int8, found float32", 14);
    check_refused("y: t[i] = x[i] && x[i]", BT_ERR_TYPE, "and does not take float32", 16);
    check_refused("y: t[i] = select(x[i], 1, 2)", BT_ERR_TYPE, "a condition is bool", 18);
    check_refused("y: int32[i] = idx[i] * 0.5", BT_ERR_TYPE, "found a float", 22);
    check_refused("y: int8[i in 3] = 300", BT_ERR_TYPE, "does not fit int8", 19);
    check_refused("y: t[i] = foo(x[i])", BT_ERR_NAME, "called `foo`", 11);
    check_refused("y: t[i] = max(x[i])", BT_ERR_TYPE, "max takes 2 arguments, found 1",
                  11);
    check_refused("y: t[i] = x[x[i]]", BT_ERR_TYPE, "an index is an integer", 13);
    check_refused("y: t[..] = 1", BT_ERR_TYPE, "no read of y has `..`", 1);
    check_refused("y: t[i] = x[..]", BT_ERR_TYPE, "the extent of `i` is not known", 6);
    check_refused("y: t[] = any(k: x[k])", BT_ERR_TYPE, "any does not take float32", 10);
    check_refused("y: t[] = sum(k, k: x[k])", BT_ERR_NAME, "two indices", 10);
    check_refused("y: t[i in n] = sum(k: x[k+1]) else 0", BT_ERR_TYPE, "state it, as in",
                  20);
    check_refused("y: t[i in n] = sum(k in n: x[k+1]) else 0", BT_ERR_TYPE,
                  "put else inside the reduction", 36);
    check_refused("a = x[0]; y: t[i] = x[i]", BT_ERR_TYPE, "but reads elements", 5);
    check_refused("y: t[i in 5] = x[i] * x[i]", BT_ERR_RUNTIME,
                  "index 4 is out of bounds for axis 0 of x", 0);
    check_refused("y: t[i] = x[i] * t(idx[i])", BT_ERR_RUNTIME, "dims do not fit", 0);
}

static void test_data_indices_need_a_guard(void **state)
{
    (void)state;
    check_refused("y: t[i] = x[idx[i]]", BT_ERR_TYPE, "needs clamp", 13);
    struct world w = world_open();
    struct formula f = { .inputs = { xs[0], { "idx", "t2[m]", 0, 0 } } };
    static const char *const texts[] = {
        "y: t[i] = x[clamp(idx[i], 0, n - 1)]",
        "y: t[i] = x[wrap(clamp(idx[i], -4, 3), n)]",
        "y: t[i] = x[idx[i]] else -9",
        "y: t[i] = select(idx[i] >= 0 && int64(idx[i]) < n, x[idx[i]], -9)",
    };
    const double expected[4][4] = {
        { 0, 0, 3, 3 }, { 0, 3, 3, 3 }, { 0, -9, 3, -9 }, { 0, -9, 3, -9 }
    };
    const bt_dtype dtypes[] = { BT_INT32, BT_INT64, BT_INT8 };
    bt_tensor *in[2] = { tensor_new(&w, BT_FLOAT32, DIMS(4)) };
    for (int64_t i = 0; i < 4; i++)
        bt_tensor_set(in[0], i, (double)i);
    for (uint32_t d = 0; d < 3; d++) {
        in[1] = tensor_new(&w, dtypes[d], DIMS(4));
        const int64_t at[4] = { 0, -1, 3, 100 };
        for (int64_t i = 0; i < 4; i++)
            bt_tensor_set_int(in[1], i, at[i]);
        for (uint32_t k = 0; k < 4; k++) {
            f.text = texts[k];
            bt_tensor *y = formula_run(&w, &f, 2, in);
            for (int64_t i = 0; i < 4; i++)
                assert_true(bt_tensor_get(y, i) == expected[k][i]);
            bt_tensor_unref(y);
        }
        bt_tensor *out;
        f.text = "y: t[i] = x[wrap(idx[i], n)]";
        assert_error(formula_try(&w, &f, 2, in, &out), BT_ERR_RUNTIME,
                     "index 100 is out of bounds for axis 0 of x, whose extent is 4");
        bt_tensor_unref(in[1]);
    }
    bt_tensor_unref(in[0]);
    world_close(&w);
}

static void test_extreme_indices_do_not_slip_through(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { xs[0], { "idx", "int64[m]", 0, 0 } } };
    static const char *const texts[] = { "y: t[i] = x[idx[i] + 1] else -9",
                                         "y: t[i] = x[2 * idx[i]] else -9",
                                         "y: t[i] = x[idx[i] - 1] else -9",
                                         "y: t[i] = x[-idx[i]] else -9" };
    bt_tensor *in[2] = { tensor_random(&w, BT_FLOAT32, 1, DIMS(4)),
                         tensor_new(&w, BT_INT64, DIMS(5)) };
    const int64_t at[5] = { INT64_MAX, INT64_MIN, INT64_MAX - 1, 4, INT64_MIN / 2 - 1 };
    for (int64_t i = 0; i < 5; i++)
        bt_tensor_set_int(in[1], i, at[i]);
    for (uint32_t k = 0; k < 4; k++) {
        f.text = texts[k];
        bt_tensor *y = formula_run(&w, &f, 2, in);
        bt_tensor_unref(y);
    }
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    world_close(&w);
}

static void test_conditions_are_solved(void **state)
{
    (void)state;
    struct world w = world_open();
    // a transposed convolution: the adjoint of a strided one
    for (int64_t stride = 1; stride < 4; stride++) {
        char text[160];
        struct formula f = { .inputs = { { "dy", "t[o]", 0, 0 }, { "w", "t[r]", 0, 0 } },
                             .text = text };
        snprintf(text, sizeof(text),
                 "y: t[i in 500] = sum(o, r | o*%d + r - 1 == i: dy[o] * w[r])",
                 (int)stride);
        bt_tensor *in[2] = { tensor_random(&w, BT_FLOAT32, 1, DIMS(130)),
                             tensor_random(&w, BT_FLOAT32, 2, DIMS(5)) };
        bt_tensor *y = formula_run(&w, &f, 2, in);
        for (int64_t i = 0; i < 500; i++) {
            double sum = 0;
            for (int64_t o = 0; o < 130; o++)
                for (int64_t r = 0; r < 5; r++)
                    if (o * stride + r - 1 == i)
                        sum += bt_tensor_get(in[0], o) * bt_tensor_get(in[1], r);
            assert_true(bt_tensor_get(y, i) == sum);
        }
        bt_tensor_unref(in[0]);
        bt_tensor_unref(in[1]);
        bt_tensor_unref(y);
    }
    world_close(&w);
}

static void test_elements_scatter(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { { "idx", "int64[k]", 0, 0 },
                                     { "v", "t[k, d]", 0, 0 },
                                     { "old", "t[j, d]", 0, 0 } },
                         .text =
                             "y: t[j, d] = old[j, d] + sum(k | idx[k] == j: v[k, d])" };
    bt_tensor *in[3] = { tensor_new(&w, BT_INT64, DIMS(1000)),
                         tensor_random(&w, BT_FLOAT32, 1, DIMS(1000, 3)),
                         tensor_random(&w, BT_FLOAT32, 2, DIMS(50, 3)) };
    for (int64_t i = 0; i < 1000; i++)
        bt_tensor_set_int(in[0], i, i * 7 % 60 - 3); // some are no row
    bt_tensor *y = formula_run(&w, &f, 3, in);
    for (int64_t at = 0; at < 150; at++) {
        double sum = bt_tensor_get(in[2], at);
        for (int64_t k = 0; k < 1000; k++)
            if (bt_tensor_get_int(in[0], k) == at / 3)
                sum += bt_tensor_get(in[1], k * 3 + at % 3);
        assert_true(bt_tensor_get(y, at) == sum);
    }
    for (uint32_t i = 0; i < 3; i++)
        bt_tensor_unref(in[i]);
    bt_tensor_unref(y);
    world_close(&w);
}

static void test_inputs_may_have_any_strides(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { { "a", "t[m, n]", 0, 0 } },
                         .text = "y: t[n, m] = a[m, n] * 2" };
    bt_tensor *dense = tensor_random(&w, BT_FLOAT32, 1, DIMS(6, 8)), *view;
    // every second column, from the last row up
    assert_ok(w.ctx, bt_tensor_view(w.ctx, dense, DIMS(6, 4), (const int64_t[]){ -8, 2 },
                                    40, &view));
    bt_tensor *y = formula_run(&w, &f, 1, &view);
    for (int64_t i = 0; i < 6; i++)
        for (int64_t j = 0; j < 4; j++)
            assert_true(bt_tensor_get(y, j * 6 + i) ==
                        2 * bt_tensor_get(dense, (5 - i) * 8 + 2 * j));
    bt_tensor_unref(y);
    bt_tensor_unref(view);
    bt_tensor_unref(dense);
    world_close(&w);
}

/* One computation, other dims, dtypes and strides each time. */
static void test_one_computation_serves_any_dims(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { { "a", "t[m, n]", 0, 0 } },
                         .text = "y: t[m] = sum(n: a[m, n])",
                         .is_dynamic = 1 };
    bt_op op = formula_op(&f);
    bt_compute *compute = NULL;
    for (int64_t turn = 0; turn < 12; turn++) {
        bt_dtype dtype = BT_INT32;
        bt_tensor *a = tensor_random(&w, dtype, (uint64_t)turn,
                                     DIMS(turn % 3, 1 + turn % 4)),
                  *y = NULL;
        if (!compute)
            assert_ok(w.ctx, formula_make(&w, &f, &op, 1, &a, &compute));
        uint32_t rank, is_bound;
        int64_t dims[1][BT_MAX_RANK], nmac;
        const bt_tensor *const *in = (const bt_tensor *const *)&a;
        assert_ok(w.ctx,
                  bt_compute_shapes(w.ctx, compute, 1, in, &rank, dims, &is_bound));
        assert_int_equal(rank, 1);
        assert_int_equal(dims[0][0], turn % 3);
        assert_ok(w.ctx, bt_compute_run(w.ctx, compute, 1, in, &y));
        assert_ok(w.ctx, bt_compute_cost(w.ctx, compute, 1, in, &nmac));
        assert_true(nmac <= a->nelem);
        for (int64_t i = 0; i < y->nelem; i++) {
            int64_t sum = 0;
            for (int64_t k = 0; k < a->dims[1]; k++)
                sum += bt_tensor_get_int(a, i * a->dims[1] + k);
            assert_int_equal(bt_tensor_get_int(y, i), sum);
        }
        bt_tensor_unref(a);
        bt_tensor_unref(y);
    }
    bt_compute_destroy(compute);
    world_close(&w);
}

static void test_a_run_can_be_cancelled(void **state)
{
    (void)state;
    struct world w = world_open();
    struct formula f = { .inputs = { xs[0] },
                         .text = "y: int64[] = sum(i in 1000000000, j in 1000000000: "
                                 "mod(i, j + 1))" };
    bt_tensor *x = tensor_new(&w, BT_FLOAT32, DIMS(4)), *out;
    bt_ctx_cancel(w.ctx);
    assert_error(formula_try(&w, &f, 1, &x, &out), BT_ERR_CANCELLED, "stopped");
    bt_tensor_unref(x);
    world_close(&w);
}

static const char *printed(struct world *w, const char *text)
{
    struct formula f = { .inputs = { { "a", "t[m, k]", 0, 0 }, { "b", "t[n, k]", 0, 0 } },
                         .text = text };
    bt_op op = formula_op(&f);
    bt_compute *compute = NULL;
    bt_tensor *in[2] = { tensor_new(w, BT_FLOAT32, DIMS(3, 4)),
                         tensor_new(w, BT_FLOAT32, DIMS(5, 4)) };
    static bt_text out;
    bt_text_init(&out, bt_ctx_scratch(w->ctx));
    assert_ok(w->ctx, formula_make(w, &f, &op, 2, in, &compute));
    assert_ok(w->ctx,
              bt_compute_print(w->ctx, compute, 2, (const bt_tensor *const *)in, &out));
    bt_compute_destroy(compute);
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    return bt_text_get(&out);
}

static void test_the_graph_does_not_depend_on_the_writing(void **state)
{
    (void)state;
    struct world w = world_open();
    static const char *const same[][2] = {
        { "y: t[i, j] = sum(k: a[i, k] * b[j, k])",
          "out: t[row, col] = sum(q in extent(a, 1): b[col, q] * a[row, q]);" },
        { "y: t[i, j in n + 2] = a[i, j - 1] else 0",
          "d = 1; y: t[p, q in 2 + n] = select(0 <= q - d && q - d < k, a[p, -d + q], "
          "0)" },
        { "y: t[i in 3] = sum(q in 4 | q <= i: a[i, q])",
          "y: t[i in 3] = sum(q in 4: select(i >= q, a[i, q], 0))" },
        { "y: t[i in 6] = sum(o in 2, r in 3 | o*2 + r == i: a[r, o])",
          "y: t[i in 6] = sum(o in 2 | 0 <= i - 2*o && i - 2*o < 3: a[i - o - o, o])" },
    };
    for (uint32_t i = 0; i < BT_COUNT(same); i++)
        assert_string_equal(printed(&w, same[i][0]), printed(&w, same[i][1]));
    world_close(&w);
}

static void test_views_tell_the_roles_of_indices(void **state)
{
    (void)state;
    static const struct {
        const char *text, *view;
    } rows[] = {
        { "y: t[i, j] = a[i, j] * 2", "map pointwise" },
        { "y: t[j, i] = max(a[i, j], b[0, j])", "map pointwise" },
        { "y: t[i, j in k + 1] = a[i, j - 1] else 0", "map" },
        { "y: t[i, j] = sum(q: a[i, q] * b[j, q])",
          "contraction batch[] m[i0] n[i1] k[r0]" },
        { "y: t[i, j] = max(sum(q: b[j, q] * a[i, q]) + a[i, 0], 0)",
          "contraction batch[] m[i0] n[i1] k[r0] epilogue" },
        { "y: t[q] = sum(i in 3: a[i, q] * b[i, q])",
          "contraction batch[i0] m[] n[] k[r0]" },
        { "y: t[i, j in 2, o] = sum(r in 3: a[i, 2*j + r - 1] * b[o, r] else 0)",
          "contraction batch[] m[i0, i1] n[i2] k[r0] window(a0.1: 2*i1 + 1*r0 - 1) "
          "guarded" },
        { "y: t[i, j in k, o] = sum(r in 3: a[i, j - r + 1] * b[o, r] else 0)",
          "contraction batch[] m[i0, i1] n[i2] k[r0] window(a0.1: 1*i1 - 1*r0 + 1) "
          "guarded" },
        { "y: t[i, j in 3, o] = sum(r in k: a[i, r] * b[o, 5 - j - 2*r] else 0)",
          "contraction batch[] m[i1, i2] n[i0] k[r0] window(a1.1: -1*i1 - 2*r0 + 5) "
          "guarded" },
        { "y: t[i, j in 2] = max(r in 2: a[i, j + 2*r])",
          "window window(a0.1: 1*i1 + 2*r0 + 0)" },
        { "y: t[i] = logsumexp(j: a[i, j])", "row" },
        { "y: t[i] = sqrt(sum(j: a[i, j] * a[i, j]))",
          "contraction batch[i0] m[] n[] k[r0] epilogue" },
        { "y: t[i] = sum(j: exp(a[i, j]))", "row" },
        { "y: t[i, j] = a[i, j] / sum(q: a[i, q]) + max(q: a[i, q])", "none" },
        { "y: t[i] = sum(j | a[i, j] > 0: a[i, j])", "none" },
    };
    struct world w = world_open();
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        char line[160];
        const char *text = printed(&w, rows[i].text);
        snprintf(line, sizeof(line), "    view: %s\n", rows[i].view);
        if (!strstr(text, line))
            fail_msg("%s\nexpected %s%s", rows[i].text, line, text);
    }
    world_close(&w);
}

static int64_t cost_of(struct world *w, const char *text)
{
    struct formula f = { .inputs = { { "a", "t[m, k]", 0, 0 }, { "b", "t[n, k]", 0, 0 } },
                         .text = text };
    bt_op op = formula_op(&f);
    bt_compute *compute = NULL;
    bt_tensor *in[2] = { tensor_new(w, BT_FLOAT32, DIMS(30, 40)),
                         tensor_new(w, BT_FLOAT32, DIMS(50, 40)) };
    int64_t cost = -1;
    assert_ok(w->ctx, formula_make(w, &f, &op, 2, in, &compute));
    assert_ok(w->ctx,
              bt_compute_cost(w->ctx, compute, 2, (const bt_tensor *const *)in, &cost));
    bt_compute_destroy(compute);
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    return cost;
}

static void test_costs_are_points_visited(void **state)
{
    (void)state;
    struct world w = world_open();
    assert_int_equal(cost_of(&w, "y: t[i, j] = sum(q: a[i, q] * b[j, q])"), 60000);
    assert_int_equal(cost_of(&w, "y: t[i, j] = a[i, j] + 1"), 1200);
    assert_int_equal(cost_of(&w, "y: t[j, i] = a[i, j]"), 0);
    assert_int_equal(cost_of(&w, "y: t[i] = sum(q: sum(r in 5: a[i, q]))"), 30 * 40 * 6);
    // a gather over the solutions, a scatter over the elements
    assert_int_equal(
        cost_of(&w, "y: t[i in 80] = sum(q, r in 4 | q*2 + r == i: a[r, q])"), 80 * 2);
    assert_int_equal(
        cost_of(&w, "y: t[i in 70] = sum(p, q | int64(a[p, q]) == i: a[p, q])"), 1200);
    // a running sum over the elements, too
    assert_int_equal(cost_of(&w, "y: t[i, j in k] = sum(q | q <= j: a[i, q])"), 1200);
    assert_int_equal(cost_of(&w, "y: t[i in 4000000000] = sum(q in 4000000000: 0.5)"),
                     INT64_MAX);
    world_close(&w);
}

static void test_numbers_are_read_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } rows[] = { { "0.5", 0.5 },
                 { ".5", 0.5 },
                 { "2.", 2 },
                 { "1e-5", 1e-5 },
                 { "1.25e+2", 125 },
                 { "3E2", 300 },
                 { "0.1", 0.1 },
                 { "1e400", INFINITY },
                 { "inf", INFINITY },
                 { "-1.5", -1.5 },
                 { "007", 7 },
                 { "1e-400", 0 },
                 { "9223372036854775807", 0x1p63 } };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        struct world w = world_open();
        char text[64];
        struct formula f = { .text = text };
        snprintf(text, sizeof(text), "y: float64[] = %s", rows[i].text);
        bt_tensor *y = formula_run(&w, &f, 0, NULL);
        assert_true(bt_tensor_get(y, 0) == rows[i].value);
        bt_tensor_unref(y);
        world_close(&w);
    }
}

/* Text with bytes changed, lost and doubled is refused or taken, never worse. */
static void test_damaged_formulas_do_no_harm(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "oh = floordiv(h + pt + pb - kh, sh) + 1; y: t[n, i in oh] = max(r in 3: x[n*2 + "
        "r - 1] else -inf)",
        "m: t[] = max(k: x[k]); e: t[i] = exp(x[i] - m[]); y: t[i] = e[i] / sum(i: e[i])",
        "y: t[j in 5] = sum(k, l in 2 | int64(idx[k]) == j && l < k: x[clamp(k, 0, 3)])",
        "y: t[i, ..] = select(idx[i] >= 0, x[wrap(idx[i], n)], 0.5) * prod[float64](l in "
        "3 | l*2 - 1 == i: float64(l)); z: bool[..] = x[..] > 1 -> y, z",
    };
    struct world w = world_open();
    bt_tensor *in[2] = { tensor_random(&w, BT_FLOAT32, 1, DIMS(4)),
                         tensor_random(&w, BT_INT32, 1, DIMS(3)) };
    uint64_t random = 7;
    bt_ctx_limits(w.ctx)->bytes = 1 << 20;
    for (int turn = 0; turn < 20000; turn++) {
        char text[400];
        size_t n = strlen(texts[turn % 4]);
        memcpy(text, texts[turn % 4], n + 1);
        for (int k = 0; k < 1 + turn % 3; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(random >> 33) % n;
            const char *bytes = "[](),;:=+-*/%!<>|&.0123456789abckxyzi \n";
            if (random >> 20 & 1)
                text[at] = bytes[(random >> 21) % strlen(bytes)];
            else if (random >> 22 & 1)
                memmove(text + at, text + at + 1, n - at);
            else if (n + 1 < sizeof(text))
                memmove(text + at + 1, text + at, n - at + 1);
            n = strlen(text);
        }
        struct formula f = { .inputs = { xs[0], { "idx", "t2[m]", 0, 0 } },
                             .text = text };
        bt_op op = formula_op(&f);
        bt_compute *compute = NULL;
        const void *mark = bt_arena_mark(bt_ctx_scratch(w.ctx));
        bt_text out;
        bt_text_init(&out, bt_ctx_scratch(w.ctx));
        const bt_tensor *const *args = (const bt_tensor *const *)in;
        if (!formula_make(&w, &f, &op, 2, in, &compute)) {
            bt_tensor *y = NULL;
            assert_ok(w.ctx, bt_compute_print(w.ctx, compute, 2, args, &out));
            // a damaged extent may make it long
            bt_ctx_cancel(w.ctx);
            if (!bt_compute_run(w.ctx, compute, 2, args, &y))
                bt_tensor_unref(y);
        }
        bt_compute_destroy(compute);
        bt_arena_release(bt_ctx_scratch(w.ctx), mark);
        bt_ctx_clear_diags(w.ctx);
    }
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_wrong_text_is_refused_at_its_place),
    cmocka_unit_test(test_deep_text_is_refused),
    cmocka_unit_test(test_names_and_types_are_checked),
    cmocka_unit_test(test_data_indices_need_a_guard),
    cmocka_unit_test(test_extreme_indices_do_not_slip_through),
    cmocka_unit_test(test_conditions_are_solved),
    cmocka_unit_test(test_elements_scatter),
    cmocka_unit_test(test_inputs_may_have_any_strides),
    cmocka_unit_test(test_one_computation_serves_any_dims),
    cmocka_unit_test(test_a_run_can_be_cancelled),
    cmocka_unit_test(test_the_graph_does_not_depend_on_the_writing),
    cmocka_unit_test(test_views_tell_the_roles_of_indices),
    cmocka_unit_test(test_costs_are_points_visited),
    cmocka_unit_test(test_numbers_are_read_exactly),
    cmocka_unit_test(test_damaged_formulas_do_no_harm),
};
TEST_MAIN(tests)
