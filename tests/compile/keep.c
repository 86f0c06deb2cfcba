/* Kernels that write only what changes of an input, and those that need a workspace. */
#include "kernel_check.h"
#include "programs.h"

#include <unistd.h>

#include <baton/baton.h>
#include <baton/compute.h>

#define INDICES       "const[(2), int64]{1, 4}"
#define UPDATES       "const[(2), float32]{100, 200}"
#define SCATTER(data) "scatter_elements(" data ", " INDICES ", " UPDATES ")"
#define MAIN(body)                               \
    "def @main(%x: Tensor[(2, 3), float32]) {\n" \
    "    %d = reshape(%x, newshape=[6]);\n" body "\n}\n"

static void check_results(bt_ctx *ctx, const char *body, const char *target)
{
    bt_compiled *expected, *found;
    bt_tensor *x = numbers(ctx, 2, 3), *before = numbers(ctx, 2, 3);
    bt_object *want, *got;
    bt_tensor_difference d;
    assert_ok(ctx, compile_text(ctx, body, "reference", &expected));
    assert_ok(ctx, compile_text(ctx, body, target, &found));
    assert_ok(ctx, run_graph(ctx, expected, x, &want));
    for (int i = 0; i < 2; i++) {
        assert_ok(ctx, run_graph(ctx, found, x, &got));
        const bt_tuple *a = bt_object_as_tuple(want), *b = bt_object_as_tuple(got);
        for (uint32_t k = 0; k < (a ? a->nfield : 1); k++) {
            assert_ok(ctx, bt_tensor_compare(
                               ctx, bt_object_as_tensor(a ? a->fields[k] : want),
                               bt_object_as_tensor(b ? b->fields[k] : got), 0, 0, &d));
            assert_int_equal(d.ndifferent, 0);
        }
        bt_object_unref(got);
        assert_memory_equal(x->data, before->data, bt_tensor_nbytes(x));
    }
    bt_object_unref(want);
    bt_tensor_unref(x);
    bt_tensor_unref(before);
    bt_compiled_unref(expected);
    bt_compiled_unref(found);
}

/* Whether a copy's two tensors are one place in memory. */
static int is_in_place(const bt_call *copy)
{
    const bt_call *from = bt_as_op_call(copy->args[0], "memory.alloc_tensor"),
                  *to = bt_as_op_call(copy->args[1], "memory.alloc_tensor");
    return from && to && from->args[0] == to->args[0] &&
           bt_call_dim(from, "offset") == bt_call_dim(to, "offset");
}

/* What dies is changed where it is; what lives on, or is the caller's, is copied. */
static void test_what_is_kept_is_copied_only_where_it_must_be(void **state)
{
    static const struct {
        const char *body;
        int in_place[2];
    } rows[] = {
        { MAIN(SCATTER("%d")), { 0 } },
        { MAIN("%a = negative(%d); %b = " SCATTER("%a") "; negative(%b)"), { 1 } },
        { MAIN("%a = negative(%d); %b = " SCATTER("%a") "; (negative(%b), abs(%a))"),
          { 0 } },
        { MAIN("%a = negative(%d); %b = " SCATTER("%a") "; %c = " SCATTER(
              "%b") "; abs(%c)"),
          { 1, 1 } },
        { MAIN("%a = negative(%d); %b = " SCATTER("%a") "; %c = " SCATTER(
              "%a") "; (abs(%b), abs(%c))"),
          { 0, 1 } },
    };
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        bt_compiled *c;
        const bt_call *copy;
        assert_ok(ctx, compile_text(ctx, rows[i].body, "keeper, reference", &c));
        for (uint32_t k = 0; (copy = find_call(c, "memory.copy", k)); k++)
            assert_int_equal(is_in_place(copy), rows[i].in_place[k]);
        assert_non_null(find_call(c, "memory.copy", 0));
        bt_compiled_unref(c);
        check_results(ctx, rows[i].body, "keeper, reference");
    }
    bt_ctx_destroy(ctx);
}

static void test_a_workspace_is_memory_of_one_launch(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, MAIN(SCATTER("%d")), "keeper, reference", &c));
    const bt_call *invoke = find_call(c, "memory.invoke", 0);
    assert_int_equal(invoke->narg, 3);
    assert_int_equal(bt_type_nbytes(invoke->args[2]->type), 16);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static void test_what_cannot_be_kept_is_refused(void **state)
{
    static const struct {
        const char *fault, *why;
    } rows[] = {
        { "indices", "kernel 0 keeps input 1 in output 0, which must be an input and an "
                     "output of one type" },
        { "temp",
          "kernel 0 keeps input 0 in temp 0, which must be an input and an output "
          "of one type" },
        { "negative", "the workspace of kernel 0 has -8 bytes" },
    };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        bt_ctx *ctx = open_targets(NULL);
        bt_compiled *c;
        char target[64];
        snprintf(target, sizeof(target), "keeper{fault=\"%s\"}, reference",
                 rows[i].fault);
        assert_error(compile_text(ctx, MAIN(SCATTER("%d")), target, &c), BT_ERR_PLUGIN,
                     rows[i].why);
        bt_ctx_destroy(ctx);
    }
}

static bt_status check_target(bt_ctx *ctx, const char *target, struct kernel_check *check)
{
    char path[300];
    bt_program *program;
    snprintf(path, sizeof(path), TEST_FOLDER "/keep.%d", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "#[version = \"baton 0.1\"]\n%s", MAIN(SCATTER("%d"))) > 0);
    assert_int_equal(fclose(file), 0);
    const bt_program_options options = { .pipeline = "",
                                         .target = target,
                                         .keeps_source = 1 };
    assert_ok(ctx, bt_program_open(ctx, path, &options, &program));
    unlink(path);
    bt_tensor *x = numbers(ctx, 2, 3);
    assert_ok(ctx, bt_program_set(program, "x", &x->base));
    bt_tensor_unref(x);
    bt_status status = check_kernels(ctx, bt_ctx_scratch(ctx), program, check);
    bt_program_close(program);
    return status;
}

static void test_checks_keep_too_and_guard_the_workspace(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    struct kernel_check check;
    assert_ok(ctx, check_target(ctx, "keeper, reference", &check));
    assert_int_equal(check.ncall, 1);
    assert_error(check_target(ctx, "keeper{fault=\"narrow\"}, reference", &check),
                 BT_ERR_PLUGIN, "writes outside of its workspace of 8 bytes");
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_what_is_kept_is_copied_only_where_it_must_be),
    cmocka_unit_test(test_a_workspace_is_memory_of_one_launch),
    cmocka_unit_test(test_what_cannot_be_kept_is_refused),
    cmocka_unit_test(test_checks_keep_too_and_guard_the_workspace),
};
TEST_MAIN(tests)
