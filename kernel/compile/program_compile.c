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
                          const bt_module *module, uint64_t *digest, bt_module **out)
{
    const char *source = options->pipeline ? options->pipeline : "default";
    bt_pipeline_options run = { .level = options->level ? options->level - 1 : -1,
                                .target = options->target };
    if (!*source) {
        *out = bt_module_ref(module);
        return NULL;
    }
    return run_pipeline(ctx, source, &run, module, digest, out);
}

bt_status bt__program_read(bt_ctx *ctx, const char *path,
                           const bt_program_options *options, uint64_t *digest,
                           bt_module **out)
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
    status = optimise(ctx, options, typed, digest, out);
    bt_arena_release(scratch, mark);
    bt_module_unref(typed);
    return status;
}

bt_status bt__program_target(bt_ctx *ctx, const char **target)
{
    const char *found = "reference";
    for (uint32_t i = 0; !*target && i < bt_provided_len(ctx, "target"); i++) {
        bt_provided item;
        BT_TRY(bt_provided_at(ctx, "target", i, &item));
        if (strcmp(item.name, "cpu") == 0)
            found = "cpu";
    }
    if (!*target)
        *target = found;
    return bt__targets_check(ctx, *target); // a slip is told before a model is read
}

bt_status bt__program_lower(bt_ctx *ctx, const bt_module *module,
                            const bt_compile_options *options, bt_compiled **out)
{
    bt_module *fused;
    BT_TRY(bt_fuse(ctx, module, options, &fused));
    bt_status status = bt_compile(ctx, fused, options, out);
    bt_module_unref(fused);
    return status;
}

bt_status bt_program_compile(bt_ctx *ctx, const char *model,
                             const bt_program_options *options, const char *path)
{
    static const bt_program_options defaults;
    bt_program_options settled = options ? *options : defaults;
    uint64_t digest = 0;
    bt_module *module;
    bt_compiled *compiled;
    BT_TRY(bt__program_target(ctx, &settled.target));
    BT_TRY(bt__program_read(ctx, model, &settled, &digest, &module));
    const bt_compile_options lower = { .targets = settled.target,
                                       .entry = settled.entry,
                                       .fuse = settled.fuse,
                                       .plan = settled.plan };
    bt_status status = bt__program_lower(ctx, module, &lower, &compiled);
    bt_module_unref(module);
    BT_TRY(status);
    status = bt_artifact_write(ctx, compiled, digest, path);
    bt_compiled_unref(compiled);
    return status;
}
