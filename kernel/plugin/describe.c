/* Writing a manifest from a plugin's tables. */
#include <string.h>

#include "plugin/plugins.h"

static json_t *binaries_of(const char *binary)
{
    json_t *list = json_array(), *row = json_object();
    int ok = list && row && bt__json_put(row, "path", json_string(binary)) &&
             bt__json_put(row, "os", json_string(BT__HOST_OS)) &&
             bt__json_put(row, "arch", json_string(BT__HOST_ARCH));
    ok = ok && json_array_append(list, row) == 0;
    json_decref(row);
    if (ok)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *abi_of(const bt_plugin *plugin)
{
    return json_pack("{s:I, s:I, s:I}", "major", (json_int_t)plugin->abi_major, "needs",
                     (json_int_t)plugin->abi_minor, "built",
                     (json_int_t)plugin->abi_minor);
}

/* What is provided by hand (pipelines and libraries: files) stays, the tables' names join
 * it. */
static int join_provides(json_t *manifest, const bt__rows *rows)
{
    json_t *held = bt__tables_describe(rows);
    static const char *const files[] = { "pipelines", "libraries" };
    int ok = held != NULL;
    for (size_t i = 0; i < BT_COUNT(files); i++) {
        json_t *mine = json_object_get(json_object_get(manifest, "provides"), files[i]);
        ok = ok && (!mine || json_object_set(held, files[i], mine) == 0);
    }
    return ok ? bt__json_put(manifest, "provides", held) : (json_decref(held), 0);
}

/* id and version of the seed must be the plugin's: both come from one place. */
static bt_status check_seed(bt_ctx *ctx, const bt__json *root, const bt_plugin *plugin)
{
    BT_TRY(bt__manifest_check_seed(ctx, root));
    const char *const keys[] = { "id", "version" };
    const char *const values[] = { plugin->id, plugin->version };
    for (int i = 0; i < 2; i++) {
        bt__json member = bt__json_member(root, keys[i]);
        if (!json_is_string(member.value) ||
            strcmp(json_string_value(member.value), values[i]) != 0)
            return bt__json_fail(ctx, member.value ? &member : root,
                                 "expected %s \"%s\", which the plugin states", keys[i],
                                 values[i]);
    }
    return NULL;
}

static bt_status write_manifest(bt_ctx *ctx, const bt__json *root,
                                const bt_plugin *plugin, const bt__rows *rows,
                                const char *binary, bt_text *out)
{
    BT_TRY(check_seed(ctx, root, plugin));
    json_t *manifest = json_deep_copy(root->value);
    int ok = manifest && bt__json_put(manifest, "abi", abi_of(plugin)) &&
             (!binary || bt__json_put(manifest, "binaries", binaries_of(binary))) &&
             join_provides(manifest, rows) &&
             bt__json_write(manifest, JSON_INDENT(1), out);
    json_decref(manifest);
    bt_text_add(out, "\n", 1);
    return ok && !out->failed ? NULL : bt_no_memory();
}

bt_status bt_plugin_describe(bt_ctx *ctx, const char *shared_object, const char *seed,
                             const char *binary, bt_text *out)
{
    const bt__json_doc doc = { .file = "plugin.json",
                               .text = seed,
                               .nbytes = strlen(seed),
                               .code = BT_ERR_MANIFEST };
    const bt_plugin *plugin;
    bt__rows rows = { 0 };
    json_t *tree;
    BT_TRY(bt__plugin_load(ctx, shared_object, &plugin));
    bt_status status = bt__plugin_check_table(ctx, shared_object, plugin);
    bt_arena *arena = status ? NULL : bt_arena_create(ctx->registry);
    if (!status && !arena)
        status = bt_no_memory();
    if (!status)
        status = bt__tables_read(ctx, arena, plugin, &rows);
    if (!status)
        status = bt__json_parse(ctx, &doc, &tree);
    if (!status) {
        bt__json root = bt__json_root(&doc, tree);
        status = write_manifest(ctx, &root, plugin, &rows, binary, out);
        json_decref(tree);
    }
    bt_arena_destroy(arena);
    return status;
}

/* ---- of sources ---- */

static bt_status describe_sources(bt_ctx *ctx, struct bt__plugins *plugins,
                                  bt_plugin_handle *h, const bt__json *root, bt_text *out)
{
    bt__rows rows = { 0 };
    BT_TRY(bt__sources_open(ctx, plugins, h));
    bt_arena *arena = bt_arena_create(ctx->registry);
    bt_status status =
        arena ? bt__tables_read(ctx, arena, h->table, &rows) : bt_no_memory();
    if (!status)
        status = write_manifest(ctx, root, h->table, &rows, NULL, out);
    bt_arena_destroy(arena);
    bt__sources_close(h);
    return status;
}

/* A handle of its own, so that a manifest that is not yet right can be written anew. */
static bt_status make_handle(bt_ctx *ctx, bt_arena *arena, const char *path,
                             bt_plugin_handle *h)
{
    const bt__json_doc *doc = &h->source;
    h->registry = ctx->registry;
    h->manifest = path;
    h->folder = bt__folder_of(arena, path);
    h->source.file = path;
    h->source.code = BT_ERR_MANIFEST;
    BT_TRY(bt__read_bounded(ctx, arena, path, BT__JSON_MAX_NBYTES, &h->source.text,
                            &h->source.nbytes));
    BT_TRY(bt__json_parse(ctx, doc, &h->json));
    bt__json root = bt__json_root(doc, h->json);
    bt__json sources = bt__json_member(&root, "sources");
    h->id = bt__json_text(h->json, "id");
    h->version = bt__json_text(h->json, "version");
    h->compiler = bt__json_text(h->json, "compiler");
    h->sources = sources.value;
    if (!h->id || !h->version)
        return bt__json_fail(ctx, &root, "expected an \"id\" and a \"version\"");
    for (size_t i = 0; i < json_array_size(sources.value); i++) {
        bt__json file = bt__json_element(&sources, i);
        if (!json_is_string(file.value) || !bt__is_path(json_string_value(file.value)))
            return bt__json_fail(ctx, &file,
                                 "expected a relative path beneath the manifest's "
                                 "folder, without \"..\"");
    }
    if (json_array_size(sources.value) == 0)
        return bt__json_fail(ctx, &root,
                             "field \"sources\" is missing: the plugin's C files");
    return h->folder ? NULL : bt_no_memory();
}

bt_status bt_plugin_describe_sources(bt_ctx *ctx, const char *path, bt_text *out)
{
    struct bt__plugins *plugins;
    bt_plugin_handle h = { 0 };
    bt_arena *arena = bt_arena_create(ctx->registry);
    bt_status status = arena ? make_handle(ctx, arena, path, &h) : bt_no_memory();
    if (!status)
        status = bt__plugins_lock(ctx, &plugins);
    if (!status) {
        bt__json root = bt__json_root(&h.source, h.json);
        status = describe_sources(ctx, plugins, &h, &root, out);
        bt__plugins_unlock(ctx);
    }
    json_decref(h.json);
    bt_arena_destroy(arena);
    return status;
}
