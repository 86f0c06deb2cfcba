/* Loops by strips: what they compute, and what becomes of loops. */
#include "vectorise.h"
#include "schedule.h"

#include "formula.h"
#include "strip_run.h"

#include <math.h>
#include <stdlib.h>

#include "compute/compute.h"

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

static const char *written(struct world *w, const bt_loops *loops)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(w->ctx));
    assert_ok(w->ctx, bt_loops_print(loops, &text));
    return bt_text_get(&text);
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
    bt_loops_options options = { .seed = 1, .call = strip_call, .self = &run };
    bt_status status = bt_loops_run_with(w->ctx, loops, data, &options);
    if (status)
        fail_msg("%s\n%s", status->message, written(w, loops));
    double bound = expected->dtype == BT_FLOAT16    ? 2e-3
                   : expected->dtype == BT_BFLOAT16 ? 2e-2
                                                    : 1e-5;
    assert_close(out, expected, bound, written(w, loops));
    bt_tensor_unref(out);
}

struct argument {
    bt_dtype dtype;
    uint32_t rank;
    int64_t dims[4];
};

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

#define ARGS(...)             \
    (const struct argument[]) \
    {                         \
        __VA_ARGS__           \
    }
#define F32(rank, ...)    \
    {                     \
        BT_FLOAT32, rank, \
        {                 \
            __VA_ARGS__   \
        }                 \
    }

static void test_elementwise(void **state)
{
    (void)state;
    static const struct formula f = {
        .inputs = { { "x", "t[n, m]" }, { "a", "t[m]" }, { "b", "t[n, m]" } },
        .text = "y: t[i in n, j in m] = max(x[i, j] * a[j] + b[i, j], 0)",
    };
    for (int64_t n = 0; n < 3; n++) {
        check(&f, 3, ARGS(F32(2, n, 7), F32(1, 7), F32(2, n, 7)));
        check(&f, 3, ARGS(F32(2, n, 1000), F32(1, 1000), F32(2, n, 1000)));
    }
}

static void test_exponentials(void **state)
{
    (void)state;
    static const struct formula f = {
        .inputs = { { "x", "t[n]" } },
        .text = "y: t[i in n] = select(x[i] > 0, exp(x[i]) * x[i], -tanh(x[i] + 1))",
    };
    static const bt_dtype dtypes[] = { BT_FLOAT16, BT_BFLOAT16, BT_FLOAT32, BT_FLOAT64 };
    for (uint32_t i = 0; i < 4; i++)
        check(&f, 1, ARGS({ dtypes[i], 1, { 1533 } }));
}

static void test_softmax(void **state)
{
    (void)state;
    static const struct formula f = {
        .inputs = { { "x", "t[n, m]" } },
        .text = "m: t[i in n] = max(j: x[i, j]); e: t[i in n, j in m] = exp(x[i, j] - "
                "m[i]); s: t[i in n] = sum(j: e[i, j]); y: t[i in n, j in m] = e[i, j] / "
                "s[i]",
    };
    check(&f, 1, ARGS(F32(2, 3, 1000)));
    check(&f, 1, ARGS(F32(2, 300, 5)));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_elementwise),
    cmocka_unit_test(test_exponentials),
    cmocka_unit_test(test_softmax),
};
TEST_MAIN(tests)
