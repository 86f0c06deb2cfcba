/*
 * Opening a plugin: find its shared object, load it, ask for its table, and check that
 * the table and the manifest agree. Loaded objects stay mapped for good; symbols are
 * resolved at once and stay local.
 */
#define _GNU_SOURCE // realpath
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <baton/value.h>

#include "plugin/plugins.h"
#include "plugin/sha256.h"

/* ---- the shared object ---- */

bt_status bt__plugin_load(bt_ctx *ctx, const char *path, const bt_plugin **out)
{
    struct stat file;
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode))
        return bt_fail(ctx, BT_ERR_PLUGIN, "%s: there is no such file", path);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *why = dlerror();
        return bt_fail(ctx, BT_ERR_PLUGIN, "%s: cannot be loaded: %s", path,
                       why ? why : "for no stated reason");
    }
    bt_plugin_query_fn query;
    void *symbol = dlsym(handle, BT_PLUGIN_QUERY);
    memcpy(&query, &symbol, sizeof(query)); // ISO C has no cast for it
    bt_status fault = NULL;
    const bt_plugin *table = NULL;
    if (!symbol) {
        fault = bt_fail(ctx, BT_ERR_PLUGIN,
                        "%s: exports no " BT_PLUGIN_QUERY
                        ": it is not a plugin of Baton, or was built without "
                        "baton_add_plugin",
                        path);
    } else if (!(table = query(BT_ABI_MAJOR, BT_ABI_MINOR, &bt_host_mark))) {
        fault = bt_fail(ctx, BT_ERR_PLUGIN,
                        "%s: " BT_PLUGIN_QUERY
                        " gave nothing: the plugin is linked to another copy of libbaton "
                        "than the one that opens it",
                        path);
    }
    BT_TRY(fault);
    *out = table;
    return NULL;
}

bt_status bt__plugin_check_table(bt_ctx *ctx, const char *path, const bt_plugin *table)
{
    if (table->abi_major != BT_ABI_MAJOR ||
        (BT_ABI_MAJOR == 0 && table->abi_minor != BT_ABI_MINOR))
        return bt_fail(ctx, BT_ERR_PLUGIN,
                       "%s: built for ABI %u.%u, this libbaton has %d.%d: build it again "
                       "with the headers of this libbaton",
                       path, table->abi_major, table->abi_minor, BT_ABI_MAJOR,
                       BT_ABI_MINOR);
    if (table->nbytes < sizeof(bt_plugin) || table->nbytes > 1u << 16 ||
        table->table_nbytes < sizeof(bt_table) || table->table_nbytes > 1u << 16)
        return bt_fail(
            ctx, BT_ERR_PLUGIN,
            "%s: the plugin's table has %u bytes (lists: %u), expected at least "
            "%zu (%zu): build it again with the headers of this libbaton",
            path, table->nbytes, table->table_nbytes, sizeof(bt_plugin),
            sizeof(bt_table));
    if (table->attr_nbytes < sizeof(bt_attr) || table->attr_nbytes > 1u << 16 ||
        table->input_nbytes < sizeof(bt_op_input) || table->input_nbytes > 1u << 16 ||
        table->facet_nbytes < sizeof(bt_facet) || table->facet_nbytes > 1u << 16)
        return bt_fail(
            ctx, BT_ERR_PLUGIN,
            "%s: rows of attributes, inputs and facets have %u, %u and %u bytes, "
            "expected at least %zu, %zu and %zu: build it again with the headers "
            "of this libbaton",
            path, table->attr_nbytes, table->input_nbytes, table->facet_nbytes,
            sizeof(bt_attr), sizeof(bt_op_input), sizeof(bt_facet));
    if (!table->id || !table->version || !table->tables)
        return bt_fail(ctx, BT_ERR_PLUGIN, "%s: the plugin's %s is NULL", path,
                       !table->id        ? "id"
                       : !table->version ? "version"
                                         : "list of tables");
    return NULL;
}

bt_status bt__plugin_check_beneath(bt_ctx *ctx, const bt_plugin_handle *h,
                                   const char *path)
{
    char binary[PATH_MAX], manifest[PATH_MAX], folder[PATH_MAX];
    if (!realpath(path, binary))
        return bt_fail(ctx, BT_ERR_PLUGIN, "%s: there is no such file, which %s names",
                       path, h->manifest);
    const char *roots[2] = { realpath(h->folder, folder),
                             realpath(h->manifest, manifest) };
    if (roots[1])
        *strrchr(manifest, '/') = 0;
    for (int i = 0; i < 2; i++) {
        size_t n = roots[i] ? strlen(roots[i]) : 0;
        if (n > 0 && strncmp(binary, roots[i], n) == 0 && binary[n] == '/')
            return NULL;
    }
    return bt_fail(ctx, BT_ERR_PLUGIN, "%s: is a link to %s, outside the folder of %s",
                   path, binary, h->manifest);
}

static bt_status check_digest(bt_ctx *ctx, const bt_plugin_handle *h)
{
    char found[65];
    if (!h->digest)
        return NULL;
    bt_file *file;
    BT_TRY(bt_file_read(ctx, h->binary, &file));
    bt_digest(file->bytes, file->nbytes, found);
    bt_file_close(ctx, file);
    if (strcmp(found, h->digest) == 0)
        return NULL;
    return bt_fail(
        ctx, BT_ERR_PLUGIN,
        "%s: its SHA-256 is %s, %s states %s: the file was changed; install the "
        "plugin again",
        h->binary, found, h->manifest, h->digest);
}

/* ---- opening ---- */

static void adopt_rows(bt_plugin_handle *h, const bt__rows *rows)
{
    for (uint32_t i = 0; i < rows->len; i++) {
        const bt__row *row = &rows->at[i];
        for (uint32_t j = 0; j < h->nitem; j++) {
            bt__item *item = &h->items[j];
            if (strcmp(item->name, row->name) != 0 ||
                strcmp(item->interface_name, row->interface_name) != 0)
                continue;
            item->row = row->raw;
            item->row_nbytes = row->raw_nbytes;
            item->copy = row->copy;
            item->copy_nbytes = row->kind ? row->kind->nbytes : 0;
            if (row->kind && strcmp(row->kind->kind, "op") == 0)
                ((bt_op *)row->copy)->plugin = h;
        }
    }
}

static bt_status load(bt_ctx *ctx, struct bt__plugins *plugins, bt_plugin_handle *h)
{
    if (h->table)
        return NULL;
    if (h->sources)
        return bt__sources_open(ctx, plugins, h);
    if (!h->binary)
        return bt_fail(ctx, BT_ERR_PLUGIN, "plugin %s: %s names no binary", h->id,
                       h->manifest);
    BT_TRY(bt__plugin_check_beneath(ctx, h, h->binary));
    BT_TRY(check_digest(ctx, h));
    return bt__plugin_load(ctx, h->binary, &h->table);
}

static bt_status check(bt_ctx *ctx, struct bt__plugins *plugins, bt_plugin_handle *h)
{
    bt__rows rows = { 0 };
    BT_TRY(bt__plugin_check_table(ctx, h->source.file, h->table));
    BT_TRY(bt__tables_read(ctx, plugins->arena, h->table, &rows));
    if (!h->linked) // whose manifest was made from the tables
        BT_TRY(bt__plugin_agrees(ctx, h, &rows));
    adopt_rows(h, &rows);
    return NULL;
}

/* The refusal of a plugin as who asked for it is told. Errors of a source are notes, so
 * that their places stay when who asks gives the error a place of its own. */
static bt_status tell(bt_ctx *ctx, const bt_plugin_handle *h, bt_status why)
{
    if (h->sources && why->code == BT_ERR_SYNTAX)
        return bt__note_chain(ctx,
                              bt_fail(ctx, BT_ERR_PLUGIN,
                                      "plugin %s is refused: its C source does not "
                                      "compile",
                                      h->id),
                              why);
    return bt_fail_place(ctx, BT_ERR_PLUGIN, &why->place, "plugin %s is refused: %s",
                         h->id, why->message);
}

bt_status bt__plugin_open(bt_ctx *ctx, struct bt__plugins *plugins, bt_plugin_handle *h)
{
    if (h->state == BT_PLUGIN_OPEN)
        return NULL;
    if (h->state == BT_PLUGIN_REFUSED)
        return tell(ctx, h, h->refusal);
    bt_status fault = load(ctx, plugins, h);
    const void *mark = bt_arena_mark(plugins->arena);
    if (!fault)
        fault = check(ctx, plugins, h);
    if (!fault) {
        bt__plugin_set_state(h, BT_PLUGIN_OPEN);
        return NULL;
    }
    bt_arena_release(plugins->arena, mark);
    bt__sources_close(h);
    bt_status kept = bt__plugins_keep(plugins, fault);
    if (kept->code == BT_ERR_MEMORY) // not the plugin's fault: another try may work
        return kept;
    h->refusal = kept;
    bt__plugin_set_state(h, BT_PLUGIN_REFUSED);
    return tell(ctx, h, fault);
}
