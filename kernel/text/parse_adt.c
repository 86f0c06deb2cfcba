/*
 * Data types: declared first, so that types may mention them, then defined; when their
 * place in the text is reached, they are passed over.
 *
 *   adt  = [ "extern" ] "type" NAME [ params ] [ place ]
 *          ( "{" { ctor [ "," ] } "}" | ";" )
 *   ctor = NAME [ "(" type { "," type } ")" ]
 */
#include "text/draft.h"

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
    int ok = bt__parse_type_params(p, &adt->vars);
    p->any = BT__ANY_HOLE; // in fields: a dim that each value brings along
    return ok;
}

static int declare_adt(bt__parser *p, struct bt__draft_adt *adt)
{
    const char *name;
    int is_extern;
    bt__draft_place place = { 0 };
    bt__scoped_clear(p);
    bt__set_text(p, adt->in);
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

static int parse_ctor(bt__parser *p, const struct bt__draft_adt *adt, bt_ctor *out)
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
    const bt_adt_def *named = bt__module_adt(p, out->name);
    if (named && named != adt->def)
        return bt__error_token(p, BT_ERR_NAME, &token,
                               "constructor %s has the name of another data type",
                               out->name);
    if (bt__accept(p, BT_TOKEN_LPAREN) &&
        !bt__parse_terms(p, BT_KIND_TYPE, BT_TOKEN_RPAREN, &fields))
        return 0;
    out->nfield = fields.len;
    out->fields = fields.at;
    return 1;
}

static int parse_ctors(bt__parser *p, struct bt__draft_adt *adt)
{
    bt_vec(bt_ctor) ctors = { 0 };
    bt_ctor ctor;
    bt_map seen;
    bt_map_init(&seen, p->arena, 0);
    while (!bt__at(p, BT_TOKEN_RBRACE)) {
        bt__token token = p->token;
        if (!parse_ctor(p, adt, &ctor))
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
        const bt_ctor *row = adt->def->ctors[i];
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
    bt__set_text(p, adt->in);
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

/* Names that the text of a definition with errors may define: nothing is said of them. */
static void note_unread(bt__parser *p, const struct bt__draft_adt *adt)
{
    bt__set_text(p, adt->in);
    bt__seek(p, adt->offset);
    p->is_scanning = 1;
    do {
        int is_name = bt__at(p, BT_TOKEN_WORD) || bt__at(p, BT_TOKEN_STRING);
        const char *name = is_name ? bt__token_name(p, &p->token) : NULL;
        if (name && !bt_map_put(&p->module->unread, name, (void *)(uintptr_t)name))
            bt__error_memory(p);
        bt__advance(p);
    } while (!bt__at(p, BT_TOKEN_END) && !bt__at_definition(p) && !p->stop);
    p->is_scanning = 0;
}

int bt__parse_adts(bt__parser *p)
{
    bt__module_draft *module = p->module;
    for (uint32_t i = 0; i < module->adt_list.len && !p->stop; i++) {
        if (!declare_adt(p, &module->adt_list.at[i]))
            note_unread(p, &module->adt_list.at[i]);
    }
    for (uint32_t i = 0; i < module->adt_list.len && !p->stop; i++) {
        struct bt__draft_adt *adt = &module->adt_list.at[i];
        if (adt->def && !define_adt(p, adt))
            note_unread(p, adt);
    }
    return !p->stop;
}

int bt__is_unread(const bt__parser *p, const char *name)
{
    return p->module && bt_map_find(&p->module->unread, name) != NULL;
}

/* Definitions are reached in the order in which the scan noted them. */
int bt__skip_adt(bt__parser *p)
{
    bt__module_draft *module = p->module;
    const struct bt__draft_adt *adt = NULL;
    while (module->next_adt < module->adt_list.len &&
           (!adt || adt->offset < p->token.offset))
        adt = &module->adt_list.at[module->next_adt++];
    if (!adt || adt->offset != p->token.offset || !adt->end)
        return 0;
    while (p->token.offset < adt->end && !bt__at(p, BT_TOKEN_END))
        bt__advance(p);
    return 1;
}
