/* Printing attributes; attrs_parse.c reads them. */
#include "text/parse.h"
#include "text/print.h"
#include "value/decimal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void add(bt_printer *p, const char *text)
{
    bt_text_add(p->out, text, strlen(text));
}

/* Any member: the kinds that hold no term. */
union member {
    int64_t i;
    double f;
    const char *text;
    bt_ints ints;
    bt_floats floats;
    bt_strings strings;
    const bt_type *type;
    const bt_value *value;
};

static size_t member_nbytes(uint32_t kind)
{
    return kind == BT_ATTR_INTS || kind == BT_ATTR_FLOATS || kind == BT_ATTR_STRINGS ||
                   kind == BT_ATTR_INT_OR_INTS
               ? sizeof(bt_ints)
               : sizeof(int64_t);
}

static int is_term(uint32_t kind)
{
    return kind == BT_ATTR_DTYPE || kind == BT_ATTR_DIM || kind == BT_ATTR_SHAPE ||
           kind == BT_ATTR_TYPE || kind == BT_ATTR_FUNC;
}

/* ---- defaults ---- */

/* The default of a row without terms, parsed once. NULL: it has none. */
static const union member *preset_of(bt_printer *p, const bt_attr *row)
{
    union member *known = bt_map_find(&p->presets, row);
    if (known)
        return known;
    bt__parser parser;
    union member *member = BT_NEW(p->arena, union member);
    if (!member || !bt_map_put(&p->presets, row, member)) {
        p->out->failed = 1;
        return NULL;
    }
    bt__parser_init(&parser, p->ctx, NULL, p->arena, NULL, "", 0);
    parser.is_quiet = 1;
    if (bt__attr_preset(&parser, row, member))
        return member;
    // defaults were seen to parse when the operator was loaded
    p->out->failed |= parser.stop != 0;
    return NULL;
}

static int same_double(double a, double b)
{
    return a == b ? signbit(a) == signbit(b) : isnan(a) && isnan(b);
}

static int64_t list_len(const bt_ints *list)
{
    return list->n == BT_SINGLE ? 1 : list->n;
}

static int same_list(uint32_t kind, const union member *a, const union member *b)
{
    if (a->ints.n != b->ints.n)
        return 0;
    for (int64_t i = 0; i < list_len(&a->ints); i++) {
        int same = kind == BT_ATTR_FLOATS ? same_double(a->floats.at[i], b->floats.at[i])
                   : kind == BT_ATTR_STRINGS
                       ? strcmp(a->strings.at[i], b->strings.at[i]) == 0
                       : a->ints.at[i] == b->ints.at[i];
        if (!same)
            return 0;
    }
    return 1;
}

/* Defaults that are terms are None, a dtype, or a text in the form that is printed. */
static int is_preset_term(const bt_attr *row, const char *printed)
{
    char name[BT_DTYPE_NAME_SIZE + 2];
    if (row->kind == BT_ATTR_DTYPE && *row->preset && strcmp(row->preset, "None") != 0 &&
        strlen(row->preset) < BT_DTYPE_NAME_SIZE) {
        name[0] = '"';
        strcpy(name + 1, row->preset);
        strcat(name, "\"");
        return strcmp(name, printed) == 0;
    }
    return strcmp(*row->preset ? row->preset : "None", printed) == 0;
}

static int is_preset(bt_printer *p, const bt_attr *row, const union member *value)
{
    const union member *preset = preset_of(p, row);
    if (!preset)
        return 0;
    switch (row->kind) {
    case BT_ATTR_FLOAT: return same_double(value->f, preset->f);
    case BT_ATTR_STRING: return strcmp(value->text, preset->text) == 0;
    case BT_ATTR_INTS:
    case BT_ATTR_FLOATS:
    case BT_ATTR_STRINGS:
    case BT_ATTR_INT_OR_INTS: return same_list(row->kind, value, preset);
    }
    return value->i == preset->i;
}

/* ---- values ---- */

static void print_float(bt_text *out, double value)
{
    bt__float_write(out, value, bt__float_format_of(BT_FLOAT64));
    bt_text_add(out, "f", 1);
}

static void print_item(bt_printer *p, uint32_t kind, const union member *value, int64_t i)
{
    if (kind == BT_ATTR_FLOATS)
        print_float(p->out, value->floats.at[i]);
    else if (kind == BT_ATTR_STRINGS)
        bt__print_quoted(p->out, value->strings.at[i]);
    else
        bt_text_addf(p->out, "%" PRId64, value->ints.at[i]);
}

static void print_list(bt_printer *p, uint32_t kind, const union member *value)
{
    if (value->ints.n == BT_NONE_LIST) {
        add(p, "None");
        return;
    }
    if (value->ints.n == BT_SINGLE) {
        print_item(p, kind, value, 0);
        return;
    }
    add(p, "[");
    for (int64_t i = 0; i < value->ints.n; i++) {
        add(p, i ? ", " : "");
        print_item(p, kind, value, i);
    }
    add(p, "]");
}

static void print_term(bt_printer *p, uint32_t kind, const bt_type *type)
{
    if (!type) {
        add(p, "None");
    } else if (kind == BT_ATTR_DTYPE && type->kind == BT_TYPE_DTYPE) {
        add(p, "\"");
        bt__print_term(p, type);
        add(p, "\"");
    } else if (type->kind == BT_TYPE_SHAPE) {
        add(p, "[");
        bt__print_shape_items(p, type);
        add(p, "]");
    } else {
        bt__print_term(p, type);
    }
}

static void print_value(bt_printer *p, uint32_t kind, const union member *value)
{
    switch (kind) {
    case BT_ATTR_INT:
        if (value->i == BT_NONE)
            add(p, "None");
        else
            bt_text_addf(p->out, "%" PRId64, value->i);
        return;
    case BT_ATTR_FLOAT: print_float(p->out, value->f); return;
    case BT_ATTR_BOOL: add(p, value->i ? "True" : "False"); return;
    case BT_ATTR_STRING: bt__print_quoted(p->out, value->text); return;
    case BT_ATTR_INTS:
    case BT_ATTR_FLOATS:
    case BT_ATTR_STRINGS:
    case BT_ATTR_INT_OR_INTS: print_list(p, kind, value); return;
    case BT_ATTR_FUNC:
        if (value->value)
            bt__print_global(p, "@", value->value->name);
        else
            add(p, "None");
        return;
    }
    print_term(p, kind, value->type);
}

uint32_t bt__print_attrs(bt_printer *p, const bt_op *op, const void *attrs, uint32_t n)
{
    uint32_t printed = 0;
    for (const bt_attr *row = op->attrs; attrs && row && row->name; row++) {
        union member value;
        memcpy(&value, (const char *)attrs + row->offset, member_nbytes(row->kind));
        if (row->preset && !is_term(row->kind) && is_preset(p, row, &value))
            continue;
        bt_text *out = p->out, text;
        bt_text_init(&text, p->temp);
        p->out = &text;
        print_value(p, row->kind, &value);
        p->out = out;
        const char *got = bt_text_get(&text);
        out->failed |= !got;
        if (!got || (row->preset && is_term(row->kind) && is_preset_term(row, got)))
            continue;
        add(p, n + printed++ ? ", " : "");
        bt__print_name(p->out, "", row->name);
        add(p, "=");
        add(p, got);
    }
    return printed;
}

int bt_attrs_print(bt_ctx *ctx, const bt_op *op, const void *attrs, bt_text *out)
{
    bt_printer p;
    if (!bt__printer_init(&p, ctx, out))
        return 0;
    uint32_t n = bt__print_attrs(&p, op, attrs, 0);
    bt__printer_deinit(&p);
    return n != 0;
}

static void print_dict_value(bt_text *out, const bt_dict_entry *entry)
{
    switch (entry->kind) {
    case BT_DICT_INT: bt_text_addf(out, "%" PRId64, entry->i); break;
    case BT_DICT_FLOAT: print_float(out, entry->f); break;
    case BT_DICT_BOOL: bt_text_addf(out, "%s", entry->i ? "True" : "False"); break;
    case BT_DICT_NONE: bt_text_addf(out, "None"); break;
    case BT_DICT_LIST:
        for (uint32_t i = 0; i < entry->n; i++) {
            bt_text_addf(out, i ? ", " : "[");
            print_dict_value(out, &entry->items[i]);
        }
        bt_text_addf(out, entry->n ? "]" : "[]");
        break;
    default: bt__print_quoted(out, entry->text ? entry->text : ""); break;
    }
}

void bt__print_dict_entry(bt_text *out, const bt_dict_entry *entry)
{
    bt__print_name(out, "", entry->name);
    bt_text_add(out, "=", 1);
    print_dict_value(out, entry);
}
