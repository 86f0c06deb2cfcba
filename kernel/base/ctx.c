/* Contexts: limits, the request to stop, and the list of reported diagnostics. */
#include "base/ctx.h"

#include <stdio.h>
#include <string.h>

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
    bt_arena_destroy(ctx->read);
    if (ctx->formulas)
        ctx->formulas_unref(ctx->formulas);
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

void bt_ctx_set_progress(bt_ctx *ctx, bt_progress_fn progress, void *self)
{
    ctx->progress = progress;
    ctx->progress_self = self;
}

void bt__progress(const bt_ctx *ctx, const char *format, ...)
{
    char text[256]; // for people to read: a longer line is cut
    va_list args;
    if (!ctx->progress)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    ctx->progress(ctx->progress_self, text);
}

/* ---- reports ---- */

static void add(bt_ctx *ctx, struct bt__reports *r, bt_status status)
{
    if (!status)
        return;
    // Without memory for the list the report still counts: nobody may take it for
    // success.
    if (r->list.len < ctx->limits.errors && r->list.len == r->n)
        (void)BT_PUSH(ctx->diags, &r->list, status);
    if (r->n < UINT32_MAX)
        r->n++;
}

static bt_status at(const struct bt__reports *r, uint32_t index)
{
    return index < r->list.len ? r->list.at[index] : NULL;
}

void bt_report(bt_ctx *ctx, bt_status status)
{
    add(ctx, &ctx->reports, status);
}

uint32_t bt_ctx_nreport(const bt_ctx *ctx)
{
    return ctx->reports.n;
}

bt_status bt_ctx_report(const bt_ctx *ctx, uint32_t index)
{
    return at(&ctx->reports, index);
}

/* Whether an equal remark was reported before: some functions are compiled more than
 * once. */
static int is_told(const struct bt__reports *notes, bt_status status)
{
    for (uint32_t i = 0; status && i < notes->list.len; i++) {
        bt_status told = notes->list.at[i];
        if (strcmp(told->message, status->message) == 0 &&
            told->place.line == status->place.line &&
            told->place.column == status->place.column)
            return 1;
    }
    return 0;
}

void bt_remark(bt_ctx *ctx, uint32_t level, bt_status status)
{
    if (level == BT_REMARK_NOTE && is_told(&ctx->remarks[level], status))
        return;
    if (level < BT_COUNT(ctx->remarks))
        add(ctx, &ctx->remarks[level], status);
}

uint32_t bt_ctx_nremark(const bt_ctx *ctx, uint32_t level)
{
    return level < BT_COUNT(ctx->remarks) ? ctx->remarks[level].n : 0;
}

bt_status bt_ctx_remark(const bt_ctx *ctx, uint32_t level, uint32_t index)
{
    return level < BT_COUNT(ctx->remarks) ? at(&ctx->remarks[level], index) : NULL;
}

void bt_ctx_clear_diags(bt_ctx *ctx)
{
    bt_arena_release(ctx->diags, NULL);
    ctx->reports = (struct bt__reports){ 0 };
    for (uint32_t i = 0; i < BT_COUNT(ctx->remarks); i++)
        ctx->remarks[i] = (struct bt__reports){ 0 };
    __atomic_store_n(&ctx->cancelled, 0, __ATOMIC_RELAXED);
}

const bt_running_part *bt_ctx_running_part(const bt_ctx *ctx)
{
    return __atomic_load_n(&ctx->part, __ATOMIC_ACQUIRE);
}
