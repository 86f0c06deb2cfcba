/* Memory of gradients of loops: @checkpointed keeps states by the logarithm of its steps, @iterate
 * one for each step. */
#define _DEFAULT_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "failing_allocator.h"

#include <baton/baton.h>

enum { NELEM = 1024, STATE = NELEM * 4 };

/* Both give the same bits but for the sums of the parameters' adjoints, whose order differs. */
static const char text[] =
    "#[version = \"baton 0.1\"]\n"
    "import \"function\"\n"
    "def @plain(%n: int32, %x: Tensor[(1024), float32], %w: Tensor[(1024), float32]) {\n"
    "    @iterate(fn (%h: Tensor[(1024), float32]) -> Tensor[(1024), float32] {\n"
    "        sin(%h * %w + %x) }, %n)(%x)\n"
    "}\n"
    "def @kept(%n: int32, %x: Tensor[(1024), float32], %w: Tensor[(1024), float32]) {\n"
    "    @checkpointed(fn (%h: Tensor[(1024), float32]) -> Tensor[(1024), float32] {\n"
    "        sin(%h * %w + %x) }, %n, %x)\n"
    "}\n"
    "gradient @dplain = @plain(wrt=[1, 2], keep=[0]);\n"
    "gradient @dkept = @kept(wrt=[1, 2], keep=[0]);\n";

struct measured {
    struct failing_allocator allocator;
    size_t peak;
    float values[3][NELEM];
};

static void *measured_realloc(void *self, void *pointer, size_t old_nbytes, size_t nbytes)
{
    struct measured *m = self;
    void *made = failing_realloc(&m->allocator, pointer, old_nbytes, nbytes);
    m->peak = m->allocator.nbytes > m->peak ? m->allocator.nbytes : m->peak;
    return made;
}

static bt_program *open_text(bt_ctx *ctx, const char *entry, const char *executor)
{
    const bt_program_options options = { .executor = executor,
                                         .target = "reference",
                                         .entry = entry };
    char path[] = "/tmp/baton_vm_checkpoints_XXXXXX.baton";
    bt_program *program;
    const int file = mkstemps(path, 6);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    bt_status status = bt_program_open(ctx, path, &options, &program);
    unlink(path);
    assert_ok(ctx, status);
    return program;
}

static void give(bt_ctx *ctx, bt_program *program, const char *name, double scale)
{
    bt_tensor *tensor;
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 1, (int64_t[]){ NELEM }, &tensor));
    for (int64_t i = 0; i < NELEM; i++)
        bt_tensor_set(tensor, i, scale * (double)(i + 1) / NELEM);
    assert_ok(ctx, bt_program_set(program, name, &tensor->base));
    bt_tensor_unref(tensor);
}

/* Bytes that a run takes, beyond those that there are before it. */
static size_t run(struct measured *m, const char *executor, const char *entry, int64_t n)
{
    m->allocator = failing_allocator(0, 0);
    m->allocator.base.self = m;
    m->allocator.base.realloc = measured_realloc;
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                          .ignore_environment = 1,
                                          .allocator = &m->allocator.base };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = bt_ctx_create(registry);
    assert_non_null(ctx);
    bt_registry_unref(registry);
    bt_program *program = open_text(ctx, entry, executor);
    bt_tensor *count;
    assert_ok(ctx, bt_tensor_scalar_int(ctx, BT_INT32, n, &count));
    assert_ok(ctx, bt_program_set(program, "n", &count->base));
    bt_tensor_unref(count);
    give(ctx, program, "x", 0.5);
    give(ctx, program, "w", 0.9);
    assert_ok(ctx, bt_program_run(
                       program)); // what stays from one run to the next is there then
    const size_t before = m->peak = m->allocator.nbytes;
    assert_ok(ctx, bt_program_run(program));
    for (uint32_t i = 0; i < 3; i++) {
        const bt_tensor *tensor = bt_object_as_tensor(bt_program_get(program, i));
        for (int64_t k = 0; k < NELEM; k++)
            m->values[i][k] = (float)bt_tensor_get(tensor, k);
    }
    bt_program_close(program);
    bt_ctx_destroy(ctx);
    assert_int_equal(m->allocator.nblock, 0);
    return m->peak - before;
}

/* nstate: of each halving: where it began, sums of both parameters' adjoints, and what the
 * executor has of an activation. */
static void check(const char *executor, uint32_t ncount, uint32_t nstate)
{
    static struct measured plain, kept;
    static const int64_t counts[] = { 16, 256, 4096 };
    for (uint32_t i = 0; i < ncount; i++) {
        const size_t all = run(&plain, executor, "dplain", counts[i]);
        const size_t few = run(&kept, executor, "dkept", counts[i]);
        print_message("%s, %d steps: %.1f states, %.1f with checkpoints\n", executor,
                      (int)counts[i], (double)all / STATE, (double)few / STATE);
        assert_true(all > (size_t)counts[i] * STATE);
        const uint32_t nhalving = 4 * (i + 1);
        assert_true(few < (nstate * nhalving + 4) * (size_t)STATE);
        assert_memory_equal(plain.values[2], kept.values[2], sizeof(plain.values[2]));
        for (uint32_t k = 0; k < 2 * NELEM; k++) {
            const float a = plain.values[k / NELEM][k % NELEM],
                        b = kept.values[k / NELEM][k % NELEM];
            assert_true(fabsf(a - b) <= 1e-5f * (1 + fabsf(a)));
        }
    }
}

static void test_vm_keeps_few_states(void **state)
{
    (void)state;
    check("vm", 3, 4);
}

static void test_interp_keeps_few_states(void **state)
{
    (void)state;
    check("interp", 2, 12);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_interp_keeps_few_states),
    cmocka_unit_test(test_vm_keeps_few_states),
};
TEST_MAIN(tests)
