#include "choice.h"

#include <string.h>

#include <baton/op.h>
#include <baton/plugin.h>

static int is_name(const char *text)
{
    return *text &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789_.")] == 0;
}

/* What is mentioned of libraries is read, and nothing else of them. */
static bt_status read_library(bt_ctx *ctx, bt_arena *arena, const char *library,
                              const char *name, bt_module **out)
{
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text,
                 "#[version = \"baton 0.1\"]\nimport \"%s\"\ndef @choice() { @%s }\n",
                 library, name);
    if (!bt_text_get(&text))
        return bt_no_memory();
    bt_module *parsed;
    BT_TRY(bt_parse(ctx, "what training is asked for", NULL, text.at, text.len, &parsed));
    bt_status status = bt_infer(ctx, parsed, out);
    bt_module_unref(parsed);
    return status;
}

/* The file that has it; NULL: none that this library reads. Errors of those that have it not are
 * nobody's: they stay in a context of their own. */
static bt_status look_in(bt_ctx *own, bt_arena *arena, const char *library,
                         const char *name, const char **file)
{
    bt_module *module;
    bt_place place;
    bt_status status = read_library(own, arena, library, name, &module);
    const int lacks_memory = status && status->code == BT_ERR_MEMORY;
    *file = NULL;
    bt_ctx_clear_diags(own);
    if (status)
        return lacks_memory ? bt_no_memory() : NULL;
    const bt_global *global = bt_module_find(module, name);
    bt_span_place(module->store, global ? global->span : 0, &place);
    *file = place.file ? bt_arena_text(arena, place.file, strlen(place.file)) : "";
    bt_module_unref(module);
    return *file ? NULL : bt_no_memory();
}

/* *out: the library that has it; NULL: there is none. */
static bt_status find_in(bt_ctx *ctx, bt_ctx *own, bt_arena *arena, const char *name,
                         const char **out)
{
    const char *first = NULL, *file;
    *out = NULL;
    for (uint32_t i = 0; i < bt_provided_len(ctx, "library"); i++) {
        bt_provided item;
        BT_TRY(bt_provided_at(ctx, "library", i, &item));
        BT_TRY(look_in(own, arena, item.name, name, &file));
        if (!file || (first && strcmp(first, file) == 0))
            continue; // none, or the same one, imported
        if (first)
            return bt_fail(ctx, BT_ERR_NAME,
                           "two libraries have @%s, %s and %s: give one of them another "
                           "name, or leave out the plugin of one (BATON_PLUGIN_PATH)",
                           name, first, file);
        first = file;
        *out = bt_arena_text(arena, item.name, strlen(item.name));
        if (!*out)
            return bt_no_memory();
    }
    return NULL;
}

static bt_status find_library(bt_ctx *ctx, bt_arena *arena, const char *name,
                              const char **out)
{
    bt_ctx *own = bt_ctx_create(bt_ctx_registry(ctx));
    bt_status status = own ? find_in(ctx, own, arena, name, out) : bt_no_memory();
    bt_ctx_destroy(own);
    return status;
}

static bt_status find_function(bt_ctx *ctx, bt_arena *arena, const bt_module *model,
                               const char *name, struct choice *c)
{
    bt_text text;
    if (!is_name(name))
        return bt_fail(ctx, BT_ERR_NAME, "\"%s\" is no name of %s %s", name,
                       strchr("aeiou", c->kind->name[0]) ? "an" : "a", c->kind->name);
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%s.%s", c->kind->name, name);
    if (!bt_text_get(&text))
        return bt_no_memory();
    c->of = bt_module_ref(model);
    c->global = bt_module_find(model, text.at);
    if (!c->global) {
        choice_forget(c);
        BT_TRY(choice_known(ctx, arena, model, c->kind, name));
        BT_TRY(find_library(ctx, arena, text.at, &c->library));
        if (!c->library)
            return bt_fail(ctx, BT_ERR_NAME, "no library has @%s", text.at);
        BT_TRY(read_library(ctx, arena, c->library, text.at, &c->of));
        c->global = bt_module_find(c->of, text.at);
    }
    return c->global && c->global->kind == BT_GLOBAL_FUNC
               ? NULL
               : bt_fail(ctx, BT_ERR_NAME, "@%s is no function", text.at);
}

void choice_forget(struct choice *c)
{
    bt_module_unref(c->of);
    c->of = NULL;
}

const char *choice_behind_name(const char *text)
{
    const char *equals = strchr(text, '='), *brace = strchr(text, '{');
    return equals && (!brace || equals < brace) ? equals + 1 : NULL;
}

bt_status choice_find(bt_ctx *ctx, bt_arena *arena, const bt_module *model,
                      const char *kind, const char *name, struct choice *out)
{
    *out = (struct choice){ .kind = choice_kind(kind) };
    BT_TRY(find_function(ctx, arena, model, name, out));
    BT_TRY(choice_check(ctx, arena, out));
    return choice_check_attributes(ctx, arena, out);
}

bt_status choice_make(bt_ctx *ctx, bt_arena *arena, const bt_module *model,
                      const char *kind, const char *text, struct choice *out)
{
    const char *name, *options;
    *out = (struct choice){ 0 };
    BT_TRY(bt_named_split(ctx, arena, kind, text, &name, &options));
    BT_TRY(choice_find(ctx, arena, model, kind, name, out));
    return choice_read_options(ctx, arena, options, out);
}
