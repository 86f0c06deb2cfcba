/*
 * Values of options: JSON, or text as attributes are written. Both become text; a flat
 * pipeline prints the text as JSON again, by the kind that the schema gives it.
 */
#include "pass/settings.h"

#include <string.h>

#include "base/nearest.h"
#include "text/lex.h"
#include "text/print.h"

bt__setting *bt__settings_find(const bt__settings *settings, const char *name)
{
    for (uint32_t i = 0; settings && i < settings->len; i++) {
        if (strcmp(settings->at[i].name, name) == 0)
            return &settings->at[i];
    }
    return NULL;
}

/* ---- to text ---- */

/* A string among values of its kind is quoted as program text is; what has another kind,
 * such as a dtype, is its own text. `in_list`: an element. */
static void write_value(const json_t *value, uint32_t kind, int in_list, bt_text *out)
{
    int is_quoted = kind == (in_list ? BT_ATTR_STRINGS : BT_ATTR_STRING);
    if (json_is_boolean(value)) {
        bt_text_addf(out, json_is_true(value) ? "True" : "False");
    } else if (json_is_string(value) && is_quoted) {
        bt__print_quoted(out, json_string_value(value));
    } else if (json_is_string(value)) {
        bt_text_addf(out, "%s", json_string_value(value));
    } else if (json_is_array(value)) {
        bt_text_addf(out, "[");
        for (size_t i = 0; i < json_array_size(value); i++) {
            bt_text_addf(out, i ? ", " : "");
            write_value(json_array_get(value, i), kind, 1, out);
        }
        bt_text_addf(out, "]");
    } else {
        bt__json_write(value, JSON_REAL_PRECISION(17), out);
    }
}

/* The contents of a text that is one string in quotes. *out NULL: it is something else.
 * 0: no memory */
static int unquote(bt_arena *arena, const char *text, const char **out)
{
    bt__lexer lexer;
    size_t nbytes;
    *out = NULL;
    bt__lexer_init(&lexer, text, (uint32_t)strlen(text));
    bt__token token = bt__lex(&lexer);
    if (token.kind != BT_TOKEN_STRING || bt__lex(&lexer).kind != BT_TOKEN_END)
        return 1;
    const char *contents = bt__token_text(arena, text, &token, &nbytes);
    if (contents && strlen(contents) == nbytes && bt__is_utf8(contents))
        *out = contents;
    return contents != NULL;
}

/* Text of the user's. A bare word for a string gets its quotes, so that NCHW and "NCHW"
 * are one value. 0: no memory */
static int write_text(bt_arena *arena, const char *text, uint32_t kind, bt_text *out)
{
    const char *contents = NULL;
    if (kind == BT_ATTR_STRING && *text == '"' && !unquote(arena, text, &contents))
        return 0;
    if (contents)
        bt__print_quoted(out, contents);
    else if (kind == BT_ATTR_STRING && *text != '"')
        bt__print_quoted(out, text);
    else
        bt_text_addf(out, "%s", text);
    return 1;
}

static bt_status fail_variable(bt_ctx *ctx, const bt__setting *setting, const char *name,
                               const bt__variables *scope)
{
    bt__nearest nearest;
    bt__nearest_init(&nearest, name);
    for (uint32_t i = 0; i < scope->pipeline->variables.len; i++)
        bt__nearest_offer(&nearest, scope->pipeline->variables.at[i].name);
    return bt__spot_fail(ctx, setting->spot, "pipeline %s has no variable \"%s\"%s",
                         scope->pipeline->name, name,
                         bt__nearest_text(&nearest, ctx->diags));
}

/* Follows "$name" to a value; each step leaves for the default or for the caller's scope,
 * so it ends. */
static bt_status follow(bt_ctx *ctx, bt_arena *arena, const bt__setting **setting,
                        const bt__variables *scope)
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
                           const bt__variables *scope, uint32_t kind, const char **out)
{
    bt_text text;
    BT_TRY(follow(ctx, arena, &setting, scope));
    bt_text_init(&text, arena);
    if (setting->text) {
        if (!write_text(arena, setting->text, kind, &text))
            return bt_no_memory();
    } else {
        const char *escaped = json_string_value(setting->value);
        json_t *plain = escaped && strncmp(escaped, "$$", 2) == 0
                            ? json_string(escaped + 1)
                            : json_incref((json_t *)(uintptr_t)setting->value);
        write_value(plain, kind, 0, &text);
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

/* Lists of numbers and of strings, which read back as they are printed. */
static int is_plain_list(const json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_number(item) && !json_is_string(item))
            return 0;
    }
    return json_is_array(value);
}

/* A number or a list, where JSON writes it as attributes do; otherwise the text
 * itself. */
static json_t *plain_json(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, JSON_DECODE_ANY, &error);
    if (!value && json_error_code(&error) == json_error_out_of_memory)
        return NULL;
    if (!strchr(text, '\\') && (json_is_number(value) || is_plain_list(value)))
        return value;
    json_decref(value);
    return string_json(text);
}

json_t *bt__setting_json(bt_arena *arena, const bt__setting *setting, uint32_t kind)
{
    const char *contents = NULL;
    if (kind == BT_ATTR_BOOL && strcmp(setting->text, "True") == 0)
        return json_true();
    if (kind == BT_ATTR_BOOL && strcmp(setting->text, "False") == 0)
        return json_false();
    if (kind != BT_ATTR_STRING)
        return plain_json(setting->text);
    if (!unquote(arena, setting->text, &contents))
        return NULL;
    return string_json(contents ? contents : setting->text);
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
