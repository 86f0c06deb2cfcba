/* Options of the library's calls: a caller may have been built with headers of an earlier
 * or a later version, whose struct is shorter or longer. */
#include "programs.h"

#include <unistd.h>

#include <baton/importer.h>

/* What a call is given: a program, a pipeline, and so many bytes of options. */
struct given {
    bt_ctx *ctx;
    const char *path;
    const bt_module *module, *fused;
    const bt_pipeline *pipeline;
    const void *options;
    size_t nbytes;
};

static bt_status end(bt_status status, bt_module *const *out)
{
    if (!status)
        bt_module_unref(*out);
    return status;
}

static bt_status call_import(const struct given *g)
{
    bt_module *out;
    return end(bt_import_sized(g->ctx, g->path, g->options, g->nbytes, &out), &out);
}

static bt_status call_print(const struct given *g)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(g->ctx));
    return bt_print_sized(g->ctx, g->module, g->options, g->nbytes, &text);
}

static bt_status call_check(const struct given *g)
{
    return bt_pipeline_check_sized(g->ctx, g->pipeline, g->options, g->nbytes);
}

static bt_status call_resolve(const struct given *g)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(g->ctx));
    return bt_pipeline_resolve_sized(g->ctx, g->pipeline, g->options, g->nbytes, &text,
                                     NULL);
}

static bt_status call_run(const struct given *g)
{
    bt_module *out;
    return end(bt_pipeline_run_sized(g->ctx, g->pipeline, g->options, g->nbytes,
                                     g->module, &out),
               &out);
}

static bt_status call_fuse(const struct given *g)
{
    bt_module *out;
    return end(bt_fuse_sized(g->ctx, g->module, g->options, g->nbytes, &out), &out);
}

static bt_status call_compile(const struct given *g)
{
    bt_compiled *out;
    bt_status status = bt_compile_sized(g->ctx, g->fused, g->options, g->nbytes, &out);
    if (!status)
        bt_compiled_unref(out);
    return status;
}

/* Each has an option that is wrong, behind those of the earlier version, and something
 * that only a later version knows. */
static const char *const nosuch[] = { "nosuch", NULL };
static const struct {
    bt_import_options options;
    uint64_t unknown;
} of_import = { { .fixed = nosuch }, 1 };
static const struct {
    bt_print_options options;
    uint64_t unknown;
} of_print = { { .weights = "weights" }, 1 };
static const struct {
    bt_pipeline_options options;
    uint64_t unknown;
} of_pipeline = { { .level = 1, .require = nosuch }, 1 };
static const struct {
    bt_compile_options options;
    uint64_t unknown;
} of_fuse = { { .targets = "reference", .fuse = "nosuch" }, 1 },
  of_compile = { { .targets = "reference", .plan = "nosuch" }, 1 };

#define ROW(call_, given_, type_, member_)                                              \
    {                                                                                   \
#call_, call_, &given_, offsetof(type_, member_), sizeof(type_), sizeof(given_) \
    }
static const struct {
    const char *name;
    bt_status (*call)(const struct given *);
    const void *options;
    size_t earlier, now, later;
} rows[] = {
    ROW(call_import, of_import, bt_import_options, fixed),
    ROW(call_print, of_print, bt_print_options, weights),
    ROW(call_check, of_pipeline, bt_pipeline_options, require),
    ROW(call_resolve, of_pipeline, bt_pipeline_options, require),
    ROW(call_run, of_pipeline, bt_pipeline_options, require),
    ROW(call_fuse, of_fuse, bt_compile_options, fuse),
    ROW(call_compile, of_compile, bt_compile_options, plan),
};

static void check_row(struct given *g, size_t i)
{
    g->options = rows[i].options;
    g->nbytes = rows[i].earlier;
    bt_status status = rows[i].call(g);
    if (status)
        fail_msg("%s looks behind an earlier version's options: %s", rows[i].name,
                 status->message);
    g->nbytes = rows[i].now;
    status = rows[i].call(g);
    if (!status || strstr(status->message, "later one"))
        fail_msg("%s does not see its option", rows[i].name);
    g->nbytes = rows[i].later;
    assert_error(rows[i].call(g), BT_ERR_ARGUMENT, "was built for a later one");
    g->options = NULL;
    status = rows[i].call(g);
    if (status && rows[i].call != call_fuse && rows[i].call != call_compile)
        fail_msg("%s has no defaults: %s", rows[i].name, status->message);
}

static void test_each_call_takes_shorter_and_longer_options(void **state)
{
    static const char text[] = "#[version = \"baton 0.1\"]\n"
                               "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }\n";
    (void)state;
    char path[300];
    snprintf(path, sizeof(path), TEST_FOLDER "/sized.%d.baton", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    bt_ctx *ctx = open_targets(NULL);
    bt_module *parsed, *typed, *fused;
    bt_pipeline *pipeline;
    assert_ok(ctx, bt_import(ctx, path, NULL, &parsed));
    assert_ok(ctx, bt_infer(ctx, parsed, &typed));
    assert_ok(ctx, fuse(ctx, typed, &fused));
    assert_ok(ctx, bt_pipeline_read(ctx, "fuse-ops", &pipeline));
    struct given g = {
        .ctx = ctx, .path = path, .module = typed, .fused = fused, .pipeline = pipeline
    };
    for (size_t i = 0; i < BT_COUNT(rows); i++)
        check_row(&g, i);
    unlink(path);
    bt_pipeline_destroy(pipeline);
    bt_module_unref(fused);
    bt_module_unref(typed);
    bt_module_unref(parsed);
    bt_ctx_destroy(ctx);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_each_call_takes_shorter_and_longer_options),
};
TEST_MAIN(tests)
