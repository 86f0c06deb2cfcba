#include "plugin/identity.h"

#include <string.h>

#include <baton/value.h>

#include "plugin/plugins.h"

#define SOURCE_MAX_NBYTES (16u << 20)

static bt_status digest_binary(bt_ctx *ctx, const bt_plugin_handle *h, char out[65])
{
    bt_file *file;
    BT_TRY(bt_file_read(ctx, h->binary, &file));
    bt_digest(file->bytes, file->nbytes, out);
    bt_file_close(ctx, file);
    return NULL;
}

static bt_status digest_sources(bt_ctx *ctx, bt_arena *arena, const bt_plugin_handle *h,
                                char out[65])
{
    bt_text all;
    bt_text_init(&all, arena);
    for (size_t i = 0; i < json_array_size(h->sources); i++) {
        const char *text,
            *path = bt__format(arena, "%s/%s", h->folder,
                               json_string_value(json_array_get(h->sources, i)));
        size_t nbytes;
        if (!path)
            return bt_no_memory();
        BT_TRY(bt__read_bounded(ctx, arena, path, SOURCE_MAX_NBYTES, &text, &nbytes));
        bt_digest(text, nbytes, out);
        bt_text_addf(&all, "%s\n", out);
    }
    if (!bt_text_get(&all))
        return bt_no_memory();
    bt_digest(all.at, all.len, out);
    return NULL;
}

/* Read once: it is what was opened that compiles, whatever its files have become. With the
 * registry locked. */
static bt_status find_digest(bt_ctx *ctx, struct bt__plugins *plugins, bt_arena *arena,
                             bt_plugin_handle *h)
{
    char digest[65];
    if (h->files)
        return NULL;
    BT_TRY(h->sources ? digest_sources(ctx, arena, h, digest)
                      : digest_binary(ctx, h, digest));
    h->files = bt_arena_text(plugins->arena, digest, strlen(digest));
    return h->files ? NULL : bt_no_memory();
}

bt_status bt__plugin_identity(bt_ctx *ctx, bt_arena *arena, const char *interface_name,
                              const char *name, bt_text *out)
{
    struct bt__plugins *plugins;
    bt__item *item;
    BT_TRY(bt__plugins_item(ctx, interface_name, name, &item));
    bt_plugin_handle *h = item->plugin;
    if (h->linked) {
        bt_text_addf(out, "version %s of %s", h->version, h->id);
        return NULL;
    }
    BT_TRY(bt__plugins_lock(ctx, &plugins));
    bt_status status = find_digest(ctx, plugins, arena, h);
    bt__plugins_unlock(ctx);
    BT_TRY(status);
    bt_text_addf(out, "build %.16s of %s", h->files, h->id);
    return NULL;
}
