/* Comparisons of integers: in the type of what is read where that holds both, and the same elements. */
#include "schedule/schedule.h"

#include "contraction.h"
#include "strip_run.h"

struct compare {
    bt_dtype dtype;
    const char *called; /* by which the elements are compared */
    const char *text;
};

static void check_by(struct world *w, const struct compare *c, struct formula *f,
                     bt_tensor *p, const bt_tensor *expected, enum cpu_isa isa)
{
    const struct cpu_config config = { .isa = isa, .nthread = 1 };
    struct strip_run calls = { .ctx = w->ctx, .isa = isa, .counted = c->called };
    struct run_options options = { .seed = 7, .call = strip_call, .self = &calls };
    bt_tensor *got = tensor_new(w, expected->dtype, expected->rank, expected->dims);
    void *data[] = { p->data, got->data };
    bt_op op = formula_op(f);
    bt_compute *compute;
    bt_loops *loops;
    assert_ok(w->ctx, formula_make(w, f, &op, 1, &p, &compute));
    assert_ok(w->ctx,
              cpu_lower(w->ctx, bt_ctx_scratch(w->ctx), "test", compute->graph, &loops));
    assert_ok(w->ctx, cpu_schedule_loops(loops, &config));
    assert_ok(w->ctx, loops_run(w->ctx, loops, data, &options));
    if (!calls.ncounted)
        fail_msg("%s: no call of %s", c->text, c->called);
    assert_memory_equal(got->data, expected->data,
                        (size_t)got->nelem * bt_dtype_nbytes(got->dtype));
    bt_compute_destroy(compute);
    bt_tensor_unref(got);
}

static void test_what_is_read_is_compared_as_it_is(void **state)
{
    (void)state;
    static const struct compare all[] = {
        { BT_INT32, "eq.int32",
          "y: int32[i in a, j in b, k in 3] = select(int64(p[i, j]) == 2*k - 1, 5, 7)" },
        { BT_INT32, "ne.int32",
          "y: int32[i in a, j in b, k in 3] = select(int64(p[i, j]) != k, 5, 7)" },
        { BT_INT8, "eq.int8",
          "y: int32[i in a, j in b, k in 3] = select(3*k == int64(p[i, j]), 5, 7)" },
        // 400 is no int8
        { BT_INT8, "eq.int64",
          "y: int32[i in a, j in b, k in 3] = select(200*k == int64(p[i, j]), 5, 7)" },
        { BT_INT64, "eq.int64",
          "y: int32[i in a, j in b, k in 3] = select(2*k == p[i, j], 5, 7)" },
        { BT_INT32, "eq.int64",
          "y: int32[i in a, j in b, k in 3] = select(2*k == 3*int64(p[i, j]), 5, 7)" },
    };
    static const int64_t dims[] = { 7, 30 };
    for (size_t i = 0; i < BT_COUNT(all); i++) {
        struct world w = world_open();
        struct formula f = { .text = all[i].text,
                             .inputs = { { .name = "p", .type = "t[a, b]" } } };
        bt_tensor *p = tensor_new(&w, all[i].dtype, 2, dims);
        for (int64_t e = 0; e < p->nelem; e++)
            bt_tensor_set(p, e, (double)(e * 37 % 11 - 4));
        bt_tensor *expected = formula_run(&w, &f, 1, &p);
        for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++)
            check_by(&w, &all[i], &f, p, expected, isa);
        bt_tensor_unref(expected);
        bt_tensor_unref(p);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_read_is_compared_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
