/*
 * Whether a manifest states what the plugin's tables hold: the tables are described as
 * the build describes them, and the first difference is reported where it stands in the
 * manifest, with both values.
 */
#include <string.h>

#include "plugin/plugins.h"

static bt_status check_names(bt_ctx *ctx, const bt__json *root, const bt_plugin *table)
{
    bt__json id = bt__json_member(root, "id"), version = bt__json_member(root, "version");
    if (strcmp(json_string_value(id.value), table->id) != 0)
        return bt__json_fail(ctx, &id, "the manifest says \"%s\", the plugin says \"%s\"",
                             json_string_value(id.value), table->id);
    if (strcmp(json_string_value(version.value), table->version) != 0)
        return bt__json_fail(ctx, &version,
                             "the manifest says \"%s\", the plugin says \"%s\"",
                             json_string_value(version.value), table->version);
    return NULL;
}

static const char *name_key(const char *key)
{
    return strcmp(key, "facets") == 0 ? "facet" : "name";
}

static int is_same_member(const json_t *a, const json_t *b, const char *key)
{
    const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);
    return x == y || json_equal(x, y);
}

/* The element of `list` that states the same thing as `item`, NULL: none. Most lists have
 * the same order, so that it is at `place`. */
static const json_t *same_item(const json_t *list, const char *key, const json_t *item,
                               size_t place)
{
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++) {
        const json_t *other = json_array_get(list, (place + i) % n);
        if (is_same_member(other, item, name_key(key)) &&
            is_same_member(other, item, "op"))
            return other;
    }
    return NULL;
}

static const char *as_text(bt_ctx *ctx, const json_t *value)
{
    return bt__json_excerpt(ctx->diags, value, 160);
}

/* Documentation may differ, since nothing depends on it. So may the formula of a plugin
 * that comes as C source: the source is at hand, and is edited between two runs. */
static int is_free(const bt_plugin_handle *h, const char *key)
{
    return strcmp(key, "doc") == 0 || strcmp(key, "source") == 0 ||
           (h->sources && strcmp(key, "formula") == 0);
}

/* What to do about it; of sources the command itself. */
static const char *remedy(bt_ctx *ctx, const bt_plugin_handle *h)
{
    const char *text = h->sources && h->manifest
                           ? bt__say(ctx->diags,
                                     "; `baton plugin describe %s --write` writes the "
                                     "manifest again",
                                     h->manifest)
                           : "; write the manifest again with `baton plugin describe`";
    return text == bt__speechless ? "" : text;
}

static bt_status differs(bt_ctx *ctx, const bt_plugin_handle *h, const bt__json *stated,
                         const json_t *held)
{
    const char *mine = as_text(ctx, stated->value), *other = as_text(ctx, held);
    if (!mine || !other)
        return bt_no_memory();
    return bt__json_fail(ctx, stated,
                         "the manifest says %s, the plugin's table says %s%s", mine,
                         other, remedy(ctx, h));
}

static bt_status lacks(bt_ctx *ctx, const bt_plugin_handle *h, const bt__json *stated,
                       const char *key, const json_t *held)
{
    const char *text = as_text(ctx, held);
    if (!text)
        return bt_no_memory();
    return bt__json_fail(ctx, stated,
                         "the manifest lacks \"%s\", the plugin's table says %s%s", key,
                         text, remedy(ctx, h));
}

static bt_status too_much(bt_ctx *ctx, const bt_plugin_handle *h, const bt__json *member,
                          const char *key, const json_t *stated)
{
    const char *text = as_text(ctx, stated);
    if (!text)
        return bt_no_memory();
    return bt__json_fail(ctx, member,
                         "the manifest says %s, the plugin's table has no \"%s\"%s", text,
                         key, remedy(ctx, h));
}

/* The first difference between what the manifest states and what the tables hold, down to
 * the value. Recursion is bounded by the manifest's depth. */
static bt_status compare(bt_ctx *ctx, const bt_plugin_handle *h, const bt__json *stated,
                         const json_t *held)
{
    if (json_is_object(stated->value) && json_is_object(held)) {
        json_t *other = json_incref((json_t *)(uintptr_t)held);
        const char *key;
        json_t *value;
        bt_status fault = NULL;
        json_object_foreach(other, key, value)
        {
            bt__json member = bt__json_member(stated, key);
            if (!fault && !is_free(h, key))
                fault = member.value ? compare(ctx, h, &member, value)
                                     : lacks(ctx, h, stated, key, value);
        }
        json_t *mine = (json_t *)(uintptr_t)stated->value;
        json_object_foreach(mine, key, value)
        {
            bt__json member = bt__json_member(stated, key);
            if (!fault && !is_free(h, key) && !json_object_get(held, key))
                fault = too_much(ctx, h, &member, key, value);
        }
        json_decref(other);
        return fault;
    }
    if (json_is_array(stated->value) && json_is_array(held) &&
        json_array_size(stated->value) == json_array_size(held)) {
        for (size_t i = 0; i < json_array_size(held); i++) {
            bt__json item = bt__json_element(stated, i);
            BT_TRY(compare(ctx, h, &item, json_array_get(held, i)));
        }
        return NULL;
    }
    if (json_equal(stated->value, held))
        return NULL;
    return differs(ctx, h, stated, held);
}

/* Every stated item is held, and as stated. */
static bt_status compare_stated(bt_ctx *ctx, const bt_plugin_handle *h,
                                const bt__json *provides, const json_t *held)
{
    json_t *object = (json_t *)(uintptr_t)provides->value;
    const char *key;
    json_t *list;
    json_object_foreach(object, key, list)
    {
        bt__json rows = bt__json_member(provides, key);
        const bt__kind *kind = bt__kind_of_key(ctx->registry->host, key);
        for (size_t i = 0; i < json_array_size(list); i++) {
            bt__json row = bt__json_element(&rows, i);
            if (kind && !kind->nbytes)
                continue; // a file: read when it is used
            const json_t *item = same_item(json_object_get(held, key), key, row.value, i);
            if (!item)
                return bt__json_fail(
                    ctx, &row,
                    "the manifest provides \"%s\", the plugin's tables do "
                    "not%s",
                    bt__json_text(row.value, name_key(key)), remedy(ctx, h));
            BT_TRY(compare(ctx, h, &row, item));
        }
    }
    return NULL;
}

/* Every held item is stated. */
static bt_status compare_held(bt_ctx *ctx, const bt_plugin_handle *h,
                              const bt__json *provides, json_t *held)
{
    const char *key;
    json_t *list;
    json_object_foreach(held, key, list)
    {
        bt__json rows = bt__json_member(provides, key);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *item = json_array_get(list, i);
            if (!same_item(rows.value, key, item, i))
                return bt__json_fail(
                    ctx, rows.value ? &rows : provides,
                    "the plugin's tables provide \"%s\" (%s), the manifest "
                    "does not%s",
                    bt__json_text(item, name_key(key)), key, remedy(ctx, h));
        }
    }
    return NULL;
}

bt_status bt__plugin_agrees(bt_ctx *ctx, const bt_plugin_handle *h, const bt__rows *rows)
{
    bt__json_doc doc = h->source;
    doc.code = BT_ERR_PLUGIN;
    bt__json root = bt__json_root(&doc, h->json);
    bt__json provides = bt__json_member(&root, "provides");
    BT_TRY(check_names(ctx, &root, h->table));
    json_t *held = bt__tables_describe(rows);
    if (!held)
        return bt_no_memory();
    bt_status fault = compare_stated(ctx, h, &provides, held);
    if (!fault)
        fault = compare_held(ctx, h, &provides, held);
    json_decref(held);
    return fault;
}
