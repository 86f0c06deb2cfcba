/* Passes and pipelines under failing memory. */
#include "fault.h"

#include <baton/pass.h>

#include <stdlib.h>

static bt_status begin_with(struct fault_world *w, const char *path)
{
    size_t nbytes;
    bt_module *module;
    char *text = fault_read(path, &nbytes);
    bt_status status = bt_parse(w->ctx, "passes.baton", NULL, text, nbytes, &module);
    free(text);
    if (status)
        return status;
    status = bt_infer(w->ctx, module, &w->module);
    bt_module_unref(module);
    return status;
}

static bt_status begin(struct fault_world *w)
{
    return begin_with(w, FAULT_PROGRAMS "/passes.baton");
}

static bt_status begin_codes(struct fault_world *w)
{
    return begin_with(w, FAULT_PROGRAMS "/codes.baton");
}

static bt_status begin_gradients(struct fault_world *w)
{
    return begin_with(w, FAULT_PROGRAMS "/gradients.baton");
}

static bt_status begin_products(struct fault_world *w)
{
    return begin_with(w, FAULT_PROGRAMS "/products.baton");
}

static bt_status begin_partial(struct fault_world *w)
{
    return begin_with(w, FAULT_PROGRAMS "/partial.baton");
}

static bt_status begin_budget(struct fault_world *w)
{
    return begin_with(w, FAULT_PROGRAMS "/budget.baton");
}

static void keep_text(void *self, const char *text)
{
    (void)self, (void)text;
}

static bt_status optimise(struct fault_world *w, const bt_pipeline_options *options)
{
    bt_pipeline *pipeline;
    bt_module *out;
    BT_TRY(bt_pipeline_read(w->ctx, w->scenario->input, &pipeline));
    bt_status status = bt_pipeline_run(w->ctx, pipeline, options, w->module, &out);
    bt_pipeline_destroy(pipeline);
    if (status)
        return status;
    status = fault_result_of(w, fault_write_module, out);
    bt_module_unref(out);
    return status;
}

static bt_status run_passes(struct fault_world *w)
{
    bt_pipeline_options options = { .level = -1 };
    return optimise(w, &options);
}

static bt_status run_instruments(struct fault_world *w)
{
    static const char *const all[] = { "*", NULL };
    bt_pipeline_options options = { .level = -1,
                                    .verify_each = 1,
                                    .time_passes = 1,
                                    .print_changed = 1,
                                    .dump_before = all,
                                    .dump_after = all,
                                    .print = keep_text };
    return optimise(w, &options);
}

static bt_status write_resolved(struct fault_world *w, const void *pipeline, bt_text *out)
{
    uint64_t digest;
    bt_pipeline_options options = { .level = -1 };
    BT_TRY(bt_pipeline_check(w->ctx, pipeline, &options));
    return bt_pipeline_resolve(w->ctx, pipeline, &options, out, &digest);
}

static bt_status run_resolve(struct fault_world *w)
{
    bt_pipeline *pipeline;
    BT_TRY(bt_pipeline_read(w->ctx, w->scenario->input, &pipeline));
    bt_status status = fault_result_of(w, write_resolved, pipeline);
    bt_pipeline_destroy(pipeline);
    return status;
}

/* What an analysis finds, as text. */
static bt_status write_view(struct fault_world *w, const void *row, bt_text *out)
{
    const bt_analysis *analysis = row;
    const void *result;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(w->ctx));
    if (!arena)
        return bt_no_memory();
    bt_status status = analysis->compute(w->ctx, w->module, arena, &result);
    if (!status)
        status = analysis->print(w->ctx, w->module, result, out);
    bt_arena_destroy(arena);
    return status;
}

static bt_status run_view(struct fault_world *w)
{
    const void *row;
    BT_TRY(bt_registry_row(w->ctx, "baton.analysis/1", w->scenario->input,
                           sizeof(bt_analysis), &row));
    return fault_result_of(w, write_view, row);
}

#define VIEW(view)                                                           \
    {                                                                        \
        .name = "view-" view, .begin = begin, .run = run_view, .input = view \
    }

/* A pass, behind what prepares for it. */
#define PASS(pass, before)                                                            \
    {                                                                                 \
        .name = "pass-" pass, .begin = begin, .run = run_passes, .input = before pass \
    }

const struct fault_scenario fault_passes[] = {
    PASS("batch-loop", ""),
    PASS("canonicalize", ""),
    { .name = "pass-alter-layout",
      .begin = begin,
      .run = run_passes,
      .input = "simplify-inference, canonicalize, alter-layout{data=NCHW2c}, dead-code" },
    { .name = "pass-combine-parallel",
      .begin = begin,
      .run = run_passes,
      .input = "combine-parallel-conv2d{min-branches=2}" },
    PASS("common-subexpr", ""),
    PASS("dead-code", ""),
    PASS("drop-again", ""),
    PASS("defunctionalize", "match-tree, lambda-lift, monomorphize, "),
    PASS("eta-expand", ""),
    PASS("fast-math", ""),
    PASS("fold-constant", ""),
    PASS("fold-scale-axis", "simplify-inference, fold-constant, "),
    PASS("fold-take", ""),
    PASS("inline", ""),
    PASS("join-accumulations", ""),
    PASS("join-products", ""),
    { .name = "pass-keep-or-recompute",
      .begin = begin_products,
      .run = run_passes,
      .input = "inline{all=True}, dead-code, keep-or-recompute" },
    { .name = "pass-fit-memory",
      .begin = begin_budget,
      .run = run_passes,
      .input = "fit-memory{max-bytes=1024}" },
    PASS("lambda-lift", ""),
    PASS("licm", ""),
    PASS("match-tree", ""),
    PASS("matrix-chain", ""),
    PASS("merge-functions", ""),
    PASS("monomorphize", ""),
    { .name = "pass-partial-eval",
      .begin = begin_partial,
      .run = run_passes,
      .input = "partial-eval" },
    { .name = "pass-qdq-to-integer",
      .begin = begin_codes,
      .run = run_passes,
      .input = "qdq-to-integer" },
    PASS("sccp", ""),
    PASS("simplify-control-flow", ""),
    PASS("simplify-expr", ""),
    PASS("simplify-inference", ""),
    PASS("stack-rows", "unroll, "),
    PASS("to-cps", "monomorphize, "),
    PASS("un-cps", "monomorphize, to-cps, "),
    PASS("unroll", ""),
    PASS("verify-flat", "match-tree, lambda-lift, monomorphize, "),
    VIEW("cfg"),
    VIEW("dominance"),
    VIEW("effects"),
    VIEW("graph"),
    VIEW("liveness"),
    VIEW("loops"),
    VIEW("uses"),
    { .name = "pipeline-gradients",
      .begin = begin_gradients,
      .run = run_passes,
      .input = "gradients" },
    { .name = "pipeline-default", .begin = begin, .run = run_passes, .input = "default" },
    { .name = "pipeline-instruments",
      .begin = begin,
      .run = run_instruments,
      .input = "inline, dead-code" },
    { .name = "pipeline-resolve", .run = run_resolve, .input = "default" },
    { .name = "pipeline-line",
      .run = run_resolve,
      .input = "fold-constant{max-bytes=64}, inline" },
    { .name = "pipeline-wrong",
      .run = run_resolve,
      .input = "fold-constant{max-bites=64}, inlin",
      .code = BT_ERR_PIPELINE },
    { 0 },
};
