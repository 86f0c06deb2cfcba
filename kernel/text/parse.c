/*
 * Modules: headers, definitions, and the lone expression of Relay.
 *
 * A text is read three times: a scan finds where data types are defined and where data
 * begins, then data types are declared and defined, then all else is read in order.
 * Nodes are built only when there was no error.
 */
#include "text/draft.h"

#include <string.h>

/* ---- scan ---- */

/* `#[data]`: "name" = "base64" "base64" ...; up to the end of the text. */
static int parse_data(bt__parser *p)
{
    bt__advance(p);
    bt__advance(p);
    if (!bt__expect(p, BT_TOKEN_RBRACKET))
        return 0;
    while (!bt__at(p, BT_TOKEN_END)) {
        bt__token token = p->token;
        bt__token *first = BT_NEW(p->arena, bt__token);
        if (!bt__at(p, BT_TOKEN_STRING))
            return bt__error_expected(p, "the name of an array, in quotes");
        if (!first)
            return bt__error_memory(p);
        const char *name = bt__token_name(p, &token);
        if (!name)
            return 0;
        if (bt_map_find(&p->module->data, name))
            return bt__error_token(p, BT_ERR_NAME, &token, "%s is there twice",
                                   bt__token_show(p, &token));
        bt__advance(p);
        if (!bt__expect(p, BT_TOKEN_EQUAL))
            return 0;
        *first = p->token;
        while (bt__accept(p, BT_TOKEN_STRING))
            ;
        if (!bt_map_put(&p->module->data, name, first))
            return bt__error_memory(p);
        if (!bt__expect(p, BT_TOKEN_SEMICOLON))
            return 0;
    }
    return 1;
}

/* Notes data types and sections; what is wrong is found when it is read. */
static int scan(bt__parser *p)
{
    bt__module_draft *module = p->module;
    p->is_scanning = 1;
    while (!bt__at(p, BT_TOKEN_END) && !bt__at_section(p, "data") &&
           !bt__at_section(p, "metadata")) {
        int is_type = bt__at_definition(p) && !bt__at(p, BT_TOKEN_HEADER) &&
                      (bt__at_word(p, "type") || bt__token_is_word(p, &p->next, "type"));
        struct bt__draft_adt adt = { .in = p->in, .offset = p->token.offset };
        if (is_type && !BT_PUSH(p->arena, &module->adt_list, adt))
            return bt__error_memory(p);
        if (!(p->in ? bt__note_imported(p) : bt__note_def(p)))
            return 0;
        if (is_type) // `extern type` is one
            bt__advance(p);
        bt__advance(p);
    }
    p->is_scanning = 0;
    if (p->in && !bt__at(p, BT_TOKEN_END))
        return bt__error_token(p, BT_ERR_UNSUPPORTED, &p->token,
                               "a text that is imported has no data of its own: write "
                               "its constants where they are used");
    if (bt__at_section(p, "metadata"))
        module->metadata = p->after.offset + p->after.nbytes;
    return bt__at_section(p, "data") ? parse_data(p) : 1;
}

/* ---- definitions ---- */

static int at_end(const bt__parser *p)
{
    return bt__at(p, BT_TOKEN_END) || bt__at_section(p, "data") ||
           bt__at_section(p, "metadata");
}

/* After an error: on to the next definition, which is not this one again. */
static void skip_definition(bt__parser *p, uint32_t start)
{
    if (p->token.offset == start)
        bt__advance(p);
    while (!at_end(p) && (!bt__at_definition(p) || bt__at(p, BT_TOKEN_HEADER)))
        bt__advance(p);
}

static int fail_definition(bt__parser *p)
{
    static const char *const of_globals[] = { "def", "const", "extern", "gradient",
                                              "jvp" };
    if (bt__at_word(p, "import"))
        return bt__error_token(p, BT_ERR_SYNTAX, &p->token,
                               "imports stand before the first definition");
    for (uint32_t i = 0; i < BT_COUNT(of_globals); i++) {
        if (bt__at_word(p, of_globals[i]) && p->next.kind == BT_TOKEN_WORD)
            return bt__error_token(
                p, BT_ERR_SYNTAX, &p->next, "names of globals begin with @: %s @%.*s",
                of_globals[i], (int)(p->next.nbytes < 40 ? p->next.nbytes : 40),
                p->text + p->next.offset);
    }
    return bt__error_expected(p,
                              "a definition: def, type, extern, const, gradient or jvp");
}

static void parse_definitions(bt__parser *p)
{
    while (!at_end(p) && !p->stop) {
        uint32_t start = p->token.offset;
        int ok = bt__at_definition(p) && !bt__at(p, BT_TOKEN_HEADER)
                     ? bt__parse_definition(p)
                     : fail_definition(p);
        if (!ok)
            skip_definition(p, start);
    }
}

/* ---- a lone expression ---- */

/* What stands for the whole text: the function itself, or one around the expression. */
static bt__draft_func *lone_function(bt__draft_func *around)
{
    const bt__draft *result = around->block->result;
    int is_function = result->kind == BT_VALUE_CLOSURE && !around->block->params.len &&
                      around->block->first == result && !result->next;
    if (!is_function)
        return around;
    result->u.func->block->parent = NULL;
    return result->u.func;
}

static void parse_lone(bt__parser *p)
{
    struct bt__draft_global *global = BT_NEW(p->arena, struct bt__draft_global);
    bt__draft_func *func = BT_NEW(p->arena, bt__draft_func);
    uint32_t start = p->token.offset;
    if (!global || !func || !(func->block = bt__draft_block_new(p, NULL)) ||
        !(global->global.name = bt_name_of(p->store, "main"))) {
        bt__error_memory(p);
        return;
    }
    p->module->lone = func->block;
    p->any = bt__annotation_any(p);
    if (!bt__parse_body(p, func->block))
        return;
    if (!at_end(p)) {
        bt__error_expected(p, "the end of the expression");
        return;
    }
    if (p->first || !bt__place_groups(p, func->block))
        return;
    global->func = lone_function(func);
    global->func->name = global->global.name;
    global->func->place = (bt__draft_place){ .offset = start, .nbytes = p->end - start };
    global->place = global->func->place;
    if (!bt_map_put(&p->module->globals, global->global.name, global))
        bt__error_memory(p);
}

/* ---- the whole text ---- */

static void parse_module(bt__parser *p)
{
    if (!bt__parse_heads(p))
        return;
    bt__module_draft *module = p->module;
    uint32_t start = p->token.offset;
    int is_lone =
        p->dialect == BT__RELAY && !bt__at_definition(p) && !bt__at(p, BT_TOKEN_END);
    // What the text says of types holds for the dims as they are there; and what is
    // imported may say nothing of them.
    if (module->given || module->texts.len > 1)
        module->is_typed = 0;
    for (uint32_t i = 0; i < module->texts.len; i++) {
        bt__set_text(p, i);
        bt__seek(p, module->texts.at[i].start);
        if (!scan(p))
            return;
    }
    if (!bt__parse_adts(p))
        return;
    bt__scoped_clear(p);
    bt__set_text(p, 0);
    bt__seek(p, start);
    if (is_lone)
        parse_lone(p);
    else
        parse_definitions(p);
    bt__parse_imported(p);
    bt__scoped_clear(p);
    if (bt__report_unknown_ops(p) && !p->stop)
        bt__report_unknown_globals(p);
}

static void init_module(bt__module_draft *module, bt_arena *arena)
{
    *module = (bt__module_draft){ 0 };
    bt_map *by_name[] = { &module->adts,    &module->ctors,  &module->globals,
                          &module->ops,     &module->uses,   &module->data,
                          &module->unknown, &module->tensors };
    for (uint32_t i = 0; i < BT_COUNT(by_name); i++)
        bt_map_init(by_name[i], arena, 0);
    bt_map_init(&module->func_attrs, arena, 0);
    bt_map_init(&module->unread, arena, 0);
    bt_map_init(&module->imported, arena, 0);
}

static void deinit_module(bt_ctx *ctx, bt__module_draft *module)
{
    for (uint32_t i = 0; i < module->objects.len; i++)
        bt_object_unref(module->objects.at[i]);
    if (module->npz)
        bt_npz_destroy(ctx, module->npz);
    bt__metadata_destroy(module->meta);
    bt_module_builder_destroy(module->builder);
}

/* A text, and what its reader was given besides. */
struct given_text {
    const char *file, *folder, *text;
    size_t nbytes;
    const bt__given_dims *dims;
    const char *const *wanted;
    const bt_npz *weights;
};

static bt_status parse_into(bt_ctx *ctx, bt_store *store, bt_arena *arena,
                            const struct given_text *t, bt_module **out)
{
    bt__parser p;
    bt__module_draft module;
    init_module(&module, arena);
    module.given = t->dims;
    module.wanted = t->wanted;
    module.given_weights = t->weights;
    BT_TRY(bt_module_builder_create(ctx, store, NULL, &module.builder));
    bt__parser_init(&p, ctx, store, arena, t->file, "", 0); // no text is open yet
    p.module = &module;
    p.fault_arena = bt_arena_create(bt_ctx_registry(ctx));
    const struct bt__text text = { .file = t->file,
                                   .folder = t->folder,
                                   .text = t->text,
                                   .nbytes = (uint32_t)t->nbytes };
    bt_status added = p.fault_arena ? bt__add_text(&p, &text) : bt_no_memory();
    if (added)
        bt__error_status(&p, added);
    else
        parse_module(&p);
    bt__report_faults(&p);
    bt_arena_destroy(p.fault_arena);
    bt_status status = p.first ? p.first : bt__check_given(&p);
    if (!status)
        status = bt__emit_module(&p, out);
    deinit_module(ctx, &module);
    return status;
}

static bt_status parse_text(bt_ctx *ctx, const struct given_text *t, bt_module **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    if (t->nbytes >= UINT32_MAX || t->nbytes > bt_ctx_limits(ctx)->bytes)
        return bt_fail(ctx, BT_ERR_LIMIT, "%s: %zu bytes of text are too many",
                       t->file ? t->file : "text", t->nbytes);
    bt_store *store = bt_store_create(registry);
    bt_arena *arena = bt_arena_create(registry);
    bt_status status =
        store && arena ? parse_into(ctx, store, arena, t, out) : bt_no_memory();
    bt_arena_destroy(arena);
    bt_store_unref(store);
    return status;
}

static bt_status parse_and_report(bt_ctx *ctx, const struct given_text *t,
                                  bt_module **out)
{
    uint32_t nreport = bt_ctx_nreport(ctx);
    bt_status status = parse_text(ctx, t, out);
    // Errors of the text are reported where they are found; this one was of another kind.
    if (status && bt_ctx_nreport(ctx) == nreport)
        bt_report(ctx, status);
    return status;
}

bt_status bt__parse_given(bt_ctx *ctx, const char *file, const char *folder,
                          const char *text, size_t nbytes, const bt__given_dims *given,
                          bt_module **out)
{
    const struct given_text t = { .file = file,
                                  .folder = folder,
                                  .text = text,
                                  .nbytes = nbytes,
                                  .dims = given && given->n ? given : NULL,
                                  .wanted = given ? given->wanted : NULL };
    return parse_and_report(ctx, &t, out);
}

bt_status bt__parse_weights(bt_ctx *ctx, const char *file, const char *text,
                            size_t nbytes, const bt_npz *weights, bt_module **out)
{
    const struct given_text t = {
        .file = file, .text = text, .nbytes = nbytes, .weights = weights
    };
    return parse_and_report(ctx, &t, out);
}

bt_status bt_parse(bt_ctx *ctx, const char *file, const char *folder, const char *text,
                   size_t nbytes, bt_module **out)
{
    return bt__parse_given(ctx, file, folder, text, nbytes, NULL, out);
}

bt_status bt_parse_type(bt_ctx *ctx, bt_store *store, const char *text,
                        const bt_type **out)
{
    size_t nbytes = strlen(text);
    if (nbytes >= UINT32_MAX)
        return bt_fail(ctx, BT_ERR_LIMIT, "a type of more than 4 GiB");
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    if (!arena)
        return bt_no_memory();
    bt__parser p;
    bt__parser_init(&p, ctx, store, arena, "type", text, (uint32_t)nbytes);
    p.is_quiet = 1;
    const bt_type *type = bt__parse_term(&p, BT_KIND_TYPE);
    if (type && !bt__at(&p, BT_TOKEN_END))
        bt__error_expected(&p, "the end of the type");
    bt_status status = p.first;
    bt_arena_destroy(arena);
    if (!status)
        *out = type;
    return status;
}
