/* Analyses: results that the manager keeps between passes. */
#include <string.h>

#include "base/ctx.h"
#include "pass/pipeline.h"

/* ---- results ---- */

static void drop(bt__cached *cached)
{
    bt_arena_destroy(cached->arena);
    bt_module_unref(cached->module);
}

/* "*" keeps invariants only: a result describes the bindings of one version, and only a
 * pass that names it knows that it still fits the next. */
void bt__analyses_drop(bt__analyses *analyses, const bt__resolved_step *keeper)
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
    const void *row;
    if (manager && !bt__item_has(manager->step->item, "needs", name))
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
    BT_TRY(bt_registry_row(ctx, "baton.analysis/1", name, sizeof(bt_analysis), &row));
    const bt_analysis *analysis = row;
    return manager ? compute(ctx, call, manager, analysis, out)
                   : analysis->compute(ctx, call->module, call->scratch, out);
}
