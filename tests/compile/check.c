/* Kernels against the evaluator: what a target does wrong is found and named. */
#include "kernel_check.h"
#include "programs.h"

#include <unistd.h>

#include <baton/baton.h>
#include <baton/compute.h>

/* A program of two functions that the liar takes, opened from a file. */
static bt_status open_program(bt_ctx *ctx, const char *targets, bt_program **out)
{
    static const char text[] =
        "#[version = \"baton 0.1\"]\n"
        "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(4), float32]) {\n"
        "    %a = negative(%x);\n"
        "    %b = negative(%y);\n"
        "    (%b, %a, %b)\n"
        "}\n";
    char path[300];
    snprintf(path, sizeof(path), TEST_FOLDER "/check.%d", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    const bt_program_options options = { .pipeline = "",
                                         .target = targets,
                                         .keeps_source = 1 };
    bt_status status = bt_program_open(ctx, path, &options, out);
    unlink(path);
    return status;
}

static void set_inputs(bt_ctx *ctx, bt_program *program)
{
    bt_tensor *x = numbers(ctx, 2, 3), *y;
    assert_ok(ctx, bt_tensor_create(ctx, BT_FLOAT32, 1, (int64_t[]){ 4 }, &y));
    for (int64_t i = 0; i < 4; i++)
        bt_tensor_set(y, i, (double)i - 1.5);
    assert_ok(ctx, bt_program_set(program, "x", &x->base));
    assert_ok(ctx, bt_program_set(program, "y", &y->base));
    bt_tensor_unref(x);
    bt_tensor_unref(y);
}

static void test_right_kernels_are_right(void **state)
{
    static const char *const targets[] = { "liar,reference", "reference", "cpu" };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(targets); i++) {
        bt_ctx *ctx = open_targets(NULL);
        bt_program *program;
        struct kernel_check check;
        assert_ok(ctx, open_program(ctx, targets[i], &program));
        assert_error(check_kernels(ctx, bt_ctx_scratch(ctx), program, &check),
                     BT_ERR_ARGUMENT, "input x is not set");
        set_inputs(ctx, program);
        assert_ok(ctx, check_kernels(ctx, bt_ctx_scratch(ctx), program, &check));
        assert_int_equal(check.ncall, 2);
        assert_int_equal(check.nkernel, 2);
        assert_int_equal(check.nwrong, 0);
        assert_null(check.where);
        assert_ok(ctx, bt_program_run(program)); // nothing was changed
        bt_program_close(program);
        bt_ctx_destroy(ctx);
    }
}

static void test_wrong_kernels_are_named(void **state)
{
    static const struct {
        const char *fault, *what;
    } rows[] = {
        { "wrong", "output 0[1, 2] is 1, expected -0; 1 of 6 elements are wrong, most of "
                   "all [1, 2], by 1" },
        { "nan", "output 0[1, 1] is nan, expected 1; 2 of 6 elements are wrong" },
        { "before", "kernel fused_negative writes 4 bytes before its output 0" },
        { "behind", "kernel fused_negative writes behind its output 0, which has 24 "
                    "bytes: at byte 28" },
        { "part", "output 0[1, 2] is not written" },
        { "input", "kernel fused_negative changes input 0" },
        { "state", "output 0[0, 1] is not the same when it is computed again: a kernel "
                   "keeps something between launches" },
        { "aliases",
          "kernel fused_negative says that output 0 may be computed over input 0: "
          "then output 0 is another" },
        { "launch", "kernel fused_negative fails: launching broke" },
    };
    (void)state;
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        bt_ctx *ctx = open_targets(NULL);
        bt_program *program;
        struct kernel_check check;
        char target[64], expected[300];
        snprintf(target, sizeof(target), "liar{fault=\"%s\"}", rows[i].fault);
        snprintf(expected, sizeof(expected), "target %s: @fused_negative: %s", target,
                 rows[i].what);
        strcat(target, ",reference");
        assert_ok(ctx, open_program(ctx, target, &program));
        set_inputs(ctx, program);
        assert_error(check_kernels(ctx, bt_ctx_scratch(ctx), program, &check),
                     BT_ERR_PLUGIN, expected);
        assert_int_equal(check.nwrong, 2);
        assert_int_equal(check.ncall, 2);
        assert_int_equal(bt_ctx_nreport(ctx), 2); // the second is checked all the same
        assert_non_null(strstr(bt_ctx_report(ctx, 1)->message, "@fused_negative_1: "));
        bt_program_close(program);
        bt_ctx_destroy(ctx);
    }
}

static void test_what_cannot_be_launched_is_refused(void **state)
{
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_program *program;
    struct kernel_check check;
    assert_error(open_program(ctx, "liar{fault=\"load-nothing\"}, reference", &program),
                 BT_ERR_PLUGIN,
                 "target liar{fault=\"load-nothing\"} has loaded its code, it says, but "
                 "gives nothing to launch");
    assert_error(open_program(ctx, "liar{fault=\"no-alias\"}, reference", &program),
                 BT_ERR_PLUGIN, "kernel 0 computes in place what it has not");
    static const char *const codes[][2] = {
        { "no-form", "the code of kernel fused_negative has no form" },
        { "no-bytes", "the code of kernel fused_negative has no bytes" },
        { "no-symbol", "the code of kernel fused_negative names no function" },
        { "no-own", "the code of kernel fused_negative has no own bytes" },
        { "no-phases", "counts phases or faults that are not there" },
    };
    for (uint32_t i = 0; i < BT_COUNT(codes); i++) {
        char target[64];
        snprintf(target, sizeof(target), "liar{fault=\"%s\"}, reference", codes[i][0]);
        assert_error(open_program(ctx, target, &program), BT_ERR_PLUGIN, codes[i][1]);
    }
    assert_ok(ctx, open_program(ctx, "liar, reference", &program));
    assert_error(bt_compiled_launch(ctx, bt_program_compiled(program), 2, NULL),
                 BT_ERR_ARGUMENT, "there is no kernel 2, the module has 2");
    bt_program_close(program);
    assert_ok(ctx, open_program(ctx, "interp", &program));
    set_inputs(ctx, program);
    assert_error(check_kernels(ctx, bt_ctx_scratch(ctx), program, &check),
                 BT_ERR_UNSUPPORTED, "give the model, a target and executor graph");
    bt_program_close(program);
    bt_ctx_destroy(ctx);
}

static void test_an_evaluator_is_of_one_function(void **state)
{
    static const char header[] = "#[version = \"baton 0.1\"]\n",
                      func[] = "def @%s(%%x: Tensor[(2), float32]) { negative(%%x) }\n";
    (void)state;
    bt_ctx *ctx = open_targets(NULL);
    bt_evaluator *e;
    bt_text text;
    assert_error(bt_evaluator_create(ctx, NULL, 0, &e), BT_ERR_SYNTAX, "");
    bt_text_init(&text, bt_ctx_scratch(ctx));
    bt_text_addf(&text, "%s", header);
    for (uint32_t n = 0; n < 3; n++) {
        const char *why = "the text is not of one function";
        if (n == 1)
            assert_ok(ctx, bt_evaluator_create(ctx, text.at, text.len, &e));
        else
            assert_error(bt_evaluator_create(ctx, text.at, text.len, &e), BT_ERR_FORMAT,
                         why);
        if (n == 1)
            bt_evaluator_destroy(e);
        bt_text_addf(&text, func, n ? "b" : "a");
    }
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_right_kernels_are_right),
    cmocka_unit_test(test_wrong_kernels_are_named),
    cmocka_unit_test(test_what_cannot_be_launched_is_refused),
    cmocka_unit_test(test_an_evaluator_is_of_one_function),
};
TEST_MAIN(tests)
