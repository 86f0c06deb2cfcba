/* Targets with memory of their own, which the host does not see: what goes there and back,
 * once each; several instances in one program; plans, artifacts and failures of it. */
#include "kernel_check.h"
#include "programs.h"

#include <math.h>
#include <unistd.h>

#include <baton/artifact.h>
#include <baton/baton.h>

static uint32_t count_calls(const bt_compiled *c, const char *op)
{
    uint32_t n = 0;
    while (find_call(c, op, n))
        n++;
    return n;
}

static int same(bt_ctx *ctx, const bt_object *a, const bt_object *b)
{
    const bt_tuple *x = bt_object_as_tuple(a), *y = bt_object_as_tuple(b);
    bt_tensor_difference d;
    if (!x) {
        assert_ok(ctx, bt_tensor_compare(ctx, bt_object_as_tensor(a),
                                         bt_object_as_tensor(b), 0, 0, &d));
        return d.ndifferent == 0;
    }
    assert_int_equal(x->nfield, y->nfield);
    for (uint32_t i = 0; i < x->nfield; i++) {
        if (!same(ctx, x->fields[i], y->fields[i]))
            return 0;
    }
    return 1;
}

static void check(bt_ctx *ctx, bt_compiled *c, const bt_tensor *x, const bt_object *want)
{
    bt_object *got;
    for (int i = 0; i < 2; i++) {
        assert_ok(ctx, run_graph(ctx, c, x, &got));
        assert_true(same(ctx, want, got));
        bt_object_unref(got);
    }
}

/* The same from a file. */
static void check_written(bt_ctx *ctx, bt_compiled *c, const char *targets,
                          const bt_tensor *x, const bt_object *want)
{
    char path[300];
    bt_artifact *a;
    bt_compiled *again;
    snprintf(path, sizeof(path), TEST_FOLDER "/memory.%d", (int)getpid());
    assert_ok(ctx, bt_artifact_write(ctx, c, 0, path));
    assert_ok(ctx, bt_artifact_read(ctx, path, &a));
    unlink(path);
    assert_ok(ctx, bt_artifact_load(ctx, a, targets, &again));
    bt_artifact_close(a);
    check(ctx, again, x, want);
    bt_compiled_unref(again);
}

#define MAIN(body) "def @main(%x: Tensor[(2, 3), float32]) {\n" body "\n}\n"

static void test_what_is_computed_elsewhere_is_the_same(void **state)
{
    static const struct {
        const char *body;
        uint32_t ncopy; /* from the host and back */
    } rows[] = {
        { MAIN("negative(%x)"), 2 },
        { MAIN("add(negative(%x), abs(%x))"), 2 },
        { MAIN("%a = negative(%x); (%a, %x, %a, abs(%a))"), 3 },
        { MAIN("%a = negative(%x); (%a, (reshape(%a, newshape=[6]), exp(%a)))"), 4 },
        { MAIN("%s = split(%x, indices_or_sections=3, axis=1); "
               "concatenate((%s.2, %s.0), axis=0)"),
          2 },
        { MAIN("add(%x, const[(2, 3), float32]{1, 2, 3, 4, 5, 6})"), 2 },
        { MAIN("%w = negative(const[(2, 3), float32]{1, 2, 3, 4, 5, 6}); add(%x, %w)"),
          2 },
        { MAIN("%x"), 0 },
        { MAIN("(reshape(%x, newshape=[6]), negative(reshape(%x, newshape=[3, 2])))"),
          2 },
    };
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        bt_compiled *c, *expected;
        bt_tensor *x = numbers(ctx, 2, 3);
        bt_object *want;
        assert_ok(ctx, compile_text(ctx, rows[i].body, "reference", &expected));
        assert_ok(ctx, run_graph(ctx, expected, x, &want));
        assert_ok(ctx, compile_text(ctx, rows[i].body, "far", &c));
        if (count_calls(c, "memory.copy") != rows[i].ncopy)
            fail_msg("%u copies, not %u: %s", count_calls(c, "memory.copy"),
                     rows[i].ncopy, rows[i].body);
        check(ctx, c, x, want);
        check_written(ctx, c, NULL, x, want);
        check_written(ctx, c, "far{n=5}", x, want);
        bt_object_unref(want);
        bt_tensor_unref(x);
        bt_compiled_unref(expected);
        bt_compiled_unref(c);
    }
    bt_ctx_destroy(ctx);
}

/* Two instances and the host take turns; @one is computed by the first, @two by the second,
 * all else by the last of the list. */
static const char turns[] =
    "def @one(%x: Tensor[(2, 3), float32], primitive=1, target=\"far{n=1}\") {\n"
    "    negative(%x)\n}\n"
    "def @two(%x: Tensor[(2, 3), float32], primitive=1, target=\"far{n=2}\") {\n"
    "    abs(%x)\n}\n"
    "def @three(%x: Tensor[(2, 3), float32], primitive=1, target=\"reference\") {\n"
    "    exp(%x)\n}\n"
    "def @main(%x: Tensor[(2, 3), float32]) {\n"
    "    %a = @one(%x);\n"
    "    %b = @two(%a);\n"
    "    %c = @one(%b);\n"
    "    %d = @three(%c);\n"
    "    %e = @two(%d);\n"
    "    %f = @two(%a);\n"
    "    (%e, %c, %f)\n}\n";

static void compile_turns(bt_ctx *ctx, const char *targets, bt_compiled **out)
{
    char text[2048];
    bt_module *parsed, *typed;
    snprintf(text, sizeof(text), "#[version = \"baton 0.1\"]\n%s", turns);
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    bt_module_unref(parsed);
    const bt_compile_options options = { .targets = targets, .entry = "main" };
    assert_ok(ctx, bt_compile(ctx, typed, &options, out));
    bt_module_unref(typed);
}

static void test_several_instances_work_in_one_program(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    bt_tensor *x = numbers(ctx, 2, 3);
    bt_object *got;
    compile_turns(ctx, "far{n=1}, far{n=2}, reference", &c);
    assert_ok(ctx, run_graph(ctx, c, x, &got));
    const bt_tuple *fields = bt_object_as_tuple(got);
    for (int64_t i = 0; i < 6; i++) {
        double value = bt_tensor_get(x, i), size = value < 0 ? -value : value;
        assert_true(bt_tensor_get(bt_object_as_tensor(fields->fields[1]), i) == -size);
        assert_true(bt_tensor_get(bt_object_as_tensor(fields->fields[2]), i) == size);
        assert_float_equal(bt_tensor_get(bt_object_as_tensor(fields->fields[0]), i),
                           exp(-size), 1e-6);
    }
    check(ctx, c, x, got);
    check_written(ctx, c, NULL, x, got);
    // x there; a, by the host, to the other; b back; c and d to the host and on; e and f
    assert_int_equal(count_calls(c, "memory.copy"), 9);
    bt_object_unref(got);
    bt_tensor_unref(x);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* Tensors of one memory share storage, of two they do not. */
static void test_each_memory_has_a_plan(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    uint32_t n[3] = { 0 };
    compile_turns(ctx, "far{n=1}, far{n=2}, reference", &c);
    for (uint32_t i = 0; find_call(c, "memory.alloc_storage", i); i++) {
        const bt_call *call = find_call(c, "memory.alloc_storage", i);
        const char *space = *(const char *const *)bt_attr_find(call->op, call->attrs,
                                                               "space", BT_ATTR_STRING);
        n[strcmp(space, "far{n=1}") == 0 ? 1 : strcmp(space, "far{n=2}") == 0 ? 2 : 0]++;
    }
    assert_int_equal(n[0], 1 + 3); // what goes through the host, and the results
    assert_int_equal(n[1], 1);
    assert_int_equal(n[2], 1);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static void test_failures_of_the_memory_are_errors(void **state)
{
    static const char *const faults[] = { "alloc", "copy", "launch" };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(faults); i++) {
        bt_ctx *ctx = open_targets(NULL);
        bt_compiled *c;
        bt_tensor *x = numbers(ctx, 2, 3);
        bt_object *y;
        char target[64], why[64];
        snprintf(target, sizeof(target), "far{fault=\"%s\"}", faults[i]);
        snprintf(why, sizeof(why), "far: %s fails", faults[i]);
        assert_ok(ctx, compile_text(ctx, MAIN("negative(%x)"), target, &c));
        assert_error(run_graph(ctx, c, x, &y), BT_ERR_RUNTIME, why);
        bt_compiled_unref(c);
        assert_error(compile_text(ctx,
                                  MAIN("%w = negative(const[(2, 3), float32]"
                                       "{1, 2, 3, 4, 5, 6}); add(%x, %w)"),
                                  target, &c),
                     BT_ERR_RUNTIME, why); // what packs constants
        bt_tensor_unref(x);
        bt_ctx_destroy(ctx);
    }
}

static void test_its_kernels_are_checked(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    struct kernel_check result;
    bt_program *program;
    char path[300];
    snprintf(path, sizeof(path), TEST_FOLDER "/memory.%d", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "#[version = \"baton 0.1\"]\n%s",
                        MAIN("%a = negative(%x); (%a, nn.softmax(%a))")) > 0);
    assert_int_equal(fclose(file), 0);
    const bt_program_options options = { .pipeline = "",
                                         .target = "far",
                                         .keeps_source = 1 };
    assert_ok(ctx, bt_program_open(ctx, path, &options, &program));
    unlink(path);
    bt_tensor *x = numbers(ctx, 2, 3);
    assert_ok(ctx, bt_program_set(program, "x", &x->base));
    bt_tensor_unref(x);
    assert_ok(ctx, check_kernels(ctx, bt_ctx_scratch(ctx), program, &result));
    assert_int_equal(result.ncall, 2);
    assert_int_equal(result.nwrong, 0);
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_what_is_computed_elsewhere_is_the_same),
    cmocka_unit_test(test_several_instances_work_in_one_program),
    cmocka_unit_test(test_each_memory_has_a_plan),
    cmocka_unit_test(test_failures_of_the_memory_are_errors),
    cmocka_unit_test(test_its_kernels_are_checked),
};
TEST_MAIN(tests)
