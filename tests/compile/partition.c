/* Pass partition: which calls become whose functions. */
#include "programs.h"

#include <stdlib.h>
#include <string.h>

static bt_module *read_text(bt_ctx *ctx, const char *body)
{
    static char text[1 << 14];
    bt_module *parsed, *typed;
    snprintf(text, sizeof(text), "#[version = \"baton 0.1\"]\n%s\n", body);
    assert_ok(ctx, bt_parse(ctx, "test", NULL, text, strlen(text), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    bt_module_unref(parsed);
    return typed;
}

static bt_status run_pass(bt_ctx *ctx, const bt_module *module, const char *targets,
                          bt_module **out)
{
    bt_pipeline *pipeline = NULL;
    bt_targets *opened = NULL;
    if (targets)
        BT_TRY(bt_targets_open(ctx, targets, &opened));
    const bt_pipeline_options options = { .level = 4,
                                          .verify_each = 1,
                                          .targets = opened };
    bt_status status = bt_pipeline_read(ctx, "partition", &pipeline);
    if (!status)
        status = bt_pipeline_run(ctx, pipeline, &options, module, out);
    bt_targets_unref(opened);
    bt_pipeline_destroy(pipeline);
    return status;
}

/* What @main calls, one after the other: functions by name, operators by "-". */
static void check_calls(bt_ctx *ctx, const char *body, const char *targets,
                        const char *expected)
{
    bt_module *module = read_text(ctx, body), *out;
    assert_ok(ctx, run_pass(ctx, module, targets, &out));
    const bt_block *block = bt_module_find(out, "main")->func->block;
    bt_text found;
    bt_text_init(&found, bt_ctx_scratch(ctx));
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        if (call && call->callee_kind == BT_CALLEE_VALUE)
            bt_text_addf(&found, "%s ", call->callee->name);
        else if (call)
            bt_text_addf(&found, "- ");
    }
    assert_string_equal(bt_text_get(&found), expected);
    bt_module_unref(out);
    bt_module_unref(module);
}

#define ARGS "def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) "

static const char chain[] = ARGS "{ tanh(nn.relu(negative(%x))) }";

static void test_a_match_inside_a_larger_one_gives_way(void **state)
{
    bt_ctx *ctx = *state;
    check_calls(ctx, chain, "claim,reference", "claim_negative_nn_relu - ");
    check_calls(ctx, ARGS "{ tanh(abs(%x)) }", "claim,reference", "claim_abs - ");
    check_calls(ctx, chain, "claim.more,reference", "claim_more_negative_nn_relu_tanh ");
}

static void test_what_is_used_outside_is_not_taken(void **state)
{
    bt_ctx *ctx = *state;
    // the smaller match is still one
    check_calls(ctx, ARGS "{ let %a = negative(%x); (nn.relu(%a), %a) }",
                "claim,reference", "claim_negative - ");
    check_calls(ctx,
                ARGS "{\n let %a = negative(%x);\n let %b = nn.relu(%a);\n"
                     " %c = subtract(%a, %b);\n (%b, %c) }",
                "claim.more,reference", "- - - ");
    // also in an inner block
    check_calls(ctx,
                "def @main(%c: bool, %x: Tensor[(4), float32]) {\n"
                " let %a = negative(%x);\n let %b = nn.relu(%a);\n"
                " if (%c) { add(%b, %a) } else { %b } }",
                "claim.more,reference", "- - ");
}

static void test_inner_blocks_have_matches(void **state)
{
    bt_ctx *ctx = *state;
    bt_module *module = read_text(ctx, "def @main(%c: bool, %x: Tensor[(4), float32]) {\n"
                                       " if (%c) { nn.relu(negative(%x)) } else { %x } "
                                       "}"),
              *out;
    assert_ok(ctx, run_pass(ctx, module, "claim,reference", &out));
    assert_non_null(bt_module_find(out, "claim_negative_nn_relu"));
    bt_module_unref(out);
    bt_module_unref(module);
}

static void test_equal_names_are_one_value(void **state)
{
    bt_ctx *ctx = *state;
    check_calls(ctx, ARGS "{ multiply(%x, sigmoid(%x)) }", "claim,reference",
                "claim_sigmoid_multiply ");
    check_calls(ctx, ARGS "{ multiply(%x, sigmoid(%y)) }", "claim,reference", "- - ");
}

/* Both operands of subtract are the value itself: a function of one parameter. */
static void test_an_operand_that_stands_twice_is_one_parameter(void **state)
{
    bt_ctx *ctx = *state;
    bt_module *module = read_text(ctx, ARGS "{ subtract(%y, %y) }"), *out;
    assert_ok(ctx, run_pass(ctx, module, "claim,reference", &out));
    assert_int_equal(bt_module_find(out, "claim_subtract")->func->block->nparam, 1);
    bt_module_unref(out);
    bt_module_unref(module);
}

static void test_scalars_that_stand_for_const_stay_inside(void **state)
{
    bt_ctx *ctx = *state;
    bt_module *out,
        *module =
            read_text(ctx, ARGS "{ %0 = maximum(%x, 0f);\n"
                                " %1 = minimum(%0, const[(4), float32]{1, 2, 3, 4});\n"
                                " subtract(%1, 1f) }");
    assert_ok(ctx, run_pass(ctx, module, "claim,reference", &out));
    // x and the vector
    assert_int_equal(bt_module_find(out, "claim_maximum_minimum")->func->block->nparam,
                     2);
    // what stands for * is a parameter, whatever it is
    assert_int_equal(bt_module_find(out, "claim_subtract")->func->block->nparam, 2);
    bt_module_unref(out);
    bt_module_unref(module);
    check_calls(ctx, ARGS "{ minimum(maximum(%x, %y), 1f) }", "claim,reference", "- - ");
}

static void test_a_pattern_of_no_operator_is_told(void **state)
{
    bt_ctx *ctx = *state;
    check_calls(ctx, chain, "claim.typo,reference", "- - - ");
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 1);
    assert_string_equal(bt_ctx_remark(ctx, BT_REMARK_NOTE, 0)->message,
                        "target claim.typo, pattern nn.conv2(*, *): no op is named "
                        "\"nn.conv2\"; did you mean nn.conv2d, nn.conv1d or nn.conv3d?");
}

static void test_a_refusal_is_told_and_smaller_matches_are_asked(void **state)
{
    bt_ctx *ctx = *state;
    check_calls(ctx, chain, "claim{refuse=\"nn.relu\"},reference", "claim_negative - - ");
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_DETAIL), 1);
    assert_int_equal(bt_ctx_nremark(ctx, BT_REMARK_NOTE), 0);
    assert_string_equal(
        bt_ctx_remark(ctx, BT_REMARK_DETAIL, 0)->message,
        "target claim{refuse=\"nn.relu\"} refuses negative + nn.relu: it has no nn.relu");
    bt_ctx_clear_diags(ctx);
}

static void test_what_may_not_be_moved_is_not_taken(void **state)
{
    bt_ctx *ctx = *state;
    check_calls(ctx,
                "def @main<n: Dim>(%x: Tensor[(n), float32]) { nn.relu(negative(%x)) }",
                "claim,reference", "- - ");
}

/* Buffers are row major for all targets that do not say that they read layouts. */
static void test_layouts_are_for_those_who_read_them(void **state)
{
    static const char laid_out[] =
        "def @main(%x: Tensor[(1, 16, 2, 2), float32]) {\n"
        "    %0 = layout_transform(%x, src_layout=\"\", dst_layout=\"NCHW:NCHW8c\");\n"
        "    %1 = nn.relu(negative(%0));\n"
        "    layout_transform(%1, src_layout=\"NCHW:NCHW8c\", dst_layout=\"\")\n"
        "}\n";
    bt_ctx *ctx = *state;
    check_calls(ctx, laid_out, "claim,reference", "- - - - ");
    assert_non_null(strstr(bt_ctx_remark(ctx, BT_REMARK_DETAIL, 0)->message,
                           "a tensor has layout NCHW:NCHW8c, and target claim knows row "
                           "major only"));
    bt_ctx_clear_diags(ctx);
    check_calls(ctx, laid_out, "claim.more,reference",
                "- claim_more_negative_nn_relu - ");
}

static void test_of_two_targets_the_first_or_the_faster_takes(void **state)
{
    static const struct {
        const char *targets, *expected;
    } rows[] = {
        { "claim,claim.more,reference", "claim_negative_nn_relu - " },
        { "claim.more,claim,reference", "claim_more_negative_nn_relu_tanh " },
        // it does more in less time
        { "claim{ns=10f,confidence=1f},claim.more{ns=9f,confidence=1f},reference",
          "claim_more_negative_nn_relu_tanh " },
        { "claim{ns=10f,confidence=1f},claim.more{ns=10f,confidence=1f},reference",
          "claim_negative_nn_relu - " },
        // not by more than the doubt
        { "claim{ns=10f,confidence=1f},claim.more{ns=9f,confidence=0.5f},reference",
          "claim_negative_nn_relu - " },
        { "claim{ns=10f,confidence=0.5f},claim.more{ns=4f,confidence=1f},reference",
          "claim_more_negative_nn_relu_tanh " },
        // what does less does not push out what does more
        { "claim.more{ns=10f,confidence=1f},claim{ns=1f,confidence=1f},reference",
          "claim_more_negative_nn_relu_tanh " },
        // whether the last would be faster is pass place's to say
        { "claim{ns=10f,confidence=1f},claim.any{ns=9f,confidence=1f}",
          "claim_negative_nn_relu - " },
    };
    bt_ctx *ctx = *state;
    for (uint32_t i = 0; i < BT_COUNT(rows); i++)
        check_calls(ctx, chain, rows[i].targets, rows[i].expected);
    bt_ctx_clear_diags(ctx);
}

static void test_equal_functions_are_one(void **state)
{
    bt_ctx *ctx = *state;
    check_calls(
        ctx, ARGS "{ (nn.relu(abs(%x)), nn.relu(abs(%y)), nn.relu(negative(%y))) }",
        "claim,reference", "claim_abs_nn_relu claim_abs_nn_relu claim_negative_nn_relu ");
}

static void test_without_patterns_nothing_changes(void **state)
{
    bt_ctx *ctx = *state;
    bt_module *module = read_text(ctx, chain), *out;
    assert_ok(ctx, run_pass(ctx, module, "reference", &out));
    assert_ptr_equal(out, module);
    bt_module_unref(out);
    assert_ok(ctx, run_pass(ctx, module, NULL, &out));
    assert_ptr_equal(out, module);
    bt_module_unref(out);
    assert_error(run_pass(ctx, module, "nobody", &out), BT_ERR_NAME, "nobody");
    bt_module_unref(module);
}

static void test_patterns_that_are_none(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        { "", "at byte 1: expected an operator, a name or *" },
        { "*", "a pattern is a call" },
        { "x", "a pattern is a call" },
        { "const", "a pattern is a call" },
        { "add(*, *", "at byte 9: expected , or )" },
        { "add(*,)", "at byte 7: expected an operator" },
        { "add()", "at byte 5: expected an operator" },
        { "add(*) x", "at byte 8: expected the end" },
        { "add?", "expected (" },
        { "add|(*)", "expected an operator" },
        { "add|sub *", "expected (" },
        { "f(*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*)", "there are too many arguments" },
        { "a?(a?(a?(a?(a?(a?(a?(a?(a?(a?(a?(a?(a?(*)))))))))))))",
          "there are too many calls that may be absent" },
    };
    bt_ctx *ctx = *state;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    const bt_call_pattern *pattern;
    for (uint32_t i = 0; i < BT_COUNT(rows); i++)
        assert_error(bt_call_pattern_parse(ctx, arena, rows[i].text, &pattern),
                     BT_ERR_SYNTAX, rows[i].part);
    char deep[256] = "f(";
    for (uint32_t i = 0; i < 64; i++)
        strcat(deep, "f(");
    assert_error(bt_call_pattern_parse(ctx, arena, deep, &pattern), BT_ERR_SYNTAX,
                 "it is too large");
    assert_ok(ctx,
              bt_call_pattern_parse(ctx, arena, " a | b.c ? ( * , const,x ) ", &pattern));
    bt_arena_destroy(arena);
    bt_ctx_clear_diags(ctx);
}

/* The same answer, however the program is shared out. */
static void test_shared_out_programs_compute_the_same(void **state)
{
    static const char *const lists[] = { "reference", "claim,reference",
                                         "claim.more,claim,reference", "claim.any,claim",
                                         "claim{refuse=\"abs\"},claim.more,reference" };
    static const char body[] = "def @main(%x: Tensor[(3, 5), float32]) {\n"
                               "    %0 = nn.relu(negative(%x));\n"
                               "    %1 = multiply(%x, sigmoid(%x));\n"
                               "    %2 = tanh(nn.relu(negative(%1)));\n"
                               "    %3 = minimum(maximum(abs(%2), 0.25f), 0.5f);\n"
                               "    %4 = add(exp(%0), exp(%3));\n"
                               "    (subtract(%4, %0), nn.relu(abs(%1)))\n"
                               "}\n";
    bt_ctx *ctx = *state;
    bt_module *module = read_text(ctx, body), *fused;
    bt_tensor *x = numbers(ctx, 3, 5);
    bt_object *first = NULL, *y;
    for (uint32_t i = 0; i < BT_COUNT(lists); i++) {
        const bt_compile_options options = { .targets = lists[i] };
        bt_compiled *c;
        assert_ok(ctx, bt_fuse(ctx, module, &options, &fused));
        bt_status status = bt_compile(ctx, fused, &options, &c);
        bt_module_unref(fused);
        assert_ok(ctx, status);
        assert_ok(ctx, run_graph(ctx, c, x, &y));
        bt_compiled_unref(c);
        for (uint32_t k = 0; first && k < 2; k++) {
            bt_tensor_difference d;
            assert_ok(ctx, bt_tensor_compare(
                               ctx, bt_object_as_tensor(bt_object_as_tuple(y)->fields[k]),
                               bt_object_as_tensor(bt_object_as_tuple(first)->fields[k]),
                               0, 0, &d));
            assert_int_equal(d.ndifferent, 0);
        }
        if (first)
            bt_object_unref(y);
        else
            first = y;
    }
    bt_object_unref(first);
    bt_tensor_unref(x);
    bt_module_unref(module);
}

static int setup(void **state)
{
    *state = open_targets(NULL);
    return 0;
}

static int teardown(void **state)
{
    bt_ctx_destroy(*state);
    return 0;
}

/* What a target says in the wrong way, without a word of the passes that asked it. */
static void test_errors_of_supports_name_the_target_and_no_pass(void **state)
{
    bt_ctx *ctx = *state;
    bt_module *module = read_text(ctx, chain), *out;
    const bt_compile_options options = {
        .targets = "claim{refuse=\"negative\", breaks=True},reference"
    };
    bt_status status = bt_fuse(ctx, module, &options, &out);
    assert_error(status, BT_ERR_ARGUMENT, "it has no negative");
    assert_non_null(
        strstr(status->note->message, "says so, asked whether it supports negative"));
    assert_null(status->note->note);
    bt_module_unref(module);
}

static void test_patterns_are_held_against_the_operators(void **state)
{
    static const struct {
        const char *pattern, *message;
    } rows[] = {
        { "nn.relu(nn.dense(*, const))", NULL },
        { "nn.pad|nn.relu(*)", NULL },
        { "nn.pad(*, *)", NULL },
        { "nn.relu(nn.dense(a))",
          "nn.dense with 1 argument never matches: the operator is "
          "nn.dense(data, weight)" },
        { "abs|add(*)", "add with 1 argument never matches: the operator is add(" },
        { "nn.pad(*, *, *)", "the operator is nn.pad(data, pad_value?)" },
        { "nn.dens(*, *)", "nn.dens" },
    };
    bt_ctx *ctx = *state;
    for (size_t i = 0; i < BT_COUNT(rows); i++) {
        const bt_call_pattern *pattern;
        assert_ok(ctx, bt_call_pattern_parse(ctx, bt_ctx_scratch(ctx), rows[i].pattern,
                                             &pattern));
        bt_status status = bt_call_pattern_check(ctx, pattern);
        if (!rows[i].message)
            assert_ok(ctx, status);
        else
            assert_non_null(strstr(status->message, rows[i].message));
    }
}

static const struct CMUnitTest tests[] = {
    TEST(test_a_match_inside_a_larger_one_gives_way),
    TEST(test_what_is_used_outside_is_not_taken),
    TEST(test_inner_blocks_have_matches),
    TEST(test_equal_names_are_one_value),
    TEST(test_an_operand_that_stands_twice_is_one_parameter),
    TEST(test_scalars_that_stand_for_const_stay_inside),
    TEST(test_a_pattern_of_no_operator_is_told),
    TEST(test_a_refusal_is_told_and_smaller_matches_are_asked),
    TEST(test_what_may_not_be_moved_is_not_taken),
    TEST(test_layouts_are_for_those_who_read_them),
    TEST(test_of_two_targets_the_first_or_the_faster_takes),
    TEST(test_equal_functions_are_one),
    TEST(test_without_patterns_nothing_changes),
    TEST(test_patterns_that_are_none),
    TEST(test_patterns_are_held_against_the_operators),
    TEST(test_errors_of_supports_name_the_target_and_no_pass),
    TEST(test_shared_out_programs_compute_the_same),
};
TEST_MAIN(tests)
