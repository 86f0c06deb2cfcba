/* What a program's options name, opened: targets once for a whole compilation, executors
 * with options of their own. */
#include "programs.h"

#include <unistd.h>

#include <baton/baton.h>

static bt_status open_sized(bt_ctx *ctx, const bt_program_options *options, size_t nbytes,
                            bt_program **out)
{
    static const char text[] = "#[version = \"baton 0.1\"]\n"
                               "def @main(%x: Tensor[(1, 4, 6, 6), float32]) {\n"
                               "    nn.relu(negative(abs(%x)))\n}\n";
    char path[300];
    snprintf(path, sizeof(path), TEST_FOLDER "/options.%d", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    bt_status status = bt_program_open_sized(ctx, path, options, nbytes, out);
    unlink(path);
    return status;
}

static bt_status open_program(bt_ctx *ctx, const bt_program_options *options,
                              bt_program **out)
{
    return open_sized(ctx, options, sizeof(*options), out);
}

/* Passes of the pipelines default and fuse ask the target, and lowering does. */
static void test_a_target_is_opened_once_for_a_compilation(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    const bt_program_options options = { .target = "claim{tells=True}, reference" };
    bt_program *program;
    assert_ok(ctx, open_program(ctx, &options, &program));
    const bt_compiled *c = bt_program_compiled(program);
    assert_string_equal(c->targets[c->kernels[0]->target]->target->name, "claim");
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 1);
    assert_string_equal(bt_ctx_remark(ctx, BT_REMARK_NOTE, 0)->message,
                        "claim is opened: 1");
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static void check_told(bt_ctx *ctx, bt_program *program, const char *what)
{
    const int64_t dims[] = { 1, 4, 6, 6 };
    bt_tensor *x;
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 4, dims, &x));
    assert_ok(ctx, bt_program_set(program, "x", &x->base));
    bt_tensor_unref(x);
    assert_error(bt_program_run(program), BT_ERR_RUNTIME, what);
}

static void test_options_reach_the_executor(void **state)
{
    static const char *const rows[][2] = { { "told", "it was told 7" },
                                           { "told{number=42}", "it was told 42" } };
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_program *program, *shared;
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        const bt_program_options options = { .executor = rows[i][0] };
        assert_ok(ctx, open_program(ctx, &options, &program));
        check_told(ctx, program, rows[i][1]);
        assert_ok(ctx, bt_program_share(ctx, program, &shared));
        bt_program_close(program);
        check_told(ctx, shared, rows[i][1]);
        bt_program_close(shared);
    }
    assert_error(open_program(ctx,
                              &(bt_program_options){ .executor = "told{number=100}" },
                              &program),
                 BT_ERR_ATTRIBUTE, "number");
    assert_error(
        open_program(ctx, &(bt_program_options){ .executor = "told{numbr=1}" }, &program),
        BT_ERR_ATTRIBUTE, "number");
    assert_error(
        open_program(ctx, &(bt_program_options){ .executor = "interp{n=1}" }, &program),
        BT_ERR_ATTRIBUTE, "n");
    assert_error(
        open_program(ctx, &(bt_program_options){ .executor = "told{" }, &program),
        BT_ERR_ARGUMENT, "executor told{: a closing } is missing");
    assert_error(open_program(ctx, &(bt_program_options){ .level = 40 }, &program),
                 BT_ERR_ARGUMENT, "opt level 39: expected 0 to 4");
    bt_ctx_destroy(ctx);
}

/* An application may have been built with headers of an earlier or a later version. */
static void test_options_are_as_long_as_who_was_built_with_them(void **state)
{
    struct {
        bt_program_options options;
        uint64_t unknown;
    } later = { { .executor = "told{numbr=1}" }, 0 };
    const size_t earlier = offsetof(bt_program_options, executor);
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_program *program;
    // what is behind the end of an earlier version's is not looked at
    assert_ok(ctx, open_sized(ctx, &later.options, earlier, &program));
    bt_program_close(program);
    assert_error(open_sized(ctx, &later.options, sizeof(later), &program),
                 BT_ERR_ATTRIBUTE, "number");
    later.unknown = 1;
    assert_error(open_sized(ctx, &later.options, sizeof(later), &program),
                 BT_ERR_ARGUMENT, "was built for a later one");
    assert_error(bt_program_compile_sized(ctx, "f", &later.options, sizeof(later), "g"),
                 BT_ERR_ARGUMENT, "was built for a later one");
    bt_ctx_destroy(ctx);
    struct {
        bt_registry_options options;
        uint64_t unknown;
    } registry = { { .ignore_environment = 1 }, 1 };
    assert_null(bt_registry_create_sized(&registry.options, sizeof(registry)));
    bt_registry *made = bt_registry_create_sized(
        &registry.options, offsetof(bt_registry_options, plugin_use));
    assert_non_null(made);
    bt_registry_unref(made);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_options_are_as_long_as_who_was_built_with_them),
    cmocka_unit_test(test_a_target_is_opened_once_for_a_compilation),
    cmocka_unit_test(test_options_reach_the_executor),
};
TEST_MAIN(tests)
