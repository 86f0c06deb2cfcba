/*
 * Plugins linked into libbaton get a manifest from the same tables and by the same checks
 * as those that the build writes manifests for, only when they are looked for.
 */
#include "plugin/linked.h"

#include <string.h>

#include "plugin/plugins.h"

#if !defined(BT_STATIC_PLUGINS)
const bt__linked bt__linked_plugins[] = { { 0 } };
#endif

/* The seed joined by what the tables provide. */
static bt_status make_manifest(bt_ctx *ctx, bt_arena *arena, const bt__linked *linked,
                               bt_plugin_handle *h)
{
    bt__rows rows = { 0 };
    json_t *seed;
    BT_TRY(bt__plugin_check_table(ctx, "(linked in)", linked->plugin));
    BT_TRY(bt__tables_read(ctx, arena, linked->plugin, &rows));
    BT_TRY(bt__json_parse(ctx, &h->source, &seed));
    json_t *held = bt__tables_describe(&rows);
    json_t *mine = json_object_get(seed, "provides");
    int ok = held && (!mine || json_object_update_missing(held, mine) == 0);
    ok = ok && json_object_set(seed, "provides", held) == 0;
    json_decref(held);
    if (!ok) {
        json_decref(seed);
        return bt_no_memory();
    }
    h->json = seed;
    return NULL;
}

static bt_status add(bt_ctx *ctx, struct bt__plugins *plugins, const bt__linked *linked)
{
    bt_plugin_handle *h = BT_NEW(plugins->arena, bt_plugin_handle);
    if (!h || !BT_PUSH(plugins->arena, &plugins->handles, h))
        return bt_no_memory();
    h->registry = ctx->registry;
    h->rank = plugins->places.len - 1;
    h->table = linked->plugin;
    h->linked = linked;
    h->id = linked->plugin->id;
    h->version = linked->plugin->version;
    h->source = (bt__json_doc){ .file = "(linked in)",
                                .text = linked->seed,
                                .nbytes = strlen(linked->seed),
                                .code = BT_ERR_MANIFEST };
    bt_status fault = make_manifest(ctx, plugins->arena, linked, h);
    if (!fault)
        fault = bt__manifest_list(ctx, plugins->arena, h);
    h->refusal = fault ? bt__plugins_keep(plugins, fault) : NULL;
    h->state = fault ? BT_PLUGIN_REFUSED : BT_PLUGIN_FOUND;
    return h->refusal && h->refusal->code == BT_ERR_MEMORY ? h->refusal : NULL;
}

bt_status bt__linked_add(bt_ctx *ctx, struct bt__plugins *plugins)
{
    bt__place place = { .origin = BT__PLACE_LINKED, .path = "libbaton", .result = "" };
    if (!bt__linked_plugins[0].plugin)
        return NULL;
    if (!BT_PUSH(plugins->arena, &plugins->places, place))
        return bt_no_memory();
    for (const bt__linked *linked = bt__linked_plugins; linked->plugin; linked++)
        BT_TRY(add(ctx, plugins, linked));
    return NULL;
}

const char *bt__linked_text(const bt_plugin_handle *h, const char *path)
{
    const bt__linked_file *file = h->linked ? h->linked->files : NULL;
    while (file && file->path && strcmp(file->path, path) != 0)
        file++;
    return file ? file->text : NULL;
}
