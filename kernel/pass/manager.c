/*
 * Running the steps of a resolved pipeline: one pass after the other, each on the
 * version that the one before made. A pass that fails has no effect: the caller's
 * module is never changed.
 */
#include <string.h>

#include "base/ctx.h"
#include "ir/store.h"
#include "ir/type_match.h"
#include "ir/walk.h"
#include "pass/pipeline.h"

typedef struct run {
    bt_ctx *ctx;
    const bt__resolved *resolved;
    bt__manager manager;
    bt__holding holding;
    bt_module *module; /* a reference */
    bt__timings timings;
    uint32_t nrun;
} run;

static int is_stopped(const run *r)
{
    return r->resolved->options.stop_after && r->nrun >= r->resolved->options.stop_after;
}

/* ---- printing ---- */

static void print(const run *r, const bt_text *text)
{
    const char *at = bt_text_get(text);
    if (at)
        r->resolved->options.print(r->resolved->options.self, at);
}

/* Large constants are named only: dumps are for reading. */
static bt_status write_module(run *r, const bt_module *module, bt_text *out)
{
    bt_npz *npz = NULL;
    const bt_print_options options = { .weights = "weights.npz", .npz = &npz };
    bt_status status = bt_print(r->ctx, module, &options, out);
    bt_npz_destroy(r->ctx, npz);
    return status;
}

static int is_named(const bt__pass_names *names, const char *pass)
{
    for (uint32_t i = 0; i < names->len; i++) {
        if (strcmp(names->at[i].name, pass) == 0 || strcmp(names->at[i].name, "*") == 0)
            return 1;
    }
    return 0;
}

static bt_status dump(run *r, const bt__pass_names *names, const char *when,
                      const char *pass)
{
    bt_text text;
    if (!r->resolved->options.print || !is_named(names, pass))
        return NULL;
    bt_arena *arena = bt_arena_create(r->ctx->registry);
    if (!arena)
        return bt_no_memory();
    bt_text_init(&text, arena);
    bt_text_addf(&text, "// ---- %s %s (run %u) ----\n", when, pass, r->nrun);
    bt_status status = write_module(r, r->module, &text);
    if (!status)
        print(r, &text);
    bt_arena_destroy(arena);
    return status;
}

static bt_status print_changed(run *r, const bt_module *before, const char *pass)
{
    bt_text old, new, text;
    if (!r->resolved->options.print || !r->resolved->instruments.print_changed)
        return NULL;
    bt_arena *arena = bt_arena_create(r->ctx->registry);
    if (!arena)
        return bt_no_memory();
    bt_text_init(&old, arena);
    bt_text_init(&new, arena);
    bt_text_init(&text, arena);
    bt_text_addf(&text, "// ---- changed by %s (run %u) ----\n", pass, r->nrun);
    bt_status status = write_module(r, before, &old);
    if (!status)
        status = write_module(r, r->module, &new);
    if (!status && (!bt_text_get(&old) || !bt_text_get(&new)))
        status = bt_no_memory();
    if (!status)
        status = bt__diff(r->ctx, bt_text_get(&old), bt_text_get(&new), &text);
    if (!status)
        print(r, &text);
    bt_arena_destroy(arena);
    return status;
}

static bt_status print_times(run *r)
{
    bt_text text;
    if (!r->resolved->options.print || !r->resolved->instruments.timing)
        return NULL;
    bt_text_init(&text, r->resolved->arena);
    bt__timing_print(&r->timings, &text);
    print(r, &text);
    return NULL;
}

/* ---- one pass ---- */

static bt_status read_options(run *r, const bt__resolved_step *step, const bt_pass *pass,
                              const void **out)
{
    const bt_op schema = { .name = pass->name,
                           .attrs = pass->options,
                           .attrs_nbytes = pass->options_nbytes };
    *out = NULL;
    if (!pass->options)
        return NULL;
    const char *text = bt__resolved_options(r->resolved->arena, step);
    if (!text)
        return bt_no_memory();
    return bt_attrs_parse(r->ctx, r->module->store, &schema, text, out);
}

static bt_status fail_retype(run *r, const bt_pass *pass, const bt_global *before,
                             const bt_global *after)
{
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(r->ctx));
    bt_text_addf(&text, "pass %s changed the type of @%s from ", pass->name,
                 before->name);
    bt_print_type(r->ctx, before->type, &text);
    bt_text_addf(&text, " to ");
    bt_print_type(r->ctx, after->type, &text);
    const char *message = bt_text_get(&text);
    return message ? bt_fail_at(r->ctx, BT_ERR_INTERNAL, r->module->store, before->span,
                                "%s", message)
                   : bt_no_memory();
}

/* Callers from outside rely on a global's type: a pass may make it more exact where it
 * was open, and must not change it otherwise. */
static bt_status check_types(run *r, const bt_pass *pass, const bt_module *module)
{
    bt_arena *scratch = bt_ctx_scratch(r->ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_status status = NULL;
    for (uint32_t g = 0; !status && g < module->nglobal; g++) {
        const bt_global *after = module->globals[g];
        const bt_global *before = bt_module_find(r->module, after->name);
        if (before && before != after && before->type && after->type &&
            !bt__type_accepts(scratch, before->type, after->type))
            status = fail_retype(r, pass, before, after);
        bt_arena_release(scratch, mark);
    }
    return status;
}

/* A contributed pass is verified always: whoever runs the pipeline did not choose it. */
static bt_status check_result(run *r, const bt__resolved_step *step, const bt_pass *pass,
                              const bt_module *module)
{
    if (!module)
        return bt_fail(r->ctx, BT_ERR_INTERNAL, "pass %s succeeded but gave no module",
                       pass->name);
    if (!module->is_typed)
        return bt_fail(r->ctx, BT_ERR_INTERNAL, "pass %s gave a module without types",
                       pass->name);
    BT_TRY(check_types(r, pass, module));
    return r->resolved->instruments.verify || step->contribution
               ? bt_verify(r->ctx, module)
               : NULL;
}

/* *out: a new reference. */
static bt_status call_pass(run *r, const bt__resolved_step *step, const bt_pass *pass,
                           bt_module **out)
{
    bt_pass_call call = { .pass = pass,
                          .module = r->module,
                          .manager = &r->manager,
                          .targets = r->resolved->options.targets,
                          .entry = r->resolved->options.entry };
    bt_module *module = NULL;
    BT_TRY(read_options(r, step, pass, &call.options));
    call.scratch = bt_arena_create(r->ctx->registry);
    if (!call.scratch)
        return bt_no_memory();
    r->manager.step = step;
    uint32_t nlack = r->module->store->nlack;
    bt_running_part part = { "pass", pass->name, step->item->plugin, NULL };
    bt__part_begin(r->ctx, &part);
    bt_status status = pass->run(r->ctx, &call, &module);
    bt__part_end(r->ctx, &part);
    bt_arena_destroy(call.scratch);
    // a dim that could not be decided leaves a program unchanged, which is another
    // result
    if (!status && r->module->store->nlack != nlack)
        bt_module_unref(module);
    status = bt__store_lacked(r->module->store, nlack, status);
    BT_TRY(status);
    status = check_result(r, step, pass, module);
    if (status) {
        bt_module_unref(module);
        return status;
    }
    *out = module;
    return NULL;
}

/* What the next version invalidates. Results about one store do not hold for another. */
static bt_status accept(run *r, const bt__resolved_step *step, const bt_module *before)
{
    int is_changed = r->module != before;
    if (is_changed)
        bt__analyses_drop(&r->manager.analyses,
                          r->module->store == before->store ? step : NULL);
    return bt__holding_after(&r->holding, step, is_changed) ? NULL : bt_no_memory();
}

/* Which pass failed, and who contributes it: left out where the user named no pass and the
 * pass is not at fault. */
static bt_status place(run *r, const bt__resolved_step *step, bt_status status)
{
    const bt_pipeline *pipeline = r->resolved->pipeline;
    int is_fault = status->code == BT_ERR_INTERNAL || status->code == BT_ERR_VERIFY;
    if (pipeline->is_own && !is_fault && !step->contribution)
        return status;
    status = bt_note(r->ctx, status, NULL, 0, "in pass %s, run %u of the pipeline %s",
                     step->pass, r->nrun, pipeline->name);
    return bt__contribution_fault(r->ctx, step->contribution, status, 0);
}

static bt_status run_pass(run *r, const bt__resolved_step *step, int *is_changed)
{
    const void *row;
    bt_module *before = r->module, *after = NULL;
    BT_TRY(bt_registry_row(r->ctx, "baton.pass/1", step->pass, sizeof(bt_pass), &row));
    r->nrun++;
    bt__progress(r->ctx, "pass %s", step->pass);
    BT_TRY(dump(r, &r->resolved->instruments.dump_before, "before", step->pass));
    uint64_t start = bt_now_ns();
    bt_status status = call_pass(r, step, row, &after);
    uint64_t elapsed = bt_now_ns() - start;
    if (status)
        return place(r, step, status);
    r->module = after;
    *is_changed |= after != before;
    if (!bt__timing_add(r->resolved->arena, &r->timings, step->pass, after != before,
                        elapsed))
        status = bt_no_memory();
    if (!status)
        status = accept(r, step, before);
    if (!status && after != before)
        status = print_changed(r, before, step->pass);
    bt_module_unref(before);
    BT_TRY(status);
    return dump(r, &r->resolved->instruments.dump_after, "after", step->pass);
}

/* ---- steps ---- */

static bt_status run_steps(run *r, const bt__resolved_list *steps, int *is_changed);

static int calls_one(const bt__gradients *gradients, const bt_value *value)
{
    for (uint32_t i = 0; i < gradients->operators.len; i++) {
        if (bt_as_op_call(value, gradients->operators.at[i]))
            return 1;
    }
    return 0;
}

static bt_status find_call(bt_arena *arena, const bt__gradients *gradients,
                           const bt_func *func, int *out)
{
    bt__walk walk;
    const bt_value *value;
    bt__walk_begin(&walk, arena, func->block);
    while (!*out && (value = bt__walk_next(&walk)))
        *out = calls_one(gradients, value);
    return walk.failed ? bt_no_memory() : NULL;
}

static bt_status has_gradients(const run *r, const bt__gradients *gradients, int *out)
{
    bt_arena *scratch = bt_ctx_scratch(r->ctx);
    bt_status status = NULL;
    *out = 0;
    for (uint32_t i = 0; i < r->module->nglobal && !*out && !status; i++) {
        const bt_global *global = r->module->globals[i];
        const void *mark = bt_arena_mark(scratch);
        if (global->kind == BT_GLOBAL_FUNC)
            status = find_call(scratch, gradients, global->func, out);
        *out |= global->kind == BT_GLOBAL_GRADIENT;
        bt_arena_release(scratch, mark);
    }
    return status;
}

static bt_status run_repeat(run *r, const bt__resolved_step *repeat, int *is_changed)
{
    int has = 1;
    if (repeat->gradients)
        BT_TRY(has_gradients(r, repeat->gradients, &has));
    if (!has)
        return NULL;
    for (uint32_t round = 0; round < repeat->max; round++) {
        int changed = 0;
        BT_TRY(run_steps(r, &repeat->steps, &changed));
        *is_changed |= changed;
        if (!changed)
            return NULL;
    }
    return NULL;
}

/* Recursion is bounded by the depth of pipelines. */
static bt_status run_steps(run *r, const bt__resolved_list *steps, int *is_changed)
{
    for (uint32_t i = 0; i < steps->len && !is_stopped(r); i++) {
        const bt__resolved_step *step = &steps->at[i];
        if (bt_ctx_cancelled(r->ctx))
            return bt_fail(r->ctx, BT_ERR_CANCELLED, "the pipeline %s was stopped",
                           r->resolved->pipeline->name);
        BT_TRY(step->pass ? run_pass(r, step, is_changed)
                          : run_repeat(r, step, is_changed));
    }
    return NULL;
}

/* *of: whose step it is that fails, as bt__resolved_step.contribution. */
static bt_status open_passes(bt_ctx *ctx, const bt__resolved_list *steps,
                             const bt__contribution **of)
{
    for (uint32_t i = 0; i < steps->len; i++) {
        const bt__resolved_step *step = &steps->at[i];
        const void *row;
        *of = step->contribution;
        if (!step->pass)
            BT_TRY(open_passes(ctx, &step->steps, of));
        else
            BT_TRY(
                bt_registry_row(ctx, "baton.pass/1", step->pass, sizeof(bt_pass), &row));
    }
    return NULL;
}

/* All plugins are opened before the first pass runs: a refused one fails the run before
 * anything was done; a contribution is left out. */
static bt_status prepare(bt_ctx *ctx, bt__resolved *resolved)
{
    for (;;) {
        const bt__contribution *of = NULL;
        BT_TRY(bt__resolved_check(ctx, resolved, 0));
        bt_status status = open_passes(ctx, &resolved->steps, &of);
        if (!status || !of || status->code == BT_ERR_MEMORY)
            return status;
        bt__resolved_leave_out(ctx, resolved, of, status);
    }
}

static bt_status run_resolved(bt_ctx *ctx, bt__resolved *resolved,
                              const bt_module *module, bt_module **out)
{
    run r = { .ctx = ctx, .resolved = resolved };
    int is_changed = 0;
    BT_TRY(prepare(ctx, resolved));
    r.holding.arena = resolved->arena;
    r.manager.analyses.arena = resolved->arena;
    r.module = bt_module_ref(module);
    bt_status status = NULL;
    if (resolved->instruments.verify)
        status = bt_verify(ctx, module);
    if (!status)
        status = run_steps(&r, &resolved->steps, &is_changed);
    if (!status)
        status = print_times(&r);
    bt__analyses_drop(&r.manager.analyses, NULL);
    if (status) {
        bt_module_unref(r.module);
        return status;
    }
    *out = r.module;
    return NULL;
}

bt_status bt_pipeline_run_sized(bt_ctx *ctx, const bt_pipeline *p,
                                const bt_pipeline_options *given, size_t nbytes,
                                const bt_module *module, bt_module **out)
{
    bt__resolved *resolved;
    if (!module->is_typed)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "pipeline %s: the module has no types yet: call bt_infer first",
                       p->name);
    BT_TRY(bt__resolved_create(ctx, p, given, nbytes, 0, &resolved));
    bt_status status = run_resolved(ctx, resolved, module, out);
    bt__resolved_destroy(resolved);
    return status;
}
