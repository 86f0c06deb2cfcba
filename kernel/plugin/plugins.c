/*
 * The registry's plugins: found once, listed from manifests, opened by need. The public
 * functions take the registry's lock; everything they give away stays valid without it.
 */
#include "plugin/plugins.h"

#include <stdlib.h>
#include <string.h>

/* ---- creating and destroying ---- */

static struct bt__plugins *create(bt_registry *r)
{
    bt_arena *arena = bt_arena_create(r);
    struct bt__plugins *plugins = arena ? BT_NEW(arena, struct bt__plugins) : NULL;
    if (!plugins) {
        bt_arena_destroy(arena);
        return NULL;
    }
    plugins->arena = arena;
    bt_map_init(&plugins->interfaces, arena, 1);
    return plugins;
}

/* Code compiled from sources is unloaded: it can have started no threads. Shared
 * objects stay mapped: threads, thread keys and exit handlers of what a plugin links
 * may still run its code, and a sanitizer's report names its functions. */
static void destroy(struct bt__plugins *plugins)
{
    if (!plugins)
        return;
    for (uint32_t i = 0; i < plugins->handles.len; i++) {
        bt__sources_close(plugins->handles.at[i]);
        json_decref(plugins->handles.at[i]->json);
    }
    bt_arena_destroy(plugins->arena);
}

bt_status bt__plugins_keep(struct bt__plugins *plugins, bt_status status)
{
    bt_diag *copy = BT_NEW(plugins->arena, bt_diag);
    if (!copy)
        return bt_no_memory();
    *copy = *status;
    const char **texts[] = { &copy->message, &copy->place.file, &copy->place.text,
                             &copy->place.node };
    for (size_t i = 0; i < BT_COUNT(texts); i++) {
        if (*texts[i])
            *texts[i] = bt_arena_text(plugins->arena, *texts[i], strlen(*texts[i]));
    }
    copy->note = status->note ? bt__plugins_keep(plugins, status->note) : NULL;
    return copy->message ? copy : bt_no_memory();
}

/* ---- the index ---- */

static int compare_handles(const void *a, const void *b)
{
    const bt_plugin_handle *x = *(bt_plugin_handle *const *)a;
    const bt_plugin_handle *y = *(bt_plugin_handle *const *)b;
    int order = strcmp(x->id, y->id);
    if (order == 0)
        order = x->rank < y->rank ? -1 : x->rank > y->rank;
    return order ? order : strcmp(x->source.file, y->source.file);
}

static int compare_items(const void *a, const void *b)
{
    const bt__item *x = *(bt__item *const *)a, *y = *(bt__item *const *)b;
    int order = strcmp(bt__item_kind(x), bt__item_kind(y));
    if (order == 0)
        order = strcmp(x->name, y->name);
    if (order == 0)
        order = strcmp(x->interface_name, y->interface_name);
    return order ? order : compare_handles(&x->plugin, &y->plugin);
}

static bt_status refuse(bt_ctx *ctx, struct bt__plugins *plugins, bt_plugin_handle *h,
                        const bt_plugin_handle *other, int is_tie)
{
    const bt_place place = { .file = h->source.file };
    h->is_hidden = !is_tie;
    h->refusal = bt__plugins_keep(
        plugins,
        is_tie ? bt_fail_place(ctx, BT_ERR_PLUGIN, &place,
                               "plugin %s is stated twice, by %s and by %s: remove one",
                               h->id, h->source.file, other->source.file)
               : bt_fail_place(ctx, BT_ERR_PLUGIN, &place,
                               "plugin %s is hidden by %s, which is searched first",
                               h->id, other->manifest));
    bt__plugin_set_state(h, BT_PLUGIN_REFUSED);
    return h->refusal->code == BT_ERR_MEMORY ? h->refusal : NULL;
}

/* Of manifests with one id the first in the order of the search is used; two of the same
 * place are a tie, and both are refused. */
static bt_status resolve_ids(bt_ctx *ctx, struct bt__plugins *plugins)
{
    bt_plugin_handle **at = plugins->handles.at;
    for (uint32_t i = 0, j; i < plugins->handles.len; i = j) {
        for (j = i + 1; j < plugins->handles.len && strcmp(at[i]->id, at[j]->id) == 0;
             j++) {
            if (at[j]->state != BT_PLUGIN_FOUND)
                continue;
            int is_tie = at[j]->rank == at[i]->rank;
            if (is_tie && at[i]->state == BT_PLUGIN_FOUND)
                BT_TRY(refuse(ctx, plugins, at[i], at[j], 1));
            BT_TRY(refuse(ctx, plugins, at[j], at[i], is_tie));
        }
    }
    return NULL;
}

static bt_status index_item(struct bt__plugins *plugins, bt__item *item)
{
    item->next = NULL;
    if (!BT_PUSH(plugins->arena, &plugins->items, item))
        return bt_no_memory();
    bt_map *names = bt_map_find(&plugins->interfaces, item->interface_name);
    if (!names) {
        names = BT_NEW(plugins->arena, bt_map);
        if (!names)
            return bt_no_memory();
        bt_map_init(names, plugins->arena, 1);
        if (!bt_map_put(&plugins->interfaces, item->interface_name, names))
            return bt_no_memory();
    }
    bt__item *first = bt_map_find(names, item->name);
    if (!first)
        return bt_map_put(names, item->name, item) ? NULL : bt_no_memory();
    while (first->next)
        first = first->next;
    first->next = item;
    return NULL;
}

/* Sorts handles, settles equal ids, and lists the items of all that are not hidden. */
static bt_status make_index(bt_ctx *ctx, struct bt__plugins *plugins)
{
    if (plugins->handles.len > 0)
        qsort(plugins->handles.at, plugins->handles.len, sizeof(*plugins->handles.at),
              compare_handles);
    plugins->is_indexed = 0;
    BT_TRY(resolve_ids(ctx, plugins));
    plugins->items.len = 0;
    bt_map_init(&plugins->interfaces, plugins->arena, 1);
    for (uint32_t i = 0; i < plugins->handles.len; i++) {
        bt_plugin_handle *h = plugins->handles.at[i];
        for (uint32_t j = 0; !h->is_hidden && j < h->nitem; j++)
            BT_TRY(index_item(plugins, &h->items[j]));
    }
    if (plugins->items.len > 0)
        qsort(plugins->items.at, plugins->items.len, sizeof(*plugins->items.at),
              compare_items);
    plugins->is_indexed = 1;
    return NULL;
}

/* ---- lock ---- */

static bt_status scan(bt_ctx *ctx)
{
    bt_registry *r = ctx->registry;
    if (r->plugins && r->plugins->is_scanned)
        return r->plugins->is_indexed ? NULL : make_index(ctx, r->plugins);
    destroy(r->plugins); // left by a search that ran out of memory
    r->plugins = create(r);
    r->plugins_destroy = destroy;
    if (!r->plugins)
        return bt_no_memory();
    BT_TRY(bt__plugins_read_use(ctx, r->plugins));
    BT_TRY(bt__plugins_search(ctx, r->plugins));
    BT_TRY(make_index(ctx, r->plugins));
    r->plugins->is_scanned = 1;
    return NULL;
}

bt_status bt__plugins_lock(bt_ctx *ctx, struct bt__plugins **out)
{
    pthread_mutex_lock(&ctx->registry->lock);
    bt_status status = scan(ctx);
    if (status) {
        pthread_mutex_unlock(&ctx->registry->lock);
        return status;
    }
    *out = ctx->registry->plugins;
    return NULL;
}

void bt__plugins_unlock(bt_ctx *ctx)
{
    pthread_mutex_unlock(&ctx->registry->lock);
}

bt_status bt_plugins_scan(bt_ctx *ctx)
{
    struct bt__plugins *plugins;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    bt__plugins_unlock(ctx);
    return NULL;
}

/* ---- one more ---- */

/* A file added later comes after all that were found. */
static bt_status add_manifest(bt_ctx *ctx, struct bt__plugins *plugins, const char *path)
{
    bt__place place = { .origin = BT__PLACE_EXPLICIT,
                        .path = bt_arena_text(plugins->arena, path, strlen(path)),
                        .result = "added by the application" };
    if (!place.path || !BT_PUSH(plugins->arena, &plugins->places, place))
        return bt_no_memory();
    uint32_t n = plugins->handles.len;
    BT_TRY(bt__manifest_read(ctx, plugins, path, plugins->places.len - 1));
    if (plugins->handles.len > n)
        BT_TRY(make_index(ctx, plugins));
    return bt_plugin_refusal(bt__manifest_find(plugins, path));
}

bt_status bt_plugins_add(bt_ctx *ctx, const char *path)
{
    struct bt__plugins *plugins;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    bt_status status = add_manifest(ctx, plugins, path);
    bt__plugins_unlock(ctx);
    return status;
}
