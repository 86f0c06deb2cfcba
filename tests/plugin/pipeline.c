/* Pipelines are read, settled, proved and printed from manifests alone. */
#include "failing_allocator.h"
#include "test.h"

#include <baton/pass.h>

static int setup(void **state)
{
    bt_registry_options options = { .plugin_only = TEST_PLUGINS,
                                    .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_registry_unref(registry);
    *state = ctx;
    return ctx ? 0 : -1;
}

static int teardown(void **state)
{
    bt_ctx *ctx = *state;
    const bt_plugin_handle *plugin = bt_plugins_at(ctx, 0);
    assert_int_equal(bt_plugin_state(plugin), BT_PLUGIN_FOUND); // nothing was opened
    bt_ctx_destroy(ctx);
    return 0;
}

static bt_pipeline *read(bt_ctx *ctx, const char *source)
{
    bt_pipeline *p = NULL;
    assert_ok(ctx, bt_pipeline_read(ctx, source, &p));
    return p;
}

static bt_pipeline *parse(bt_ctx *ctx, const char *json)
{
    bt_pipeline *p = NULL;
    assert_ok(ctx, bt_pipeline_parse(ctx, "p.json", json, strlen(json), &p));
    return p;
}

static const char *resolve(bt_ctx *ctx, const bt_pipeline *p,
                           const bt_pipeline_options *options, uint64_t *digest)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    assert_ok(ctx, bt_pipeline_resolve(ctx, p, options, &text, digest));
    return bt_text_get(&text);
}

/* The flat form, with spaces squeezed, must hold these pieces in this order. */
static void expect(const char *text, const char *const *pieces)
{
    static char squeezed[65536];
    size_t n = 0;
    for (const char *c = text; *c && n + 1 < sizeof(squeezed); c++) {
        if (*c != ' ' && *c != '\n')
            squeezed[n++] = *c;
    }
    squeezed[n] = 0;
    const char *at = squeezed;
    for (; *pieces; pieces++) {
        const char *found = strstr(at, *pieces);
        if (!found)
            fail_msg("expected %s in the rest of %s", *pieces, squeezed);
        at = found + strlen(*pieces);
    }
}

/* Where a parse goes wrong. */
static void expect_fault(bt_ctx *ctx, const char *json, uint32_t line, uint32_t column,
                         const char *part)
{
    bt_pipeline *p = NULL;
    bt_status status = bt_pipeline_parse(ctx, "p.json", json, strlen(json), &p);
    if (!status) {
        uint64_t digest;
        bt_text text;
        bt_text_init(&text, bt_ctx_scratch(ctx));
        status = bt_pipeline_resolve(ctx, p, NULL, &text, &digest);
        bt_pipeline_destroy(p);
    }
    assert_error(status, status->code, part);
    assert_int_equal(status->place.line, line);
    assert_int_equal(status->place.column, column);
}

/* ---- reading ---- */

static void test_a_line_is_a_pipeline(void **state)
{
    bt_ctx *ctx = *state;
    bt_pipeline *p =
        read(ctx, "test-idle{max-rounds=7, tag=abc}, (test-flat, test-breaks)*4");
    expect(
        resolve(ctx, p, NULL, NULL),
        (const char *[]){ "\"pass\":\"test-idle\",\"options\":{\"max-rounds\":7,"
                          "\"tag\":\"abc\"},\"level\":0",
                          "\"repeat\":{\"max\":4},\"sequence\":[{\"pass\":\"test-flat\"",
                          "\"pass\":\"test-breaks\"", NULL });
    bt_pipeline_destroy(p);
}

static void test_strings_keep_their_contents(void **state)
{
    bt_ctx *ctx = *state;
    static const struct {
        const char *line, *flat;
    } cases[] = {
        { "test-idle{tag=\"a\\\"b\\\\\\x41\\n\"}", "\"tag\":\"a\\\"b\\\\A\\n\"" },
        { "test-idle{tag=\"$x\"}", "\"tag\":\"$$x\"" },
        { "test-idle{tag=$x}", "\"tag\":\"$$x\"" },
        { "test-idle{tag=True}", "\"tag\":\"True\"" },
        { "test-idle{tag=7}", "\"tag\":\"7\"" },
    };
    for (size_t i = 0; i < BT_COUNT(cases); i++) {
        bt_pipeline *p = read(ctx, cases[i].line);
        const char *flat = resolve(ctx, p, NULL, NULL);
        expect(flat, (const char *[]){ cases[i].flat, NULL });
        bt_pipeline *q = parse(ctx, flat);
        assert_string_equal(resolve(ctx, q, NULL, NULL), flat);
        bt_pipeline_destroy(p);
        bt_pipeline_destroy(q);
    }
}

static void test_an_empty_line_runs_nothing(void **state)
{
    bt_ctx *ctx = *state;
    bt_pipeline *p = read(ctx, "");
    expect(resolve(ctx, p, NULL, NULL), (const char *[]){ "\"sequence\":[]", NULL });
    bt_pipeline_destroy(p);
}

static void test_faults_of_a_line_have_a_place(void **state)
{
    bt_ctx *ctx = *state;
    bt_pipeline *p;
    static const struct {
        const char *line;
        uint32_t column;
        const char *part;
    } cases[] = {
        { "test-idle,", 11, "expected a pass's name, found the end" },
        { "test-idle{max-rounds}", 21, "expected \"=\" after the option's name" },
        { "test-idle{max-rounds=}", 22, "expected a value" },
        { "test-idle{max-rounds=1", 23, "expected \",\" or \"}\", found the end" },
        { "test-idle{tag=\"a}", 18, "expected the end of the string" },
        { "(test-idle)", 12, "expected \"*\"" },
        { "(test-idle)*0", 13, "expected a number of rounds in 1..1000, found \"0\"" },
        { "test-idle test-flat", 11, "expected \",\" or the end, found \"t\"" },
        { "test-idle{tag=\xff}", 15, "expected UTF-8, found byte 0xff" },
        { "test-idle, )", 12, "expected a pass's name, found \")\"" },
    };
    for (size_t i = 0; i < BT_COUNT(cases); i++) {
        bt_status status = bt_pipeline_read(ctx, cases[i].line, &p);
        assert_error(status, BT_ERR_PIPELINE, cases[i].part);
        assert_int_equal(status->place.column, cases[i].column);
    }
}

static void test_faults_of_a_manifest_have_a_place(void **state)
{
    bt_ctx *ctx = *state;
    expect_fault(ctx, "{\n  \"name\": \"x\",\n  \"sequenz\": []\n}", 1, 1,
                 "field \"sequence\" is missing");
    expect_fault(ctx, "{\"name\": \"x\", \"level\": 9,\n \"sequence\": []}", 1, 24,
                 "/level: expected an integer in 0..4, found 9");
    expect_fault(ctx, "{\"name\": \"x\", \"sequence\": [\n{\"pas\": \"test-idle\"}]}", 2,
                 2, "unknown field \"pas\": expected one of pass");
    expect_fault(ctx, "{\"name\": \"x\", \"sequence\": [\n{\"options\": {}}]}", 2, 1,
                 "a step is one of");
    expect_fault(
        ctx,
        "{\"name\": \"x\", \"sequence\": [{\"pass\": \"test-idle\",\n\"vars\": {}}]}", 2,
        1, "\"vars\" has no meaning in a step with \"pass\"");
    expect_fault(ctx, "{\"name\": \"x\", \"sequence\": [\n{\"repeat\": {\"max\": 2}}]}",
                 2, 1, "field \"sequence\" is missing: what to repeat");
    expect_fault(ctx, "{\"name\": \"x\", \"sequence\": [\n\"test-idel\"]}", 2, 1,
                 "no pass is named \"test-idel\"; did you mean test-idle?");
    expect_fault(
        ctx,
        "{\"name\": \"x\", \"sequence\": [{\"pass\": \"test-idle\", "
        "\"options\":\n{\"max-round\": 1}}]}",
        2, 15,
        "test-idle has no option \"max-round\": it has max-rounds, tag; did you mean "
        "max-rounds?");
    expect_fault(ctx,
                 "{\"name\": \"x\", \"sequence\": [\n{\"pipeline\": \"test-loop\"}]}", 4,
                 31, "nested more than 16 deep: does test-loop contain itself?");
    expect_fault(
        ctx,
        "{\"name\": \"x\", \"sequence\": [{\"pipeline\": \"test-inner\", \"vars\":\n"
        "{\"round\": 1}}]}",
        2, 11, "pipeline test-inner has no variable \"round\"");
    expect_fault(
        ctx,
        "{\"name\": \"x\", \"sequence\": [{\"pass\": \"test-idle\", \"options\":\n"
        "{\"tag\": \"$who\"}}]}",
        2, 9, "pipeline x has no variable \"who\"");
}

/* ---- settling ---- */

static void test_levels_require_and_disable(void **state)
{
    bt_ctx *ctx = *state;
    bt_pipeline *p = parse(ctx, "{\"name\": \"x\", \"level\": 1, \"sequence\": ["
                                "\"test-idle\", \"test-flat\", \"test-wants-flat\"]}");
    const char *text = resolve(ctx, p, NULL, NULL);
    expect(text, (const char *[]){ "test-idle", "test-flat", NULL });
    assert_null(strstr(text, "test-wants-flat"));
    const bt_pipeline_options low = { .level = 0 };
    text = resolve(ctx, p, &low, NULL);
    assert_null(strstr(text, "test-idle"));
    const bt_pipeline_options chosen = {
        .level = 0,
        .require = (const char *[]){ "test-wants-flat", NULL },
        .disable = (const char *[]){ "test-flat", NULL },
    };
    text = resolve(ctx, p, &chosen, NULL);
    expect(text, (const char *[]){ "\"pass\":\"test-wants-flat\",\"level\":0", NULL });
    assert_null(strstr(text, "test-flat"));
    bt_pipeline_destroy(p);
}

static void test_variables_reach_nested_pipelines(void **state)
{
    bt_ctx *ctx = *state;
    bt_pipeline *p =
        parse(ctx, "{\"name\": \"x\", \"vars\": {\"n\": 9}, \"sequence\": ["
                   "{\"pipeline\": \"test-inner\", \"vars\": {\"rounds\": \"$n\"}},"
                   "{\"pipeline\": \"test-inner\"}]}");
    expect(resolve(ctx, p, NULL, NULL),
           (const char *[]){ "\"max-rounds\":9,\"tag\":\"inner\"",
                             "\"max-rounds\":5,\"tag\":\"inner\"", NULL });
    const bt_pipeline_options set = {
        .level = -1, .set = (const char *[]){ "n=11", "test-idle.tag=mine", NULL }
    };
    expect(resolve(ctx, p, &set, NULL),
           (const char *[]){ "\"max-rounds\":11,\"tag\":\"mine\"",
                             "\"max-rounds\":5,\"tag\":\"mine\"", NULL });
    const bt_pipeline_options wrong = { .level = -1,
                                        .set = (const char *[]){ "m=1", NULL } };
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    assert_error(bt_pipeline_resolve(ctx, p, &wrong, &text, NULL), BT_ERR_PIPELINE,
                 "has neither a variable nor an option of a pass named \"m\"");
    assert_int_equal(text.len, 0);
    bt_pipeline_destroy(p);
}

static void test_slots_are_filled_in_order(void **state)
{
    bt_ctx *ctx = *state;
    bt_pipeline *p =
        parse(ctx, "{\"name\": \"x\", \"sequence\": [{\"slot\": \"test-slot\"}]}");
    const char *text = resolve(ctx, p, NULL, NULL);
    expect(text,
           (const char *[]){ "\"pass\":\"test-idle\",\"options\":{\"tag\":\"slot\"}",
                             "\"pass\":\"test-breaks\"", NULL });
    assert_null(strstr(text, "test-flat"));
    const bt_pipeline_options moon = { .level = -1, .target = "moon" };
    expect(resolve(ctx, p, &moon, NULL),
           (const char *[]){ "test-flat", "test-idle", "test-breaks", NULL });
    bt_pipeline_destroy(p);
}

static void test_conditions_and_nesting(void **state)
{
    bt_ctx *ctx = *state;
    bt_pipeline *p = parse(
        ctx,
        "{\"name\": \"x\", \"level\": 2, \"sequence\": ["
        "{\"sequence\": [\"test-flat\"], \"when\": {\"target\": [\"cpu\", \"npu\"]}},"
        "{\"sequence\": [\"test-breaks\"], \"level\": 3},"
        "{\"pass\": \"test-idle\", \"when\": {\"max-level\": 2}}]}");
    const bt_pipeline_options npu = { .level = 3, .target = "npu" };
    const char *text = resolve(ctx, p, &npu, NULL);
    expect(text, (const char *[]){ "test-flat", "test-breaks", NULL });
    assert_null(strstr(text, "test-idle"));
    text = resolve(ctx, p, NULL, NULL);
    assert_null(strstr(text, "test-flat"));
    assert_null(strstr(text, "test-breaks"));
    assert_non_null(strstr(text, "test-idle"));
    bt_pipeline_destroy(p);
}

/* ---- the flat form ---- */

static void test_the_flat_form_reads_back_to_itself(void **state)
{
    bt_ctx *ctx = *state;
    static const char *const sources[] = {
        "{\"name\": \"x\", \"doc\": \"d\", \"level\": 3, \"vars\": {\"t\": \"$$cash\"},"
        "\"sequence\": [{\"pass\": \"test-idle\", \"options\": {\"tag\": \"$t\"}},"
        "{\"repeat\": {\"max\": 3}, \"sequence\": [\"test-flat\", {\"slot\": "
        "\"test-slot\"}]},"
        "{\"pipeline\": \"test-inner\"}, {\"pass\": \"test-wants-flat\", \"level\": 1}],"
        "\"require\": [\"test-flat\"], \"instruments\": {\"verify\": true,"
        "\"dump-after\": [\"*\"]}}",
        "{\"name\": \"y\", \"sequence\": []}",
        "{\"name\": \"z\", \"level\": 0, \"sequence\": [\"test-idle\"], \"require\": "
        "[\"test-idle\"]}",
    };
    for (size_t i = 0; i < BT_COUNT(sources); i++) {
        uint64_t digest, again;
        bt_pipeline *p = parse(ctx, sources[i]);
        const char *flat = resolve(ctx, p, NULL, &digest);
        bt_pipeline *q = parse(ctx, flat);
        assert_string_equal(resolve(ctx, q, NULL, &again), flat);
        assert_true(digest == again);
        bt_pipeline_destroy(p);
        bt_pipeline_destroy(q);
    }
}

/* ---- proving ---- */

static void expect_proof(bt_ctx *ctx, const char *source,
                         const bt_pipeline_options *options, uint32_t nfault,
                         uint32_t column, const char *part)
{
    bt_pipeline *p = read(ctx, source);
    bt_status status = bt_pipeline_check(ctx, p, options);
    assert_int_equal(bt_ctx_nreport(ctx), nfault);
    if (nfault == 0) {
        assert_ok(ctx, status);
    } else {
        assert_error(status, BT_ERR_PIPELINE, part);
        assert_int_equal(status->place.column, column);
    }
    bt_pipeline_destroy(p);
    bt_ctx_clear_diags(ctx);
}

static void test_needs_and_options_are_proved(void **state)
{
    bt_ctx *ctx = *state;
    static const struct {
        const char *line;
        uint32_t nfault, column;
        const char *part;
    } cases[] = {
        { "test-flat, test-wants-flat, test-wants-flat", 0, 0, "" },
        { "test-flat, test-idle, test-wants-flat", 0, 0, "" },
        { "test-wants-flat", 1, 1,
          "test-wants-flat needs flat, which does not hold here: it is given by "
          "test-flat" },
        { "test-flat, test-breaks, test-wants-flat", 1, 25, "needs flat" },
        { "test-wants-wings", 1, 1,
          "test-wants-wings needs wings, which no pass gives and no analysis is named" },
        { "test-flat, (test-wants-flat, test-breaks)*2", 1, 13, "needs flat" },
        { "test-flat, (test-wants-flat, test-breaks)*1", 0, 0, "" },
        { "(test-flat, test-wants-flat, test-breaks)*9", 0, 0, "" },
        { "test-watch{expect=2}", 0, 0, "" },
        { "test-watch", 1, 1, "test-watch: option \"expect\" has no default" },
        { "test-watch{expect=two}", 1, 12, "expected an integer, found `two`" },
        { "test-idle{max-rounds=101}", 1, 11, "`max_rounds` is 101, expected 1..100" },
        { "test-idle{tag=\"a b\", max-rounds=3}", 0, 0, "" },
        { "test-idle{tag=a b}", 0, 0, "" },
        { "test-watch, test-idle{max-rounds=0}, test-wants-wings", 3, 1, "no default" },
    };
    for (size_t i = 0; i < BT_COUNT(cases); i++)
        expect_proof(ctx, cases[i].line, NULL, cases[i].nfault, cases[i].column,
                     cases[i].part);
}

static void test_what_is_disabled_is_missed(void **state)
{
    bt_ctx *ctx = *state;
    const bt_pipeline_options options = { .level = -1,
                                          .disable =
                                              (const char *[]){ "test-flat", NULL } };
    expect_proof(ctx, "test-flat, test-wants-flat", &options, 1, 12,
                 "it is given by test-flat (which is disabled)");
    const bt_pipeline_options both = { .level = -1,
                                       .require = (const char *[]){ "test-flat", NULL },
                                       .disable = (const char *[]){ "test-flat", NULL } };
    expect_proof(ctx, "test-flat", &both, 2, 1,
                 "test-flat is both required and disabled");
    const bt_pipeline_options unknown = { .level = -1,
                                          .require =
                                              (const char *[]){ "test-idle", NULL },
                                          .disable = (const char *[]){ "nobody", NULL } };
    expect_proof(ctx, "test-flat", &unknown, 2, 0,
                 "pass \"test-idle\" is required, but does not stand in pipeline");
}

/* ---- lack of memory ---- */

static int use_pipeline(bt_ctx *ctx, bt_pipeline *p)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    int ok = ok_or_no_memory(bt_pipeline_resolve(ctx, p, NULL, &text, NULL));
    bt_pipeline_destroy(p);
    return ok;
}

static int pipelines_body(const bt_allocator *allocator)
{
    static const char json[] =
        "{\"name\": \"x\", \"vars\": {\"n\": 9}, \"sequence\": ["
        "{\"pipeline\": \"test-inner\", \"vars\": {\"rounds\": \"$n\"}},"
        "{\"repeat\": {\"max\": 2}, \"sequence\": [{\"slot\": \"test-slot\"}]}],"
        "\"require\": [\"test-idle\"], \"instruments\": {\"dump-after\": [\"*\"]}}";
    bt_registry *registry =
        bt_registry_create(&(bt_registry_options){ .allocator = allocator,
                                                   .arena_single = 1,
                                                   .plugin_only = TEST_PLUGINS,
                                                   .ignore_environment = 1 });
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    bt_pipeline *p;
    int ok =
        ctx && ok_or_no_memory(bt_pipeline_parse(ctx, "p", json, strlen(json), &p)) &&
        use_pipeline(ctx, p) &&
        ok_or_no_memory(bt_pipeline_read(ctx, "test-idle{tag=x}, (test-flat)*2", &p)) &&
        use_pipeline(ctx, p);
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return ok;
}

static void test_lack_of_memory_is_an_error(void **state)
{
    (void)state;
    fail_each_allocation(pipelines_body);
}

static const struct CMUnitTest tests[] = {
    TEST(test_a_line_is_a_pipeline),
    TEST(test_strings_keep_their_contents),
    TEST(test_an_empty_line_runs_nothing),
    TEST(test_faults_of_a_line_have_a_place),
    TEST(test_faults_of_a_manifest_have_a_place),
    TEST(test_levels_require_and_disable),
    TEST(test_variables_reach_nested_pipelines),
    TEST(test_slots_are_filled_in_order),
    TEST(test_conditions_and_nesting),
    cmocka_unit_test(test_lack_of_memory_is_an_error),
    TEST(test_needs_and_options_are_proved),
    TEST(test_what_is_disabled_is_missed),
    TEST(test_the_flat_form_reads_back_to_itself),
};
TEST_MAIN(tests)
