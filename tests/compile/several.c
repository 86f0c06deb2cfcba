/* Modules compiled for several targets: who gets what, and what happens where a target
 * does not do what it said. */
#include "programs.h"

#include <math.h>

static const char program[] = "def @main(%x: Tensor[(2, 3), float32]) {\n"
                              "    %a = negative(%x);\n"
                              "    %b = tanh(%a);\n"
                              "    negative(%b)\n"
                              "}\n";

static void check_result(bt_ctx *ctx, bt_compiled *c)
{
    bt_tensor *x = numbers(ctx, 2, 3);
    bt_object *y;
    assert_ok(ctx, run_graph(ctx, c, x, &y));
    for (int64_t i = 0; i < 6; i++)
        assert_float_equal(bt_tensor_get(bt_object_as_tensor(y), i),
                           tanh((double)(i % 13) - 5), 1e-6);
    bt_object_unref(y);
    bt_tensor_unref(x);
}

/* The target that a primitive function went to. */
static const bt_compiled_func *func_of(const bt_compiled *c, const char *name)
{
    for (uint32_t i = 0; i < c->nfunc; i++) {
        if (strcmp(c->funcs[i]->name, name) == 0)
            return c->funcs[i];
    }
    fail_msg("no function %s", name);
    return NULL;
}

static void test_each_takes_what_it_supports(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, program, " liar , reference ", &c));
    assert_int_equal(c->ntarget, 2);
    assert_string_equal(c->targets[0]->text, "liar");
    assert_int_equal(c->nfunc, 2);
    assert_int_equal(c->nkernel, 2);
    assert_int_equal(func_of(c, "fused_negative")->target, 0);
    assert_string_equal(func_of(c, "fused_negative")->why, "");
    assert_int_equal(func_of(c, "fused_tanh")->target, 1);
    assert_string_equal(func_of(c, "fused_tanh")->why, "liar: only negative of float32");
    for (uint32_t i = 0; i < c->nkernel; i++) {
        assert_int_equal(c->kernels[i]->target, c->funcs[c->kernels[i]->func]->target);
        assert_int_equal(c->kernels[i]->number, 0);
    }
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 0);
    check_result(ctx, c);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static void test_a_target_without_kernels_makes_no_code(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx, program, "reference,liar{fault=\"compile\"}", &c));
    assert_non_null(c->loaded[0]);
    assert_null(c->loaded[1]);
    check_result(ctx, c);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

/* Where it refuses after all, another computes the function, and there is a remark. */
static void test_who_takes_and_then_refuses_is_passed_over(void **state)
{
    static const struct {
        const char *fault, *remark;
    } rows[] = {
        { "supports", NULL },
        { "lower",
          "takes @fused_negative, but makes no kernels of it: lowering is hard" },
        { "compile", "makes no code of them, which go to others: compiling is hard" },
        { "load", "makes no code of them, which go to others: loading is hard" },
    };
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        char list[128];
        bt_compiled *c;
        snprintf(list, sizeof(list), "liar{fault=\"%s\"},reference", rows[i].fault);
        assert_ok(ctx, compile_text(ctx, program, list, &c));
        assert_int_equal(func_of(c, "fused_negative")->target, 1);
        check_result(ctx, c);
        assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), rows[i].remark != NULL);
        if (rows[i].remark)
            assert_non_null(
                strstr(bt_ctx_remark(ctx, BT_REMARK_NOTE, 0)->message, rows[i].remark));
        bt_compiled_unref(c);
        bt_ctx_clear_diags(ctx);
        assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 0);
    }
    bt_ctx_destroy(ctx);
}

/* Kernels of constants are compiled ahead: a refusal there is one, too. */
static void test_a_refusal_ahead_of_time_is_one(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    assert_ok(ctx, compile_text(ctx,
                                "def @main(%x: Tensor[(2), float32]) {\n"
                                "    add(%x, negative(const[(2), float32]{1, 2}))\n"
                                "}\n",
                                "liar{fault=\"compile\"},reference", &c));
    assert_int_equal(func_of(c, "fused_negative")->target, 1);
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 1);
    bt_compiled_unref(c);
    bt_ctx_destroy(ctx);
}

static void test_what_cannot_be_is_an_error_that_names_the_target(void **state)
{
    static const struct {
        const char *targets;
        uint32_t code;
        const char *part;
    } rows[] = {
        { "liar{fault=\"kind\"}, reference", BT_ERR_PLUGIN,
          "target liar: @fused_negative: kernel 0 has a buffer of unknown kind 7" },
        { "liar{fault=\"index\"}, reference", BT_ERR_PLUGIN,
          "kernel 0 has input 1; there are 1" },
        { "liar{fault=\"output-index\"}, reference", BT_ERR_PLUGIN,
          "kernel 0 has output 3; there are 1" },
        { "liar{fault=\"temp-index\"}, reference", BT_ERR_PLUGIN,
          "kernel 0 has temp 0; there are 0" },
        { "liar{fault=\"writes-input\"}, reference", BT_ERR_PLUGIN,
          "kernel 0 writes an input" },
        { "liar{fault=\"early\"}, reference", BT_ERR_PLUGIN,
          "kernel 0 reads temp 0 before one has written it" },
        { "liar{fault=\"negative\"}, reference", BT_ERR_PLUGIN,
          "temp 0 has -8 bytes" },
        { "liar{fault=\"no-kernels\"}, reference", BT_ERR_PLUGIN,
          "target liar: @fused_negative: no kernel writes output 0" },
        { "liar{fault=\"no-buffers\"}, reference", BT_ERR_PLUGIN,
          "kernel 0 does not say which buffers it has" },
        { "liar{fault=\"null-kernels\"}, reference", BT_ERR_PLUGIN,
          "kernels or temps are counted, but there are none" },
        { "liar{fault=\"lower-fails\"}, reference", BT_ERR_INTERNAL, "lowering broke" },
        { "liar{fault=\"compile-fails\"}, reference", BT_ERR_INTERNAL,
          "compiling broke" },
        { "liar", BT_ERR_UNSUPPORTED, "only negative of float32" },
        { "liar,liar", BT_ERR_ARGUMENT, "target liar is listed twice" },
        { "liar,,reference", BT_ERR_ARGUMENT, "a target's name is missing" },
        { "", BT_ERR_ARGUMENT, "a target's name is missing" },
        { "liar{fault=\"}\", reference", BT_ERR_ARGUMENT, "a closing } is missing" },
        { "lair,reference", BT_ERR_NAME, "liar" },
    };
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        bt_compiled *c;
        assert_error(compile_text(ctx, program, rows[i].targets, &c), rows[i].code,
                     rows[i].part);
        bt_ctx_clear_diags(ctx);
    }
    bt_ctx_destroy(ctx);
}

static void test_a_target_that_does_not_open_is_named(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_compiled *c;
    bt_status status = compile_text(ctx, program, "reference, liar{fault=\"open\"}", &c);
    assert_error(status, BT_ERR_IO, "the device is away");
    assert_string_equal(status->note->message, "target liar cannot be opened");
    bt_ctx_destroy(ctx);
}

static void test_a_launch_that_fails_names_the_kernel(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_tensor *x = numbers(ctx, 2, 3);
    bt_compiled *c;
    bt_object *y;
    assert_ok(ctx, compile_text(ctx, program, "liar{fault=\"launch\"},reference", &c));
    bt_status status = run_graph(ctx, c, x, &y);
    assert_error(status, BT_ERR_RUNTIME, "launching broke");
    assert_string_equal(status->note->message,
                        "in kernel fused_negative of target liar{fault=\"launch\"}");
    bt_compiled_unref(c);
    bt_tensor_unref(x);
    bt_ctx_destroy(ctx);
}

/* An attribute decides before the order does, by text or by name. */
static void test_an_attribute_names_the_target(void **state)
{
    static const char text[] =
        "#[version = \"baton 0.1\"]\n"
        "def @main(%%x: Tensor[(2, 3), float32]) {\n"
        "    @f(%%x)\n"
        "}\n"
        "def @f(%%x: Tensor[(2, 3), float32], primitive=1, target=\"%s\") {\n"
        "    negative(%%x)\n"
        "}\n";
    static const struct {
        const char *attr, *targets;
        uint32_t target;
    } rows[] = { { "reference", "liar,reference", 1 },
                 { "liar", "reference, liar{fault=\"\"}", 1 },
                 { "liar", "liar{fault=\"supports\"}, reference", 1 } };
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        char filled[512];
        bt_module *parsed, *typed;
        bt_compiled *c;
        snprintf(filled, sizeof(filled), text, rows[i].attr);
        assert_ok(ctx, bt_parse(ctx, "test", NULL, filled, strlen(filled), &parsed));
        assert_ok(ctx, bt_infer(ctx, parsed, &typed));
        assert_ok(ctx,
                  bt_compile(ctx, typed,
                             &(bt_compile_options){ .targets = rows[i].targets }, &c));
        assert_int_equal(func_of(c, "f")->target, rows[i].target);
        bt_compiled_unref(c);
        if (i == 0)
            assert_error(
                bt_compile(ctx, typed, &(bt_compile_options){ .targets = "liar" }, &c),
                BT_ERR_NAME,
                "@f is of target reference, which is not among those compiled "
                "for; the first of these is liar");
        bt_module_unref(typed);
        bt_module_unref(parsed);
    }
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_each_takes_what_it_supports),
    cmocka_unit_test(test_a_target_without_kernels_makes_no_code),
    cmocka_unit_test(test_who_takes_and_then_refuses_is_passed_over),
    cmocka_unit_test(test_a_refusal_ahead_of_time_is_one),
    cmocka_unit_test(test_what_cannot_be_is_an_error_that_names_the_target),
    cmocka_unit_test(test_a_target_that_does_not_open_is_named),
    cmocka_unit_test(test_a_launch_that_fails_names_the_kernel),
    cmocka_unit_test(test_an_attribute_names_the_target),
};
TEST_MAIN(tests)
