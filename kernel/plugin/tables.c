/*
 * The rows of a plugin: copied with the sizes it was built with, so that what it lacks is
 * zero, then checked and described from the copies alone.
 */
#include <string.h>

#include "plugin/plugins.h"

#define MAX_ROW_NBYTES (64u << 10)
#define MAX_NROW       (64u << 10) /* a table with more rows has no terminating row */
#define MAX_NTABLE     1024

const char bt__speechless[] = "no memory";

const char *bt__say(bt_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *out = bt__format_va(arena, format, args);
    va_end(args);
    return out ? out : bt__speechless;
}

/* The first member of every row: its name. */
static const char *name_of(const void *row)
{
    const char *name;
    memcpy(&name, row, sizeof(name));
    return name;
}

void *bt__rows_copy(bt_arena *arena, const void *rows, size_t nbytes, size_t host_nbytes)
{
    const char *from = rows;
    size_t n = 0;
    while (from && n < MAX_NROW && name_of(from + n * nbytes))
        n++;
    char *copy = bt_arena_alloc(arena, n + 1, host_nbytes);
    for (size_t i = 0; copy && i < n; i++)
        memcpy(copy + i * host_nbytes, from + i * nbytes,
               nbytes < host_nbytes ? nbytes : host_nbytes);
    return copy;
}

/* ---- one table ---- */

static bt_status fail_table(bt_ctx *ctx, const bt_plugin *plugin, const bt_table *table,
                            const char *fault)
{
    return bt_fail(ctx, BT_ERR_PLUGIN, "plugin %s: table %s %s", plugin->id,
                   table->interface_name, fault);
}

static bt_status check_table(bt_ctx *ctx, const bt_plugin *plugin, const bt_table *table,
                             const bt__kind *kind)
{
    bt_arena *scratch = ctx->diags;
    if (!bt__is_interface(table->interface_name))
        return fail_table(ctx, plugin, table, "has no interface name like baton.op/1");
    if (!table->rows)
        return fail_table(ctx, plugin, table, "has no rows: the pointer is NULL");
    if (!kind && strncmp(table->interface_name, "baton.", 6) == 0)
        return fail_table(ctx, plugin, table,
                          "is not known to this libbaton, which owns all names that "
                          "begin with \"baton.\"; a newer libbaton may know it");
    size_t least = kind ? kind->least : sizeof(const char *);
    if (table->row_nbytes < least || table->row_nbytes > MAX_ROW_NBYTES)
        return fail_table(ctx, plugin, table,
                          bt__say(scratch,
                                  "has rows of %zu bytes, expected %zu to %u: build the "
                                  "plugin with the headers of this libbaton",
                                  table->row_nbytes, least, MAX_ROW_NBYTES));
    return NULL;
}

static bt_status check_name(bt_ctx *ctx, const bt_plugin *plugin, const bt_table *table,
                            const bt__rows *rows, const char *name)
{
    if (strlen(name) > 256)
        return fail_table(ctx, plugin, table, "has a row whose name has no end");
    for (uint32_t i = 0; i < rows->len; i++) {
        if (strcmp(rows->at[i].name, name) == 0 &&
            strcmp(rows->at[i].interface_name, table->interface_name) == 0)
            return fail_table(ctx, plugin, table,
                              bt__say(ctx->diags, "has %s twice", name));
    }
    return NULL;
}

/* "relu:gradient" for a facet of another plugin's operator. NULL: no memory */
static const char *row_name(bt_arena *arena, const bt__kind *kind, const void *raw)
{
    const bt_facet *facet = raw;
    if (!kind || strcmp(kind->kind, "facet") != 0 || !facet->op)
        return name_of(raw);
    return bt__format(arena, "%s:%s", facet->op, facet->facet);
}

/* Defaults are text: whether each is one of its kind shows only when it is parsed. */
static bt_status check_presets(bt_ctx *ctx, const bt__copier *copier, const char *name,
                               const bt_attr *schema, size_t nbytes)
{
    uint32_t n = 0, npreset = 0;
    while (schema[n].name)
        n++;
    bt_attr *rows = BT_NEWS(copier->arena, bt_attr, n + 1);
    if (!rows)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        if (schema[i].preset)
            rows[npreset++] = schema[i];
    }
    const bt_op op = { .name = name, .attrs = rows, .attrs_nbytes = nbytes };
    const void *values;
    return ctx->registry->host->attrs(ctx, copier->store, &op, "", &values);
}

/* The member of the copy that has its attributes or options. */
static const bt_attr **options_of(const bt__row *row)
{
    return (const bt_attr **)(void *)((char *)row->copy + row->kind->options[0]);
}

static int copy_options(const bt__copier *copier, const bt__row *row)
{
    const bt_attr **rows = row->kind->options[0] ? options_of(row) : NULL;
    if (!rows || !*rows)
        return 1;
    *rows =
        bt__rows_copy(copier->arena, *rows, copier->from->attr_nbytes, sizeof(bt_attr));
    return *rows != NULL;
}

static const char *doc_of(const bt__row *row)
{
    return *(const char *const *)(const void *)((const char *)row->copy + row->kind->doc);
}

static const char *check_head(const bt__row *row)
{
    if (!row->kind->doc)
        return NULL;
    if (!bt__is_name(row->name))
        return "the name is not one: letters, digits, \"_\", \".\" and \"-\" make a name";
    if (!doc_of(row) || !*doc_of(row))
        return "doc is missing: state in a sentence what it does";
    return bt__is_utf8(doc_of(row)) ? NULL : "doc is not UTF-8";
}

static bt_status check_row(bt_ctx *ctx, const bt__copier *copier, const bt__row *row)
{
    const size_t *options = row->kind->options;
    const bt_attr *schema = options[0] ? *options_of(row) : NULL;
    size_t nbytes = 0;
    if (options[0])
        memcpy(&nbytes, (const char *)row->copy + options[1], sizeof(nbytes));
    const char *fault = check_head(row);
    if (!fault)
        fault = row->kind->check(ctx->diags, row->copy);
    if (!fault)
        fault = bt__schema_check(ctx->diags, schema, nbytes);
    if (fault == bt__speechless)
        return bt_no_memory();
    if (fault)
        return bt_fail(ctx, BT_ERR_PLUGIN, "plugin %s: %s %s: %s", copier->from->id,
                       row->kind->kind, row->name, fault);
    bt_status status =
        schema ? check_presets(ctx, copier, row->name, schema, nbytes) : NULL;
    if (!status || status->code == BT_ERR_MEMORY)
        return status;
    return bt_fail(ctx, BT_ERR_PLUGIN, "plugin %s: a default of %s %s: %s",
                   copier->from->id, row->kind->kind, row->name, status->message);
}

static bt_status read_row(bt_ctx *ctx, const bt__copier *copier, const bt_table *table,
                          const bt__kind *kind, const void *raw, bt__rows *out)
{
    bt__row row = { .kind = kind,
                    .interface_name = table->interface_name,
                    .name = row_name(copier->arena, kind, raw),
                    .raw = raw,
                    .raw_nbytes = table->row_nbytes };
    if (!row.name)
        return bt_no_memory();
    BT_TRY(check_name(ctx, copier->from, table, out, row.name));
    if (kind) {
        row.copy = bt_arena_alloc(copier->arena, 1, kind->nbytes);
        if (!row.copy)
            return bt_no_memory();
        memcpy(row.copy, raw,
               table->row_nbytes < kind->nbytes ? table->row_nbytes : kind->nbytes);
        if (!copy_options(copier, &row) || (kind->copy && !kind->copy(copier, row.copy)))
            return bt_no_memory();
        BT_TRY(check_row(ctx, copier, &row));
    } else if (!bt__is_name(row.name)) {
        return fail_table(ctx, copier->from, table, "has a row whose name is not a name");
    }
    return BT_PUSH(copier->arena, out, row) ? NULL : bt_no_memory();
}

static bt_status read_tables(bt_ctx *ctx, const bt__copier *copier, bt__rows *out)
{
    const bt_plugin *plugin = copier->from;
    for (uint32_t i = 0; plugin->tables[i]; i++) {
        const char *at = (const char *)plugin->tables[i];
        for (uint32_t j = 0; j < MAX_NTABLE; j++, at += plugin->table_nbytes) {
            bt_table table = { 0 };
            memcpy(&table, at, sizeof(table));
            if (!table.interface_name)
                break;
            const bt__kind *kind =
                bt__kind_of_interface(ctx->registry->host, table.interface_name);
            BT_TRY(check_table(ctx, plugin, &table, kind));
            const char *raw = table.rows;
            for (uint32_t k = 0; k < MAX_NROW && name_of(raw); k++) {
                BT_TRY(read_row(ctx, copier, &table, kind, raw, out));
                raw += table.row_nbytes;
            }
        }
    }
    return NULL;
}

bt_status bt__tables_read(bt_ctx *ctx, bt_arena *arena, const bt_plugin *plugin,
                          bt__rows *out)
{
    const bt__copier copier = { .arena = arena,
                                .from = plugin,
                                .store = bt_store_create(ctx->registry) };
    if (!copier.store)
        return bt_no_memory();
    bt_status status = read_tables(ctx, &copier, out);
    bt_store_unref(copier.store);
    return status;
}

/* ---- describing ---- */

/* The list of a kind or interface in `provides`; NULL: no memory. */
static json_t *list_of(json_t *provides, const char *key)
{
    json_t *list = json_object_get(provides, key);
    if (list)
        return list;
    return bt__json_put(provides, key, json_array()) ? json_object_get(provides, key)
                                                     : NULL;
}

static int describe_row(json_t *provides, const bt__row *row)
{
    const bt__kind *kind = row->kind;
    json_t *item = json_object();
    const bt_attr *options = kind && kind->options[0] ? *options_of(row) : NULL;
    if (json_array_append_new(list_of(provides, kind ? kind->key : row->interface_name),
                              item) != 0)
        return 0;
    if ((!kind || kind->doc) && !bt__json_put(item, "name", json_string(row->name)))
        return 0;
    if (kind && kind->doc && !bt__json_put(item, "doc", json_string(doc_of(row))))
        return 0;
    return (!kind || !kind->describe || kind->describe(row->copy, item)) &&
           (!options ||
            bt__json_put(item, kind->options_key ? kind->options_key : "options",
                         bt__schema_describe(options)));
}

json_t *bt__tables_describe(const bt__rows *rows)
{
    json_t *provides = json_object();
    for (uint32_t i = 0; provides && i < rows->len; i++) {
        if (!describe_row(provides, &rows->at[i])) {
            json_decref(provides);
            return NULL;
        }
    }
    return provides;
}
