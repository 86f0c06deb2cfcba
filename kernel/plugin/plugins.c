/*
 * The registry's plugins: found once, listed from manifests, opened by need. The public
 * functions take the registry's lock; everything they give away stays valid without it.
 */
#include "plugin/plugins.h"

#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

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
    int order = strcmp(x->name, y->name);
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

/* ---- choosing ---- */

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

/* ---- listing ---- */

bt_status bt_plugins_scan(bt_ctx *ctx)
{
    struct bt__plugins *plugins;
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    bt__plugins_unlock(ctx);
    return NULL;
}

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

static const char *kind_of(const bt__item *item)
{
    return item->kind ? item->kind->kind : item->interface_name;
}

static int is_listed(const bt__item *item, const char *kind)
{
    return !kind || strcmp(kind_of(item), kind) == 0;
}

uint32_t bt_provided_len(bt_ctx *ctx, const char *kind)
{
    struct bt__plugins *plugins;
    uint32_t n = 0;
    if (bt__plugins_lock(ctx, &plugins))
        return 0;
    for (uint32_t i = 0; i < plugins->items.len; i++)
        n += (uint32_t)is_listed(plugins->items.at[i], kind);
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
    *out = (bt_provided){ .kind = kind_of(item),
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
    bt__item *found = NULL;
    for (uint32_t i = 0; i < plugins->items.len && !found; i++) {
        if (is_listed(plugins->items.at[i], kind) && index-- == 0)
            found = plugins->items.at[i];
    }
    bt_status status =
        found ? provide(plugins, found, out)
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
