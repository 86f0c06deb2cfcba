/* Looking up operators, relations and facets. */
#include <string.h>

#include "plugin/facet.h"
#include "plugin/plugins.h"

bt_status bt_op_get(bt_ctx *ctx, const char *name, const bt_op **out)
{
    const void *row;
    BT_TRY(bt_registry_row(ctx, "baton.op/1", name, sizeof(bt_op), &row));
    *out = row;
    return NULL;
}

bt_status bt_relation_get(bt_ctx *ctx, const char *name, const bt_relation **out)
{
    const void *row;
    BT_TRY(bt_registry_row(ctx, "baton.relation/1", name, sizeof(bt_relation), &row));
    *out = row;
    return NULL;
}

/* ---- facets ---- */

/* The best so far among an operator's own facet and those that plugins add. */
typedef struct best {
    const bt_facet *own;
    bt__item *added;
    int64_t priority;
    bt__item *tie;
} best;

static void find_own(const bt_op *op, const char *facet, best *out)
{
    for (const bt_facet *f = op->facets; f && f->facet; f++) {
        if (strcmp(f->facet, facet) == 0) {
            out->own = f;
            out->priority = f->priority;
        }
    }
}

static void find_added(bt__item *item, best *out)
{
    for (; item; item = item->next) {
        int64_t priority = json_integer_value(json_object_get(item->json, "priority"));
        if (item->plugin->state == BT_PLUGIN_REFUSED)
            continue;
        int is_first = !out->own && !out->added;
        if (!is_first && priority == out->priority) {
            out->tie = item;
        } else if (is_first || priority > out->priority) {
            out->added = item;
            out->priority = priority;
            out->tie = NULL;
        }
    }
}

static bt_status fail_tie(bt_ctx *ctx, const bt_op *op, const char *facet,
                          const best *found)
{
    const bt_plugin_handle *one = found->added ? found->added->plugin : op->plugin;
    const bt_plugin_handle *other = found->tie->plugin;
    return bt_fail(
        ctx, BT_ERR_PLUGIN,
        "facet %s of %s is given twice with priority %lld, by %s (%s) and by %s "
        "(%s): one of them needs a higher priority, or choose by "
        "BATON_PLUGIN_USE=%s:%s=%s",
        facet, op->name, (long long)found->priority, bt_plugin_id(one), one->source.file,
        bt_plugin_id(other), other->source.file, op->name, facet, bt_plugin_id(other));
}

static bt_status find_facet(bt_ctx *ctx, struct bt__plugins *plugins, const bt_op *op,
                            const char *facet, const void **out,
                            const bt_plugin_handle **plugin)
{
    best found = { 0 };
    const char *key = bt__format(ctx->scratch, "%s:%s", op->name, facet);
    if (!key)
        return bt_no_memory();
    bt__item *first = bt__plugins_find(plugins, "baton.facet/1", key);
    find_own(op, facet, &found);
    const char *use = bt_map_find(&plugins->use, key);
    *plugin = op->plugin;
    if (use && found.own && strcmp(use, bt_plugin_id(op->plugin)) == 0) {
        *out = found.own->table;
        return NULL;
    }
    if (first)
        BT_TRY(bt__plugins_chosen(ctx, plugins, first, key, &found.added));
    if (!found.added)
        find_added(first, &found);
    if (found.tie)
        return fail_tie(ctx, op, facet, &found);
    if (found.added) {
        BT_TRY(bt__plugin_open(ctx, plugins, found.added->plugin));
        *out = ((const bt_facet *)found.added->copy)->table;
        *plugin = found.added->plugin;
        return NULL;
    }
    *out = found.own ? found.own->table : NULL;
    return NULL;
}

bt_status bt__op_facet_of(bt_ctx *ctx, const bt_op *op, const char *facet,
                          const void **out, const bt_plugin_handle **plugin)
{
    struct bt__plugins *plugins;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    const void *mark = bt_arena_mark(ctx->scratch);
    bt_status status = find_facet(ctx, plugins, op, facet, out, plugin);
    bt_arena_release(ctx->scratch, mark);
    bt__plugins_unlock(ctx);
    return status;
}

bt_status bt_op_facet(bt_ctx *ctx, const bt_op *op, const char *facet, const void **out)
{
    const bt_plugin_handle *plugin;
    return bt__op_facet_of(ctx, op, facet, out, &plugin);
}
