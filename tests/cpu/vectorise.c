/* Loops by strips: what they compute. */
#include "schedule/vectorise.h"
#include "schedule/schedule.h"

#include "failing_allocator.h"
#include "formula.h"
#include "strip_run.h"
#include "vectorise_formulas.h"
#include "vectorised_check.h"

#include <math.h>
#include <stdlib.h>

#include "compute/evaluate/compute.h"

/* ---- a formula by strips, against the evaluator ---- */

static void fill(bt_tensor *t, uint64_t seed)
{
    for (int64_t i = 0; i < t->nelem; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double v = (double)((seed >> 33) % 4001) / 1000 - 2;
        bt_tensor_set(t, i, t->dtype == BT_BOOL ? v > 0 : v);
    }
}

static void assert_close(const bt_tensor *got, const bt_tensor *expected, double bound,
                         const char *program)
{
    for (int64_t i = 0; i < expected->nelem; i++) {
        double a = bt_tensor_get(got, i), b = bt_tensor_get(expected, i);
        if (a == b || (a != a && b != b))
            continue;
        if (fabs(a - b) > bound * (1 + fabs(b)))
            fail_msg("element %lld: %.9g, expected %.9g\n%s", (long long)i, a, b,
                     program);
    }
}

static void check_isa(struct world *w, bt_graph *graph, uint32_t nin, bt_tensor **in,
                      bt_tensor *expected, enum cpu_isa isa)
{
    struct cpu_config config = { .isa = isa, .nthread = 1 };
    struct strip_run run = { .ctx = w->ctx, .isa = isa };
    void *data[8];
    bt_loops *loops;
    bt_tensor *out = tensor_new(w, expected->dtype, expected->rank, expected->dims);
    assert_ok(w->ctx, cpu_lower(w->ctx, bt_ctx_scratch(w->ctx), "test", graph, &loops));
    if (getenv("SHOW"))
        printf("%s\n", written(w, loops));
    assert_ok(w->ctx, cpu_schedule_loops(loops, &config));
    if (getenv("SHOW"))
        printf("%s\n", written(w, loops));
    for (uint32_t i = 0; i < nin; i++)
        data[i] = in[i]->data;
    data[nin] = out->data;
    struct run_options options = { .seed = 1, .call = strip_call, .self = &run };
    assert_ok(w->ctx, check_vectorised(loops, &config));
    bt_status status = loops_run(w->ctx, loops, data, &options);
    if (status)
        fail_msg("%s\n%s", status->message, written(w, loops));
    double bound = expected->dtype == BT_FLOAT16    ? 2e-3
                   : expected->dtype == BT_BFLOAT16 ? 2e-2
                                                    : 1e-5;
    assert_close(out, expected, bound, written(w, loops));
    bt_tensor_unref(out);
}

static void check(const struct formula *f, uint32_t nin, const struct argument *args)
{
    struct world w = world_open();
    bt_tensor *in[6];
    bt_op op = formula_op(f);
    bt_compute *compute;
    for (uint32_t i = 0; i < nin; i++) {
        in[i] = tensor_new(&w, args[i].dtype, args[i].rank, args[i].dims);
        fill(in[i], i + 1);
    }
    bt_tensor *expected = formula_run(&w, f, nin, in);
    assert_ok(w.ctx, formula_make(&w, f, &op, nin, in, &compute));
    for (int isa = 0; isa <= (int)cpu_isa_of_machine(); isa++)
        check_isa(&w, compute->graph, nin, in, expected, (enum cpu_isa)isa);
    bt_compute_destroy(compute);
    bt_tensor_unref(expected);
    for (uint32_t i = 0; i < nin; i++)
        bt_tensor_unref(in[i]);
    world_close(&w);
}

static void test_chains(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 3; n++) {
        check(&chain, 3, ARGS(F32(2, n, 7), F32(1, 7), F32(2, n, 7)));
        check(&chain, 3, ARGS(F32(2, n, 1000), F32(1, 1000), F32(2, n, 1000)));
    }
}

static void test_choices_on_data_in_all_floats(void **state)
{
    static const bt_dtype dtypes[] = { BT_FLOAT16, BT_BFLOAT16, BT_FLOAT32, BT_FLOAT64 };
    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        check(&choice, 1, ARGS(CASE(dtypes[i], 1, 1533)));
}

static void test_rows(void **state)
{
    (void)state;
    static const struct formula *const rows[] = { &softmax, &positions, &logarithms,
                                                  &running, &turned };
    static const int64_t dims[][2] = { { 3, 1000 }, { 300, 5 }, { 1, 1 }, { 5, 513 } };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        for (uint32_t k = 0; k < BT_COUNT(dims); k++)
            check(rows[i], 1, ARGS(F32(2, dims[k][0], dims[k][1])));
    }
    check(&norm, 2, ARGS(F32(2, 3, 768), F32(1, 768)));
}

static void test_windows(void **state)
{
    (void)state;
    static const int64_t dims[][3] = {
        { 3, 13, 5 }, { 1, 1, 1 }, { 2, 7, 600 }, { 9, 2, 3 }
    };
    for (uint32_t i = 0; i < BT_COUNT(dims); i++) {
        check(&depthwise, 2,
              ARGS(F32(3, dims[i][0], dims[i][1], dims[i][2]), F32(3, dims[i][0], 3, 3)));
        check(&pool, 1, ARGS(F32(3, dims[i][0], dims[i][1], dims[i][2])));
        check(&first, 1, ARGS(F32(3, dims[i][0], dims[i][1], dims[i][2])));
        check(&routed, 2,
              ARGS(F32(3, dims[i][0], dims[i][1], dims[i][2]),
                   CASE(BT_INT32, 3, dims[i][0], dims[i][1], dims[i][2])));
    }
}

static void test_what_data_address(void **state)
{
    (void)state;
    check(&take_rows, 2, ARGS(F32(2, 5, 9), CASE(BT_INT64, 1, 33)));
    check(&take_each, 2, ARGS(F32(1, 50), CASE(BT_INT32, 1, 700)));
    check(&spread, 2, ARGS(F32(2, 40, 3), CASE(BT_INT64, 1, 40)));
}

/* ---- parts that many share ---- */

/* x to the power of 2^40, by squares, in a loop or not. */
static void check_squares(bt_dtype dtype, int64_t extent)
{
    enum { DEPTH = 40, MOST = 600 };
    struct world w = world_open();
    struct cpu_config config = { .isa = CPU_ISA_PORTABLE, .nthread = 1 };
    struct strip_run run = { .ctx = w.ctx, .isa = CPU_ISA_PORTABLE };
    bt_loops *l = bt_loops_create(w.ctx, bt_ctx_scratch(w.ctx), "test");
    uint32_t x, y, t;
    static uint64_t in[MOST], out[MOST];
    void *data[] = { in, out };
    struct run_options options = { .seed = 1, .call = strip_call, .self = &run };
    const bt_node *turns = bt_node_int(l->graph, extent), *one = bt_node_int(l->graph, 1);
    assert_true(bt_loops_add_buffer(l, BT_BUFFER_INPUT, "x", dtype, turns, &x) &&
                bt_loops_add_buffer(l, BT_BUFFER_OUTPUT, "y", dtype, turns, &y) &&
                bt_loops_add_buffer(l, BT_BUFFER_LOCAL, "t", dtype, one, &t));
    bt_stmt *loop = bt_stmt_add(l, &l->body, BT_STMT_FOR);
    loop->extent = turns;
    const bt_node *at = bt_node_index(l->graph, 0, turns),
                  *zero = bt_node_int(l->graph, 0);
    for (int i = 0; i < 2; i++) {
        bt_stmt *store = bt_stmt_add(l, &loop->body, BT_STMT_STORE);
        const bt_node *value = bt_loops_read(l, i ? t : x, i ? zero : at);
        for (int k = 0; k < DEPTH / 2; k++)
            value = bt_node_scalar(l->graph, BT_SCALAR_MUL, value, value);
        store->buffer = i ? y : t;
        store->offset = i ? at : zero;
        store->value = value;
        assert_non_null(value);
    }
    for (int64_t i = 0; i < extent; i++)
        in[i] = dtype == BT_INT64 ? (uint64_t)i + 3 : UINT64_C(0x3ff0000000000000);
    assert_ok(w.ctx, cpu_schedule_loops(l, &config));
    assert_ok(w.ctx, check_vectorised(l, &config));
    assert_ok(w.ctx, loops_run(w.ctx, l, data, &options));
    assert_in_range(run.ncall, DEPTH / 2, 4 * DEPTH);
    for (int64_t i = 0; i < extent; i++) {
        uint64_t expected = in[i];
        for (int k = 0; k < DEPTH && dtype == BT_INT64; k++)
            expected *= expected;
        assert_true(out[i] == expected);
    }
    world_close(&w);
}

static void test_what_many_share_is_computed_once(void **state)
{
    (void)state;
    check_squares(BT_INT64, 1);
    check_squares(BT_INT64, 600);
    check_squares(BT_FLOAT64, 600);
}

/* ---- what is no such program ---- */

static void refuse(const char *body, const char *part)
{
    struct world w = world_open();
    struct cpu_config config = { .isa = CPU_ISA_PORTABLE, .nthread = 1 };
    char text[1000];
    bt_loops *loops;
    snprintf(text, sizeof(text),
             "loops test {\n    in x: float32[24]\n    out y: float32[24]\n"
             "    local k: int64[4]\n%s}\n",
             body);
    assert_ok(w.ctx, loops_parse(w.ctx, bt_ctx_scratch(w.ctx), "test", text, strlen(text),
                                 &loops));
    bt_status status = check_vectorised(loops, &config);
    if (*part)
        assert_error(status, BT_ERR_VERIFY, part);
    else
        assert_ok(w.ctx, status);
    world_close(&w);
}

static void test_programs_that_engines_do_not_run_are_refused(void **state)
{
    (void)state;
    refuse("    exp.float32(&y[0], &x[0], 24)\n", "");
    refuse("    y[0] = x[0]\n", "stores and takes");
    refuse("    exp.float32(&y[0], 24)\n", "another number");
    refuse("    exp.float32(&x[0], &y[0], 24)\n", "writes an input");
    refuse("    exp.float64(&y[0], &x[0], 24)\n", "another element type");
    refuse("    exp.float32(&y[0], &x[24], 0)\n", "outside of its buffer");
    refuse("    sort.float32(&y[0], &x[0], 24)\n", "no such primitive");
    refuse("    gather.4(&y[0], &x[0], &x[0], 4)\n", "another element type");
    refuse("    for i0 in 3 {\n        parallel i1 in 2 {\n"
           "            exp.float32(&y[i1], &x[0], 4)\n        }\n    }\n",
           "inside something");
    refuse(
        "    if (x[0] < float32(1.0)) {\n        exp.float32(&y[0], &x[0], 4)\n    }\n",
        "a float is not for engines");
}

/* ---- without memory ---- */

static int schedule_all(const bt_allocator *allocator)
{
    static const char text[] =
        "loops test {\n    in x: float32[1200]\n    in k: int32[600]\n"
        "    out y: float32[600]\n    out z: float32[3]\n    local t: float32[1]\n"
        "    for i0 in 600 {\n"
        "        if (0 <= i0 - 3) {\n            y[i0] = select((float32(0.0) < x[i0]), "
        "exp(x[2*i0 - 6]), float32(int64(k[i0])))\n        }\n    }\n"
        "    for i0 in 3 {\n        t[0] = float32(0.0)\n        for i1 in 200 {\n"
        "            t[0] sum[float32]= (x[200*i0 + i1] * x[i1])\n        }\n"
        "        z[i0] = t[0]\n    }\n}\n";
    struct cpu_config config = { .isa = CPU_ISA_PORTABLE, .nthread = 1 };
    bt_registry *registry = failing_registry(allocator);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_arena *arena = registry ? bt_arena_create(registry) : NULL;
    bt_loops *loops;
    int ok = ctx && arena;
    ok = ok &&
         ok_or_no_memory(loops_parse(ctx, arena, "test", text, strlen(text), &loops));
    ok = ok && ok_or_no_memory(cpu_schedule_loops(loops, &config));
    bt_arena_destroy(arena);
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return ok;
}

static void test_schedules_without_memory(void **state)
{
    (void)state;
    fail_each_allocation(schedule_all);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_chains),
    cmocka_unit_test(test_choices_on_data_in_all_floats),
    cmocka_unit_test(test_rows),
    cmocka_unit_test(test_windows),
    cmocka_unit_test(test_what_data_address),
    cmocka_unit_test(test_programs_that_engines_do_not_run_are_refused),
    cmocka_unit_test(test_what_many_share_is_computed_once),
    cmocka_unit_test(test_schedules_without_memory),
};
TEST_MAIN(tests)
