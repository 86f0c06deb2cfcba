#include "choice.h"

#include <string.h>

#include <baton/op.h>
#include <baton/plugin.h>

/* ---- by name ---- */

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
                       strchr("aeiou", c->kind[0]) ? "an" : "a", c->kind);
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%s.%s", c->kind, name);
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

/* ---- what it takes ---- */

static int is_number(const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    return shape && !shape->n && !shape->rest && bt_tensor_dtype(type) == BT_FLOAT32;
}

/* Numbers that are given by whoever calls, by name, are no options. */
static int is_given(const char *kind, const char *name)
{
    return strcmp(name, "step") == 0 ||
           (strcmp(kind, "schedule") == 0 && strcmp(name, "steps") == 0);
}

/* What one of a kind is. */
static const char *signature_of(const char *kind)
{
    static const struct {
        const char *kind, *signature;
    } rows[] = {
        { "loss", "(%z: what the model gives, %y: what it should have given, options: "
                  "float32, ..) -> float32" },
        { "optimizer",
          "<s: Shape>(%w: Tensor[s, float32], %g: Tensor[s, float32], state: "
          "Tensor[s, float32], .., %step: float32, options: float32, ..) -> "
          "Tensor[s, float32], or, with state, the tuple of what %w and each "
          "state become" },
        { "schedule",
          "(%step: float32, %steps: float32, options: float32, ..) -> float32" },
        { "initializer",
          "<s: Shape>(%key: Tensor[(2), uint32], %like: Tensor[s, float32], "
          "options: float32, ..) -> Tensor[s, float32]" },
    };
    for (uint32_t i = 0; i < BT_COUNT(rows); i++) {
        if (strcmp(rows[i].kind, kind) == 0)
            return rows[i].signature;
    }
    return "";
}

int choice_is_kind(const char *kind)
{
    return *signature_of(kind) != 0;
}

static bt_status refuse(bt_ctx *ctx, const bt_store *store, const struct choice *c,
                        const char *what)
{
    return bt_fail_at(ctx, BT_ERR_TYPE, store, c->global->span,
                      "@%s is no %s: it %s, and such a function is @%s.NAME%s",
                      c->global->name, c->kind, what, c->kind, signature_of(c->kind));
}

/* What a function of a kind takes besides options. */
struct takes {
    uint32_t least, most; /* tensors */
    uint32_t ngiven;      /* numbers that whoever calls gives */
    const char *given;
};

static struct takes takes_of(const char *kind)
{
    if (strcmp(kind, "schedule") == 0)
        return (struct takes){ 0, 0, 2, "%step: float32 and %steps: float32" };
    if (strcmp(kind, "optimizer") == 0)
        return (struct takes){ 2, MAX_OPTIONS, 1, "%step: float32" };
    return (struct takes){ 2, 2, 0, "" };
}

/* Adds a parameter to those of its sort. NULL, or why it is none that can stand there. */
static const char *take_param(struct choice *c, const struct takes *takes,
                              const bt_value *param, uint32_t *ntensor, uint32_t *ngiven)
{
    const char *name = param->name ? param->name : "";
    if (!is_number(param->type)) {
        if (*ngiven || c->noption)
            return "tensors stand before numbers";
        if (*ntensor == takes->most)
            return takes->most ? "there are more tensors than it is given"
                               : "it is given numbers alone";
        c->state_names[(*ntensor)++] = name;
        return NULL;
    }
    if (*ntensor < takes->least)
        return "two tensors stand before numbers";
    if (is_given(c->kind, name) && *ngiven < takes->ngiven) {
        ++*ngiven;
        return NULL;
    }
    if (*ngiven < takes->ngiven)
        return "options stand behind what is given";
    if (c->noption == MAX_OPTIONS)
        return "there are too many options";
    c->option_names[c->noption++] = name;
    return NULL;
}

/* Tensors first, then numbers: the given ones, then the options. */
static bt_status look_at_params(bt_ctx *ctx, bt_arena *arena, struct choice *c)
{
    const bt_block *block = c->global->func->block;
    const struct takes takes = takes_of(c->kind);
    uint32_t ntensor = 0, ngiven = 0;
    bt_text what;
    bt_text_init(&what, arena);
    for (uint32_t i = 0; i < block->nparam && !what.len; i++) {
        const bt_value *param = &block->params[i]->base;
        const char *why = take_param(c, &takes, param, &ntensor, &ngiven);
        if (!why)
            continue;
        bt_text_addf(&what, "takes %%%s: ", param->name ? param->name : "");
        bt_print_type(ctx, param->type, &what);
        bt_text_addf(&what, ", and %s", why);
    }
    if (!what.len && ntensor < takes.least)
        bt_text_addf(&what, "takes %u of 2 tensors", ntensor);
    else if (!what.len && ngiven < takes.ngiven)
        bt_text_addf(&what, "does not take %s", takes.given);
    if (what.len || what.failed)
        return bt_text_get(&what) ? refuse(ctx, c->of->store, c, what.at)
                                  : bt_no_memory();
    c->nstate = ntensor - takes.least;
    memmove(c->state_names, c->state_names + takes.least, c->nstate * sizeof(char *));
    return NULL;
}

/* Of float32, or of a dtype that is a parameter of the function. */
static int may_be_number(const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    const uint32_t dtype = bt_tensor_dtype(type);
    return shape && !shape->n && !shape->rest && (!dtype || dtype == BT_FLOAT32);
}

/* Whether it is `like`, or with state a tuple of that and each state. A wrong one would often
 * compile, as it is spread over what it should have been. */
static int is_update(const struct choice *c, const bt_type *type, const bt_type *like)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!c->nstate)
        return type == like;
    int is_right = tuple && tuple->n == 1 + c->nstate;
    for (uint32_t i = 0; is_right && i < tuple->n; i++)
        is_right = tuple->at[i] == like;
    return is_right;
}

static bt_status look_at_result(bt_ctx *ctx, bt_arena *arena, const struct choice *c)
{
    const bt_func *func = c->global->func;
    const bt_param *const *params = func->block->params;
    const int is_optimizer = strcmp(c->kind, "optimizer") == 0,
              is_initializer = strcmp(c->kind, "initializer") == 0;
    int is_right = is_optimizer     ? is_update(c, func->result, params[0]->base.type)
                   : is_initializer ? func->result == params[1]->base.type
                                    : may_be_number(func->result);
    for (uint32_t i = 1; is_optimizer && is_right && i < 2 + c->nstate; i++)
        is_right = params[i]->base.type == params[0]->base.type;
    if (is_right)
        return NULL;
    bt_text type;
    bt_text_init(&type, arena);
    bt_text_addf(&type, "gives ");
    bt_print_type(ctx, func->result, &type);
    return bt_text_get(&type) ? refuse(ctx, c->of->store, c, type.at) : bt_no_memory();
}

bt_status choice_find(bt_ctx *ctx, bt_arena *arena, const bt_module *model,
                      const char *kind, const char *name, struct choice *out)
{
    *out = (struct choice){ .kind = kind };
    BT_TRY(find_function(ctx, arena, model, name, out));
    BT_TRY(look_at_params(ctx, arena, out));
    return look_at_result(ctx, arena, out);
}

bt_status choice_make(bt_ctx *ctx, bt_arena *arena, const bt_module *model,
                      const char *kind, const char *text, struct choice *out)
{
    const char *name, *options;
    *out = (struct choice){ .kind = kind };
    BT_TRY(bt_named_split(ctx, arena, kind, text, &name, &options));
    BT_TRY(choice_find(ctx, arena, model, kind, name, out));
    return choice_read_options(ctx, arena, options, out);
}
