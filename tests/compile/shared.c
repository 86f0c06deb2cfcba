/* What a function computes once and uses often is computed once by every engine. */
#include "programs.h"

#include <baton/pass.h>

enum { SQUARINGS = 40 };

/* All of it as one function. */
static bt_compiled *compile_squarings(bt_ctx *ctx, const char *target)
{
    bt_text text;
    bt_module *parsed, *typed, *fused;
    bt_pipeline *pipeline;
    bt_compiled *out;
    const bt_pipeline_options options = { .level = 4 };
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_addf(&text, "#[version = \"baton 0.1\"]\n"
                        "def @main(%%v0: Tensor[(1, 1000), float32]) {\n");
    for (int i = 0; i < SQUARINGS; i++)
        bt_text_addf(&text, "    %%v%d = multiply(%%v%d, %%v%d);\n", i + 1, i, i);
    bt_text_addf(&text, "    %%v%d\n}\n", SQUARINGS);
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text.at, text.len, &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    assert_ok(ctx, bt_pipeline_read(ctx, "fuse-ops", &pipeline));
    assert_ok(ctx, bt_pipeline_run(ctx, pipeline, &options, typed, &fused));
    assert_ok(ctx,
              bt_compile(ctx, fused, &(bt_compile_options){ .targets = target }, &out));
    assert_int_equal(out->nkernel, 1);
    bt_pipeline_destroy(pipeline);
    bt_module_unref(parsed);
    bt_module_unref(typed);
    bt_module_unref(fused);
    return out;
}

static void test_a_chain_of_squarings_runs_on_all_engines(void **state)
{
    static const char *const targets[] = { "reference", "cpu{engine=\"bytecode\"}",
                                           "cpu{engine=\"tcc\"}", "cpu{engine=\"cc\"}" };
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_tensor *x = numbers(ctx, 1, 1000);
    for (int64_t i = 0; i < 1000; i++)
        bt_tensor_set(x, i, 1 + (double)(i - 500) / (1 << 23));
    for (uint32_t t = 0; t < BT_COUNT(targets); t++) {
        bt_compiled *c = compile_squarings(ctx, targets[t]);
        bt_object *y;
        assert_ok(ctx, run_graph(ctx, c, x, &y));
        for (int64_t i = 0; i < 1000; i++) {
            float expected = (float)bt_tensor_get(x, i);
            for (int k = 0; k < SQUARINGS; k++)
                expected *= expected;
            assert_true((float)bt_tensor_get(bt_object_as_tensor(y), i) == expected);
        }
        bt_object_unref(y);
        bt_compiled_unref(c);
    }
    bt_tensor_unref(x);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_chain_of_squarings_runs_on_all_engines),
};
TEST_MAIN(tests)
