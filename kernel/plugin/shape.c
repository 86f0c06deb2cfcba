/* Checking a JSON tree against a shape. */
#include <ctype.h>
#include <string.h>

#include "base/ctx.h"
#include "base/nearest.h"
#include "plugin/json.h"

static uint32_t kind_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return BT__JSON_OBJECT;
    case JSON_ARRAY: return BT__JSON_LIST;
    case JSON_STRING: return BT__JSON_STRING;
    case JSON_INTEGER: return BT__JSON_INT;
    case JSON_REAL: return BT__JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE: return BT__JSON_BOOL;
    case JSON_NULL: break;
    }
    return 0;
}

static const struct {
    uint32_t kind;
    const char *name;
} kind_names[] = {
    { BT__JSON_STRING, "a string" },     { BT__JSON_INT, "an integer" },
    { BT__JSON_REAL, "a number" },       { BT__JSON_BOOL, "true or false" },
    { BT__JSON_LIST, "a list ([...])" }, { BT__JSON_OBJECT, "an object ({...})" },
};

static void add_kinds(uint32_t kinds, bt_text *out)
{
    int first = 1;
    if (kinds & BT__JSON_REAL)
        kinds &= ~(uint32_t)BT__JSON_INT;
    for (size_t i = 0; i < BT_COUNT(kind_names); i++) {
        if (kinds & kind_names[i].kind) {
            bt_text_addf(out, "%s%s", first ? "" : " or ", kind_names[i].name);
            first = 0;
        }
    }
}

static void add_range(bt_text *out, const bt__shape *shape)
{
    if (shape->high == INT64_MAX)
        bt_text_addf(out, " of at least %lld", (long long)shape->low);
    else
        bt_text_addf(out, " in %lld..%lld", (long long)shape->low,
                     (long long)shape->high);
}

/* "a version, as in 0.1.0", or "an integer in 0..4" */
static const char *expectation(bt_ctx *ctx, const bt__shape *shape)
{
    bt_text text;
    bt_text_init(&text, ctx->diags);
    if (shape->choices) {
        bt_text_addf(&text, "one of %s", shape->choices);
    } else if (shape->what) {
        bt_text_addf(&text, "%s", shape->what);
    } else {
        add_kinds(shape->kinds, &text);
        if (shape->low || shape->high)
            add_range(&text, shape);
    }
    return bt_text_get(&text);
}

/* The value found, cut short. */
static const char *finding(bt_ctx *ctx, const json_t *value)
{
    if (json_is_object(value))
        return "an object";
    if (json_is_array(value))
        return "a list";
    return bt__json_excerpt(ctx->diags, value, 60);
}

static bt_status fail_value(bt_ctx *ctx, const bt__json *json, const bt__shape *shape)
{
    const char *text = json_string_value(json->value);
    const char *hint = "";
    if (text && shape->choices) {
        bt__nearest nearest;
        bt__nearest_init(&nearest, text);
        bt__nearest_offer_words(&nearest, ctx->diags, shape->choices, '|');
        hint = bt__nearest_text(&nearest, ctx->diags);
    }
    const char *expected = expectation(ctx, shape), *found = finding(ctx, json->value);
    if (!expected || !found)
        return bt_no_memory();
    return bt__json_fail(ctx, json, "expected %s, found %s%s", expected, found, hint);
}

static int has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    while (*words) {
        size_t length = strcspn(words, "|");
        if (length == n && memcmp(words, word, n) == 0)
            return 1;
        words += length + (words[length] != 0);
    }
    return 0;
}

static int accepts(const bt__shape *shape, const json_t *value)
{
    uint32_t kind = kind_of(value);
    if (!(shape->kinds & kind) &&
        !(kind == BT__JSON_INT && (shape->kinds & BT__JSON_REAL)))
        return 0;
    if (kind == BT__JSON_STRING) {
        const char *text = json_string_value(value);
        return (!shape->choices || has_word(shape->choices, text)) &&
               (!shape->accepts || shape->accepts(text));
    }
    if (kind == BT__JSON_INT && (shape->low || shape->high)) {
        json_int_t n = json_integer_value(value);
        return n >= shape->low && n <= shape->high;
    }
    return 1;
}

/* One check: the first fault found, and whether to go on after it. */
typedef struct check {
    bt_ctx *ctx;
    bt_status first;
    int report_all;
    uint32_t nfault;
} check;

/* Returns whether to go on. */
static int note_fault(check *c, bt_status fault)
{
    if (!c->first)
        c->first = fault;
    if (c->report_all)
        bt_report(c->ctx, fault);
    return c->report_all && ++c->nfault < c->ctx->limits.errors;
}

static int check_value(check *c, const bt__json *json, const bt__shape *shape);

static bt_status fail_unknown(bt_ctx *ctx, const bt__json *member, const bt__shape *shape)
{
    bt_text known;
    bt_text_init(&known, ctx->diags);
    bt__nearest nearest;
    bt__nearest_init(&nearest, member->key);
    for (const bt__shape_field *f = shape->fields; f && f->name; f++) {
        bt__nearest_offer(&nearest, f->name);
        bt_text_addf(&known, "%s%s", f == shape->fields ? "" : ", ", f->name);
    }
    if (!bt_text_get(&known))
        return bt_no_memory();
    return bt__json_fail_key(ctx, member, "unknown field \"%s\": expected one of %s%s",
                             member->key, bt_text_get(&known),
                             bt__nearest_text(&nearest, ctx->diags));
}

static bt_status fail_missing(bt_ctx *ctx, const bt__json *json, const bt__shape_field *f)
{
    const char *expected = expectation(ctx, f->shape);
    if (!expected)
        return bt_no_memory();
    return bt__json_fail(ctx, json, "field \"%s\" is missing: %s", f->name, expected);
}

static int check_object(check *c, const bt__json *json, const bt__shape *shape)
{
    for (const bt__shape_field *f = shape->fields; f && f->name; f++) {
        bt__json member = bt__json_member(json, f->name);
        if (!member.value && f->is_required &&
            !note_fault(c, fail_missing(c->ctx, json, f)))
            return 0;
        if (member.value && !check_value(c, &member, f->shape))
            return 0;
    }
    const char *key;
    json_t *value;
    json_t *object =
        (json_t *)(uintptr_t)json->value; /* jansson's loop wants it mutable */
    json_object_foreach(object, key, value)
    {
        const bt__shape_field *f = shape->fields;
        while (f && f->name && strcmp(f->name, key) != 0)
            f++;
        if (f && f->name)
            continue;
        bt__json member = bt__json_member(json, key);
        int known = shape->others && (!shape->accepts_key || shape->accepts_key(key));
        if (!known && !note_fault(c, fail_unknown(c->ctx, &member, shape)))
            return 0;
        if (known && !check_value(c, &member, shape->others))
            return 0;
    }
    return 1;
}

/* Recursion is bounded: the document's depth was checked. */
static int check_value(check *c, const bt__json *json, const bt__shape *shape)
{
    if (!accepts(shape, json->value))
        return note_fault(c, fail_value(c->ctx, json, shape));
    if (json_is_object(json->value))
        return check_object(c, json, shape);
    for (size_t i = 0; shape->items && i < json_array_size(json->value); i++) {
        bt__json item = bt__json_element(json, i);
        if (!check_value(c, &item, shape->items))
            return 0;
    }
    return 1;
}

bt_status bt__json_check(bt_ctx *ctx, const bt__json *json, const bt__shape *shape,
                         int report_all)
{
    check c = { .ctx = ctx, .report_all = report_all };
    check_value(&c, json, shape);
    return c.first;
}

/* ---- shapes that many have ---- */

const bt__shape bt__text_shape = { .kinds = BT__JSON_STRING };
const bt__shape bt__name_shape = { .kinds = BT__JSON_STRING,
                                   .what = "a name, as in nn.relu or fold-constant",
                                   .accepts = bt__is_name };
const bt__shape bt__flag_shape = { .kinds = BT__JSON_BOOL };
const bt__shape bt__level_shape = { .kinds = BT__JSON_INT, .low = 0, .high = 4 };
const bt__shape bt__path_shape = {
    .kinds = BT__JSON_STRING,
    .what = "a relative path beneath the manifest's folder, without \"..\"",
    .accepts = bt__is_path
};

/* ---- grammar of strings ---- */

static size_t name_length(const char *text)
{
    size_t n = 0;
    if (!isalpha((unsigned char)text[0]) && text[0] != '_')
        return 0;
    while (isalnum((unsigned char)text[n]) || (text[n] && strchr("_.-", text[n])))
        n++;
    return text[n - 1] == '.' || text[n - 1] == '-' ? 0 : n;
}

int bt__is_name(const char *text)
{
    size_t n = name_length(text);
    return n > 0 && n <= 128 && text[n] == 0;
}

int bt__is_interface(const char *text)
{
    size_t n = name_length(text);
    if (n == 0 || n > 128 || text[n] != '/' || text[n + 1] == 0)
        return 0;
    return text[n + 1 + strspn(text + n + 1, "0123456789")] == 0;
}

int bt__is_version(const char *text)
{
    for (int part = 0; part < 3; part++) {
        size_t n = strspn(text, "0123456789");
        if (n == 0 || n > 9)
            return 0;
        text += n;
        if (part < 2 && *text++ != '.')
            return 0;
    }
    if (*text == 0)
        return 1;
    if (*text++ != '-' || *text == 0)
        return 0;
    for (; *text; text++) {
        if (!isalnum((unsigned char)*text) && !strchr(".-", *text))
            return 0;
    }
    return 1;
}

int bt__is_path(const char *text)
{
    if (*text == 0 || *text == '/')
        return 0;
    for (;;) {
        size_t n = strcspn(text, "/");
        if (n == 0 || (n == 1 && text[0] == '.') ||
            (n == 2 && text[0] == '.' && text[1] == '.'))
            return 0;
        for (size_t i = 0; i < n; i++) {
            if ((unsigned char)text[i] < 0x20)
                return 0;
        }
        text += n;
        if (*text == 0)
            return 1;
        text++;
    }
}

int bt__is_digest(const char *text)
{
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

int bt__is_filled(const char *text)
{
    return *text != 0;
}
