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

/* What the seed provides by hand (pipelines: files) stays, the tables' names join it. */
static int join_provides(json_t *manifest, const bt__rows *rows)
{
    json_t *held = bt__tables_describe(rows);
    json_t *mine = json_object_get(manifest, "provides");
    int ok = held && (!mine || json_object_update_missing(held, mine) == 0);
    return ok ? bt__json_put(manifest, "provides", held) : (json_decref(held), 0);
}

/* id and version of the seed must be the plugin's: both come from one place. */
static bt_status check_seed(bt_ctx *ctx, const bt__json *root, const bt_plugin *plugin)
{
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
             bt__json_put(manifest, "binaries", binaries_of(binary)) &&
             join_provides(manifest, rows) &&
             bt__json_write(manifest, JSON_INDENT(1), out);
    json_decref(manifest);
    bt_text_add(out, "\n", 1);
    return ok && !out->failed ? NULL : bt_no_memory();
}

bt_status bt_plugin_describe(bt_ctx *ctx, const char *shared_object, const char *seed,
                             const char *binary, bt_text *out)
{
    const bt__json_doc doc = { .file = "(seed of the manifest)",
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
