/* Lowered programs: what plans may not do, what cannot be compiled, what planning saves. */
#include "kit.h"

#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/pass.h>

static bt_status check_plan(kit *k, const char *offset, const char *result)
{
    char text[1024];
    snprintf(
        text, sizeof(text),
        "#[version = \"baton 0.1\"]\n"
        "def @main(%%x: Tensor[(8), float32]) {\n"
        "    %%s = memory.alloc_storage(size=128);\n"
        "    %%a = memory.alloc_tensor(%%s, shape=[8], dtype=\"float32\");\n"
        "    %%0 = memory.invoke((%%x,), (%%a,), kernel=\"first\");\n"
        "    %%b = memory.alloc_tensor(%%s, offset=%s, shape=[8], dtype=\"float32\");\n"
        "    %%1 = memory.invoke((%%a,), (%%b,), kernel=\"second\");\n"
        "    %%c = memory.alloc_tensor(%%s, shape=[8], dtype=\"float32\");\n"
        "    %%2 = memory.invoke((%%b,), (%%c,), kernel=\"third\");\n"
        "    %s\n"
        "}\n",
        offset, result);
    bt_module *m = read_module(k, text);
    bt_status status = bt_plan_check(k->ctx, bt_module_find(m, "main")->func);
    bt_module_unref(m);
    return status;
}

static void test_tensors_that_live_at_once_share_no_bytes(void **state)
{
    kit *k = *state;
    assert_ok(k->ctx, check_plan(k, "32", "%c"));
    assert_ok(k->ctx, check_plan(k, "96", "%c"));
    assert_error(
        check_plan(k, "31", "%c"), BT_ERR_VERIFY,
        "tensors that live at once share storage: 32 bytes at 0 and 32 bytes at 31");
    assert_error(check_plan(k, "0", "%c"), BT_ERR_VERIFY, "share storage");
    // a and c share bytes: they may, unless a is needed to the end
    assert_error(check_plan(k, "32", "(%a, %c)"), BT_ERR_VERIFY, "share storage");
}

static void test_a_tensor_lies_in_its_storage(void **state)
{
    kit *k = *state;
    bt_module *parsed, *typed;
    static const char text[] =
        "#[version = \"baton 0.1\"]\n"
        "def @main() {\n"
        "    %s = memory.alloc_storage(size=64);\n"
        "    memory.alloc_tensor(%s, offset=40, shape=[8], dtype=\"float32\")\n"
        "}\n";
    assert_ok(k->ctx, bt_parse(k->ctx, "test", NULL, text, strlen(text), &parsed));
    assert_error(bt_infer(k->ctx, parsed, &typed), BT_ERR_TYPE,
                 "a tensor of 32 bytes at 40 ends beyond its storage of 64");
    bt_module_unref(parsed);
}

static bt_status fuse_and_compile(kit *k, const char *text, const char *target,
                                  bt_compiled **out)
{
    bt_pipeline *pipeline;
    bt_module *m = read_module(k, text), *fused;
    assert_ok(k->ctx, bt_pipeline_read(k->ctx, "fuse-ops{max-ops=1}", &pipeline));
    assert_ok(k->ctx, bt_pipeline_run(k->ctx, pipeline,
                                      &(bt_pipeline_options){ .level = 4 }, m, &fused));
    bt_pipeline_destroy(pipeline);
    bt_status status =
        bt_compile(k->ctx, fused, &(bt_compile_options){ .targets = target }, out);
    bt_module_unref(fused);
    bt_module_unref(m);
    return status;
}

static void test_what_cannot_be_compiled(void **state)
{
    static const struct {
        const char *text, *target;
        uint32_t code;
        const char *part;
    } rows[] = {
        { "def @main<n: Dim, m: Dim>(%x: Tensor[(n + m), float32], %y: Tensor[(2 * n + "
          "2 * m), float32]) { exp(%x) }",
          "reference", BT_ERR_UNSUPPORTED,
          "@main: the shape of no argument tells its dim n: give a number for it, --dim "
          "n=N, or" },
        { "def @main<t: DType>(%x: Tensor[(3), t]) { %x }", "reference",
          BT_ERR_UNSUPPORTED, "type parameter t, which is no dim: executor interp" },
        { "def @main(%c: bool, %x: float32) { if (%c) { exp(%x) } else { %x } }",
          "reference", BT_ERR_UNSUPPORTED, "executor interp runs it" },
        { "def @main(%x: float32) { exp(%x) }", "nowhere", BT_ERR_NAME,
          "no target is named \"nowhere\"" },
        { "def @main(%x: float32) { exp(%x) }", "reference{speed=2}", BT_ERR_ATTRIBUTE,
          "speed" },
        { "def @main(%x: float32) { exp(%x) }", "reference{", BT_ERR_ARGUMENT,
          "a closing } is missing" },
    };
    kit *k = *state;
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        char text[512];
        bt_compiled *compiled;
        snprintf(text, sizeof(text), "#[version = \"baton 0.1\"]\n%s\n", rows[i].text);
        assert_error(fuse_and_compile(k, text, rows[i].target, &compiled), rows[i].code,
                     rows[i].part);
    }
}

static int64_t storage_of(const bt_module *m)
{
    const bt_block *block = bt_module_find(m, "main")->func->block;
    int64_t sum = 0;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_op_call(block->bindings[i], "memory.alloc_storage");
        int64_t size;
        if (!call)
            continue;
        assert_true(bt_dim_is_const(bt_call_dim(call, "size"), &size));
        sum += size;
    }
    return sum;
}

static void test_a_chain_of_any_length_needs_one_tensor(void **state)
{
    kit *k = *state;
    bt_compiled *compiled;
    assert_ok(k->ctx,
              fuse_and_compile(k,
                               "#[version = \"baton 0.1\"]\n"
                               "def @main(%x: Tensor[(100), float32]) {\n"
                               "    abs(exp(tanh(negative(abs(exp(tanh(%x)))))))\n"
                               "}\n",
                               "reference", &compiled));
    // one in which all is computed, and the result
    assert_int_equal(storage_of(compiled->module), 400 + 400);
    assert_int_equal(compiled->nkernel, 4);
    bt_compiled_unref(compiled);
}

static const struct CMUnitTest tests[] = {
    TEST(test_tensors_that_live_at_once_share_no_bytes),
    TEST(test_a_tensor_lies_in_its_storage),
    TEST(test_what_cannot_be_compiled),
    TEST(test_a_chain_of_any_length_needs_one_tensor),
};
TEST_MAIN(tests)
