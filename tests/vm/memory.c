/* Memory that a program asks for and that there is not: the error has the place, and the size. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "failing_allocator.h"

#include <baton/baton.h>

enum { MOST = 32 << 20 };

static void *limited_realloc(void *self, void *pointer, size_t old_nbytes, size_t nbytes)
{
    return nbytes > MOST ? NULL : failing_realloc(self, pointer, old_nbytes, nbytes);
}

static bt_program *open_text(bt_ctx *ctx, const char *text, const char *executor)
{
    const bt_program_options options = { .executor = executor, .target = "reference" };
    char path[] = "/tmp/baton_vm_memory_XXXXXX.baton";
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

/* A run with this scalar; then, where there is memory for it, one with 3. */
static void check(const char *executor, const char *text, int64_t n, int again,
                  const char *why)
{
    struct failing_allocator a = failing_allocator(0, 0);
    a.base.self = &a;
    a.base.realloc = limited_realloc;
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                          .ignore_environment = 1,
                                          .allocator = &a.base };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = bt_ctx_create(registry);
    assert_non_null(ctx);
    bt_registry_unref(registry);
    bt_program *program = open_text(ctx, text, executor);
    for (int i = 0; i < 1 + again; i++) {
        bt_tensor *given;
        assert_ok(ctx, bt_tensor_scalar_int(ctx, BT_INT32, i ? 3 : n, &given));
        assert_ok(ctx, bt_program_set_at(program, 0, &given->base));
        bt_tensor_unref(given);
        bt_status status = bt_program_run(program);
        if (i) {
            assert_ok(ctx, status);
            continue;
        }
        assert_error(status, BT_ERR_MEMORY, why);
        assert_non_null(status->place.file);
        assert_int_equal(status->place.line, 3);
    }
    bt_program_close(program);
    bt_ctx_destroy(ctx);
    assert_int_equal(a.nblock, 0);
}

static void test_a_tensor_that_is_too_large(void **state)
{
    static const char text[] = "#[version = \"baton 0.1\"]\n"
                               "def @main(%n: int32) -> Tensor[(?), float32] {\n"
                               "    dyn.zeros(reshape(%n, newshape=[1]))\n"
                               "}\n";
    static const char why[] = "dyn.zeros: no memory for a tensor of 1073741824 bytes";
    (void)state;
    check("vm", text, 1 << 28, 1, why);
    check("interp", text, 1 << 28, 1, why);
}

static void test_a_frame_that_is_too_large(void **state)
{
    static const char text[] = "#[version = \"baton 0.1\"]\n"
                               "def @main(%n: int32) -> int32 {\n"
                               "    sum(cumsum(broadcast_to(%n, shape=[16777216])))\n"
                               "}\n";
    (void)state;
    check("vm", text, 4, 0, "no memory for the 67108864 bytes of an activation");
    check("interp", text, 4, 0, "no memory for a tensor of 67108864 bytes");
}

/* ---- the budget of calls ---- */

static bt_status run_deep(bt_ctx *ctx, bt_program *program, int64_t depth, int64_t n)
{
    bt_tensor *k, *x;
    assert_ok(ctx, bt_tensor_scalar_int(ctx, BT_INT32, depth, &k));
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 1, &n, &x));
    assert_ok(ctx, bt_program_set_at(program, 0, &k->base));
    assert_ok(ctx, bt_program_set_at(program, 1, &x->base));
    bt_tensor_unref(k);
    bt_tensor_unref(x);
    return bt_program_run(program);
}

/* What earlier runs took does not count: deep calls after large tensors, and the other way
 * round. */
static void test_a_budget_counts_one_run_alone(void **state)
{
    static const char text[] =
        "#[version = \"baton 0.1\"]\n"
        "def @deep<n: Dim>(%k: int32, %x: Tensor[(n), float32]) -> float32 {\n"
        "    if (%k == 0) { sum(cumsum(%x)) } else { @deep(%k - 1, %x) + 1f }\n"
        "}\n"
        "def @main<n: Dim>(%k: int32, %x: Tensor[(n), float32]) -> float32 {\n"
        "    @deep(%k, %x)\n"
        "}\n";
    static const int64_t depths[] = { 0, 2000, 0, 2000 };
    static const int64_t lengths[] = { 200000, 4, 200000, 4 };
    (void)state;
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                          .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = bt_ctx_create(registry);
    assert_non_null(ctx);
    bt_registry_unref(registry);
    bt_program *program = open_text(ctx, text, "vm{stack=1000000}");
    for (uint32_t i = 0; i < BT_COUNT(depths); i++)
        assert_ok(ctx, run_deep(ctx, program, depths[i], lengths[i]));
    assert_error(run_deep(ctx, program, 2000, 200000), BT_ERR_LIMIT,
                 "more than 1000000 bytes of nested calls");
    assert_ok(ctx, run_deep(ctx, program, 2000, 4));
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_budget_counts_one_run_alone),
    cmocka_unit_test(test_a_tensor_that_is_too_large),
    cmocka_unit_test(test_a_frame_that_is_too_large),
};
TEST_MAIN(tests)
