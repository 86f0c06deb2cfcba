/* What plugins there are and what they provide, for whoever lists it. */
#include "plugin/plugins.h"

#include <stdlib.h>
#include <string.h>

/* ---- plugins ---- */

uint32_t bt_plugins_len(bt_ctx *ctx)
{
    struct bt__plugins *plugins;
    if (bt__plugins_lock(ctx, &plugins))
        return 0;
    uint32_t n = plugins->handles.len;
    bt__plugins_unlock(ctx);
    return n;
}

const bt_plugin_handle *bt_plugins_at(bt_ctx *ctx, uint32_t index)
{
    struct bt__plugins *plugins;
    if (bt__plugins_lock(ctx, &plugins))
        return NULL;
    const bt_plugin_handle *h =
        index < plugins->handles.len ? plugins->handles.at[index] : NULL;
    bt__plugins_unlock(ctx);
    return h;
}

const char *bt_plugin_id(const bt_plugin_handle *h)
{
    return h->id;
}

const char *bt_plugin_version(const bt_plugin_handle *h)
{
    return h->version;
}

const char *bt_plugin_manifest(const bt_plugin_handle *h)
{
    return h->manifest;
}

uint32_t bt_plugin_state(const bt_plugin_handle *h)
{
    return __atomic_load_n(&h->state, __ATOMIC_ACQUIRE);
}

bt_status bt_plugin_refusal(const bt_plugin_handle *h)
{
    return bt_plugin_state(h) == BT_PLUGIN_REFUSED ? h->refusal : NULL;
}

/* ---- what they provide ---- */

/* The index of the first item of a kind or, where `is_behind`, of what follows its last; items
 * are sorted by kind. NULL: of all kinds. */
static uint32_t bound_of(const struct bt__plugins *plugins, const char *kind,
                         int is_behind)
{
    uint32_t from = 0, to = plugins->items.len;
    if (!kind)
        return is_behind ? to : from;
    while (from < to) {
        const uint32_t middle = from + (to - from) / 2;
        if (strcmp(bt__item_kind(plugins->items.at[middle]), kind) < is_behind)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

uint32_t bt_provided_len(bt_ctx *ctx, const char *kind)
{
    struct bt__plugins *plugins;
    if (bt__plugins_lock(ctx, &plugins))
        return 0;
    const uint32_t n = bound_of(plugins, kind, 1) - bound_of(plugins, kind, 0);
    bt__plugins_unlock(ctx);
    return n;
}

/* First line of a documentation. */
static const char *first_line(bt_arena *arena, const char *doc)
{
    return doc ? bt_arena_text(arena, doc, strcspn(doc, "\n")) : "";
}

static bt_status provide(struct bt__plugins *plugins, bt__item *item, bt_provided *out)
{
    if (!item->json_text) {
        bt_text text;
        bt_text_init(&text, plugins->arena);
        const char *doc = first_line(plugins->arena, item->doc);
        if (!doc || !bt__json_write(item->json, JSON_COMPACT, &text))
            return bt_no_memory();
        item->doc = doc;
        item->json_text = bt_text_get(&text);
    }
    *out = (bt_provided){ .kind = bt__item_kind(item),
                          .name = item->name,
                          .doc = item->doc,
                          .json = item->json_text,
                          .plugin = item->plugin };
    return NULL;
}

bt_status bt_provided_at(bt_ctx *ctx, const char *kind, uint32_t index, bt_provided *out)
{
    struct bt__plugins *plugins;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    const uint32_t first = bound_of(plugins, kind, 0);
    bt_status status =
        index < bound_of(plugins, kind, 1) - first
            ? provide(plugins, plugins->items.at[first + index], out)
            : bt_fail(ctx, BT_ERR_ARGUMENT, "there are fewer provided names");
    bt__plugins_unlock(ctx);
    return status;
}

bt_status bt_provided_text(bt_ctx *ctx, bt_arena *arena, const bt_provided *provided,
                           const char **out)
{
    struct bt__plugins *plugins;
    const bt__item *found = NULL;
    const char *path;
    size_t nbytes;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    for (uint32_t i = 0; i < plugins->items.len && !found; i++) {
        if (plugins->items.at[i]->json_text == provided->json)
            found = plugins->items.at[i];
    }
    bt__plugins_unlock(ctx);
    if (!found || !bt__json_text(found->json, "path"))
        return bt_fail(ctx, BT_ERR_ARGUMENT, "%s %s is no text", provided->kind,
                       provided->name);
    return bt__item_text(ctx, arena, found, bt_ctx_limits(ctx)->bytes, &path, out,
                         &nbytes);
}

/* ---- contributions ---- */

static int compare_contributions(const void *a, const void *b)
{
    const bt__contribution *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    int order = strcmp(x->plugin->id, y->plugin->id);
    return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

static bt_status contributions_of(bt_arena *arena, bt_plugin_handle *h, const char *slot,
                                  bt__contributions *out)
{
    const json_t *list = json_object_get(h->json, "contributes");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        bt__contribution one = { .plugin = h, .index = i };
        one.order = json_integer_value(json_object_get(item, "order"));
        if (strcmp(bt__json_text(item, "slot"), slot) == 0 && !BT_PUSH(arena, out, one))
            return bt_no_memory();
    }
    return NULL;
}

bt_status bt__plugins_contributions(bt_ctx *ctx, bt_arena *arena, const char *slot,
                                    bt__contributions *out)
{
    struct bt__plugins *plugins;
    bt_status status = NULL;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    for (uint32_t i = 0; i < plugins->handles.len && !status; i++) {
        bt_plugin_handle *h = plugins->handles.at[i];
        if (h->state != BT_PLUGIN_REFUSED)
            status = contributions_of(arena, h, slot, out);
    }
    bt__plugins_unlock(ctx);
    if (!status && out->len > 0)
        qsort(out->at, out->len, sizeof(*out->at), compare_contributions);
    return status;
}
