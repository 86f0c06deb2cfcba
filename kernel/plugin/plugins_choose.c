/* Which plugin's row a name stands for, and that row. */
#include "plugin/plugins.h"

#include <string.h>

#include "base/nearest.h"

bt__item *bt__plugins_find(const struct bt__plugins *plugins, const char *interface_name,
                           const char *name)
{
    const bt_map *names = bt_map_find(&plugins->interfaces, interface_name);
    return names ? bt_map_find(names, name) : NULL;
}

static const char *kind_word(const bt_ctx *ctx, const char *interface_name)
{
    const bt__kind *kind = bt__kind_of_interface(ctx->registry->host, interface_name);
    return kind ? kind->kind : interface_name;
}

/* A plugin whose manifest could not be read may be the one that has the name. */
static const char *refusal_hint(bt_ctx *ctx, const struct bt__plugins *plugins)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plugins->handles.len; i++)
        n += plugins->handles.at[i]->state == BT_PLUGIN_REFUSED &&
             !plugins->handles.at[i]->is_hidden;
    if (n == 0)
        return "";
    const char *hint =
        bt__say(ctx->diags, "; %u plugin%s refused, see `baton plugin list`", n,
                n == 1 ? " is" : "s are");
    return hint == bt__speechless ? "" : hint;
}

static bt_status fail_unknown(bt_ctx *ctx, const struct bt__plugins *plugins,
                              const char *interface_name, const char *name)
{
    const bt_map *names = bt_map_find(&plugins->interfaces, interface_name);
    const char *kind = kind_word(ctx, interface_name);
    const char *refused = refusal_hint(ctx, plugins);
    bt__nearest nearest;
    bt__nearest_init(&nearest, name);
    for (uint32_t i = 0; names && i < names->len; i++)
        bt__nearest_offer(&nearest, names->at[i].key);
    bt_status status =
        !names || names->len == 0
            ? bt_fail(ctx, BT_ERR_NAME,
                      "no %s is named \"%s\": no plugin found provides any %s; set "
                      "BATON_PLUGIN_PATH to the folder of your plugins%s",
                      kind, name, kind, refused)
            : bt_fail(ctx, BT_ERR_NAME, "no %s is named \"%s\"%s%s", kind, name,
                      bt__nearest_text(&nearest, ctx->diags), refused);
    return bt_note(ctx, status, NULL, 0,
                   "`baton plugin why %s` tells where was searched, and for what", name);
}

bt_status bt__plugins_chosen(bt_ctx *ctx, const struct bt__plugins *plugins,
                             bt__item *first, const char *name, bt__item **out)
{
    const char *id = bt_map_find(&plugins->use, name);
    *out = NULL;
    if (!id)
        return NULL;
    for (bt__item *item = first; item; item = item->next) {
        if (strcmp(item->plugin->id, id) == 0) {
            *out = item;
            return NULL;
        }
    }
    return bt_fail(ctx, BT_ERR_PLUGIN,
                   "%s \"%s\" is to be used from plugin %s, which does not provide it",
                   kind_word(ctx, first->interface_name), name, id);
}

/* The one item to use for a name. Opens nothing.
 * errors  BT_ERR_NAME, BT_ERR_PLUGIN (ambiguous) */
static bt_status choose(bt_ctx *ctx, struct bt__plugins *plugins,
                        const char *interface_name, const char *name, bt__item **out)
{
    bt__item *first = bt__plugins_find(plugins, interface_name, name), *usable = NULL;
    if (!first)
        return fail_unknown(ctx, plugins, interface_name, name);
    BT_TRY(bt__plugins_chosen(ctx, plugins, first, name, out));
    if (*out)
        return NULL;
    for (bt__item *item = first; item; item = item->next) {
        if (item->plugin->state == BT_PLUGIN_REFUSED)
            continue;
        if (usable)
            return bt_fail(
                ctx, BT_ERR_PLUGIN,
                "%s \"%s\" is provided twice, by %s (%s) and by %s (%s): remove "
                "one of them, or choose by BATON_PLUGIN_USE=%s=%s",
                kind_word(ctx, interface_name), name, usable->plugin->id,
                usable->plugin->manifest, item->plugin->id, item->plugin->manifest, name,
                usable->plugin->id);
        usable = item;
    }
    *out = usable ? usable : first; // a refused one: opening it tells why
    return NULL;
}

bt_status bt__plugins_item(bt_ctx *ctx, const char *interface_name, const char *name,
                           bt__item **out)
{
    struct bt__plugins *plugins;
    bt__item *item = NULL;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    bt_status status = choose(ctx, plugins, interface_name, name, &item);
    if (!status && item->plugin->state == BT_PLUGIN_REFUSED)
        status = bt__plugin_open(ctx, plugins, item->plugin); // tells why
    bt__plugins_unlock(ctx);
    BT_TRY(status);
    *out = item;
    return NULL;
}

bt_status bt__item_text(bt_ctx *ctx, bt_arena *arena, const bt__item *item, size_t limit,
                        const char **path, const char **text, size_t *nbytes)
{
    const bt_plugin_handle *h = item->plugin;
    const char *name = bt__json_text(item->json, "path");
    *path = name;
    *text = bt__linked_text(h, name);
    if (*text) {
        *nbytes = strlen(*text);
        return NULL;
    }
    *path = bt__format(arena, "%s/%s", h->folder ? h->folder : "", name);
    return *path ? bt__read_bounded(ctx, arena, *path, limit, text, nbytes)
                 : bt_no_memory();
}

bt_status bt__plugins_has(bt_ctx *ctx, const char *interface_name, const char *name,
                          int *out)
{
    struct bt__plugins *plugins;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    *out = bt__plugins_find(plugins, interface_name, name) != NULL;
    bt__plugins_unlock(ctx);
    return NULL;
}

/* ---- rows ---- */

/* A copy of at least nbytes; earlier ones stay valid. */
static bt_status copy_row(struct bt__plugins *plugins, bt__item *item, size_t nbytes)
{
    if (item->copy && item->copy_nbytes >= nbytes)
        return NULL;
    size_t n = item->kind ? item->copy_nbytes : item->row_nbytes;
    void *copy = bt_arena_alloc(plugins->arena, 1, nbytes > n ? nbytes : n);
    if (!copy)
        return bt_no_memory();
    memcpy(copy, item->kind ? item->copy : item->row, n);
    item->copy = copy;
    item->copy_nbytes = nbytes > n ? nbytes : n;
    return NULL;
}

bt_status bt__plugins_row(bt_ctx *ctx, struct bt__plugins *plugins,
                          const char *interface_name, const char *name, size_t nbytes,
                          const void **out)
{
    bt__item *item = NULL;
    BT_TRY(choose(ctx, plugins, interface_name, name, &item));
    BT_TRY(bt__plugin_open(ctx, plugins, item->plugin));
    BT_TRY(copy_row(plugins, item, nbytes));
    *out = item->copy;
    return NULL;
}

bt_status bt_registry_row(bt_ctx *ctx, const char *interface_name, const char *name,
                          size_t nbytes, const void **out)
{
    struct bt__plugins *plugins;
    if (nbytes > 1u << 16 || !bt__is_interface(interface_name))
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "rows have at most 65536 bytes, and interfaces names like "
                       "baton.pass/1; found %zu and \"%s\"",
                       nbytes, interface_name);
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    bt_status status = bt__plugins_row(ctx, plugins, interface_name, name, nbytes, out);
    bt__plugins_unlock(ctx);
    return status;
}

/* ---- by id ---- */

static bt_status open_id(bt_ctx *ctx, struct bt__plugins *plugins, const char *id)
{
    bt__nearest nearest;
    bt__nearest_init(&nearest, id);
    for (uint32_t i = 0; i < plugins->handles.len; i++) {
        bt_plugin_handle *h = plugins->handles.at[i];
        if (strcmp(h->id, id) == 0 && !h->is_hidden)
            return bt__plugin_open(ctx, plugins, h);
        bt__nearest_offer(&nearest, h->id);
    }
    return bt_fail(ctx, BT_ERR_NAME, "no plugin has the id \"%s\"%s%s", id,
                   bt__nearest_text(&nearest, ctx->diags), refusal_hint(ctx, plugins));
}

bt_status bt_plugin_open(bt_ctx *ctx, const char *id)
{
    struct bt__plugins *plugins;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    bt_status status = open_id(ctx, plugins, id);
    bt__plugins_unlock(ctx);
    return status;
}
