/*
 * Operators compiled for a target, against the reference evaluator.
 *
 *     conform_targets PLUGINS PLUGIN TARGET [OPERATOR] [WANTS] [EVERY FIRST]
 *
 * Every case of the plugin's operators and those made from it (case_vary.h) is compiled twice:
 * the call alone, and with `negative` before and behind it, which fusion joins to it. What
 * is computed must agree with the executor interp on the same program within the bounds
 * of close.h; what interp refuses must be refused. Programs that are not static are counted.
 * With the file of a plugin whose target claim.laid.all wants layouts wherever it can,
 * all is compiled once more as it wants. Where EVERY is given, only each EVERY-th call is
 * computed, from number FIRST of an operator on (0 is the first); such a target may also be one
 * that this machine has no device for, which is said and is no fault.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/compiled.h>
#include <baton/executor.h>
#include <baton/pass.h>

#include "close.h"
#include "case_vary.h"

struct trial {
    struct op_check w;
    const char *target;
    const bt_executor *interp, *graph;
    const bt_op *around; /* "negative" */
    int is_wanted;
    uint32_t every, first, nmet; /* of an operator's calls */
    uint32_t ncall, ndynamic, nlaid;
    double worst;
};

static int same(struct trial *t, const bt_object *got, const bt_object *want)
{
    const bt_tuple *a = bt_object_as_tuple(got), *b = bt_object_as_tuple(want);
    int64_t step = strncmp(t->w.op->name, "image.", 6) == 0;
    if (!b)
        return !a && is_close(bt_object_as_tensor(got), bt_object_as_tensor(want), step,
                              &t->worst);
    if (!a || a->nfield != b->nfield)
        return 0;
    for (uint32_t i = 0; i < b->nfield; i++) {
        if (!same(t, a->fields[i], b->fields[i]))
            return 0;
    }
    return 1;
}

/* ---- two ways ---- */

static bt_status run_interp(struct trial *t, const bt_module *module, uint32_t n,
                            bt_object *const *args, bt_object **out)
{
    void *session;
    BT_TRY(t->interp->open(t->w.ctx, module, NULL, &session));
    bt_status status = t->interp->call(t->w.ctx, session, "main", n, args, NULL, out);
    t->interp->close(session);
    return status;
}

static int is_laid(const bt_module *module)
{
    const bt_block *block = bt_module_find(module, "main")->func->block;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        if (bt_type_layout(block->bindings[i]->type))
            return 1;
    }
    return 0;
}

/* *out: NULL where nothing has a layout. */
static bt_status lay_out(struct trial *t, const bt_module *module, bt_module **out)
{
    bt_pipeline *pipeline;
    bt_targets *targets;
    BT_TRY(bt_targets_open(t->w.ctx, "claim.laid.all, reference", &targets));
    bt_pipeline_options options = { .level = 4, .verify_each = 1, .targets = targets };
    bt_status status = bt_pipeline_read(t->w.ctx, "alter-layout, dead-code", &pipeline);
    if (!status) {
        status = bt_pipeline_run(t->w.ctx, pipeline, &options, module, out);
        bt_pipeline_destroy(pipeline);
    }
    bt_targets_unref(targets);
    BT_TRY(status);
    if (is_laid(*out))
        return NULL;
    bt_module_unref(*out);
    *out = NULL;
    return NULL;
}

static bt_status compile(struct trial *t, const bt_module *module, bt_compiled **out)
{
    bt_pipeline *pipeline;
    bt_module *fused;
    bt_pipeline_options options = { .level = 4, .verify_each = 1 };
    BT_TRY(bt_pipeline_read(t->w.ctx, "fuse-ops", &pipeline));
    bt_status status = bt_pipeline_run(t->w.ctx, pipeline, &options, module, &fused);
    bt_pipeline_destroy(pipeline);
    BT_TRY(status);
    status =
        bt_compile(t->w.ctx, fused, &(bt_compile_options){ .targets = t->target }, out);
    bt_module_unref(fused);
    return status;
}

static bt_status run_target(struct trial *t, const bt_module *module, uint32_t n,
                            bt_object *const *args, bt_object **out, int *is_static)
{
    bt_compiled *compiled;
    void *session;
    bt_status status = compile(t, module, &compiled);
    *is_static = !status || status->code != BT_ERR_UNSUPPORTED;
    BT_TRY(status);
    status = t->graph->load(t->w.ctx, compiled, "main", NULL, &session);
    bt_compiled_unref(compiled);
    BT_TRY(status);
    status = t->graph->call(t->w.ctx, session, "main", n, args, NULL, out);
    t->graph->close(session);
    return status;
}

/* `compiled`: what should compute the same as `module`. */
static bt_status compare(struct trial *t, const char *kind, const struct call_case *c,
                         const bt_module *module, const bt_module *compiled,
                         bt_object *const *args)
{
    bt_object *want = NULL, *got = NULL;
    int is_static;
    bt_status expected = run_interp(t, module, c->narg, args, &want);
    bt_status status = run_target(t, compiled, c->narg, args, &got, &is_static);
    if (!is_static)
        t->ndynamic++;
    else if (expected && !status)
        case_fault(&t->w, c, "%s: computes what interp refuses: %s", kind,
                   case_message(&t->w, expected));
    else if (!expected && status)
        case_fault(&t->w, c, "%s: %s", kind, case_message(&t->w, status));
    else if (!expected && !same(t, got, want))
        case_fault(&t->w, c, "%s: another result than interp's", kind);
    t->ncall += (uint32_t)is_static;
    bt_object_unref(want);
    bt_object_unref(got);
    bt_ctx_clear_diags(t->w.ctx);
    return NULL;
}

static bt_status run_both(struct trial *t, const char *kind, const struct call_case *c,
                          const struct call_result *r)
{
    bt_object *args[CASE_MAX_LEAF] = { 0 };
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < c->narg; i++)
        status = call_arg(&t->w, &c->args[i], r, &args[i]);
    for (int is_fused = 0; !status && is_fused < 2; is_fused++) {
        bt_module *module;
        status = call_module(&t->w, c, r, is_fused ? t->around : NULL, &module);
        if (status)
            break;
        bt_module *laid = NULL;
        status = compare(t, is_fused ? "fused" : kind, c, module, module, args);
        if (!status && t->is_wanted)
            status = lay_out(t, module, &laid);
        if (laid) {
            t->nlaid++;
            status = compare(t, "laid out", c, module, laid, args);
        }
        bt_module_unref(laid);
        bt_module_unref(module);
    }
    for (uint32_t i = 0; i < c->narg; i++)
        bt_object_unref(args[i]);
    return status;
}

/* ---- one operator ---- */

static bt_status run_case(void *self, const char *kind, const struct call_case *c)
{
    struct trial *t = self;
    struct call_result r;
    if (t->nmet++ % t->every != t->first)
        return NULL;
    bt_status status = call_run(&t->w, c, 7 + t->ncall, 0, &r);
    if (!status && r.call)
        status = run_both(t, kind, c, &r);
    call_result_free(&r);
    bt_ctx_clear_diags(t->w.ctx);
    return status;
}

/* Whether it has a rule for layouts that no case could follow. */
static int has_idle_rule(struct trial *t)
{
    const void *rule = NULL;
    bt_status status = bt_op_facet(t->w.ctx, t->w.op, "layout", &rule);
    int idle = !status && rule && t->is_wanted && t->nlaid == 0 &&
               strcmp(t->w.op->name, "layout_transform") != 0;
    if (idle)
        printf("%s: it has a rule for layouts, but no case has any\n", t->w.op->name);
    return idle;
}

static int run_op(bt_ctx *ctx, const char *name, const struct trial *like)
{
    struct trial t = *like;
    t.w = (struct op_check){ .ctx = ctx, .faults = json_array() };
    t.w.store = bt_store_create(bt_ctx_registry(ctx));
    t.w.arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status =
        !t.w.store || !t.w.arena ? bt_no_memory() : bt_op_get(ctx, name, &t.w.op);
    if (!status)
        status = vary_all(&t.w, run_case, &t);
    size_t nfault = json_array_size(t.w.faults);
    for (size_t i = 0; i < nfault; i++)
        printf("%s\n", json_string_value(json_array_get(t.w.faults, i)));
    if (status)
        printf("%s: %s\n", name, status->message);
    else
        printf("%s: %u calls, %u not static, %u laid out, %.0f %% of the bound\n", name,
               t.ncall, t.ndynamic, t.nlaid, 100 * t.worst);
    if (!status)
        nfault += has_idle_rule(&t);
    json_decref(t.w.faults);
    bt_store_unref(t.w.store);
    bt_arena_destroy(t.w.arena);
    return status || nfault;
}

static bt_status prepare(bt_ctx *ctx, struct trial *t)
{
    const void *row;
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "interp", sizeof(bt_executor), &row));
    t->interp = row;
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row));
    t->graph = row;
    BT_TRY(bt_op_get(ctx, "negative", &t->around));
    return bt_plugins_scan(ctx);
}

/* 77, and why: this machine has no device for the target. */
static int skips(bt_ctx *ctx, const char *target)
{
    bt_targets *targets = NULL;
    bt_status status = bt_targets_open(ctx, target, &targets);
    bt_targets_unref(targets);
    if (!status || status->code != BT_ERR_UNSUPPORTED)
        return 0;
    printf("skipped: %s\n", status->message);
    return 77;
}

static int run(bt_ctx *ctx, const char *plugin, const char *only, struct trial trial)
{
    const char *target = trial.target;
    uint32_t nrun = 0, nwrong = 0;
    bt_status status = prepare(ctx, &trial);
    const int skipped = !status && trial.every > 1 ? skips(ctx, target) : 0;
    if (skipped)
        return skipped;
    for (uint32_t i = 0; !status && i < bt_provided_len(ctx, "op"); i++) {
        bt_provided item;
        status = bt_provided_at(ctx, "op", i, &item);
        if (status || strcmp(bt_plugin_id(item.plugin), plugin) != 0 ||
            (only && *only && strcmp(item.name, only) != 0))
            continue;
        nrun++;
        nwrong += (uint32_t)run_op(ctx, item.name, &trial);
    }
    if (status)
        printf("%s\n", status->message);
    printf("%s: %u operators, %u with faults\n", target, nrun, nwrong);
    return status || nwrong || nrun == 0;
}

int main(int argc, char **argv)
{
    struct trial trial = { .every = argc > 6 ? (uint32_t)atoi(argv[6]) : 1,
                           .first = argc > 7 ? (uint32_t)atoi(argv[7]) : 0 };
    if (argc < 4 || trial.first >= trial.every) {
        printf("usage: conform_targets PLUGINS PLUGIN TARGET [OPERATOR] [WANTS] "
               "[EVERY FIRST]\n");
        return 2;
    }
    trial.target = argv[3];
    trial.is_wanted = argc > 5 && *argv[5];
    const char *wants[2] = { trial.is_wanted ? argv[5] : NULL, NULL };
    bt_registry_options options = { .plugin_only = argv[1],
                                    .plugin_files = wants,
                                    .ignore_environment = 1 };
    bt_registry *registry = bt_registry_create(&options);
    bt_ctx *ctx = registry ? bt_ctx_create(registry) : NULL;
    int failed = ctx ? run(ctx, argv[2], argc > 4 ? argv[4] : NULL, trial) : 1;
    bt_ctx_destroy(ctx);
    bt_registry_unref(registry);
    return failed;
}
