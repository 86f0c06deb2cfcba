/*
 * Reading pipelines: JSON manifests, by path or by the name under which a plugin provides
 * them. What a value may be is in the shapes; this file only carries them over.
 */
#include <string.h>

#include "pass/pipeline.h"

/* ---- shapes ---- */

static int is_pass_or_all(const char *text)
{
    return bt__is_name(text) || strcmp(text, "*") == 0;
}

static const bt__shape name_shape = { .kinds = BT__JSON_STRING,
                                      .what = "a name, as in fold-constant",
                                      .accepts = bt__is_name };
static const bt__shape names_shape = { .kinds = BT__JSON_LIST, .items = &name_shape };
static const bt__shape pass_or_all_shape = { .kinds = BT__JSON_STRING,
                                             .what = "a pass's name, or \"*\" for all",
                                             .accepts = is_pass_or_all };
static const bt__shape passes_or_all_shape = { .kinds = BT__JSON_LIST,
                                               .items = &pass_or_all_shape };
static const bt__shape rounds_shape = { .kinds = BT__JSON_INT,
                                        .low = 1,
                                        .high = BT__ROUNDS_MAX };
static const bt__shape order_shape = { .kinds = BT__JSON_INT,
                                       .low = -1000000,
                                       .high = 1000000 };

/* Values of options and variables; "$name" is a variable's value. */
static const bt__shape scalar_shape = { .kinds = BT__JSON_STRING | BT__JSON_INT |
                                                 BT__JSON_REAL | BT__JSON_BOOL };
static const bt__shape value_shape = { .kinds = BT__JSON_STRING | BT__JSON_INT |
                                                BT__JSON_REAL | BT__JSON_BOOL |
                                                BT__JSON_LIST,
                                       .items = &scalar_shape };
static const bt__shape values_shape = { .kinds = BT__JSON_OBJECT,
                                        .others = &value_shape,
                                        .accepts_key = bt__is_name };

static const bt__shape targets_shape = { .kinds = BT__JSON_STRING | BT__JSON_LIST,
                                         .what = "a target's name or a list of them",
                                         .accepts = bt__is_name,
                                         .items = &name_shape };
static const bt__shape operators_shape = { .kinds = BT__JSON_LIST, .items = &name_shape };
static const bt__shape_field when_fields[] = {
    { "target", &targets_shape, 0 },
    { "min-level", &bt__level_shape, 0 },
    { "max-level", &bt__level_shape, 0 },
    { "gradients", &operators_shape, 0 },
    { 0 },
};
static const bt__shape when_shape = { .kinds = BT__JSON_OBJECT, .fields = when_fields };

static const bt__shape_field repeat_fields[] = { { "max", &rounds_shape, 1 }, { 0 } };
static const bt__shape repeat_shape = { .kinds = BT__JSON_OBJECT,
                                        .fields = repeat_fields };

static const bt__shape step_shape;
static const bt__shape steps_shape = { .kinds = BT__JSON_LIST, .items = &step_shape };
#define STEP_FIELDS                                                      \
    { "pass", &name_shape, 0 }, { "options", &values_shape, 0 },         \
        { "level", &bt__level_shape, 0 }, { "when", &when_shape, 0 },    \
        { "sequence", &steps_shape, 0 }, { "repeat", &repeat_shape, 0 }, \
        { "pipeline", &name_shape, 0 }, { "vars", &values_shape, 0 },    \
    {                                                                    \
        "doc", &bt__text_shape, 0                                        \
    }
static const bt__shape_field step_fields[] = { STEP_FIELDS,
                                               { "slot", &name_shape, 0 },
                                               { 0 } };
static const bt__shape step_shape = { .kinds = BT__JSON_STRING | BT__JSON_OBJECT,
                                      .what = "a pass's name or a step ({...})",
                                      .accepts = bt__is_name,
                                      .fields = step_fields };
static const bt__shape_field contribution_fields[] = {
    STEP_FIELDS, { "slot", &name_shape, 1 }, { "order", &order_shape, 0 }, { 0 }
};
static const bt__shape contribution_shape = { .kinds = BT__JSON_OBJECT,
                                              .fields = contribution_fields };
const bt__shape bt__contributes_shape = { .kinds = BT__JSON_LIST,
                                          .items = &contribution_shape };

static const bt__shape_field instrument_fields[] = {
    { "verify", &bt__flag_shape, 0 },          { "timing", &bt__flag_shape, 0 },
    { "print-changed", &bt__flag_shape, 0 },   { "dump-before", &passes_or_all_shape, 0 },
    { "dump-after", &passes_or_all_shape, 0 }, { 0 },
};
static const bt__shape instruments_shape = { .kinds = BT__JSON_OBJECT,
                                             .fields = instrument_fields };

static const bt__shape_field pipeline_fields[] = {
    { "name", &name_shape, 1 },
    { "doc", &bt__text_shape, 0 },
    { "level", &bt__level_shape, 0 },
    { "vars", &values_shape, 0 },
    { "sequence", &steps_shape, 1 },
    { "require", &names_shape, 0 },
    { "disable", &names_shape, 0 },
    { "instruments", &instruments_shape, 0 },
    { 0 },
};
static const bt__shape pipeline_shape = { .kinds = BT__JSON_OBJECT,
                                          .fields = pipeline_fields };

/* ---- values ---- */

const char *bt__option_name(bt_arena *arena, const char *name, size_t nbytes)
{
    char *copy = bt_arena_alloc(arena, 1, nbytes + 1);
    for (size_t i = 0; copy && i < nbytes; i++)
        copy[i] = name[i] == '-' ? '_' : name[i];
    return copy;
}

static bt_status read_settings(bt_ctx *ctx, bt_arena *arena, const bt__json *values,
                               bt__settings *out)
{
    json_t *object = (json_t *)(uintptr_t)values->value;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        bt__json member = bt__json_member(values, key);
        bt__setting setting = { .name = bt__option_name(arena, key, strlen(key)),
                                .value = value };
        for (uint32_t i = 0; setting.name && i < out->len; i++) {
            if (strcmp(out->at[i].name, setting.name) == 0)
                return bt__json_fail_key(ctx, &member, "\"%s\" is given twice", key);
        }
        setting.spot = bt__json_spot(&member, 0);
        if (!setting.name || !BT_PUSH(arena, out, setting))
            return bt_no_memory();
    }
    return NULL;
}

static bt_status read_names(bt_arena *arena, const bt__json *list, bt__pass_names *out)
{
    for (size_t i = 0; i < json_array_size(list->value); i++) {
        bt__json item = bt__json_element(list, i);
        bt__pass_name name = { .name = json_string_value(item.value) };
        name.spot = bt__json_spot(&item, 0);
        if (!BT_PUSH(arena, out, name))
            return bt_no_memory();
    }
    return NULL;
}

/* ---- steps ---- */

static bt_status read_steps(bt_ctx *ctx, bt_arena *arena, const bt__json *list,
                            bt__steps *out)
{
    for (size_t i = 0; i < json_array_size(list->value); i++) {
        bt__json item = bt__json_element(list, i);
        bt__step step = { 0 };
        BT_TRY(bt__step_read(ctx, arena, &item, &step));
        if (!BT_PUSH(arena, out, step))
            return bt_no_memory();
    }
    return NULL;
}

static void read_when(const bt__json *json, bt__step *out)
{
    bt__json when = bt__json_member(json, "when");
    const json_t *low = json_object_get(when.value, "min-level");
    const json_t *high = json_object_get(when.value, "max-level");
    out->targets = json_object_get(when.value, "target");
    out->min_level = low ? (int32_t)json_integer_value(low) : 0;
    out->gradients = json_object_get(when.value, "gradients");
    out->max_level = high ? (int32_t)json_integer_value(high) : INT32_MAX;
}

/* What each kind of step is known by, and the members that make sense for it. */
static const struct {
    uint32_t kind;
    const char *key;
    const char *members;
} kinds[] = {
    { BT__STEP_PASS, "pass", " pass options level when doc slot order " },
    { BT__STEP_SLOT, "slot", " slot when doc " },
    { BT__STEP_PIPELINE, "pipeline", " pipeline vars level when doc slot order " },
    { BT__STEP_REPEAT, "repeat", " repeat sequence level when doc slot order " },
    { BT__STEP_SEQUENCE, "sequence", " sequence level when doc slot order " },
};

static int has_member(const char *members, const char *key)
{
    size_t n = strlen(key);
    for (const char *at = members; (at = strstr(at, key)); at++) {
        if (at[-1] == ' ' && at[n] == ' ')
            return 1;
    }
    return 0;
}

/* A contribution is a step with a slot beside what it contributes. */
static bt_status find_kind(bt_ctx *ctx, const bt__json *json, size_t *out)
{
    const json_t *step = json->value;
    int is_contribution =
        json->up && json->up->key && strcmp(json->up->key, "contributes") == 0;
    size_t kind = BT_COUNT(kinds);
    for (size_t i = 0; i < BT_COUNT(kinds) && kind == BT_COUNT(kinds); i++) {
        if (json_object_get(step, kinds[i].key) &&
            !(is_contribution && kinds[i].kind == BT__STEP_SLOT))
            kind = i;
    }
    if (kind == BT_COUNT(kinds))
        return bt__json_fail(
            ctx, json,
            "a step is one of \"pass\", \"sequence\", \"repeat\" with "
            "\"sequence\", \"pipeline\" and \"slot\": found none of them");
    const char *key;
    json_t *value;
    json_t *object = (json_t *)(uintptr_t)step;
    json_object_foreach(object, key, value)
    {
        bt__json member = bt__json_member(json, key);
        int is_for_slot = strcmp(key, "slot") == 0 || strcmp(key, "order") == 0;
        if (!has_member(kinds[kind].members, key) ||
            (is_for_slot && !is_contribution && kinds[kind].kind != BT__STEP_SLOT))
            return bt__json_fail_key(ctx, &member,
                                     "\"%s\" has no meaning in a step with \"%s\"", key,
                                     kinds[kind].key);
    }
    *out = kind;
    return NULL;
}

static bt_status read_members(bt_ctx *ctx, bt_arena *arena, const bt__json *json,
                              bt__step *out)
{
    bt__json level = bt__json_member(json, "level");
    bt__json repeat = bt__json_member(json, "repeat");
    bt__json sequence = bt__json_member(json, "sequence");
    bt__json settings =
        bt__json_member(json, out->kind == BT__STEP_PASS ? "options" : "vars");
    if (level.value)
        out->level = (int32_t)json_integer_value(level.value);
    read_when(json, out);
    if (settings.value)
        BT_TRY(read_settings(ctx, arena, &settings, &out->settings));
    if (out->kind == BT__STEP_REPEAT && !sequence.value)
        return bt__json_fail(ctx, json, "field \"sequence\" is missing: what to repeat");
    if (repeat.value)
        out->max = (uint32_t)json_integer_value(json_object_get(repeat.value, "max"));
    return sequence.value ? read_steps(ctx, arena, &sequence, &out->steps) : NULL;
}

/* Recursion is bounded by the depth of the document. */
bt_status bt__step_read(bt_ctx *ctx, bt_arena *arena, const bt__json *json, bt__step *out)
{
    size_t kind = 0;
    *out = (bt__step){ .level = -1, .max_level = INT32_MAX };
    out->spot = bt__json_spot(json, 0);
    if (json_is_string(json->value)) {
        out->name = json_string_value(json->value);
        return NULL;
    }
    BT_TRY(find_kind(ctx, json, &kind));
    bt__json name = bt__json_member(json, kinds[kind].key);
    out->kind = kinds[kind].kind;
    if (json_is_string(name.value)) {
        out->name = json_string_value(name.value);
        out->spot = bt__json_spot(&name, 0);
    }
    return read_members(ctx, arena, json, out);
}

/* ---- the whole ---- */

static int flag(const bt__json *object, const char *key)
{
    return json_is_true(json_object_get(object->value, key));
}

static bt_status read_instruments(bt_arena *arena, const bt__json *root,
                                  bt__instruments *out)
{
    bt__json json = bt__json_member(root, "instruments");
    bt__json before = bt__json_member(&json, "dump-before");
    bt__json after = bt__json_member(&json, "dump-after");
    out->verify = (uint32_t)flag(&json, "verify");
    out->timing = (uint32_t)flag(&json, "timing");
    out->print_changed = (uint32_t)flag(&json, "print-changed");
    BT_TRY(read_names(arena, &before, &out->dump_before));
    return read_names(arena, &after, &out->dump_after);
}

static bt_status read_pipeline(bt_ctx *ctx, bt_pipeline *p)
{
    bt__json root = bt__json_root(&p->doc, p->json);
    BT_TRY(bt__json_check(ctx, &root, &pipeline_shape, 1));
    bt__json level = bt__json_member(&root, "level");
    bt__json variables = bt__json_member(&root, "vars");
    bt__json sequence = bt__json_member(&root, "sequence");
    bt__json require = bt__json_member(&root, "require");
    bt__json disable = bt__json_member(&root, "disable");
    p->name = bt__json_text(p->json, "name");
    p->about = bt__json_text(p->json, "doc");
    if (level.value)
        p->level = (int32_t)json_integer_value(level.value);
    if (variables.value)
        BT_TRY(read_settings(ctx, p->arena, &variables, &p->variables));
    BT_TRY(read_steps(ctx, p->arena, &sequence, &p->steps));
    BT_TRY(read_names(p->arena, &require, &p->require));
    BT_TRY(read_names(p->arena, &disable, &p->disable));
    return read_instruments(p->arena, &root, &p->instruments);
}

/* NULL: no memory */
static bt_pipeline *pipeline_create(bt_ctx *ctx, const char *file, const char *text,
                                    size_t nbytes)
{
    bt_arena *arena = bt_arena_create(ctx->registry);
    bt_pipeline *p = arena ? BT_NEW(arena, bt_pipeline) : NULL;
    if (p) {
        p->arena = arena;
        p->level = BT__LEVEL_DEFAULT;
        p->doc.file = bt_arena_text(arena, file, strlen(file));
        p->doc.text = bt_arena_text(arena, text, nbytes);
        p->doc.nbytes = nbytes;
        p->doc.code = BT_ERR_PIPELINE;
        p->doc.index = BT_NEW(arena, bt_map);
    }
    if (!p || !p->doc.file || !p->doc.text || !p->doc.index) {
        bt_arena_destroy(arena);
        return NULL;
    }
    bt_map_init(p->doc.index, arena, 0);
    p->registry = bt_registry_ref(ctx->registry);
    return p;
}

void bt_pipeline_destroy(bt_pipeline *p)
{
    if (!p)
        return;
    bt_registry *registry = p->registry;
    json_decref(p->json);
    bt_arena_destroy(p->arena);
    bt_registry_unref(registry);
}

bt_status bt_pipeline_parse(bt_ctx *ctx, const char *file, const char *json,
                            size_t nbytes, bt_pipeline **out)
{
    bt_pipeline *p = pipeline_create(ctx, file, json, nbytes);
    if (!p)
        return bt_no_memory();
    bt_status status = bt__json_parse(ctx, &p->doc, &p->json);
    if (!status)
        status = read_pipeline(ctx, p);
    if (status) {
        bt_pipeline_destroy(p);
        return status;
    }
    *out = p;
    return NULL;
}

/* ---- by source ---- */

static bt_status read_file(bt_ctx *ctx, const char *path, bt_pipeline **out)
{
    const char *text;
    size_t nbytes;
    const void *mark = bt_arena_mark(ctx->scratch);
    bt_status status =
        bt__read_bounded(ctx, ctx->scratch, path, BT__JSON_MAX_NBYTES, &text, &nbytes);
    if (!status)
        status = bt_pipeline_parse(ctx, path, text, nbytes, out);
    bt_arena_release(ctx->scratch, mark);
    return status;
}

static bt_status read_item(bt_ctx *ctx, const bt__item *item, bt_pipeline **out)
{
    const char *path, *text;
    size_t nbytes;
    const void *mark = bt_arena_mark(ctx->scratch);
    bt_status status = bt__item_text(ctx, ctx->scratch, item, BT__JSON_MAX_NBYTES, &path,
                                     &text, &nbytes);
    if (!status)
        status = bt_pipeline_parse(ctx, path, text, nbytes, out);
    bt_arena_release(ctx->scratch, mark);
    BT_TRY(status);
    if (strcmp((*out)->name, item->name) == 0)
        return NULL;
    const bt_place place = { .file = item->plugin->source.file };
    status = bt_fail_place(ctx, BT_ERR_PIPELINE, &place,
                           "pipeline \"%s\" is named \"%s\" in its own file %s",
                           item->name, (*out)->name, (*out)->doc.file);
    bt_pipeline_destroy(*out);
    *out = NULL;
    return status;
}

bt_status bt__pipeline_find(bt_ctx *ctx, const char *name, bt_pipeline **out)
{
    bt__item *item = NULL;
    BT_TRY(bt__plugins_item(ctx, "pipeline", name, &item));
    return read_item(ctx, item, out);
}

static int is_file(const char *source)
{
    size_t n = strlen(source);
    return n > 5 && strcmp(source + n - 5, ".json") == 0;
}

/* A lone word that is no pass either, but near the name of a pipeline. */
static bt_status check_word(bt_ctx *ctx, const char *word)
{
    int is_pass;
    bt__item *item;
    BT_TRY(bt__plugins_has(ctx, "baton.pass/1", word, &is_pass));
    if (is_pass)
        return NULL;
    bt_status status = bt__plugins_item(ctx, "pipeline", word, &item);
    return status && strstr(status->message, "did you mean") ? status : NULL;
}

bt_status bt_pipeline_read(bt_ctx *ctx, const char *source, bt_pipeline **out)
{
    int is_provided = 0;
    if (is_file(source))
        return read_file(ctx, source, out);
    if (bt__is_name(source))
        BT_TRY(bt__plugins_has(ctx, "pipeline", source, &is_provided));
    if (is_provided)
        return bt__pipeline_find(ctx, source, out);
    if (bt__is_name(source))
        BT_TRY(check_word(ctx, source));
    bt_pipeline *p = pipeline_create(ctx, "<passes>", source, strlen(source));
    if (!p)
        return bt_no_memory();
    bt_status status = bt__pipeline_line(ctx, p);
    if (status) {
        bt_pipeline_destroy(p);
        return status;
    }
    *out = p;
    return NULL;
}
