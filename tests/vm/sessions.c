/* Sessions of one program: code is made once, and each runs by itself. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "failing_allocator.h"

#include <baton/baton.h>

static bt_ctx *make_ctx(const bt_allocator *allocator)
{
    const bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                          .ignore_environment = 1,
                                          .allocator = allocator };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    assert_non_null(ctx);
    bt_registry_unref(registry);
    return ctx;
}

/* A function of so many branches, each with a tensor that lives on. */
static void write_program(const char *path, int n)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "#[version = \"baton 0.1\"]\n"
                 "def @main(%%v0: Tensor[(4), float32], %%c: bool) {\n");
    for (int i = 0; i < n; i++)
        fprintf(out, "    let %%v%d = if (%%c) { cumsum(%%v%d) } else { %%v%d };\n",
                i + 1, i, i);
    fprintf(out, "    %%v%d\n}\n", n);
    assert_int_equal(fclose(out), 0);
}

static bt_program *open_program(bt_ctx *ctx, int n)
{
    static const bt_program_options options = { .executor = "vm", .target = "reference" };
    char path[] = "/tmp/baton_vm_sessions_XXXXXX.baton";
    bt_program *program;
    const int file = mkstemps(path, 6);
    assert_true(file >= 0);
    close(file);
    write_program(path, n);
    bt_status status = bt_program_open(ctx, path, &options, &program);
    unlink(path);
    assert_ok(ctx, status);
    return program;
}

static void run(bt_ctx *ctx, bt_program *program, double expected)
{
    bt_tensor *x, *c;
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 1, (int64_t[]){ 4 }, &x));
    for (int64_t i = 0; i < 4; i++)
        bt_tensor_set(x, i, 1);
    assert_ok(ctx, bt_tensor_scalar_int(ctx, BT_BOOL, 1, &c));
    assert_ok(ctx, bt_program_set_at(program, 0, &x->base));
    assert_ok(ctx, bt_program_set_at(program, 1, &c->base));
    bt_tensor_unref(x);
    bt_tensor_unref(c);
    assert_ok(ctx, bt_program_run(program));
    assert_true(bt_tensor_get(bt_object_as_tensor(bt_program_get(program, 0)), 3) ==
                expected);
}

/* Bytes of a further session over a program of n branches. */
static uint64_t measure(int n, double expected)
{
    struct failing_allocator a = failing_allocator(0, 0);
    a.base.self = &a;
    bt_ctx *ctx = make_ctx(&a.base);
    bt_program *first = open_program(ctx, n), *second;
    const uint64_t before = a.nbytes;
    assert_ok(ctx, bt_program_share(ctx, first, &second));
    const uint64_t taken = a.nbytes - before;
    run(ctx, first, expected);
    bt_program_close(first);
    run(ctx, second, expected);
    bt_program_close(second);
    bt_ctx_destroy(ctx);
    assert_int_equal(a.nblock, 0);
    return taken;
}

static void test_sessions_share_code(void **state)
{
    (void)state;
    // sums of sums: 4 ones become 4, 10, 20 ...
    const uint64_t few = measure(2, 10), many = measure(200, 1373701);
    assert_true(many < few + 1024);
}

/* ---- watching ---- */

struct watch {
    bt_ctx *ctx;
    uint32_t nstop, most;
};

static bt_status end_after(void *self, const bt_stop *stop)
{
    struct watch *w = self;
    assert_int_equal(stop->depth, 1);
    return ++w->nstop > w->most ? bt_fail(w->ctx, BT_ERR_ARGUMENT, "enough") : NULL;
}

/* An error of who watches is that of the run, and the session goes on. */
static void test_a_watched_run_may_be_ended(void **state)
{
    bt_ctx *ctx = make_ctx(NULL);
    bt_program *program = open_program(ctx, 5);
    struct watch w = { .ctx = ctx, .most = 3 };
    (void)state;
    run(ctx, program, 56);
    bt_program_watch(program, end_after, &w);
    assert_error(bt_program_run(program), BT_ERR_ARGUMENT, "enough");
    assert_int_equal(w.nstop, 4);
    w.most = UINT32_MAX;
    assert_ok(ctx, bt_program_run(program));
    const uint32_t nstop = w.nstop;
    bt_program_watch(program, NULL, NULL);
    run(ctx, program, 56);
    assert_int_equal(w.nstop, nstop);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sessions_share_code),
    cmocka_unit_test(test_a_watched_run_may_be_ended),
};
TEST_MAIN(tests)
