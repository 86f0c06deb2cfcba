/* Pipelines run: what passes are given, what they leave, and what is told about it. */
#include "test.h"

#include <baton/pass.h>

static char printed[65536];

static void print(void *self, const char *text)
{
    (void)self;
    assert_true(strlen(printed) + strlen(text) < sizeof(printed));
    strcat(printed, text);
}

static int setup(void **state)
{
    bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                    .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    printed[0] = 0;
    *state = ctx;
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    bt_ctx_destroy(*state);
    return 0;
}

/* A program of three functions. */
static bt_module *program(bt_ctx *ctx)
{
    static const char text[] = "#[version = \"baton 0.1\"]\n"
                               "def @main(%x: Tensor[(), float32]) { %x }\n"
                               "def @one(%x: Tensor[(), float32]) { %x }\n"
                               "def @two(%x: Tensor[(), float32]) { %x }\n";
    bt_module *parsed, *typed;
    assert_ok(ctx, bt_parse(ctx, "p.baton", NULL, text, strlen(text), &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    bt_module_unref(parsed);
    return typed;
}

/* Runs a line on the program; on success the module has `nglobal` globals. */
static bt_status run(bt_ctx *ctx, const char *line, const bt_pipeline_options *options,
                     uint32_t nglobal)
{
    bt_pipeline *p = NULL;
    bt_module *m = program(ctx), *out = NULL;
    assert_ok(ctx, bt_pipeline_read(ctx, line, &p));
    bt_status status = bt_pipeline_run(ctx, p, options, m, &out);
    assert_int_equal(m->nglobal, 3); // never changed
    if (status)
        assert_null(out);
    else
        assert_int_equal(out->nglobal, nglobal);
    bt_module_unref(out);
    bt_module_unref(m);
    bt_pipeline_destroy(p);
    return status;
}

static void test_passes_run_one_after_the_other(void **state)
{
    bt_ctx *ctx = *state;
    assert_ok(ctx, run(ctx, "", NULL, 3));
    assert_ok(ctx, run(ctx, "test-idle", NULL, 3));
    assert_ok(ctx, run(ctx, "test-drop", NULL, 2));
    assert_ok(ctx, run(ctx, "test-drop, test-idle, test-drop", NULL, 1));
}

static void test_a_repeat_ends_when_nothing_changes(void **state)
{
    bt_ctx *ctx = *state;
    const bt_pipeline_options options = { .level = -1, .time_passes = 1, .print = print };
    assert_ok(ctx, run(ctx, "(test-drop, test-idle)*100", &options, 1));
    assert_non_null(strstr(printed, "      3        2\n")); // three runs, two changes
    printed[0] = 0;
    assert_ok(ctx, run(ctx, "(test-drop)*1", &options, 2));
    assert_non_null(strstr(printed, "      1        1\n"));
}

static void test_a_run_can_be_cut_short(void **state)
{
    bt_ctx *ctx = *state;
    bt_pipeline_options options = { .level = -1 };
    static const uint32_t left[] = { 1, 2, 2, 1 };
    for (uint32_t n = 0; n < BT_COUNT(left); n++) {
        options.stop_after = n;
        assert_ok(ctx, run(ctx, "(test-drop, test-idle)*9", &options, left[n]));
    }
}

static void test_a_failed_pass_is_named_and_changes_nothing(void **state)
{
    bt_ctx *ctx = *state;
    bt_status status = run(ctx, "test-drop, test-give-up", NULL, 0);
    assert_error(status, BT_ERR_UNSUPPORTED, "nothing will do");
    assert_non_null(status->note);
    assert_non_null(
        strstr(status->note->message, "in pass test-give-up, run 2 of the pipeline"));
}

static void test_faults_of_passes_are_found(void **state)
{
    bt_ctx *ctx = *state;
    const bt_pipeline_options verify = { .level = -1, .verify_each = 1 };
    assert_error(run(ctx, "test-forget", NULL, 0), BT_ERR_INTERNAL,
                 "pass test-forget succeeded but gave no module");
    assert_error(
        run(ctx, "test-watch-unstated{expect=3}", NULL, 0), BT_ERR_INTERNAL,
        "asks for analysis \"test-count\", which it does not state among its needs");
    assert_ok(ctx, run(ctx, "test-spoil", NULL, 3));
    bt_status status = run(ctx, "test-idle, test-spoil", &verify, 0);
    assert_error(status, BT_ERR_VERIFY, "");
    assert_non_null(strstr(status->note->message, "in pass test-spoil, run 2"));
}

static void test_types_of_functions_stay(void **state)
{
    bt_ctx *ctx = *state;
    bt_status status = run(ctx, "test-retype", NULL, 0);
    assert_error(status, BT_ERR_INTERNAL,
                 "pass test-retype changed the type of @one from fn (float32) -> float32 "
                 "to fn (Tensor[(2), float32]) -> Tensor[(2), float32]");
    assert_ok(ctx, run(ctx, "test-drop, test-drop", NULL, 1));
}

static void test_what_cannot_work_does_not_start(void **state)
{
    bt_ctx *ctx = *state;
    bt_pipeline *p = NULL;
    bt_module *typed = program(ctx), *untyped, *out = NULL;
    const bt_pipeline_options dump = { .level = -1,
                                       .print = print,
                                       .dump_before = (const char *[]){ "*", NULL } };
    assert_error(run(ctx, "test-drop, test-wants-flat", &dump, 0), BT_ERR_PIPELINE,
                 "test-wants-flat needs flat");
    assert_string_equal(printed, "");
    assert_ok(ctx,
              bt_parse(ctx, "p", NULL, "#[version = \"baton 0.1\"]\ndef @main() { () }",
                       43, &untyped));
    assert_ok(ctx, bt_pipeline_read(ctx, "test-idle", &p));
    assert_error(bt_pipeline_run(ctx, p, NULL, untyped, &out), BT_ERR_ARGUMENT,
                 "call bt_infer first");
    bt_ctx_cancel(ctx);
    assert_error(bt_pipeline_run(ctx, p, NULL, typed, &out), BT_ERR_CANCELLED,
                 "was stopped");
    bt_module_unref(untyped);
    bt_module_unref(typed);
    bt_pipeline_destroy(p);
}

static void test_analyses_are_kept_while_they_hold(void **state)
{
    bt_ctx *ctx = *state;
    assert_ok(ctx, run(ctx, "test-watch{expect=3}, test-watch{expect=3}", NULL, 3));
    assert_ok(ctx,
              run(ctx, "test-watch{expect=3}, test-drop, test-watch{expect=2}", NULL, 2));
    assert_ok(ctx,
              run(ctx, "test-watch{expect=3}, test-drop-quietly, test-watch{expect=3}",
                  NULL, 2));
    assert_error(run(ctx, "test-watch{expect=5}", NULL, 0), BT_ERR_UNSUPPORTED,
                 "expected 5 globals, found 3");
}

static void test_modules_are_dumped_and_compared(void **state)
{
    bt_ctx *ctx = *state;
    const bt_pipeline_options options = {
        .level = -1,
        .print = print,
        .print_changed = 1,
        .dump_before = (const char *[]){ "test-drop", NULL },
        .dump_after = (const char *[]){ "test-idle", NULL },
    };
    assert_ok(ctx, run(ctx, "test-drop, test-idle", &options, 2));
    const char *before = strstr(printed, "// ---- before test-drop (run 1) ----\n");
    const char *changed = strstr(printed, "// ---- changed by test-drop (run 1) ----\n");
    const char *after = strstr(printed, "// ---- after test-idle (run 2) ----\n");
    assert_ptr_equal(before, printed);
    assert_true(before < changed && changed < after);
    const char *gone = strstr(changed, "- def @two");
    assert_true(gone && gone < after);
    assert_null(strstr(changed, "@main(") < after ? strstr(changed, "- def @main")
                                                  : NULL);
    assert_non_null(strstr(after, "def @main"));
    assert_null(strstr(after, "def @two"));
}

static const struct CMUnitTest tests[] = {
    TEST(test_passes_run_one_after_the_other),
    TEST(test_a_repeat_ends_when_nothing_changes),
    TEST(test_a_run_can_be_cut_short),
    TEST(test_a_failed_pass_is_named_and_changes_nothing),
    TEST(test_faults_of_passes_are_found),
    TEST(test_types_of_functions_stay),
    TEST(test_what_cannot_work_does_not_start),
    TEST(test_analyses_are_kept_while_they_hold),
    TEST(test_modules_are_dumped_and_compared),
};
TEST_MAIN(tests)
