/*
 * Functions: definitions' and closures'.
 *
 *   function = [ type params ] "(" [ param { "," param } ] ")" [ "->" type ]
 *              [ wheres ] [ place ] "{" body "}"
 *   param    = %name [ ":" type ] [ "on" NUMBER ] [ place ]
 *            | NAME "=" value        an attribute
 */
#include "text/draft.h"

uint32_t bt__annotation_any(const bt__parser *p)
{
    return p->module->is_typed ? BT__ANY_OPAQUE : BT__ANY_HOLE;
}

int bt__skip_virtual_device(bt__parser *p)
{
    if (p->dialect != BT__RELAY || !bt__accept(p, BT_TOKEN_LBRACE))
        return 1;
    return bt__attrs_skip(p) && bt__expect(p, BT_TOKEN_RBRACE);
}

static int bind_param(bt__parser *p, bt__draft_block *block, bt__draft *param,
                      const bt__token *token, const char *name)
{
    uint32_t space = bt__local_space(p, token);
    const bt__draft *other = bt__scoped_find(p, space, name);
    if (other && other->kind == BT_VALUE_PARAM && other->block == block) {
        bt_status status =
            bt__status_at(p, BT_ERR_NAME, token->offset, token->nbytes,
                          "%s is bound twice: each parameter, and each variable of a "
                          "pattern, has its own name",
                          bt__token_show(p, token));
        bt_span span = bt_span_text(p->store, p->module->source, other->place.offset,
                                    other->place.nbytes);
        return bt__error_status(
            p, bt_note(p->ctx, status, p->store, span, "the other one is here"));
    }
    if (space == BT__LOCALS)
        param->name = name;
    param->block = block;
    return (BT_PUSH(p->arena, &block->params, param) || bt__error_memory(p)) &&
           bt__scoped_set(p, space, name, param);
}

bt__draft *bt__parse_param(bt__parser *p, bt__draft_block *block)
{
    bt__token token = p->token;
    bt__draft *param = bt__draft_new(p, BT_VALUE_PARAM, token.offset);
    const char *name = param ? bt__token_name(p, &token) : NULL;
    if (!name)
        return NULL;
    bt__advance(p);
    if (!bt__skip_virtual_device(p) ||
        (bt__accept(p, BT_TOKEN_COLON) &&
         !(param->type = bt__parse_term(p, BT_KIND_TYPE))) ||
        !bt__parse_device(p, &param->place) || !bt__parse_place(p, &param->place) ||
        !bt__skip_virtual_device(p))
        return NULL;
    param->place.nbytes = p->end - token.offset;
    return bind_param(p, block, param, &token, name) ? param : NULL;
}

static int parse_params(bt__parser *p, bt__draft_func *func)
{
    if (!bt__expect(p, BT_TOKEN_LPAREN))
        return 0;
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        int ok;
        if (bt__at(p, BT_TOKEN_LOCAL))
            ok = bt__parse_param(p, func->block) != NULL;
        else if (bt__at_attr(p))
            ok = bt__parse_dict_entry(p, &func->attrs);
        else
            ok = bt__error_expected(p, "a parameter, such as %x: float32");
        if (!ok)
            return 0;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    return bt__at(p, BT_TOKEN_RPAREN) ? (bt__advance(p), 1)
                                      : bt__error_expected(p, "`,` or `)`");
}

/* Up to the body. */
static int parse_function_head(bt__parser *p, bt__draft_func *func)
{
    uint32_t any = p->any;
    bt__types *vars = p->vars;
    p->any = BT__ANY_PARAM;
    p->vars = &func->vars;
    int ok = bt__parse_type_params(p, &func->vars);
    p->module->is_entry = 0;
    ok = ok && parse_params(p, func);
    p->vars = vars;
    p->any = bt__annotation_any(p);
    if (ok && bt__accept(p, BT_TOKEN_ARROW))
        ok = (func->result = bt__parse_term(p, BT_KIND_TYPE)) != NULL;
    ok = ok && bt__parse_wheres(p, &func->wheres) && bt__parse_place(p, &func->place);
    p->any = any;
    return ok;
}

static int parse_function(bt__parser *p, bt__draft_func *func)
{
    if (!parse_function_head(p, func) || !bt__expect(p, BT_TOKEN_LBRACE) || !bt__enter(p))
        return 0;
    uint32_t any = p->any;
    p->any = bt__annotation_any(p);
    int ok = bt__parse_body(p, func->block);
    p->any = any;
    bt__leave(p);
    return ok && bt__expect(p, BT_TOKEN_RBRACE);
}

bt__draft_func *bt__parse_func(bt__parser *p, bt__draft *closure)
{
    uint32_t mark = bt__scoped_mark(p);
    bt__draft_func *func = BT_NEW(p->arena, bt__draft_func);
    if (!func) {
        bt__error_memory(p);
        return NULL;
    }
    func->place.offset = p->token.offset;
    func->block = bt__draft_block_new(p, closure);
    int ok = func->block && parse_function(p, func);
    func->place.nbytes = p->end - func->place.offset;
    bt__scoped_release(p, mark);
    return ok ? func : NULL;
}

bt__draft *bt__parse_closures(bt__parser *p, bt__draft *const *closures, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        bt__draft *closure = closures[i];
        if (i && !bt__expect(p, BT_TOKEN_COMMA))
            return NULL;
        closure->place.offset = p->token.offset;
        if (!bt__expect_word(p, "fn"))
            return NULL;
        bt__draft_func *func = bt__parse_func(p, closure);
        if (!func || !bt__draft_region(p, closure, func->block) ||
            !bt__parse_place(p, &closure->place))
            return NULL;
        func->name = closure->name;
        func->ngroup = i ? 0 : n;
        closure->u.func = func;
    }
    for (uint32_t i = 0; i < n; i++)
        bt__draft_append(p, closures[i]);
    return closures[0];
}
