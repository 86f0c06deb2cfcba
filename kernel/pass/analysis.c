/* Analyses: the kernel's own, those of plugins, and the results a manager keeps. */
#include <string.h>

#include "base/ctx.h"
#include "base/nearest.h"
#include "pass/pipeline.h"

static bt_status compute_effects(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                                 const void **out)
{
    bt_effects *effects = NULL;
    BT_TRY(bt_effects_create(ctx, module, arena, &effects));
    *out = effects;
    return NULL;
}

static bt_status compute_callgraph(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                                   const void **out)
{
    const bt_callgraph *graph = NULL;
    BT_TRY(bt_callgraph_create(ctx, module, arena, &graph));
    *out = graph;
    return NULL;
}

static const bt_analysis own[] = {
    { .name = "effects",
      .doc = "What each binding may do besides giving a value: bt_effects.",
      .compute = compute_effects },
    { .name = "call-graph",
      .doc = "Which globals refer to which, and the components of that: bt_callgraph.",
      .compute = compute_callgraph },
    { 0 },
};

/* The kernel's analysis of a name, NULL: none. */
static const bt_analysis *find_of_kernel(const char *name)
{
    for (const bt_analysis *analysis = own; analysis->name; analysis++) {
        if (strcmp(analysis->name, name) == 0)
            return analysis;
    }
    return NULL;
}

bt_status bt__analysis_exists(bt_ctx *ctx, const char *name, int *out)
{
    *out = find_of_kernel(name) != NULL;
    return *out ? NULL : bt__plugins_has(ctx, "baton.analysis/1", name, out);
}

static bt_status find(bt_ctx *ctx, const char *name, const bt_analysis **out)
{
    const void *row;
    *out = find_of_kernel(name);
    if (*out)
        return NULL;
    BT_TRY(bt_registry_row(ctx, "baton.analysis/1", name, sizeof(bt_analysis), &row));
    *out = row;
    return NULL;
}

/* ---- results ---- */

static void drop(bt__cached *cached)
{
    bt_arena_destroy(cached->arena);
    bt_module_unref(cached->module);
}

/* "*" keeps invariants only: a result describes the bindings of one version, and only a
 * pass that names it knows that it still fits the next. */
void bt__analyses_drop(bt__analyses *analyses, const bt__planned *keeper)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < analyses->at.len; i++) {
        bt__cached *cached = &analyses->at.at[i];
        if (keeper && bt__item_names(keeper->item, "keeps", cached->name))
            analyses->at.at[kept++] = *cached;
        else
            drop(cached);
    }
    analyses->at.len = kept;
}

static bt_status compute(bt_ctx *ctx, bt_pass_call *call, bt__manager *manager,
                         const bt_analysis *analysis, const void **out)
{
    bt__cached cached = { .name = analysis->name };
    cached.arena = bt_arena_create(ctx->registry);
    if (!cached.arena)
        return bt_no_memory();
    cached.module = bt_module_ref(call->module);
    bt_status status = analysis->compute(ctx, call->module, cached.arena, &cached.result);
    if (!status && !BT_PUSH(manager->analyses.arena, &manager->analyses.at, cached))
        status = bt_no_memory();
    if (status) {
        drop(&cached);
        return status;
    }
    *out = cached.result;
    return NULL;
}

bt_status bt_pass_analysis(bt_ctx *ctx, bt_pass_call *call, const char *name,
                           const void **out)
{
    bt__manager *manager = call->manager;
    const bt_analysis *analysis;
    if (manager && !bt__item_has(manager->planned->item, "needs", name))
        return bt_fail(
            ctx, BT_ERR_INTERNAL,
            "pass %s asks for analysis \"%s\", which it does not state among its "
            "needs",
            call->pass->name, name);
    for (uint32_t i = 0; manager && i < manager->analyses.at.len; i++) {
        if (strcmp(manager->analyses.at.at[i].name, name) == 0) {
            *out = manager->analyses.at.at[i].result;
            return NULL;
        }
    }
    BT_TRY(find(ctx, name, &analysis));
    return manager ? compute(ctx, call, manager, analysis, out)
                   : analysis->compute(ctx, call->module, call->scratch, out);
}
