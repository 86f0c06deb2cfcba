/* baton opt: runs passes and prints the program. */
#include <string.h>

#include <baton/compiled.h>
#include <baton/pass.h>

#include "import_options.h"
#include "pass_options.h"
#include "print_kernels.h"
#include "print_view.h"
#include "program_text.h"
#include "slots.h"
#include "verbs.h"

static void print_text(void *self, const char *text)
{
    (void)self;
    fputs(text, stderr);
}

/* Options about passes are refused where no pass runs, instead of being ignored. */
static int check_idle(struct tool *tool)
{
    static const char *const names[] = { "require",     "disable",    "set",
                                         "dump-before", "dump-after", "stop-after" };
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        if (option_value(tool, names[i]))
            return tool_usage(tool, "--%s needs passes: give --passes or --pipeline",
                              names[i]);
    }
    return EXIT_OK;
}

static int read_options(struct tool *tool, bt_pipeline_options *out)
{
    int64_t stop = 0;
    int code = read_pass_options(tool, out);
    if (!code)
        code = option_number(tool, "stop-after", 0, UINT32_MAX, &stop);
    out->stop_after = (uint32_t)stop;
    out->verify_each = option_value(tool, "verify-each") != NULL;
    out->time_passes = option_value(tool, "time-passes") != NULL;
    out->print_changed = option_value(tool, "print-changed") != NULL;
    out->dump_before = option_values(tool, "dump-before");
    out->dump_after = option_values(tool, "dump-after");
    out->entry = option_value(tool, "entry");
    out->print = print_text;
    return code;
}

/* The program at the end is verified. Where it is wrong, or a pass cannot go on, the passes
 * run once more, each of them verified: a pass before may be at fault, and is named. */
static bt_status run_verified(bt_ctx *ctx, const bt_pipeline *pipeline,
                              const bt_pipeline_options *options, const bt_module *module,
                              bt_module **out)
{
    bt_pipeline_options again = *options;
    bt_module *verified;
    bt_status status = bt_pipeline_run(ctx, pipeline, options, module, out);
    if (status && status->code != BT_ERR_INTERNAL)
        return status;
    if (!status) {
        status = bt_verify(ctx, *out);
        if (!status)
            return NULL;
        bt_module_unref(*out);
    }
    again.verify_each = 1;
    again.print = NULL;
    bt_status named = bt_pipeline_run(ctx, pipeline, &again, module, &verified);
    if (!named)
        bt_module_unref(verified);
    return named ? named : status;
}

static bt_status optimise(bt_ctx *ctx, const char *source,
                          const bt_pipeline_options *options, bt_module *module,
                          bt_module **out)
{
    bt_pipeline *pipeline;
    bt_targets *targets = NULL;
    bt_pipeline_options run = *options;
    const bt_global *entry;
    if (options->entry)
        BT_TRY(bt_module_entry(ctx, module, options->entry, &entry));
    BT_TRY(bt_pipeline_read(ctx, source, &pipeline));
    bt_status status = NULL;
    if (options->target && strcmp(options->target, "interp") != 0)
        status = bt_targets_open(ctx, options->target, &targets);
    run.targets = targets;
    if (!status)
        status = run_verified(ctx, pipeline, &run, module, out);
    bt_targets_unref(targets);
    bt_pipeline_destroy(pipeline);
    return status;
}

/* What is shown in place of the program: at most one thing, and not in a file of programs. */
static int check_view(struct tool *tool, const char *view, const char *kernels)
{
    if (kernels && view)
        return tool_usage(tool, "--print and --kernels are two views: give one");
    if ((kernels || (view && strcmp(view, "anf") != 0)) && option_value(tool, "output"))
        return tool_usage(tool,
                          "-o is for programs: send what --%s shows to a file by > FILE",
                          kernels ? "kernels" : "print");
    return check_kernels_word(tool, kernels);
}

static int run(struct tool *tool)
{
    const char *pipeline = option_value(tool, "pipeline"),
               *passes = option_value(tool, "passes"),
               *view = option_value(tool, "print"),
               *kernels = option_value(tool, "kernels");
    const char *source = pipeline ? pipeline : passes ? passes : "";
    bt_pipeline_options options;
    bt_module *module, *typed, *out;
    const bt_global *entry = NULL; // before passes add functions
    bt_import_options import = read_import_options(tool);
    int code = check_one_source(tool);
    if (!code)
        code = check_view(tool, view, kernels);
    if (!code)
        code = read_options(tool, &options);
    if (!code && !*source)
        code = check_idle(tool);
    if (code)
        return code;
    TRY_TOOL(tool, bt_import(tool->ctx, tool->args[0], &import, &module));
    bt_status status = NULL;
    if (option_value(tool, "no-infer"))
        typed = bt_module_ref(module);
    else
        status = bt_infer(tool->ctx, module, &typed);
    bt_module_unref(module);
    TRY_TOOL(tool, status);
    if (import.entry && !option_value(tool, "no-infer")) {
        status = bt_entry_define(tool->ctx, typed, import.entry, import.dims, &module);
        bt_module_unref(typed);
        TRY_TOOL(tool, status);
        typed = module;
    }
    out = typed;
    if (kernels)
        status = bt_module_entry(tool->ctx, typed, option_value(tool, "entry"), &entry);
    if (pipeline && !status)
        status = remark_lost_contributions(tool->ctx);
    if (*source && !status)
        status = optimise(tool->ctx, source, &options, typed, &out);
    else if (!status)
        bt_module_ref(out);
    const char *name =
        entry ? bt_arena_text(bt_ctx_scratch(tool->ctx), entry->name, strlen(entry->name))
              : NULL;
    bt_module_unref(typed);
    TRY_TOOL(tool, status);
    if (kernels)
        code = print_kernels(tool, out, name, option_value(tool, "target"), kernels);
    else if (view && strcmp(view, "anf") != 0)
        code = print_view(tool, out, view);
    else
        code = print_program(tool, out, option_value(tool, "output"));
    bt_module_unref(out);
    return code;
}

static const struct option options[] = {
    { "passes", 'p', "LIST",
      "passes to run: 'fold-constant, simplify-expr{max-rounds=2}'" },
    { "pipeline", 0, "FILE", "pipeline to run: a manifest, or a name such as default" },
    PASS_OPTIONS,
    { "verify-each", 0, NULL, "check every invariant after each pass" },
    { "time-passes", 0, NULL, "print a table of times to standard error" },
    { "print-changed", 0, NULL, "print the program after each pass that changed it" },
    { "dump-before", 0, "PASS", "print the program before this pass; '*': all" },
    { "dump-after", 0, "PASS", "print the program after this pass; '*': all" },
    { "stop-after", 0, "N", "run the first N passes only" },
    { "no-infer", 0, NULL, "print as parsed, without inferring types; runs no pass" },
    { "spans", 0, NULL, "print source positions and provenance" },
    { "print", 0, "VIEW",
      "show the program as cfg (basic blocks), graph (nested expressions) or anf (as it "
      "is), or an analysis of it: see baton list analyses" },
    { "kernels", 0, "WHAT",
      "instead, what computes it: graph, loops, c, lowered or planned" },
    { "output", 'o', "FILE",
      "write there, large constants to a .npz beside it; -: print all" },
    IMPORT_OPTIONS,
    { "entry", 0, "FUNCTION",
      "the program is run from it: dead-code drops what it does not reach, and --dim is "
      "about its dims (default: any may be; for --dim main, or the only one)" },
    { "json", 0, NULL, "print diagnostics as JSON" },
    { 0 },
};

const struct verb verb_opt = {
    .name = "opt",
    .args = "FILE",
    .min_arg = 1,
    .max_arg = 1,
    .doc = "Check a program, run passes on it and print it.",
    // clang-format off
    .details = "The passes are those of --passes or --pipeline; without these none run, and the\n"
               "program is checked and printed.\n"
               "\n"
               "FILE is anything that run takes; - is standard input. On a terminal, large\n"
               "constants are not shown.\n"
               "\n"
               "With --kernels, the calls that are computed together are shown in place of the\n"
               "program: graph has a line for each stage of their formulas, loops what a target\n"
               "begins with, before it makes a schedule (<baton/graph.h>, <baton/loops.h>), c\n"
               "the text of the kernels that it makes (--target, by default cpu). lowered and\n"
               "planned show the program that calls them: its memory, before and after it is\n"
               "shared (--target, by default reference).",
    .examples = "  baton opt digits.baton --passes 'simplify-expr, fold-constant, fuse-ops'\n"
                "  baton opt digits.baton --pipeline default --time-passes -o fast.baton\n"
                "  baton opt digits.baton --pipeline default --kernels loops\n"
                "  baton opt digits.baton --print cfg",
    // clang-format on
    .options = options,
    .run = run,
};
