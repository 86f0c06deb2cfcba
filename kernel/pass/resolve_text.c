/*
 * The flat form of a pipeline: what runs under the given options, as a pipeline again.
 * Reading it gives the same steps, and printing those the same text.
 */
#include <string.h>

#include "pass/settings.h"
#include "plugin/sha256.h"

static uint32_t kind_of(const bt__resolved_step *pass, const char *option)
{
    const bt_attr *attr = pass->schema;
    while (strcmp(attr->name, option) != 0)
        attr++;
    return attr->kind;
}

static json_t *options_json(bt_arena *arena, const bt__resolved_step *pass)
{
    json_t *options = json_object();
    for (uint32_t i = 0; options && i < pass->options.len; i++) {
        const bt__setting *option = &pass->options.at[i];
        bt_text name;
        bt_text_init(&name, arena);
        bt__option_words(&name, option->name);
        if (!bt_text_get(&name) ||
            !bt__json_put(options, name.at,
                          bt__setting_json(arena, option, kind_of(pass, option->name)))) {
            json_decref(options);
            return NULL;
        }
    }
    return options;
}

static json_t *when_json(const bt__gradients *gradients)
{
    json_t *list = json_array();
    for (uint32_t i = 0; list && i < gradients->operators.len; i++) {
        if (json_array_append_new(list, json_string(gradients->operators.at[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list ? json_pack("{s:o}", "gradients", list) : NULL;
}

static json_t *steps_json(bt_arena *arena, const bt__resolved_list *steps);

static json_t *step_json(bt_arena *arena, const bt__resolved_step *step)
{
    json_t *json = json_object();
    int ok = json != NULL;
    if (ok && step->pass) {
        ok = bt__json_put(json, "pass", json_string(step->pass));
        if (ok && step->options.len > 0)
            ok = bt__json_put(json, "options", options_json(arena, step));
        if (ok && step->level >= 0)
            ok = bt__json_put(json, "level", json_integer(step->level));
    } else if (ok && step->gradients) {
        ok = bt__json_put(json, "sequence", steps_json(arena, &step->steps)) &&
             bt__json_put(json, "when", when_json(step->gradients));
    } else if (ok) {
        ok = bt__json_put(json, "repeat",
                          json_pack("{s:I}", "max", (json_int_t)step->max)) &&
             bt__json_put(json, "sequence", steps_json(arena, &step->steps));
    }
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *steps_json(bt_arena *arena, const bt__resolved_list *steps)
{
    json_t *list = json_array();
    for (uint32_t i = 0; list && i < steps->len; i++) {
        if (json_array_append_new(list, step_json(arena, &steps->at[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static int put_names(json_t *object, const char *key, const bt__pass_names *names)
{
    json_t *list = json_array();
    int ok = list != NULL;
    if (names->len == 0) {
        json_decref(list);
        return ok;
    }
    for (uint32_t i = 0; ok && i < names->len; i++)
        ok = json_array_append_new(list, json_string(names->at[i].name)) == 0;
    return ok ? bt__json_put(object, key, list) : (json_decref(list), 0);
}

static json_t *instruments_json(const bt__instruments *i)
{
    json_t *json = json_object();
    int ok = json != NULL;
    if (ok && i->verify)
        ok = bt__json_put(json, "verify", json_true());
    if (ok && i->timing)
        ok = bt__json_put(json, "timing", json_true());
    if (ok && i->print_changed)
        ok = bt__json_put(json, "print-changed", json_true());
    ok = ok && put_names(json, "dump-before", &i->dump_before) &&
         put_names(json, "dump-after", &i->dump_after);
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *resolved_json(const bt__resolved *resolved)
{
    const bt_pipeline *p = resolved->pipeline;
    json_t *json = json_object();
    int ok = json && bt__json_put(json, "name", json_string(p->name));
    if (ok && p->about)
        ok = bt__json_put(json, "doc", json_string(p->about));
    ok = ok && bt__json_put(json, "level", json_integer(resolved->options.level)) &&
         bt__json_put(json, "sequence", steps_json(resolved->arena, &resolved->steps));
    json_t *instruments = ok ? instruments_json(&resolved->instruments) : NULL;
    if (ok && json_object_size(instruments) > 0)
        ok = json_object_set(json, "instruments", instruments) == 0;
    ok = ok && instruments;
    json_decref(instruments);
    if (ok)
        return json;
    json_decref(json);
    return NULL;
}

static uint64_t digest_of(const bt_text *text)
{
    uint8_t digest[32];
    uint64_t out = 0;
    bt__sha256(text->at, text->len, digest);
    for (int i = 0; i < 8; i++)
        out = out << 8 | digest[i];
    return out;
}

bt_status bt_pipeline_resolve_sized(bt_ctx *ctx, const bt_pipeline *p,
                                    const bt_pipeline_options *given, size_t nbytes,
                                    bt_text *out, uint64_t *digest)
{
    bt__resolved *resolved;
    bt_text text;
    BT_TRY(bt__resolved_create(ctx, p, given, nbytes, 0, &resolved));
    bt_status fault = bt__resolved_check_options(ctx, resolved);
    if (fault) {
        bt__resolved_destroy(resolved);
        return fault;
    }
    bt_text_init(&text, resolved->arena);
    json_t *json = resolved_json(resolved);
    int ok = json && bt__json_write(json, JSON_INDENT(2), &text);
    json_decref(json);
    bt_text_add(&text, "\n", 1);
    ok = ok && !text.failed;
    if (ok) {
        bt_text_add(out, text.at, text.len);
        if (digest)
            *digest = digest_of(&text);
    }
    bt__resolved_destroy(resolved);
    return ok ? NULL : bt_no_memory();
}
