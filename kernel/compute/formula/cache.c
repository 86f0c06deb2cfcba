/* Formulas by operator and text. Computations outlive contexts, so a context's formulas are
 * counted. */
#include "compute/formula/cache.h"

#include <string.h>

#include "base/arena.h"
#include "base/ctx.h"

enum { MAX_NBYTES = 1 << 20 }; /* of texts: trees take some thirty times as much */

struct bt__formulas {
    bt_registry *registry;
    uint32_t nref; /* atomic */
    size_t nbytes;
    bt_arena *arena;
    bt_map texts; /* "nn.relu: y: ..." -> struct bt__formula * */
};

static bt_status create(bt_ctx *ctx)
{
    struct bt__formulas *formulas = bt_alloc(ctx->registry, sizeof(*formulas));
    if (!formulas)
        return bt_no_memory();
    formulas->arena = bt_arena_create(ctx->registry);
    if (!formulas->arena) {
        bt_free(ctx->registry, formulas, sizeof(*formulas));
        return bt_no_memory();
    }
    formulas->registry = bt_registry_ref(ctx->registry);
    formulas->nref = 1;
    bt_map_init(&formulas->texts, formulas->arena, 1);
    ctx->formulas = formulas;
    ctx->formulas_unref = bt__formulas_unref;
    return NULL;
}

struct bt__formulas *bt__formulas_ref(bt_ctx *ctx)
{
    if (ctx->formulas)
        __atomic_fetch_add(&ctx->formulas->nref, 1, __ATOMIC_RELAXED);
    return ctx->formulas;
}

void bt__formulas_unref(struct bt__formulas *formulas)
{
    if (!formulas || __atomic_sub_fetch(&formulas->nref, 1, __ATOMIC_ACQ_REL))
        return;
    bt_registry *registry = formulas->registry;
    bt_arena_destroy(formulas->arena);
    bt_free(registry, formulas, sizeof(*formulas));
    bt_registry_unref(registry);
}

static bt_status get(bt_ctx *ctx, const char *key, const char *op, const char *text,
                     const struct bt__formula **out)
{
    struct bt__formulas *formulas = ctx->formulas;
    *out = bt_map_find(&formulas->texts, key);
    if (*out)
        return NULL;
    const void *mark = bt_arena_mark(formulas->arena);
    bt_status status = bt__formula_parse(ctx, formulas->arena, op, text, out);
    if (status) {
        bt_arena_release(formulas->arena, mark);
        return status;
    }
    key = bt_arena_text(formulas->arena, key, strlen(key));
    formulas->nbytes += strlen(text);
    return key && bt_map_put(&formulas->texts, key, (void *)(uintptr_t)*out)
               ? NULL
               : bt_no_memory();
}

bt_status bt__formulas_get(bt_ctx *ctx, bt_arena *arena, const char *op, const char *text,
                           const struct bt__formula **out)
{
    if (!ctx->formulas)
        BT_TRY(create(ctx));
    if (ctx->formulas->nbytes > MAX_NBYTES)
        return bt__formula_parse(ctx, arena, op, text, out);
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    const char *key = bt__format(scratch, "%s: %s", op, text);
    bt_status status = key ? get(ctx, key, op, text, out) : bt_no_memory();
    bt_arena_release(scratch, mark);
    return status;
}
