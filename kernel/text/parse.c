/*
 * Modules: headers, definitions, and the lone expression of Relay.
 *
 * The text is read three times: a scan finds where data types are defined and where data
 * begins, then data types are declared and defined, then all else is read in order.
 * Nodes are built only when there was no error.
 */
#include "text/draft.h"

#include <string.h>

#define VERSION       "baton 0.1"
#define RELAY_VERSION "0.0.5"

/* ---- headers ---- */

static int version_error(bt__parser *p)
{
    return bt__error_token(p, BT_ERR_UNSUPPORTED, &p->token,
                           "this Baton reads text of version \"%s\" and Relay's of "
                           "\"%s\", found %s",
                           VERSION, RELAY_VERSION, bt__token_show(p, &p->token));
}

static int parse_version(bt__parser *p)
{
    bt__advance(p);
    if (!bt__expect_word(p, "version") || !bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    if (!bt__at(p, BT_TOKEN_STRING))
        return bt__error_expected(p, "a version, such as \"" VERSION "\"");
    const char *version = bt__token_name(p, &p->token);
    if (!version)
        return 0;
    if (strcmp(version, RELAY_VERSION) == 0)
        p->dialect = BT__RELAY;
    else if (strcmp(version, VERSION) != 0)
        return version_error(p);
    bt__advance(p);
    return bt__expect(p, BT_TOKEN_RBRACKET);
}

/* source 0 = "net.py": numbers count up from 0. */
static int parse_source(bt__parser *p)
{
    bt__module_draft *module = p->module;
    bt__token token = p->token;
    uint32_t number, source;
    if (!bt__parse_uint32(p, &number) || !bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    if (number != module->sources.len)
        return bt__error_token(p, BT_ERR_SYNTAX, &token, "expected source %u",
                               (unsigned)module->sources.len);
    const char *file = bt__at(p, BT_TOKEN_STRING) ? bt__token_name(p, &p->token) : NULL;
    if (!bt__expect(p, BT_TOKEN_STRING) || !file)
        return 0;
    bt_status status = bt_store_add_source(p->ctx, p->store, file, NULL, 0, &source);
    if (status)
        return bt__error_status(p, status);
    return BT_PUSH(p->arena, &module->sources, source) || bt__error_memory(p);
}

/* origin 0 = span: a binding of some source. */
static int parse_origin(bt__parser *p)
{
    bt__module_draft *module = p->module;
    bt__token token = p->token;
    uint32_t number;
    bt_span span = 0;
    if (!bt__parse_uint32(p, &number))
        return 0;
    if (number != module->origins.len)
        return bt__error_token(p, BT_ERR_SYNTAX, &token, "expected origin %u",
                               (unsigned)module->origins.len);
    if (bt__accept(p, BT_TOKEN_EQUAL) && !bt__parse_span(p, &span))
        return 0;
    bt_prov prov = bt_prov_new(p->store, span);
    if (!prov)
        return bt__error_memory(p);
    return BT_PUSH(p->arena, &module->origins, prov) || bt__error_memory(p);
}

static int parse_weights(bt__parser *p)
{
    bt__token token;
    if (!bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    token = p->token;
    if (!bt__at(p, BT_TOKEN_STRING))
        return bt__error_expected(p, "a file name, such as \"net.npz\"");
    const char *name = bt__token_name(p, &token);
    if (!name)
        return 0;
    if (!*name || strchr(name, '/'))
        return bt__error_token(p, BT_ERR_SYNTAX, &token,
                               "weights stand beside the text: expected a file name "
                               "without folders, found %s",
                               bt__token_show(p, &token));
    p->module->weights = name;
    bt__advance(p);
    return 1;
}

static int parse_module_attrs(bt__parser *p)
{
    if (!bt__expect(p, BT_TOKEN_LPAREN))
        return 0;
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        if (!bt__at_attr(p))
            return bt__error_expected(p, "name=value");
        if (!bt__parse_dict_entry(p, &p->module->attrs))
            return 0;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    return bt__expect(p, BT_TOKEN_RPAREN);
}

static int at_section(const bt__parser *p, const char *name)
{
    return bt__at(p, BT_TOKEN_HEADER) && bt__token_is_word(p, &p->next, name);
}

static int parse_header(bt__parser *p)
{
    int ok = 1;
    bt__advance(p);
    if (bt__accept_word(p, "typed"))
        p->module->is_typed = 1;
    else if (bt__accept_word(p, "spans"))
        p->module->has_spans = 1;
    else if (bt__accept_word(p, "weights"))
        ok = parse_weights(p);
    else if (bt__accept_word(p, "attrs"))
        ok = parse_module_attrs(p);
    else if (bt__accept_word(p, "source"))
        ok = parse_source(p);
    else if (bt__accept_word(p, "origin"))
        ok = parse_origin(p);
    else
        ok =
            bt__error_expected(p, "typed, spans, weights, attrs, source, origin or data");
    return ok && bt__expect(p, BT_TOKEN_RBRACKET);
}

static int parse_headers(bt__parser *p)
{
    if (!bt__at(p, BT_TOKEN_HEADER)) {
        p->dialect = BT__RELAY;
        if (!bt__at_definition(p) && !bt__at(p, BT_TOKEN_END))
            return 1;
        return bt__error_token(
            p, BT_ERR_SYNTAX, &p->token,
            "expected #[version = \"%s\"] (or, for Relay's text, \"%s\") "
            "before the first definition",
            VERSION, RELAY_VERSION);
    }
    if (!parse_version(p))
        return 0;
    while (bt__at(p, BT_TOKEN_HEADER) && !at_section(p, "data") &&
           !at_section(p, "metadata")) {
        if (!parse_header(p))
            return 0;
    }
    return 1;
}

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
        const char *name = bt__at(p, BT_TOKEN_STRING) ? bt__token_name(p, &token) : NULL;
        bt__token *first = BT_NEW(p->arena, bt__token);
        if (!name || !first)
            return bt__error_expected(p, "the name of an array, in quotes");
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
    while (!bt__at(p, BT_TOKEN_END) && !at_section(p, "data") &&
           !at_section(p, "metadata")) {
        int is_type = bt__at_definition(p) && !bt__at(p, BT_TOKEN_HEADER) &&
                      (bt__at_word(p, "type") || bt__token_is_word(p, &p->next, "type"));
        struct bt__draft_adt adt = { .offset = p->token.offset };
        if (is_type && !BT_PUSH(p->arena, &module->adt_list, adt))
            return bt__error_memory(p);
        if (is_type) // `extern type` is one
            bt__advance(p);
        bt__advance(p);
    }
    p->is_scanning = 0;
    if (at_section(p, "metadata"))
        module->metadata = p->after.offset + p->after.nbytes;
    return at_section(p, "data") ? parse_data(p) : 1;
}

/* ---- data types ---- */

static bt_span span_of(bt__parser *p, uint32_t start)
{
    return bt_span_text(p->store, p->module->source, start,
                        p->end > start ? p->end - start : 1);
}

/* [extern] type Name [params] */
static int parse_adt_head(bt__parser *p, struct bt__draft_adt *adt, const char **name,
                          int *is_extern)
{
    *is_extern = bt__accept_word(p, "extern");
    bt__advance(p);
    *name = bt__token_name(p, &p->token);
    if (!*name)
        return 0;
    bt__advance(p);
    p->any = BT__ANY_NOT;
    return bt__parse_type_params(p, &adt->vars);
}

static int declare_adt(bt__parser *p, struct bt__draft_adt *adt)
{
    const char *name;
    int is_extern;
    bt__draft_place place = { 0 };
    bt__scoped_clear(p);
    bt__seek(p, adt->offset);
    if (!parse_adt_head(p, adt, &name, &is_extern))
        return 0;
    const bt_adt_def *other = bt__module_adt(p, name);
    bt_span span = span_of(p, adt->offset);
    if (other) {
        bt_status status =
            bt__status_at(p, BT_ERR_NAME, adt->offset, p->end - adt->offset,
                          "data type %s is defined twice", name);
        return bt__error_status(p, bt_note(p->ctx, status, p->store, other->span,
                                           "the other definition is here"));
    }
    if (!bt__parse_place(p, &place))
        return 0;
    if (place.is_given)
        span = place.span;
    bt_status status = bt_module_builder_declare_adt(
        p->module->builder, name, span, adt->vars.len, adt->vars.at, &adt->def);
    if (status)
        return bt__error_status(p, status);
    adt->def->is_extern = (uint32_t)is_extern;
    return bt_map_put(&p->module->adts, adt->def->name, adt->def) || bt__error_memory(p);
}

static int parse_ctor(bt__parser *p, bt_ctor *out)
{
    bt__types fields = { 0 };
    bt__token token = p->token;
    if (!bt__at(p, BT_TOKEN_WORD) && !bt__at(p, BT_TOKEN_STRING))
        return bt__error_expected(p, "a constructor");
    *out = (bt_ctor){ .name = bt__token_name(p, &token) };
    if (!out->name)
        return 0;
    bt__advance(p);
    const bt_ctor *other = bt__module_ctor(p, out->name);
    if (other)
        return bt__error_token(p, BT_ERR_NAME, &token,
                               "constructor %s is taken: %s has one of that name",
                               out->name, other->adt ? other->adt->name : "this type");
    int has_fields = bt__accept(p, BT_TOKEN_LPAREN);
    while (has_fields && !bt__at(p, BT_TOKEN_RPAREN)) {
        const bt_type *type = bt__parse_term(p, BT_KIND_TYPE);
        if (!type || (!BT_PUSH(p->arena, &fields, type) && !bt__error_memory(p)))
            return 0;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    out->nfield = fields.len;
    out->fields = fields.at;
    return !has_fields || bt__expect(p, BT_TOKEN_RPAREN);
}

static int parse_ctors(bt__parser *p, struct bt__draft_adt *adt)
{
    bt_vec(bt_ctor) ctors = { 0 };
    bt_ctor ctor;
    bt_map seen;
    bt_map_init(&seen, p->arena, 0);
    while (!bt__at(p, BT_TOKEN_RBRACE)) {
        bt__token token = p->token;
        if (!parse_ctor(p, &ctor))
            return 0;
        if (bt_map_find(&seen, ctor.name))
            return bt__error_token(p, BT_ERR_NAME, &token,
                                   "constructor %s is there twice", ctor.name);
        if (!BT_PUSH(p->arena, &ctors, ctor) ||
            !bt_map_put(&seen, ctor.name, (void *)(uintptr_t)ctor.name))
            return bt__error_memory(p);
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    if (!bt__expect(p, BT_TOKEN_RBRACE))
        return 0;
    bt_status status =
        bt_module_builder_define_adt(p->module->builder, adt->def, ctors.len, ctors.at);
    if (status)
        return bt__error_status(p, status);
    for (uint32_t i = 0; i < adt->def->nctor; i++) {
        const bt_ctor *row = &adt->def->ctors[i];
        if (!bt_map_put(&p->module->ctors, row->name, (void *)(uintptr_t)row))
            return bt__error_memory(p);
    }
    return 1;
}

static int define_adt(bt__parser *p, struct bt__draft_adt *adt)
{
    const char *name;
    int is_extern;
    bt__draft_place place;
    bt__types again = { 0 };
    struct bt__draft_adt head = { .vars = again };
    bt__scoped_clear(p);
    bt__seek(p, adt->offset);
    if (!parse_adt_head(p, &head, &name, &is_extern) || !bt__parse_place(p, &place))
        return 0;
    // The variables that fields mention are those that were declared.
    for (uint32_t i = 0; i < adt->vars.len; i++) {
        const bt_type *var = adt->vars.at[i];
        const bt_var_type *named = (const bt_var_type *)(const void *)var;
        if (named->name &&
            !bt__scoped_set(p, BT__TYPES, named->name, (void *)(uintptr_t)var))
            return 0;
    }
    if (!is_extern || bt__at(p, BT_TOKEN_LBRACE)) {
        if (!bt__expect(p, BT_TOKEN_LBRACE) || !parse_ctors(p, adt))
            return 0;
    }
    bt__accept(p, BT_TOKEN_SEMICOLON);
    adt->end = p->end;
    return 1;
}

static int parse_adts(bt__parser *p)
{
    bt__module_draft *module = p->module;
    for (uint32_t i = 0; i < module->adt_list.len && !p->stop; i++)
        declare_adt(p, &module->adt_list.at[i]);
    for (uint32_t i = 0; i < module->adt_list.len && !p->stop; i++) {
        if (module->adt_list.at[i].def)
            define_adt(p, &module->adt_list.at[i]);
    }
    return !p->stop;
}

/* Passes over a data type, which was read before. 0: it had an error; recovery goes on
 * behind its first word. */
static int skip_adt(bt__parser *p)
{
    const bt__module_draft *module = p->module;
    for (uint32_t i = 0; i < module->adt_list.len; i++) {
        const struct bt__draft_adt *adt = &module->adt_list.at[i];
        if (adt->offset != p->token.offset || !adt->end)
            continue;
        while (p->token.offset < adt->end && !bt__at(p, BT_TOKEN_END))
            bt__advance(p);
        return 1;
    }
    bt__advance(p);
    return 0;
}

/* ---- definitions ---- */

/* The global of the name that stands here. */
static struct bt__draft_global *new_global(bt__parser *p, uint32_t kind)
{
    struct bt__draft_global *global = BT_NEW(p->arena, struct bt__draft_global);
    if (!global) {
        bt__error_memory(p);
        return NULL;
    }
    global->token = p->token;
    global->global.kind = kind;
    global->global.name = bt__token_name(p, &p->token);
    if (!global->global.name)
        return NULL;
    bt__advance(p);
    return global;
}

static int add_global(bt__parser *p, struct bt__draft_global *global)
{
    const char *name = global->global.name;
    const struct bt__draft_global *other = bt_map_find(&p->module->globals, name);
    if (!other)
        return bt_map_put(&p->module->globals, name, global) || bt__error_memory(p);
    bt_status status =
        bt__status_at(p, BT_ERR_NAME, global->token.offset, global->token.nbytes,
                      "`@%s` is defined twice", name);
    bt_span span = bt_span_text(p->store, p->module->source, other->token.offset,
                                other->token.nbytes);
    return bt__error_status(
        p, bt_note(p->ctx, status, p->store, span, "the other definition is here"));
}

/* def @f function */
static int parse_def(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    struct bt__draft_global *global = new_global(p, BT_GLOBAL_FUNC);
    if (!global || !add_global(p, global))
        return 0;
    global->func = bt__parse_func(p, NULL);
    if (!global->func || (!p->first && !bt__place_groups(p, global->func->block)))
        return 0;
    global->func->name = global->global.name;
    global->func->place.offset = start;
    global->func->place.nbytes = p->end - start;
    global->place = global->func->place;
    bt__accept(p, BT_TOKEN_SEMICOLON);
    return 1;
}

/* const @c [: type] = constant; */
static int parse_const(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    struct bt__draft_global *global = new_global(p, BT_GLOBAL_CONST);
    if (!global || !add_global(p, global))
        return 0;
    if (bt__accept(p, BT_TOKEN_COLON) && !bt__parse_term(p, BT_KIND_TYPE))
        return 0;
    if (!bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    global->value = bt__at_word(p, "meta") ? bt__parse_meta(p) : bt__parse_const(p);
    if (!global->value || !bt__parse_place(p, &global->place))
        return 0;
    global->value->place = global->place;
    global->value->place.offset = global->place.offset = start;
    global->value->place.nbytes = global->place.nbytes = p->end - start;
    return bt__expect(p, BT_TOKEN_SEMICOLON);
}

static int parse_extern_attrs(bt__parser *p, struct bt__draft_global *global)
{
    if (!bt__accept(p, BT_TOKEN_LPAREN))
        return 1;
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        if (!bt__at_attr(p))
            return bt__error_expected(p, "name=value");
        if (!bt__parse_dict_entry(p, &global->attrs))
            return 0;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    return bt__expect(p, BT_TOKEN_RPAREN);
}

/* extern @f [(attrs)]: type; */
static int parse_extern(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    struct bt__draft_global *global = new_global(p, BT_GLOBAL_EXTERN);
    if (!global || !add_global(p, global) || !parse_extern_attrs(p, global) ||
        !bt__expect(p, BT_TOKEN_COLON))
        return 0;
    global->global.type = bt__parse_term(p, BT_KIND_TYPE);
    if (!global->global.type || !bt__parse_place(p, &global->place))
        return 0;
    global->place.offset = start;
    global->place.nbytes = p->end - start;
    return bt__expect(p, BT_TOKEN_SEMICOLON);
}

/* None or [0, 1] */
static int parse_indices(bt__parser *p, bt_ints *out)
{
    bt_vec(int64_t) items = { 0 };
    if (bt__accept_word(p, "None")) {
        *out = (bt_ints){ .n = BT_NONE_LIST };
        return 1;
    }
    if (!bt__expect(p, BT_TOKEN_LBRACKET))
        return 0;
    while (!bt__at(p, BT_TOKEN_RBRACKET)) {
        uint32_t index;
        if (!bt__parse_uint32(p, &index))
            return 0;
        if (!BT_PUSH(p->arena, &items, index))
            return bt__error_memory(p);
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    *out = (bt_ints){ .n = items.len, .at = items.at };
    return bt__expect(p, BT_TOKEN_RBRACKET);
}

static int parse_gradient_option(bt__parser *p, bt_global *global)
{
    bt__token token = p->token;
    bt__advance(p);
    if (!bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    if (bt__token_is_word(p, &token, "from"))
        return bt__parse_uint32(p, &global->from);
    if (bt__token_is_word(p, &token, "wrt"))
        return parse_indices(p, &global->wrt);
    if (bt__token_is_word(p, &token, "keep"))
        return parse_indices(p, &global->keep);
    if (bt__token_is_word(p, &token, "seeded")) {
        global->is_seeded = (uint32_t)bt__at_word(p, "True");
        return bt__accept_word(p, "True") || bt__expect_word(p, "False");
    }
    return bt__error_token(p, BT_ERR_ATTRIBUTE, &token,
                           "expected from, wrt, keep or seeded, found %s",
                           bt__token_show(p, &token));
}

/* gradient @df [: type] = @f(from=0, wrt=[0], keep=[], seeded=True); */
static int parse_gradient(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    struct bt__draft_global *global = new_global(p, BT_GLOBAL_GRADIENT);
    if (!global || !add_global(p, global))
        return 0;
    global->global.wrt.n = BT_NONE_LIST;
    global->global.keep.n = 0;
    if (bt__accept(p, BT_TOKEN_COLON) &&
        !(global->global.type = bt__parse_term(p, BT_KIND_TYPE)))
        return 0;
    if (!bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    if (!bt__at(p, BT_TOKEN_GLOBAL))
        return bt__error_expected(p, "the function that is differentiated, such as @f");
    global->global.primal = bt__token_name(p, &p->token);
    if (!global->global.primal ||
        !bt__use_global(p, global->global.primal, &p->token, NULL))
        return 0;
    bt__advance(p);
    if (!bt__expect(p, BT_TOKEN_LPAREN))
        return 0;
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        if (!parse_gradient_option(p, &global->global))
            return 0;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    if (!bt__expect(p, BT_TOKEN_RPAREN) || !bt__parse_place(p, &global->place))
        return 0;
    global->place.offset = start;
    global->place.nbytes = p->end - start;
    return bt__expect(p, BT_TOKEN_SEMICOLON);
}

static int parse_definition(bt__parser *p)
{
    bt__scoped_clear(p);
    p->depth = 0;
    p->any = bt__annotation_any(p);
    p->module->groups.len = 0;
    if (bt__at_word(p, "type") || bt__token_is_word(p, &p->next, "type"))
        return skip_adt(p);
    if (bt__at_word(p, "def"))
        return parse_def(p);
    if (bt__at_word(p, "const"))
        return parse_const(p);
    if (bt__at_word(p, "gradient"))
        return parse_gradient(p);
    return parse_extern(p);
}

static int at_end(const bt__parser *p)
{
    return bt__at(p, BT_TOKEN_END) || at_section(p, "data") || at_section(p, "metadata");
}

/* After an error: on to the next definition, which is not this one again. */
static void skip_definition(bt__parser *p, uint32_t start)
{
    if (p->token.offset == start)
        bt__advance(p);
    while (!at_end(p) && (!bt__at_definition(p) || bt__at(p, BT_TOKEN_HEADER)))
        bt__advance(p);
}

static void parse_definitions(bt__parser *p)
{
    while (!at_end(p) && !p->stop) {
        uint32_t start = p->token.offset;
        int ok = bt__at_definition(p) && !bt__at(p, BT_TOKEN_HEADER)
                     ? parse_definition(p)
                     : bt__error_expected(p, "a definition: def, type, extern, const or "
                                             "gradient");
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
    p->is_lone = 1;
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
    if (!parse_headers(p))
        return;
    uint32_t start = p->token.offset;
    int is_lone =
        p->dialect == BT__RELAY && !bt__at_definition(p) && !bt__at(p, BT_TOKEN_END);
    if (!scan(p) || !parse_adts(p))
        return;
    bt__scoped_clear(p);
    bt__seek(p, start);
    if (is_lone)
        parse_lone(p);
    else
        parse_definitions(p);
    if (bt__report_unknown_ops(p) && !p->stop)
        bt__report_unknown_globals(p);
}

static void init_module(bt__module_draft *module, bt_arena *arena, const char *folder)
{
    *module = (bt__module_draft){ .folder = folder };
    bt_map *by_name[] = { &module->adts,    &module->ctors,  &module->globals,
                          &module->ops,     &module->uses,   &module->data,
                          &module->unknown, &module->tensors };
    for (uint32_t i = 0; i < BT_COUNT(by_name); i++)
        bt_map_init(by_name[i], arena, 0);
    bt_map_init(&module->func_attrs, arena, 0);
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

static bt_status parse_into(bt_ctx *ctx, bt_store *store, bt_arena *arena,
                            const char *file, const char *folder, const char *text,
                            size_t nbytes, bt_module **out)
{
    bt__parser p;
    bt__module_draft module;
    init_module(&module, arena, folder);
    BT_TRY(bt_store_add_source(ctx, store, file, text, nbytes, &module.source));
    BT_TRY(bt_module_builder_create(ctx, store, NULL, &module.builder));
    bt__parser_init(&p, ctx, store, arena, file, text, (uint32_t)nbytes);
    p.module = &module;
    parse_module(&p);
    bt_status status = p.first;
    if (!status && (status = bt__emit_module(&p, out)))
        bt_report(ctx, status);
    deinit_module(ctx, &module);
    return status;
}

bt_status bt_parse(bt_ctx *ctx, const char *file, const char *folder, const char *text,
                   size_t nbytes, bt_module **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    if (nbytes >= UINT32_MAX || nbytes > bt_ctx_limits(ctx)->bytes)
        return bt_fail(ctx, BT_ERR_LIMIT, "%s: %zu bytes of text are too many",
                       file ? file : "text", nbytes);
    bt_store *store = bt_store_create(registry);
    bt_arena *arena = bt_arena_create(registry);
    bt_status status =
        store && arena ? parse_into(ctx, store, arena, file, folder, text, nbytes, out)
                       : bt_no_memory();
    bt_arena_destroy(arena);
    bt_store_unref(store);
    return status;
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
