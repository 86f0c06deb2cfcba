/* Contexts: limits, the request to stop, and the list of reported diagnostics. */
#include "base/ctx.h"

static const bt_limits default_limits = {
    .bytes = UINT64_C(16) << 30,
    .nodes = 50 * 1000 * 1000,
    .depth = 256,
    .errors = 20,
    .frames = 1000 * 1000,
};

bt_ctx *bt_ctx_create(bt_registry *r)
{
    bt_ctx *ctx = bt_alloc(r, sizeof(*ctx));
    if (!ctx)
        return NULL;
    ctx->registry = bt_registry_ref(r);
    ctx->limits = default_limits;
    ctx->diags = bt_arena_create(r);
    ctx->scratch = bt_arena_create(r);
    if (!ctx->diags || !ctx->scratch) {
        bt_ctx_destroy(ctx);
        return NULL;
    }
    return ctx;
}

void bt_ctx_destroy(bt_ctx *ctx)
{
    if (!ctx)
        return;
    bt_registry *r = ctx->registry;
    bt_arena_destroy(ctx->diags);
    bt_arena_destroy(ctx->scratch);
    bt_free(r, ctx, sizeof(*ctx));
    bt_registry_unref(r);
}

bt_registry *bt_ctx_registry(const bt_ctx *ctx)
{
    return ctx->registry;
}

bt_limits *bt_ctx_limits(bt_ctx *ctx)
{
    return &ctx->limits;
}

bt_arena *bt_ctx_scratch(bt_ctx *ctx)
{
    return ctx->scratch;
}

void bt_ctx_cancel(bt_ctx *ctx)
{
    __atomic_store_n(&ctx->cancelled, 1, __ATOMIC_RELAXED);
}

int bt_ctx_cancelled(const bt_ctx *ctx)
{
    return __atomic_load_n(&ctx->cancelled, __ATOMIC_RELAXED) != 0;
}

/* ---- reports ---- */

void bt_report(bt_ctx *ctx, bt_status status)
{
    if (!status)
        return;
    // Without memory for the list the report still counts: nobody may take it for
    // success.
    if (ctx->reports.len < ctx->limits.errors && ctx->reports.len == ctx->nreport)
        (void)BT_PUSH(ctx->diags, &ctx->reports, status);
    if (ctx->nreport < UINT32_MAX)
        ctx->nreport++;
}

uint32_t bt_ctx_nreport(const bt_ctx *ctx)
{
    return ctx->nreport;
}

bt_status bt_ctx_report(const bt_ctx *ctx, uint32_t index)
{
    return index < ctx->reports.len ? ctx->reports.at[index] : NULL;
}

void bt_ctx_clear_diags(bt_ctx *ctx)
{
    bt_arena_release(ctx->diags, NULL);
    ctx->reports.at = NULL;
    ctx->reports.len = ctx->reports.cap = 0;
    ctx->nreport = 0;
    __atomic_store_n(&ctx->cancelled, 0, __ATOMIC_RELAXED);
}
