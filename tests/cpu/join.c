/* Short rows as strips: elements are those of loops row by row, and calls are of whole rows. */
#include "schedule/join.h"
#include "schedule/schedule.h"
#include "schedule/vectorise.h"

#include "contraction.h"
#include "strip_run.h"

struct rows {
    int64_t dims[4];      /* of x */
    int64_t other[4];     /* of z; 0: there is none */
    uint32_t load, store; /* whether such calls are made */
    const char *text;
};

static bt_tensor *numbers(struct world *w, const int64_t *dims, bt_dtype dtype)
{
    bt_tensor *t = tensor_new(w, dtype, 4, dims);
    for (int64_t i = 0; i < t->nelem; i++)
        bt_tensor_set(t, i, (double)(i * 37 % 11 - i % 3));
    return t;
}

static void check_by(struct world *w, const struct rows *c, struct formula *f, uint32_t n,
                     bt_tensor **in, const bt_tensor *expected, const char *counted,
                     int is_called, enum cpu_isa isa)
{
    const struct cpu_config config = { .isa = isa, .nthread = 1 };
    struct strip_run calls = { .ctx = w->ctx, .isa = isa, .counted = counted };
    struct run_options options = { .seed = 7, .call = strip_call, .self = &calls };
    bt_tensor *got = tensor_new(w, expected->dtype, expected->rank, expected->dims);
    void *data[3] = { in[0]->data, n > 1 ? in[1]->data : got->data, got->data };
    uint32_t njoined = 0;
    bt_op op = formula_op(f);
    bt_compute *compute;
    bt_loops *loops;
    assert_ok(w->ctx, formula_make(w, f, &op, n, in, &compute));
    assert_ok(w->ctx,
              cpu_lower(w->ctx, bt_ctx_scratch(w->ctx), "test", compute->graph, &loops));
    for (uint32_t i = 0; i < loops->body.len; i++)
        assert_ok(w->ctx, bt_loops_collapse_all(loops, loops->body.at[i]));
    assert_true(cpu_join_rows(loops, &njoined));
    assert_int_equal(njoined, c->load || c->store);
    for (uint32_t i = 0; i < loops->body.len && njoined; i++)
        assert_ok(w->ctx, bt_loops_parallel(loops, loops->body.at[i]));
    assert_ok(w->ctx, cpu_vectorise(loops, &config));
    memset(got->data, 0x55, (size_t)got->nelem * bt_dtype_nbytes(got->dtype));
    assert_ok(w->ctx, loops_run(w->ctx, loops, data, &options));
    if ((calls.ncounted > 0) != is_called)
        fail_msg("%s: %u calls of %s", c->text, calls.ncounted, counted);
    assert_memory_equal(got->data, expected->data,
                        (size_t)got->nelem * bt_dtype_nbytes(got->dtype));
    bt_compute_destroy(compute);
    bt_tensor_unref(got);
}

static void check(const struct rows *c, bt_dtype dtype)
{
    struct world w = world_open();
    struct formula f = { .text = c->text,
                         .inputs = { { .name = "x", .type = "t[a, b, c, d]" },
                                     { .name = "z", .type = "t[e, f, g, h]" } } };
    const uint32_t n = c->other[0] ? 2 : 1;
    if (n == 1)
        f.inputs[1] = (bt_op_input){ .name = NULL };
    bt_tensor *in[2] = { numbers(&w, c->dims, dtype),
                         n > 1 ? numbers(&w, c->other, dtype) : NULL };
    bt_tensor *expected = formula_run(&w, &f, n, in);
    for (enum cpu_isa isa = 0; isa <= cpu_isa_of_machine(); isa++) {
        check_by(&w, c, &f, n, in, expected, "load_rows.", (int)c->load, isa);
        check_by(&w, c, &f, n, in, expected, "store_rows.", (int)c->store, isa);
    }
    bt_tensor_unref(expected);
    bt_tensor_unref(in[0]);
    if (in[1])
        bt_tensor_unref(in[1]);
    world_close(&w);
}

static void test_short_rows_are_strips(void **state)
{
    (void)state;
    static const struct rows all[] = {
        // windows: their first element, positions of the greatest
        { { 3, 5, 28, 28 },
          { 0 },
          1,
          0,
          "y: t[i, j, k in 14, l in 14] = x[i, j, 2*k, 2*l]" },
        { { 3, 5, 28, 28 },
          { 3, 5, 14, 14 },
          1,
          0,
          "y: int32[i in a, j in b, k in g, l in h] = min(r in 2, s in 2: select("
          "    x[i, j, 2*k + r, 2*l + s] == z[i, j, k, l], int32(2*r + s), 9))" },
        { { 2, 3, 27, 23 },
          { 0 },
          1,
          0,
          "y: t[i, j, k in 9, l in 7] = x[i, j, 3*k + 1, 3*l + 2]" },
        // one block of strips, and a rest
        { { 2, 2, 12, 12 },
          { 0 },
          1,
          0,
          "y: t[i, j, k in 6, l in 6] = x[i, j, 2*k, 2*l]" },
        { { 40, 3, 12, 22 },
          { 0 },
          1,
          0,
          "y: t[i, j, k in 6, l in 11] = x[i, j, 2*k, 2*l] + x[i, j, 2*k + 1, 2*l]" },
        // rows that are whole, or long, or none
        { { 3, 5, 8, 300 },
          { 0 },
          0,
          0,
          "y: t[i, j, k in 4, l in 150] = x[i, j, 2*k, 2*l]" },
        { { 3, 5, 8, 3 }, { 0 }, 0, 0, "y: t[i, j, k in 4, l in 3] = x[i, j, 2*k, l]" },
    };
    static const bt_dtype dtypes[] = { BT_INT8, BT_INT16, BT_FLOAT32, BT_INT64 };
    for (size_t i = 0; i < BT_COUNT(all); i++) {
        for (size_t k = 0; k < BT_COUNT(dtypes); k++)
            check(&all[i], dtypes[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_rows_are_strips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
