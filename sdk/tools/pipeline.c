/* baton pipeline: checks pipelines, and prints what they come to, with nothing loaded. */
#include <string.h>

#include <baton/pass.h>

#include "pass_options.h"
#include "verbs.h"

static int check(struct tool *tool, const bt_pipeline *pipeline,
                 const bt_pipeline_options *options)
{
    TRY_TOOL(tool, bt_pipeline_check(tool->ctx, pipeline, options));
    printf("%s: every pass is known, in an order that meets its needs\n", tool->args[1]);
    return EXIT_OK;
}

static int resolve(struct tool *tool, const bt_pipeline *pipeline,
                   const bt_pipeline_options *options)
{
    bt_text text;
    uint64_t digest;
    bt_text_init(&text, bt_ctx_scratch(tool->ctx));
    TRY_TOOL(tool, bt_pipeline_resolve(tool->ctx, pipeline, options, &text, &digest));
    if (!bt_text_get(&text))
        return tool_fail(tool, bt_no_memory());
    fputs(bt_text_get(&text), stdout);
    if (option_value(tool, "digest"))
        fprintf(stderr, "digest %016llx\n", (unsigned long long)digest);
    return EXIT_OK;
}

static int run(struct tool *tool)
{
    int is_check = strcmp(tool->args[0], "check") == 0;
    bt_pipeline_options options;
    bt_pipeline *pipeline;
    if (!is_check && strcmp(tool->args[0], "resolve") != 0)
        return tool_usage(tool, "there is no action %s", tool->args[0]);
    int code = read_pass_options(tool, &options);
    if (code)
        return code;
    if (!*tool->args[1])
        return tool_usage(tool, "PIPELINE is empty: give a name, a file or a list");
    TRY_TOOL(tool, bt_pipeline_read(tool->ctx, tool->args[1], &pipeline));
    code = is_check ? check(tool, pipeline, &options) : resolve(tool, pipeline, &options);
    bt_pipeline_destroy(pipeline);
    return code;
}

static const struct option options[] = {
    PASS_OPTIONS,
    { "digest", 0, NULL,
      "resolve: print the digest that artifacts store, to standard error" },
    { "json", 0, NULL, "print diagnostics as JSON" },
    { 0 },
};

const struct verb verb_pipeline = {
    .name = "pipeline",
    .args = "check|resolve PIPELINE",
    .min_arg = 2,
    .max_arg = 2,
    .doc = "Check a pass pipeline, or print its flat form.",
    // clang-format off
    .details = "PIPELINE is a name (default), a manifest (FILE.json), or a list of passes:\n"
               "'fold-constant, dead-code'. Nothing is loaded; manifests say what passes need,\n"
               "keep and take.",
    .examples = "  baton pipeline check 'fold-constant, dead-code'\n"
                "  baton pipeline resolve default --target cpu",
    // clang-format on
    .options = options,
    .run = run,
};
