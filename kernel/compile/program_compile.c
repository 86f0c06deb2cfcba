/* What stands between a model's file and a compiled module. */
#include "compile/program.h"

#include <string.h>

#include <baton/artifact.h>
#include <baton/importer.h>
#include <baton/pass.h>

#include "base/ctx.h"
#include "pass/targets.h"

/* `digest` may be NULL: it is not asked for. */
static bt_status run_pipeline(bt_ctx *ctx, const char *source,
                              const bt_pipeline_options *options, const bt_module *module,
                              uint64_t *digest, bt_module **out)
{
    bt_pipeline *pipeline;
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(ctx));
    BT_TRY(bt_pipeline_read(ctx, source, &pipeline));
    bt_status status =
        digest ? bt_pipeline_resolve(ctx, pipeline, options, &text, digest) : NULL;
    if (!status)
        status = bt_pipeline_run(ctx, pipeline, options, module, out);
    bt_pipeline_destroy(pipeline);
    return status;
}

static bt_status optimise(bt_ctx *ctx, const bt_program_options *options,
                          const bt_targets *targets, const bt_module *module,
                          uint64_t *digest, bt_module **out)
{
    const char *source = options->pipeline ? options->pipeline : "default";
    const bt_global *entry;
    BT_TRY(bt_module_entry(ctx, module, options->entry, &entry));
    bt_pipeline_options run = { .level = options->level ? options->level - 1 : -1,
                                .target = targets ? NULL : options->target,
                                .targets = targets,
                                .entry = entry->name };
    if (!*source) {
        *out = bt_module_ref(module);
        return NULL;
    }
    return run_pipeline(ctx, source, &run, module, digest, out);
}

bt_status bt__program_read(bt_ctx *ctx, const char *path,
                           const bt_program_options *options, const bt_targets *targets,
                           uint64_t *digest, bt_module **out)
{
    bt_module *module, *typed;
    const bt_import_options import = { .entry = options->entry,
                                       .dims = options->dims,
                                       .fixed = options->fixed };
    BT_TRY(bt_import(ctx, path, &import, &module));
    bt__progress(ctx, "inferring types");
    bt_status status = bt_infer(ctx, module, &typed);
    bt_module_unref(module);
    BT_TRY(status);
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    status = optimise(ctx, options, targets, typed, digest, out);
    bt_arena_release(scratch, mark);
    bt_module_unref(typed);
    return status;
}

bt_status bt__program_targets(bt_ctx *ctx, const char *list, bt_targets **out)
{
    const char *found = "reference";
    for (uint32_t i = 0; !list && i < bt_provided_len(ctx, "target"); i++) {
        bt_provided item;
        BT_TRY(bt_provided_at(ctx, "target", i, &item));
        if (strcmp(item.name, "cpu") == 0)
            found = "cpu";
    }
    return bt_targets_open(ctx, list ? list : found, out);
}

static bt_status compile_for(bt_ctx *ctx, const char *model,
                             const bt_program_options *options, const bt_targets *targets,
                             const char *path)
{
    uint64_t digest = 0;
    bt_module *module, *fused = NULL;
    bt_compiled *compiled;
    BT_TRY(bt__program_read(ctx, model, options, targets, &digest, &module));
    const bt_compile_options lower = { .opened = targets,
                                       .entry = options->entry,
                                       .fuse = options->fuse,
                                       .plan = options->plan };
    bt_status status = bt_fuse(ctx, module, &lower, &fused);
    bt_module_unref(module);
    if (!status)
        status = bt_compile(ctx, fused, &lower, &compiled);
    bt_module_unref(fused);
    BT_TRY(status);
    status = bt_artifact_write(ctx, compiled, digest, path);
    bt_compiled_unref(compiled);
    return status;
}

/* Targets are opened first: a slip in their list is told before a model is read. */
bt_status bt_program_compile(bt_ctx *ctx, const char *model,
                             const bt_program_options *options, const char *path)
{
    static const bt_program_options defaults;
    bt_targets *targets;
    options = options ? options : &defaults;
    BT_TRY(bt__program_targets(ctx, options->target, &targets));
    bt_status status = compile_for(ctx, model, options, targets, path);
    bt_targets_unref(targets);
    return status;
}
