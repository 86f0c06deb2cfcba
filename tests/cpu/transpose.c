/* Axes that are exchanged: schedules turn squares, and every element goes where it belongs. */
#include "schedule/transpose.h"
#include "schedule/schedule.h"

#include "contraction.h"
#include "strip_run.h"

struct exchange {
    int64_t dims[4];
    uint32_t is_called; /* WITH_VECTORS: on wider processors */
    const char *text;
};
enum { WITH_VECTORS = 2 };

static bt_tensor *numbers(struct world *w, bt_dtype dtype, const int64_t *dims)
{
    bt_tensor *t = tensor_new(w, dtype, 4, dims);
    for (int64_t i = 0; i < t->nelem; i++)
        bt_tensor_set(t, i, (double)(i * 37 % 127 - i % 3));
    return t;
}

static void check_by(struct world *w, const struct exchange *c, struct formula *f,
                     bt_tensor *x, const bt_tensor *expected, bt_tensor *got,
                     const struct cpu_config *config)
{
    struct strip_run calls = { .ctx = w->ctx, .isa = config->isa, .counted = "pack." };
    struct run_options options = { .seed = 7, .call = strip_call, .self = &calls };
    void *data[] = { x->data, got->data };
    bt_op op = formula_op(f);
    bt_compute *compute;
    bt_loops *loops;
    assert_ok(w->ctx, formula_make(w, f, &op, 1, &x, &compute));
    assert_ok(w->ctx,
              cpu_lower(w->ctx, bt_ctx_scratch(w->ctx), "test", compute->graph, &loops));
    assert_ok(w->ctx, cpu_schedule_loops(loops, config));
    memset(got->data, 0x55, (size_t)got->nelem * bt_dtype_nbytes(got->dtype));
    assert_ok(w->ctx, loops_run(w->ctx, loops, data, &options));
    if ((calls.ncounted > 0) != (c->is_called == 1 || (c->is_called == WITH_VECTORS &&
                                                       config->isa != CPU_ISA_PORTABLE)))
        fail_msg("%s: %u calls", c->text, calls.ncounted);
    for (int64_t e = 0; e < got->nelem; e++) {
        if (bt_tensor_get(got, e) != bt_tensor_get(expected, e))
            fail_msg("%s: element %lld is %g, not %g", c->text, (long long)e,
                     bt_tensor_get(got, e), bt_tensor_get(expected, e));
    }
    bt_compute_destroy(compute);
}

static void check(const struct exchange *c, bt_dtype dtype)
{
    struct world w = world_open();
    struct formula f = { .text = c->text,
                         .inputs = { { .name = "x", .type = "t[a, b, c, d]" } } };
    bt_tensor *x = numbers(&w, dtype, c->dims), *expected = formula_run(&w, &f, 1, &x);
    bt_tensor *got = tensor_new(&w, expected->dtype, expected->rank, expected->dims);
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        check_by(&w, c, &f, x, expected, got,
                 &(struct cpu_config){ .isa = isa, .nthread = 1 });
        check_by(&w, c, &f, x, expected, got,
                 &(struct cpu_config){ .isa = isa, .nthread = 5 });
    }
    bt_tensor_unref(got);
    bt_tensor_unref(expected);
    bt_tensor_unref(x);
    world_close(&w);
}

static void test_elements_go_where_they_belong(void **state)
{
    (void)state;
    static const struct exchange all[] = {
        { { 1, 40, 9, 11 }, 1, "y: t[i, j, k, l] = x[i, l, j, k]" },
        { { 3, 17, 5, 33 }, 1, "y: t[i, j, k, l] = x[i, l, j, k]" },
        { { 2, 5, 7, 48 }, 1, "y: t[i, j, k, l] = x[i, k, l, j]" },
        { { 1, 1, 130, 257 }, 1, "y: t[i, j, k, l] = x[i, j, l, k]" },
        { { 4, 3, 16, 16 }, 1, "y: t[i, j, k, l] = x[j, i, l, k]" },
        { { 20, 2, 3, 19 }, 1, "y: t[i, j, k, l] = x[l, k, j, i]" },
        { { 2, 3, 40, 40 }, 1, "y: t[i, j in 3, k in 20, l in 40] = x[i, j, l, k + 4]" },
        { { 2, 1, 40, 40 }, 0, "y: t[i, j in 1, k in 20, l in 40] = x[i, j, l, 2 * k]" },
        { { 2, 30, 40, 1 }, 0, "y: t[i, j, k, l] = x[i, j, k, l]" },
        { { 2, 30, 40, 20 }, 0, "y: t[i, j, k, l] = x[i, k, j, l]" },
        { { 1, 40, 20, 20 }, 0, "y: t[i, j, k, l] = x[i, l, j, k] * x[i, l, j, k]" },
    };
    static const bt_dtype dtypes[] = { BT_INT8, BT_FLOAT16, BT_FLOAT32, BT_INT64 };
    for (size_t i = 0; i < BT_COUNT(all); i++) {
        for (size_t k = 0; k < BT_COUNT(dtypes); k++)
            check(&all[i], dtypes[k]);
    }
}

static void test_few_elements_are_strips(void **state)
{
    (void)state;
    check(&(struct exchange){ { 2, 3, 40, 45 },
                              WITH_VECTORS,
                              "y: t[i, j, k, l] = x[i, l, j, k]" },
          BT_UINT8);
    check(&(struct exchange){ { 1, 4, 40, 40 }, 0, "y: t[i, j, k, l] = x[i, l, j, k]" },
          BT_UINT8);
    check(&(struct exchange){ { 1, 3, 40, 40 }, 0, "y: t[i, j, k, l] = x[i, l, j, k]" },
          BT_FLOAT32);
    check(&(struct exchange){ { 1, 40, 40, 3 }, 0, "y: t[i, j, k, l] = x[i, k, l, j]" },
          BT_UINT8);
}

static int schedule(bt_registry *registry, bt_ctx *ctx, bt_store *store)
{
    const bt_op_input inputs[] = { { .name = "x", .type = "t[a, b]" }, { 0 } };
    const bt_op op = { .name = "test.op",
                       .revision = 1,
                       .inputs = inputs,
                       .formula = "y: t[i, j] = x[j, i]" };
    const bt_type *arg =
        bt_type_tensor_of(store, BT_UINT8, 2, (const int64_t[]){ 20, 30 });
    const struct cpu_config config = { .isa = CPU_ISA_PORTABLE, .nthread = 2 };
    bt_arena *arena = bt_arena_create(registry);
    bt_loops *loops;
    bt_compute *compute = NULL;
    const bt_type *result = bt_type_tensor(store, bt_type_hole(store, BT_KIND_SHAPE),
                                           bt_type_hole(store, BT_KIND_DTYPE));
    bt_formula_call call = { .op = &op, .narg = 1, .args = &arg, .result = result };
    bt_status status = !arena || !arg || !result
                           ? bt_no_memory()
                           : bt_compute_create(ctx, &call, &compute);
    if (!status)
        status = cpu_lower(ctx, arena, "test", compute->graph, &loops);
    if (!status)
        status = cpu_call_transposes(loops, &config);
    if (status && status->code != BT_ERR_MEMORY)
        fail_msg("%s", status->message);
    bt_compute_destroy(compute);
    if (arena)
        bt_arena_destroy(arena);
    return !status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    fail_each_allocation_of(schedule);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_elements_go_where_they_belong),
    cmocka_unit_test(test_few_elements_are_strips),
    cmocka_unit_test(test_every_allocation_may_fail),
};
TEST_MAIN(tests)
