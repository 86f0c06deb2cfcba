/*
 * Values of options: JSON, or text as attributes are written. Both become text; a flat
 * pipeline prints the text as JSON again, by the kind that the schema gives it.
 */
#include "pass/settings.h"

#include <string.h>

#include "base/nearest.h"

bt__setting *bt__settings_find(const bt__settings *settings, const char *name)
{
    for (uint32_t i = 0; settings && i < settings->len; i++) {
        if (strcmp(settings->at[i].name, name) == 0)
            return &settings->at[i];
    }
    return NULL;
}

/* ---- to text ---- */

static int is_quoted_kind(uint32_t kind)
{
    return kind == BT_ATTR_STRING || kind == BT_ATTR_STRINGS;
}

static void write_value(const json_t *value, uint32_t kind, bt_text *out)
{
    if (json_is_boolean(value)) {
        bt_text_addf(out, json_is_true(value) ? "True" : "False");
    } else if (json_is_string(value) && !is_quoted_kind(kind)) {
        bt_text_addf(out, "%s", json_string_value(value));
    } else if (json_is_array(value)) {
        bt_text_addf(out, "[");
        for (size_t i = 0; i < json_array_size(value); i++) {
            bt_text_addf(out, i ? ", " : "");
            write_value(json_array_get(value, i), kind, out);
        }
        bt_text_addf(out, "]");
    } else {
        bt__json_write(value, JSON_REAL_PRECISION(17), out);
    }
}

/* A bare word for a string gets its quotes, so that NCHW and "NCHW" are one value. */
static void write_text(const char *text, uint32_t kind, bt_text *out)
{
    if (kind != BT_ATTR_STRING || *text == '"') {
        bt_text_addf(out, "%s", text);
        return;
    }
    bt_text_addf(out, "\"");
    for (; *text; text++)
        bt_text_addf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    bt_text_addf(out, "\"");
}

static bt_status fail_variable(bt_ctx *ctx, const bt__setting *setting, const char *name,
                               const bt__scope *scope)
{
    bt__nearest nearest;
    bt__nearest_init(&nearest, name);
    for (uint32_t i = 0; i < scope->pipeline->variables.len; i++)
        bt__nearest_offer(&nearest, scope->pipeline->variables.at[i].name);
    return bt__spot_fail(ctx, setting->spot, "pipeline %s has no variable \"%s\"%s",
                         scope->pipeline->name, name,
                         bt__nearest_text(&nearest, ctx->scratch));
}

/* Follows "$name" to a value; each step leaves for the default or for the caller's scope,
 * so it ends. */
static bt_status follow(bt_ctx *ctx, bt_arena *arena, const bt__setting **setting,
                        const bt__scope *scope)
{
    for (;;) {
        const char *text = (*setting)->text ? NULL : json_string_value((*setting)->value);
        if (!text || text[0] != '$' || text[1] == '$')
            return NULL;
        if (!scope)
            return bt__spot_fail(ctx, (*setting)->spot,
                                 "a variable's own value cannot name a variable");
        const char *name = bt__option_name(arena, text + 1, strlen(text + 1));
        if (!name)
            return bt_no_memory();
        const bt__setting *given = bt__settings_find(scope->given, name);
        const bt__setting *own = bt__settings_find(&scope->pipeline->variables, name);
        if (!own)
            return fail_variable(ctx, *setting, name, scope);
        *setting = given ? given : own;
        scope = given ? scope->up : NULL;
    }
}

bt_status bt__setting_text(bt_ctx *ctx, bt_arena *arena, const bt__setting *setting,
                           const bt__scope *scope, uint32_t kind, const char **out)
{
    bt_text text;
    BT_TRY(follow(ctx, arena, &setting, scope));
    bt_text_init(&text, arena);
    if (setting->text) {
        write_text(setting->text, kind, &text);
    } else {
        const char *escaped = json_string_value(setting->value);
        json_t *plain = escaped && strncmp(escaped, "$$", 2) == 0
                            ? json_string(escaped + 1)
                            : json_incref((json_t *)(uintptr_t)setting->value);
        write_value(plain, kind, &text);
        json_decref(plain);
    }
    *out = bt_text_get(&text);
    return *out ? NULL : bt_no_memory();
}

/* ---- to JSON ---- */

/* A leading "$" would be a variable. */
static json_t *string_json(const char *text)
{
    return text[0] == '$' ? json_sprintf("$%s", text) : json_string(text);
}

json_t *bt__setting_json(const bt__setting *setting, uint32_t kind)
{
    if (kind == BT_ATTR_BOOL && strcmp(setting->text, "True") == 0)
        return json_true();
    if (kind == BT_ATTR_BOOL && strcmp(setting->text, "False") == 0)
        return json_false();
    json_error_t error;
    json_t *value =
        json_loads(setting->text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (!value && json_error_code(&error) == json_error_out_of_memory)
        return NULL;
    int keeps = value && !json_is_object(value) && !json_is_null(value) &&
                !json_is_boolean(value) &&
                (!json_is_string(value) || is_quoted_kind(kind));
    if (keeps && !json_is_string(value))
        return value;
    json_t *out = string_json(keeps ? json_string_value(value) : setting->text);
    json_decref(value);
    return out;
}

/* ---- of a run ---- */

bt_status bt__setting_parse(bt_ctx *ctx, bt_arena *arena, const char *text,
                            bt__setting *out)
{
    const char *equal = strchr(text, '=');
    bt__json_doc *doc = BT_NEW(arena, bt__json_doc);
    if (!doc)
        return bt_no_memory();
    doc->file = "<set>";
    doc->text = bt_arena_text(arena, text, strlen(text));
    doc->nbytes = strlen(text);
    doc->code = BT_ERR_PIPELINE;
    out->spot = (bt__spot){ doc, 0, (uint32_t)doc->nbytes };
    if (!doc->text)
        return bt_no_memory();
    if (!bt__is_utf8(text))
        return bt__spot_fail(ctx, out->spot, "expected UTF-8");
    if (!equal || equal == text || !equal[1])
        return bt__spot_fail(ctx, out->spot,
                             "expected pass.option=value or variable=value");
    out->name = bt__option_name(arena, text, (size_t)(equal - text));
    out->text = doc->text + (equal + 1 - text);
    return out->name ? NULL : bt_no_memory();
}
