/* Loop IR: what graphs become, what its text may say, what a run refuses. */
#include "formula.h"

#include <math.h>

#include "compute/evaluate/compute.h"
#include "compute/graph/graph.h"
#include "loops_oracle.h"

static bt_loops *lower(struct world *w, const struct formula *f, uint32_t nin,
                       bt_tensor **in, bt_compute **compute)
{
    bt_loops *loops;
    bt_op op = formula_op(f);
    assert_ok(w->ctx, formula_make(w, f, &op, nin, in, compute));
    assert_ok(w->ctx, bt_loops_lower(w->ctx, bt_ctx_scratch(w->ctx), "test",
                                     (*compute)->graph, &loops));
    return loops;
}

static void assert_text(struct world *w, const bt_loops *loops, const char *expected)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(w->ctx));
    assert_ok(w->ctx, bt_loops_print(loops, &text));
    assert_string_equal(bt_text_get(&text), expected);
}

static void check_lowered(const struct formula *f, uint32_t nin, const int64_t (*dims)[3],
                          const char *expected)
{
    struct world w = world_open();
    bt_compute *compute;
    bt_tensor *in[3];
    for (uint32_t i = 0; i < nin; i++)
        in[i] = tensor_random(&w, BT_FLOAT32, i, (uint32_t)dims[i][0], &dims[i][1]);
    assert_text(&w, lower(&w, f, nin, in, &compute), expected);
    bt_compute_destroy(compute);
    for (uint32_t i = 0; i < nin; i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

/* A failure of which nobody said why is a refusal, and want of memory only where memory
 * was wanting. */
static void test_a_failure_without_a_reason_is_a_refusal(void **state)
{
    struct world w = world_open();
    bt_loops *loops;
    (void)state;
    loops = bt_loops_create(w.ctx, bt_ctx_scratch(w.ctx), "test");
    assert_non_null(loops);
    assert_int_equal(bt_loops_why(loops)->code, BT_ERR_UNSUPPORTED);
    assert_null(bt_arena_alloc(loops->arena, SIZE_MAX, 2));
    assert_ptr_equal(bt_loops_why(loops), bt_no_memory());
    world_close(&w);
}

static void test_a_contraction_is_a_nest_with_an_accumulator(void **state)
{
    (void)state;
    static const struct formula f = {
        .inputs = { { "x", "t[m, k]" }, { "w", "t[n, k]" } },
        .text = "y: t[m, n] = max(sum(k: x[m, k] * w[n, k]), 0)",
    };
    check_lowered(&f, 2, (const int64_t[][3]){ { 2, 3, 4 }, { 2, 5, 4 } },
                  "loops test {\n"
                  "    in a0: float32[12]\n"
                  "    in a1: float32[20]\n"
                  "    out s0: float32[15]\n"
                  "    local t3: float64[1]\n"
                  "    for i0 in 3 {\n"
                  "        for i1 in 5 {\n"
                  "            t3[0] = float64(0.0)\n"
                  "            for i2 in 4 {\n"
                  "                t3[0] sum[float32]= (a1[4*i1 + i2] * a0[4*i0 + i2])\n"
                  "            }\n"
                  "            s0[5*i0 + i1] = max(float32(0.0), float32(t3[0]))\n"
                  "        }\n"
                  "    }\n"
                  "}\n");
}

/* ---- what is used more than once ---- */

static bt_loops *lower_inlined(struct world *w, const struct formula *f, uint32_t nin,
                               bt_tensor **in, bt_compute **compute)
{
    bt_loops *loops;
    bt_op op = formula_op(f);
    assert_ok(w->ctx, formula_make(w, f, &op, nin, in, compute));
    assert_ok(w->ctx, bt__graph_inline((*compute)->graph));
    assert_ok(w->ctx, bt_loops_lower(w->ctx, bt_ctx_scratch(w->ctx), "test",
                                     (*compute)->graph, &loops));
    return loops;
}

/* One local before the loop that it does not need, one behind the condition that it does.
 */
static void test_what_is_used_twice_stands_in_a_local(void **state)
{
    (void)state;
    struct world w = world_open();
    static const struct formula f = {
        .inputs = { { "x", "t[n, m]" }, { "b", "t[n]" } },
        .text = "e: t[i in n] = b[i] * b[i];"
                "s: t[i in n, j in m] = x[i, j] + e[i];"
                "y: t[i in n, j in m] = (s[i, j - 1] * s[i, j - 1] else e[i])",
    };
    bt_compute *compute;
    bt_tensor *in[2] = { tensor_random(&w, BT_FLOAT32, 1, DIMS(4, 6)),
                         tensor_random(&w, BT_FLOAT32, 2, DIMS(4)) };
    assert_text(
        &w, lower_inlined(&w, &f, 2, in, &compute),
        "loops test {\n"
        "    in a0: float32[24]\n"
        "    in a1: float32[4]\n"
        "    out s0: float32[24]\n"
        "    local t3: float32[1]\n"
        "    local t4: float32[1]\n"
        "    for i0 in 4 {\n"
        "        t3[0] = float32((a1[i0] * a1[i0]))\n"
        "        for i1 in 6 {\n"
        "            if (0 <= i1 - 1) {\n"
        "                t4[0] = float32((a0[6*i0 + i1 - 1] + t3[0]))\n"
        "            }\n"
        "            s0[6*i0 + i1] = select((0 <= i1 - 1), (t4[0] * t4[0]), t3[0])\n"
        "        }\n"
        "    }\n"
        "}\n");
    bt_compute_destroy(compute);
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    world_close(&w);
}

enum { SQUARINGS = 40 };

/* x squared so often, at the place that `last` reads. */
static void write_squarings(bt_text *text, const char *last)
{
    for (int i = 0; i < SQUARINGS; i++) {
        char from[8] = "x";
        if (i)
            snprintf(from, sizeof(from), "x%d", i);
        bt_text_addf(text, "x%d: t[i in n] = %s[i] * %s[i];", i + 1, from, from);
    }
    bt_text_addf(text, "%s", last);
}

/* Lowered, printed, parsed and run: nothing takes 2^40 steps. */
static void check_squarings(const char *last)
{
    struct world w = world_open();
    bt_compute *compute;
    bt_loops *parsed;
    bt_text text, written;
    bt_tensor *in[1] = { tensor_new(&w, BT_FLOAT32, DIMS(7)) };
    for (int64_t i = 0; i < 7; i++)
        bt_tensor_set(in[0], i, 1 + ldexp((double)(i - 3), -23));
    bt_text_init(&text, bt_ctx_scratch(w.ctx));
    bt_text_init(&written, bt_ctx_scratch(w.ctx));
    write_squarings(&text, last);
    const struct formula f = { .inputs = { { "x", "t[n]" } },
                               .text = bt_text_get(&text) };
    bt_tensor *expected = formula_run(&w, &f, 1, in);
    bt_tensor *y = tensor_new(&w, BT_FLOAT32, expected->rank, expected->dims);
    assert_ok(w.ctx, bt_loops_print(lower_inlined(&w, &f, 1, in, &compute), &written));
    assert_true(written.len < 100 * SQUARINGS);
    assert_ok(w.ctx, loops_parse(w.ctx, bt_ctx_scratch(w.ctx), "test", written.at,
                                 written.len, &parsed));
    assert_text(&w, parsed, written.at);
    assert_ok(w.ctx, loops_run(w.ctx, parsed, (void *[]){ in[0]->data, y->data }, NULL));
    for (int64_t i = 0; i < y->nelem; i++)
        assert_true(bt_tensor_get(y, i) == bt_tensor_get(expected, i));
    bt_compute_destroy(compute);
    bt_tensor_unref(in[0]);
    bt_tensor_unref(y);
    bt_tensor_unref(expected);
    world_close(&w);
}

static void test_a_chain_of_squarings_is_as_long_as_it_is(void **state)
{
    (void)state;
    check_squarings("y: t[i in n] = x40[i] * x40[i]");
    check_squarings("y: t[i in n + 2] = (x40[i - 1] else 3)");
    check_squarings("y: t[i in n + 2] = (x40[i - 1] * x39[i - 1] else 3) * 0.1");
}

static void test_conditions_stand_where_their_indices_are_bound(void **state)
{
    (void)state;
    static const struct formula f = {
        .inputs = { { "x", "t[h, w]" } },
        .text = "y: t[i in h, j in w] = "
                "sum(r in 3, s in 3: x[i + r - 1, j + s - 1] else 0)",
    };
    check_lowered(
        &f, 1, (const int64_t[][3]){ { 2, 4, 6 } },
        "loops test {\n"
        "    in a0: float32[24]\n"
        "    out s0: float32[24]\n"
        "    local t2: float64[1]\n"
        "    for i0 in 4 {\n"
        "        for i1 in 6 {\n"
        "            t2[0] = float64(0.0)\n"
        "            for i2 in 3 {\n"
        "                if ((0 <= -i0 - i2 + 4) && (0 <= i0 + i2 - 1)) {\n"
        "                    for i3 in 3 {\n"
        "                        if ((0 <= i1 + i3 - 1) && (0 <= -i1 - i3 + 6)) {\n"
        "                            t2[0] sum[float32]= "
        "a0[6*i0 + i1 + 6*i2 + i3 - 7]\n"
        "                        }\n"
        "                    }\n"
        "                }\n"
        "            }\n"
        "            s0[6*i0 + i1] = float32(t2[0])\n"
        "        }\n"
        "    }\n"
        "}\n");
}

static void test_what_elements_address_goes_to_accumulators(void **state)
{
    (void)state;
    struct world w = world_open();
    static const struct formula f = {
        .inputs = { { "x", "t[n, m]" }, { "k", "int64[n]" } },
        .text = "y: t[i in 6, j] = sum(r in n | k[r] == i: x[r, j]) / 2",
    };
    bt_compute *compute;
    bt_tensor *in[2] = { tensor_random(&w, BT_FLOAT32, 1, DIMS(4, 3)),
                         tensor_new(&w, BT_INT64, DIMS(4)) };
    assert_text(&w, lower(&w, &f, 2, in, &compute),
                "loops test {\n"
                "    in a0: float32[12]\n"
                "    in a1: int64[4]\n"
                "    out s0: float32[18]\n"
                "    temp b3: float64[18]\n"
                "    for i0 in 18 {\n"
                "        b3[i0] = float64(0.0)\n"
                "    }\n"
                "    for i1 in 3 {\n"
                "        for i2 in 4 {\n"
                "            if ((0 <= a1[i2]) && (a1[i2] < 6)) {\n"
                "                b3[i1 + 3*a1[i2]] sum[float32]= a0[i1 + 3*i2]\n"
                "            }\n"
                "        }\n"
                "    }\n"
                "    for i0 in 6 {\n"
                "        for i1 in 3 {\n"
                "            s0[3*i0 + i1] = (float32(b3[3*i0 + i1]) / float32(2.0))\n"
                "        }\n"
                "    }\n"
                "}\n");
    bt_compute_destroy(compute);
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    world_close(&w);
}

static void test_running_sums_go_from_place_to_place(void **state)
{
    (void)state;
    static const struct formula f = {
        .inputs = { { "x", "t[n, m]" } },
        .text = "y: t[i in n, j in m] = sum(r in n | r <= i: x[r, j])",
    };
    check_lowered(&f, 1, (const int64_t[][3]){ { 2, 4, 3 } },
                  "loops test {\n"
                  "    in a0: float32[12]\n"
                  "    out s0: float32[12]\n"
                  "    temp b2: float64[12]\n"
                  "    for i0 in 12 {\n"
                  "        b2[i0] = float64(0.0)\n"
                  "    }\n"
                  "    for i1 in 3 {\n"
                  "        for i2 in 4 {\n"
                  "            b2[i1 + 3*i2] sum[float32]= a0[i1 + 3*i2]\n"
                  "        }\n"
                  "    }\n"
                  "    for i0 in 1 {\n"
                  "        for i1 in 3 {\n"
                  "            for i2 in 3 {\n"
                  "                b2[3*i1 + i2 + 3] sum[float64]= b2[3*i1 + i2]\n"
                  "            }\n"
                  "        }\n"
                  "    }\n"
                  "    for i0 in 4 {\n"
                  "        for i1 in 3 {\n"
                  "            s0[3*i0 + i1] = float32(b2[3*i0 + i1])\n"
                  "        }\n"
                  "    }\n"
                  "}\n");
}

static void test_what_an_element_decides_is_checked(void **state)
{
    (void)state;
    struct world w = world_open();
    static const struct formula f = {
        .inputs = { { "x", "t[n]" }, { "i", "int64[m]" } },
        .text = "y: t[k in m] = x[wrap(i[k], n)]",
    };
    bt_compute *compute;
    bt_tensor *in[2] = { tensor_random(&w, BT_FLOAT32, 1, DIMS(4)),
                         tensor_new(&w, BT_INT64, DIMS(2)) };
    bt_tensor *y = tensor_new(&w, BT_FLOAT32, DIMS(2));
    bt_loops *loops = lower(&w, &f, 2, in, &compute);
    void *data[] = { in[0]->data, in[1]->data, y->data };
    bt_tensor_set(in[1], 0, 3);
    bt_tensor_set(in[1], 1, -1);
    assert_ok(w.ctx, loops_run(w.ctx, loops, data, NULL));
    assert_true(bt_tensor_get(y, 0) == bt_tensor_get(in[0], 3));
    assert_true(bt_tensor_get(y, 1) == bt_tensor_get(in[0], 3));
    bt_tensor_set(in[1], 1, 4);
    assert_error(loops_run(w.ctx, loops, data, NULL), BT_ERR_RUNTIME,
                 "an index is out of bounds of axis 0 of x, whose extent is 4");
    bt_compute_destroy(compute);
    bt_tensor_unref(in[0]);
    bt_tensor_unref(in[1]);
    bt_tensor_unref(y);
    world_close(&w);
}

static void test_a_scatter_runs_in_order(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_loops *loops;
    static const char text[] = "loops scatter {\n"
                               "    in k: int64[3]\n"
                               "    out y: int64[4]\n"
                               "    for i0 in 4 {\n"
                               "        y[i0] = 0\n"
                               "    }\n"
                               "    parallel i0 in 3 {\n"
                               "        if (0 <= k[i0]) {\n"
                               "            y[k[i0]] = i0 + 1\n"
                               "        } else {\n"
                               "            gemm(&k[i0], &y[2*i0 + 1], 7, -i0)\n"
                               "        }\n"
                               "    }\n"
                               "}\n";
    int64_t k[] = { 2, 0, 2 }, y[4];
    assert_ok(w.ctx, loops_parse(w.ctx, bt_ctx_scratch(w.ctx), "test", text, strlen(text),
                                 &loops));
    assert_text(&w, loops, text);
    assert_ok(w.ctx, loops_run(w.ctx, loops, (void *[]){ k, y }, NULL));
    assert_memory_equal(y, ((int64_t[]){ 2, 0, 3, 0 }), sizeof(y));
    k[1] = -1;
    assert_error(loops_run(w.ctx, loops, (void *[]){ k, y }, NULL), BT_ERR_UNSUPPORTED,
                 "gemm is a kernel of a target");
    k[1] = 4;
    assert_error(loops_run(w.ctx, loops, (void *[]){ k, y }, NULL), BT_ERR_RUNTIME,
                 "element 4 of y, which has 4");
    world_close(&w);
}

static void test_what_the_text_may_not_say(void **state)
{
    (void)state;
    static const struct {
        const char *body, *part;
    } rows[] = {
        { "y[0] = 1", "y does not hold int64" },
        { "y[0] = x[0]", "y does not hold int64" },
        { "x[0] = 1", "x is an input: it is not written" },
        { "z[0] = 1", "`z` is not a buffer" },
        { "y[i0] = float32(1)", "i0 is the index of no loop around" },
        { "for i0 in 2 { for i0 in 3 { } }", "i0 is the index of a loop around" },
        { "for i64 in 2 { }", "expected an index, i0 to i63" },
        { "for i0 in x { }", "expected the number of iterations" },
        { "for i0 in 2 { for i1 in i0 { } }", "a number of at least 0, or dims" },
        { "for i0 in 2 - 3 { }", "a number of at least 0, or dims" },
        { "for i0 in n { }", "`n` is no scalar operator" },
        { "if 1 { }", "expected a condition" },
        { "y[true] = float32(1)", "expected an int64" },
        { "y[0] = float32(1) + x[0]", "add of float32 and int64" },
        { "y[0] = float32(1) && true", "and does not take float32" },
        { "y[0] = select(x[0], y[0], y[0])", "select takes a condition" },
        { "y[0] = twice(x[0])", "`twice` is no scalar operator" },
        { "y[0] sum[float64]= float64(1)", "y does not hold float64" },
        { "t[0] sum[int8]= float32(1)", "t does not hold int8" },
        { "t[0] sum[float32]= 1", "the value is not of the type that is reduced" },
        { "t[0] total[float32]= float32(1)", "`total` is no reducer" },
        { "t[0], t sum[float32]= float32(1)", "sum has 1 accumulators" },
        { "t[0] argmax[float32]= float32(1) at 0", "argmax has 2 accumulators" },
        { "check true : x of 3", "expected `axis`" },
        { "check true : x axis 99 of 3", "axis 99" },
        { "t[0], x argmax[float32]= float32(1) at 0", "x is an input" },
        { "t[0], t argmax[float64]= 1.0 at 0", "both accumulators are t" },
        { "f(&q[0])", "`q` is not a buffer" },
        { "y[0] =", "expected an expression" },
        { "y[0] = 99999999999999999999", "an integer of 64 bits" },
        { "if true { ", "found the end of the text" },
    };
    struct world w = world_open();
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        char text[512];
        bt_loops *loops;
        snprintf(
            text, sizeof(text),
            "loops test {\n in x: int64[3]\n out y: float32[3]\n local t: float64[1]\n"
            "%s\n}\n",
            rows[i].body);
        assert_error(
            loops_parse(w.ctx, bt_ctx_scratch(w.ctx), "test", text, strlen(text), &loops),
            BT_ERR_SYNTAX, rows[i].part);
    }
    world_close(&w);
}

/* ---- dims ---- */

/* A product of an index and a dim, floordiv of a dim, a check of an open extent. */
#define TILES                                                       \
    "loops tiles<n: Dim in 1..64, m: Dim> {\n"                      \
    "    in x: int64[n*m]\n"                                        \
    "    in at: int64[n]\n"                                         \
    "    out y: int64[m]\n"                                         \
    "    temp e: int64[2*n + 1]\n"                                  \
    "    for i0 in 2*n + 1 {\n"                                     \
    "        e[i0] = i0\n"                                          \
    "    }\n"                                                       \
    "    for i0 in m {\n"                                           \
    "        y[i0] = e[2*n]\n"                                      \
    "    }\n"                                                       \
    "    for i0 in n {\n"                                           \
    "        check (0 <= at[i0]) && (at[i0] < m) : x axis 1 of m\n" \
    "        for i1 in floordiv(m, 2) {\n"                          \
    "            y[i1] sum[int64]= x[i0*m + at[i0]]\n"              \
    "        }\n"                                                   \
    "    }\n"                                                       \
    "}\n"

static bt_loops *read_loops(struct world *w, const char *text)
{
    bt_loops *loops = NULL;
    assert_ok(w->ctx, loops_parse(w->ctx, bt_ctx_scratch(w->ctx), "test", text,
                                  strlen(text), &loops));
    return loops;
}

static void test_loops_with_dims_print_and_parse(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_loops *loops = read_loops(&w, TILES);
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(w.ctx));
    assert_ok(w.ctx, bt_loops_print(loops, &text));
    assert_text(&w, read_loops(&w, bt_text_get(&text)), bt_text_get(&text));
    assert_non_null(strstr(text.at, "loops tiles<n: Dim in 1..64, m: Dim> {"));
    assert_non_null(strstr(text.at, "temp e: int64[2*n + 1]"));
    assert_int_equal(bt_loops_nelem(loops, 0), -1);
    assert_int_equal(loops->graph->ndim, 2);
    // a dim of one value is that number
    assert_text(&w,
                read_loops(&w, "loops f<n: Dim in 3..3> { out y: int64[n] for i0 in n { "
                               "y[i0] = n*i0 } }"),
                "loops f<n: Dim in 3..3> {\n"
                "    out y: int64[3]\n"
                "    for i0 in 3 {\n"
                "        y[i0] = 3*i0\n"
                "    }\n"
                "}\n");
    world_close(&w);
}

static void test_loops_with_dims_run_for_each_value(void **state)
{
    (void)state;
    struct world w = world_open();
    bt_loops *loops = read_loops(&w, TILES);
    for (int64_t n = 1; n < 6; n++) {
        for (int64_t m = 1; m < 8; m++) {
            int64_t x[64], at[8], y[8], want[8];
            struct run_options options = { .seed = 3, .dims = (int64_t[]){ n, m } };
            for (int64_t i = 0; i < n * m; i++)
                x[i] = i * i;
            for (int64_t i = 0; i < m; i++)
                want[i] = 2 * n;
            for (int64_t i = 0; i < n; i++) {
                at[i] = i % m;
                for (int64_t k = 0; k < m / 2; k++)
                    want[k] += x[i * m + at[i]];
            }
            assert_ok(w.ctx, loops_run(w.ctx, loops, (void *[]){ x, at, y }, &options));
            assert_memory_equal(y, want, (size_t)m * sizeof(*y));
        }
    }
    int64_t x[6] = { 0 }, at[2] = { 0, 3 }, y[3];
    void *data[] = { x, at, y };
    struct run_options options = { .dims = (int64_t[]){ 2, 3 } };
    assert_error(loops_run(w.ctx, loops, data, &options), BT_ERR_RUNTIME,
                 "out of bounds of axis 1 of x, whose extent is 3");
    options.dims = (int64_t[]){ 65, 3 };
    assert_error(loops_run(w.ctx, loops, data, &options), BT_ERR_ARGUMENT,
                 "n is 65, expected 1 to 64");
    options.dims = (int64_t[]){ 2, INT64_MAX };
    assert_error(loops_run(w.ctx, loops, data, &options), BT_ERR_ARGUMENT,
                 "m is 9223372036854775807");
    assert_error(loops_run(w.ctx, loops, data, NULL), BT_ERR_ARGUMENT, "has 2 dims");
    world_close(&w);
}

static void test_what_a_header_of_dims_may_not_say(void **state)
{
    (void)state;
    static const struct {
        const char *dims, *part;
    } rows[] = {
        { "n: Dim, n: Dim", "the name of an index, or of another dim" },
        { "i3", "the name of an index, or of another dim" },
        { "n: Dim in 4..3", "no number is in the range of n" },
        { "n: Dim in 4", "expected `..`" },
        { "n", "expected `:`" },
        { "n: Shape", "expected `Dim`" },
        { "n: Dim m", "expected `,`" },
        { "", "expected a dim's name" },
    };
    struct world w = world_open();
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        char text[64];
        bt_loops *loops;
        snprintf(text, sizeof(text), "loops test<%s> { }", rows[i].dims);
        assert_error(
            loops_parse(w.ctx, bt_ctx_scratch(w.ctx), "test", text, strlen(text), &loops),
            BT_ERR_SYNTAX, rows[i].part);
    }
    world_close(&w);
}

static void test_depth_is_limited(void **state)
{
    (void)state;
    struct world w = world_open();
    static char text[200000];
    bt_loops *loops;
    size_t n =
        (size_t)snprintf(text, sizeof(text), "loops test { out y: int64[1] y[0] = ");
    memset(text + n, '(', 100000);
    assert_error(
        loops_parse(w.ctx, bt_ctx_scratch(w.ctx), "test", text, n + 100000, &loops),
        BT_ERR_SYNTAX, "nested deeper");
    memset(text + n, '-', 100000);
    assert_error(
        loops_parse(w.ctx, bt_ctx_scratch(w.ctx), "test", text, n + 100000, &loops),
        BT_ERR_SYNTAX, "nested deeper");
    world_close(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_failure_without_a_reason_is_a_refusal),
    cmocka_unit_test(test_a_contraction_is_a_nest_with_an_accumulator),
    cmocka_unit_test(test_what_is_used_twice_stands_in_a_local),
    cmocka_unit_test(test_a_chain_of_squarings_is_as_long_as_it_is),
    cmocka_unit_test(test_conditions_stand_where_their_indices_are_bound),
    cmocka_unit_test(test_what_elements_address_goes_to_accumulators),
    cmocka_unit_test(test_running_sums_go_from_place_to_place),
    cmocka_unit_test(test_what_an_element_decides_is_checked),
    cmocka_unit_test(test_a_scatter_runs_in_order),
    cmocka_unit_test(test_what_the_text_may_not_say),
    cmocka_unit_test(test_loops_with_dims_print_and_parse),
    cmocka_unit_test(test_loops_with_dims_run_for_each_value),
    cmocka_unit_test(test_what_a_header_of_dims_may_not_say),
    cmocka_unit_test(test_depth_is_limited),
};
TEST_MAIN(tests)
