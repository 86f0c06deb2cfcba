/* Attribute schemas: as C rows, as JSON, and the layout that both imply. */
#include <string.h>

#include <baton/value.h>

#include "base/utf8.h"
#include "plugin/plugins.h"

/* Every kind of attribute: its name in manifests and its size in the author's struct. */
static const struct {
    uint32_t kind;
    const char *name;
    size_t nbytes;
} kinds[] = {
    { BT_ATTR_INT, "int", 8 },
    { BT_ATTR_FLOAT, "float", 8 },
    { BT_ATTR_BOOL, "bool", 8 },
    { BT_ATTR_STRING, "string", 8 },
    { BT_ATTR_INTS, "ints", 16 },
    { BT_ATTR_FLOATS, "floats", 16 },
    { BT_ATTR_STRINGS, "strings", 16 },
    { BT_ATTR_DTYPE, "dtype", 8 },
    { BT_ATTR_DIM, "dim", 8 },
    { BT_ATTR_SHAPE, "shape", 8 },
    { BT_ATTR_TYPE, "type", 8 },
    { BT_ATTR_FUNC, "function", 8 },
    { BT_ATTR_INT_OR_INTS, "int or ints", 16 },
};
#define KIND_NAMES                                                                    \
    "int|float|bool|string|ints|floats|strings|dtype|dim|shape|type|function|int or " \
    "ints"

static size_t kind_index(uint32_t kind)
{
    size_t i = 0;
    while (i < BT_COUNT(kinds) && kinds[i].kind != kind)
        i++;
    return i;
}

/* ---- JSON ---- */

static const bt__shape text_shape = { .kinds = BT__JSON_STRING };
static const bt__shape name_shape = { .kinds = BT__JSON_STRING,
                                      .what = "a name",
                                      .accepts = bt__is_name };
static const bt__shape kind_shape = { .kinds = BT__JSON_STRING, .choices = KIND_NAMES };
static const bt__shape bound_shape = { .kinds = BT__JSON_INT };
static const bt__shape_field row_fields[] = {
    { "name", &name_shape, 1 },    { "kind", &kind_shape, 1 },
    { "default", &text_shape, 0 }, { "low", &bound_shape, 0 },
    { "high", &bound_shape, 0 },   { "choices", &text_shape, 0 },
    { "doc", &text_shape, 0 },     { 0 },
};
static const bt__shape row_shape = { .kinds = BT__JSON_OBJECT, .fields = row_fields };
const bt__shape bt__schema_shape = { .kinds = BT__JSON_LIST, .items = &row_shape };

static json_t *describe_row(const bt_attr *attr)
{
    json_t *row = json_object();
    int ok = row && bt__json_put(row, "name", json_string(attr->name)) &&
             bt__json_put(row, "kind", json_string(kinds[kind_index(attr->kind)].name));
    if (ok && attr->preset)
        ok = bt__json_put(row, "default", json_string(attr->preset));
    if (ok && (attr->low || attr->high))
        ok = bt__json_put(row, "low", json_integer(attr->low)) &&
             bt__json_put(row, "high", json_integer(attr->high));
    if (ok && attr->choices)
        ok = bt__json_put(row, "choices", json_string(attr->choices));
    if (ok && attr->doc)
        ok = bt__json_put(row, "doc", json_string(attr->doc));
    if (ok)
        return row;
    json_decref(row);
    return NULL;
}

json_t *bt__schema_describe(const bt_attr *attrs)
{
    json_t *rows = json_array();
    for (; rows && attrs && attrs->name; attrs++) {
        if (json_array_append_new(rows, describe_row(attrs)) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return rows;
}

static void read_row(const json_t *row, size_t *offset, bt_attr *out)
{
    const char *kind = bt__json_text(row, "kind");
    size_t i = 0;
    while (strcmp(kinds[i].name, kind) != 0)
        i++;
    out->name = bt__json_text(row, "name");
    out->kind = kinds[i].kind;
    out->offset = (uint32_t)*offset;
    out->preset = bt__json_text(row, "default");
    out->low = json_integer_value(json_object_get(row, "low"));
    out->high = json_integer_value(json_object_get(row, "high"));
    out->choices = bt__json_text(row, "choices");
    out->doc = bt__json_text(row, "doc");
    *offset += kinds[i].nbytes;
}

const bt_attr *bt__schema_read(bt_arena *arena, const json_t *json, size_t *nbytes)
{
    size_t n = json_array_size(json);
    bt_attr *rows = BT_NEWS(arena, bt_attr, n + 1);
    *nbytes = 0;
    for (size_t i = 0; rows && i < n; i++)
        read_row(json_array_get(json, i), nbytes, &rows[i]);
    return rows;
}

/* ---- C rows ---- */

int bt__is_utf8(const char *text)
{
    uint32_t code_point;
    size_t left = text ? strlen(text) : 0;
    while (left > 0) {
        size_t n = bt__utf8_read(text, left, &code_point);
        if (n == 0)
            return 0;
        text += n;
        left -= n;
    }
    return 1;
}

static const char *check_row(bt_arena *arena, const bt_attr *attr, size_t offset)
{
    size_t kind = kind_index(attr->kind);
    if (!bt__is_name(attr->name))
        return bt__say(arena, "attribute \"%s\": not a name", attr->name);
    if (kind == BT_COUNT(kinds))
        return bt__say(arena, "attribute %s: kind %u is none of BT_ATTR_...", attr->name,
                       attr->kind);
    if (attr->offset != offset)
        return bt__say(
            arena,
            "attribute %s: stands at offset %u, expected %zu: members stand in the "
            "order of the schema's rows, 8 bytes each, lists 16",
            attr->name, attr->offset, offset);
    if (!bt__is_utf8(attr->preset) || !bt__is_utf8(attr->choices) ||
        !bt__is_utf8(attr->doc))
        return bt__say(arena, "attribute %s: default, choices or doc is not UTF-8",
                       attr->name);
    if (attr->low > attr->high)
        return bt__say(arena, "attribute %s: low %lld is above high %lld", attr->name,
                       (long long)attr->low, (long long)attr->high);
    if (attr->choices && attr->kind != BT_ATTR_STRING)
        return bt__say(arena, "attribute %s: choices are for strings, it is of kind %s",
                       attr->name, kinds[kind].name);
    return NULL;
}

const char *bt__schema_check(bt_arena *arena, const bt_attr *attrs, size_t nbytes)
{
    size_t offset = 0;
    for (const bt_attr *attr = attrs; attr && attr->name; attr++) {
        const char *fault = check_row(arena, attr, offset);
        if (fault)
            return fault;
        for (const bt_attr *other = attrs; other != attr; other++) {
            if (strcmp(other->name, attr->name) == 0)
                return bt__say(arena, "attribute %s: stated twice", attr->name);
        }
        offset += kinds[kind_index(attr->kind)].nbytes;
    }
    if (offset != nbytes)
        return bt__say(arena,
                       "the attributes' struct has %zu bytes, the schema's rows make %zu",
                       nbytes, offset);
    return NULL;
}
