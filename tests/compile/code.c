/* Code of each kernel: C text and objects of targets that load nothing, shared pieces,
 * faults, artifacts of them; and text of all kernels for who wants that. */
#include "programs.h"

#include <stdlib.h>
#include <unistd.h>

#include <baton/artifact.h>
#include <baton/compiler.h>
#include <baton/compute.h>

static const char two[] = "def @main(%x: Tensor[(2, 3), float32]) {\n"
                          "    %a = negative(%x);\n"
                          "    %b = reshape(abs(%x), newshape=[6]);\n"
                          "    (%a, negative(%b))\n"
                          "}\n";

/* Skips the test where no machine code can be made, saying why. */
static void need_tcc(bt_ctx *ctx)
{
    const char *ci = getenv("CI");
    bt_status status = bt_c_probe(ctx, "tcc", NULL);
    if (!status)
        return;
    if (ci && strcmp(ci, "true") == 0)
        fail_msg("%s", status->message);
    printf("skipped: %s\n", status->message);
    bt_ctx_destroy(ctx);
    skip();
}

static void check_two(bt_ctx *ctx, bt_compiled *c)
{
    bt_tensor *x = numbers(ctx, 2, 3);
    bt_object *y;
    assert_ok(ctx, run_graph(ctx, c, x, &y));
    const bt_tuple *fields = bt_object_as_tuple(y);
    for (int64_t i = 0; i < 6; i++) {
        double value = bt_tensor_get(x, i);
        assert_true(bt_tensor_get(bt_object_as_tensor(fields->fields[0]), i) == -value);
        assert_true(bt_tensor_get(bt_object_as_tensor(fields->fields[1]), i) ==
                    (value < 0 ? value : -value));
    }
    bt_object_unref(y);
    bt_tensor_unref(x);
}

static const bt_kernel_code *code_of(const bt_compiled *c, const char *kernel)
{
    uint32_t i = bt_compiled_find_kernel(c, kernel);
    assert_true(i < c->nkernel);
    return c->codes[i];
}

static void test_functions_of_text_and_objects_are_called(void **state)
{
    static const char *const targets[] = { "text, reference",
                                           "text{object=True}, reference" };
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    need_tcc(ctx);
    for (uint32_t i = 0; i < BT_COUNT(targets); i++) {
        char path[300];
        bt_compiled *c, *again;
        bt_artifact *a;
        assert_ok(ctx, compile_text(ctx, two, targets[i], &c));
        const bt_kernel_code *one = code_of(c, "fused_negative"),
                             *other = code_of(c, "fused_negative_1");
        assert_int_equal(one->form, BT_CODE_OBJECT);
        assert_ptr_equal(one->at, other->at); // a piece for both
        assert_string_not_equal(one->symbol, other->symbol);
        assert_int_equal(code_of(c, "fused_abs")->form, BT_CODE_BYTES);
        check_two(ctx, c);
        snprintf(path, sizeof(path), TEST_FOLDER "/code.%d", (int)getpid());
        assert_ok(ctx, bt_artifact_write(ctx, c, 0, path));
        bt_compiled_unref(c);
        assert_ok(ctx, bt_artifact_read(ctx, path, &a));
        unlink(path);
        assert_ok(ctx, bt_artifact_load(ctx, a, NULL, &again));
        bt_artifact_close(a); // what is loaded holds on to what it needs
        one = code_of(again, "fused_negative");
        other = code_of(again, "fused_negative_1");
        assert_ptr_equal(one->at, other->at);
        assert_int_equal(one->nfault, 2);
        assert_string_equal(one->faults[0].text, "a phase was not whole");
        check_two(ctx, again);
        bt_compiled_unref(again);
    }
    bt_ctx_destroy(ctx);
}

static void test_faults_are_explained(void **state)
{
    static const struct {
        int fault;
        uint32_t code;
        const char *what;
    } rows[] = {
        { 1, BT_ERR_RUNTIME, "fused_negative: a phase was not whole" },
        { 2, BT_ERR_RUNTIME,
          "fused_negative: an index is out of bounds for axis 1 of table, whose extent "
          "is "
          "100" },
        { 3, BT_ERR_RUNTIME,
          "fused_negative: a fault that its code does not name (fault 3)" },
        { BT_FAULT_MEMORY, BT_ERR_MEMORY, "" },
        { BT_FAULT_STOPPED, BT_ERR_CANCELLED, "cancelled" },
        { BT_FAULT_DEVICE, BT_ERR_RUNTIME,
          "fused_negative: the device fails (fault -3)" },
    };
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    need_tcc(ctx);
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        char target[64];
        bt_compiled *c;
        bt_object *y;
        bt_tensor *x = numbers(ctx, 2, 3);
        snprintf(target, sizeof(target), "text{fault=%d}, reference", rows[i].fault);
        assert_ok(ctx, compile_text(ctx, two, target, &c));
        assert_error(run_graph(ctx, c, x, &y), rows[i].code, rows[i].what);
        bt_tensor_unref(x);
        bt_compiled_unref(c);
    }
    bt_ctx_destroy(ctx);
}

static void test_functions_that_are_not_there_are_named(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    need_tcc(ctx);
    assert_error(compile_text(ctx, two, "text{symbol=\"invert_\"}, reference", &c),
                 BT_ERR_FORMAT, "has no function invert_0");
    assert_error(compile_text(ctx, two, "liar{fault=\"text\"}, reference", &c),
                 BT_ERR_SYNTAX, "");
    bt_ctx_destroy(ctx);
}

static bt_status compile_as_text(bt_ctx *ctx, const char *target, bt_compiled **out)
{
    bt_module *parsed, *typed, *fused;
    char text[512];
    snprintf(text, sizeof(text), "#[version = \"baton 0.1\"]\n%s", two);
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    bt_module_unref(parsed);
    assert_ok(ctx, fuse(ctx, typed, &fused));
    bt_module_unref(typed);
    const bt_compile_options options = { .targets = target, .form = BT_CODE_SOURCE };
    bt_status status = bt_compile(ctx, fused, &options, out);
    bt_module_unref(fused);
    return status;
}

/* The text is one that compiles; what it calls of its target has names. */
static void test_text_of_all_kernels_can_be_had(void **state)
{
    static const char *const targets[] = { "cpu", "cpu{engine=\"bytecode\"}" };
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    need_tcc(ctx);
    for (uint32_t i = 0; i < BT_COUNT(targets); i++) {
        const char *folders[2] = { NULL, NULL };
        bt_compiled *c;
        bt_text object;
        bt_code *code;
        assert_ok(ctx, compile_as_text(ctx, targets[i], &c));
        assert_int_equal(c->nkernel, 3);
        for (uint32_t k = 0; k < c->nkernel; k++) {
            assert_int_equal(c->codes[k]->form, BT_CODE_SOURCE);
            assert_ptr_equal(c->codes[k]->at, c->codes[0]->at);
            assert_non_null(strstr(c->codes[k]->at, c->codes[k]->symbol));
            assert_int_equal(c->codes[k]->nphase, 0); // it does all phases itself
        }
        assert_ok(ctx, bt_library_file(ctx, bt_ctx_scratch(ctx), "include", &folders[0]));
        const bt_c_source source = { .name = "kernels",
                                     .text = c->codes[0]->at,
                                     .nbytes = c->codes[0]->nbytes,
                                     .folders = folders };
        bt_text_init(&object, bt_ctx_scratch(ctx));
        assert_ok(ctx, bt_c_compile(ctx, "tcc", NULL, &source, &object));
        const bt_code_object part = { "kernels", object.at, object.len };
        assert_error(bt_code_load(ctx, 1, &part, NULL, &code), BT_ERR_NAME,
                     "cpu_native_enter");
        assert_error(bt_compiled_launch(ctx, c, 0, NULL), BT_ERR_UNSUPPORTED,
                     "was compiled as text");
        bt_compiled_unref(c);
    }
    bt_compiled *c;
    assert_error(compile_as_text(ctx, "reference", &c), BT_ERR_UNSUPPORTED,
                 "target reference has no code of the form that is asked for");
    bt_ctx_destroy(ctx);
}

/* Bytes of the workspaces of all kernel calls. */
static int64_t workspace_nbytes(const bt_compiled *c)
{
    int64_t nbytes = 0;
    for (uint32_t i = 0; find_call(c, "memory.invoke", i); i++) {
        const bt_call *invoke = find_call(c, "memory.invoke", i);
        if (invoke->narg > 2)
            nbytes += bt_type_nbytes(invoke->args[2]->type);
    }
    return nbytes;
}

/* Workers' scratch is reserved where the code is loaded, and no part of a plan: how the
 * work is cut may depend on the number of threads, but not how often memory is taken. */
static void test_a_plan_has_room_for_one_worker(void **state)
{
    static const char wide[] =
        "def @main(%x: Tensor[(2, 3), float32]) {\n"
        "    %y = broadcast_to(reshape(%x, newshape=[1, 6]), shape=[4096, 6]);\n"
        "    nn.softmax(exp(%y))\n}\n";
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *one, *many;
    assert_ok(ctx, compile_text(ctx, wide, "cpu{threads=1}", &one));
    assert_ok(ctx, compile_text(ctx, wide, "cpu{threads=64}", &many));
    assert_true(workspace_nbytes(one) > 0);
    assert_true(workspace_nbytes(many) < 2 * workspace_nbytes(one));
    bt_compiled_unref(one);
    bt_compiled_unref(many);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_functions_of_text_and_objects_are_called),
    cmocka_unit_test(test_faults_are_explained),
    cmocka_unit_test(test_functions_that_are_not_there_are_named),
    cmocka_unit_test(test_text_of_all_kernels_can_be_had),
    cmocka_unit_test(test_a_plan_has_room_for_one_worker),
};
TEST_MAIN(tests)
