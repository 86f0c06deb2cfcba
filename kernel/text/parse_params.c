/*
 * Type parameters and where relations.
 *
 *   params = ( "<" | "[" ) [ param { "," param } ] ( ">" | "]" )
 *   param  = NAME [ ":" KIND [ range ] ] | "?"NAME [ ":" "Dim" [ range ] ]
 *   range  = [ "in" NUMBER ".." [ NUMBER ] ] [ "step" NUMBER ]
 *   wheres = "where" where { "," where }
 *   where  = NAME "(" [ type | NAME "=" value ] { "," ... } ")" "->" type
 */
#include "text/draft.h"

/* ---- type parameters ---- */

static int parse_range(bt__parser *p, bt_type_param *param)
{
    bt__token token = p->token;
    if (bt__accept_word(p, "in")) {
        if (!bt__parse_int(p, &param->low) || !bt__expect(p, BT_TOKEN_DOTS))
            return 0;
        if ((bt__at(p, BT_TOKEN_NUMBER) || bt__at(p, BT_TOKEN_MINUS)) &&
            !bt__parse_int(p, &param->high))
            return 0;
    }
    if (bt__accept_word(p, "step") && !bt__parse_int(p, &param->step))
        return 0;
    if (param->low < 0 || param->high < param->low || param->step < 1)
        return bt__error(p, BT_ERR_SHAPE, token.offset, p->end - token.offset,
                         "expected a range low..high with 0 <= low <= high and a step of "
                         "at least 1");
    return 1;
}

/* *is_given: the term is a number, no parameter. */
static const bt_type *parse_type_param(bt__parser *p, int *is_given)
{
    bt__token token = p->token;
    int is_anonymous = token.kind == BT_TOKEN_ANY && token.nbytes > 1;
    bt_type_param param = { .kind = is_anonymous ? BT_KIND_DIM : BT_KIND_TYPE,
                            .high = INT64_MAX,
                            .step = 1 };
    if (!is_anonymous && !bt__at(p, BT_TOKEN_WORD) && !bt__at(p, BT_TOKEN_STRING)) {
        bt__error_expected(p, "the name of a type parameter");
        return NULL;
    }
    const char *name = bt__token_name(p, &token);
    if (!name)
        return NULL;
    bt__advance(p);
    if (bt__accept(p, BT_TOKEN_COLON)) {
        int kind = bt__token_type_kind(p, &p->token);
        if (kind < 0 || (is_anonymous && kind != BT_KIND_DIM)) {
            bt__error_expected(p, "a kind: Type, Shape, Dim, DType or AdtHandle");
            return NULL;
        }
        param.kind = (uint32_t)kind;
        bt__advance(p);
    }
    if (param.kind == BT_KIND_DIM && !parse_range(p, &param))
        return NULL;
    const bt_type *number =
        p->module && p->module->is_entry && param.kind == BT_KIND_DIM && !is_anonymous
            ? bt__given_dim_of(p, &token, name, &param)
            : NULL;
    *is_given = number != NULL;
    if (number)
        return bt__scoped_set(p, BT__TYPES, name, (void *)(uintptr_t)number) ? number
                                                                             : NULL;
    const bt_type *var =
        bt__term_made(p,
                      is_anonymous ? bt_type_var_anonymous(p->store, &param)
                                   : bt_type_var(p->store, &param, name),
                      token.offset);
    uint32_t space = is_anonymous ? BT__SHARED_DIMS : BT__TYPES;
    return var && bt__scoped_set(p, space, name, (void *)(uintptr_t)var) ? var : NULL;
}

int bt__parse_type_params(bt__parser *p, bt__types *out)
{
    uint32_t close = bt__at(p, BT_TOKEN_LESS)       ? BT_TOKEN_GREATER
                     : bt__at(p, BT_TOKEN_LBRACKET) ? BT_TOKEN_RBRACKET
                                                    : BT_TOKEN_END;
    if (close == BT_TOKEN_END)
        return 1;
    bt__advance(p);
    while (!bt__at(p, close)) {
        int is_given;
        const bt_type *var = parse_type_param(p, &is_given);
        if (!var)
            return 0;
        if (!is_given && !BT_PUSH(p->arena, out, var))
            return bt__error_memory(p);
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    return bt__expect(p, close);
}

/* ---- where ---- */

/* One of the arguments or attributes of a relation. */
static int parse_where_item(bt__parser *p, const bt_op *op, bt__attr_set *attrs,
                            bt__types *types)
{
    if (bt__at_attr(p))
        return op ? bt__attrs_one(p, attrs) : bt__attrs_skip(p);
    const bt_type *type = bt__parse_term(p, BT_KIND_TYPE);
    return type && (BT_PUSH(p->arena, types, type) || bt__error_memory(p));
}

static int parse_where(bt__parser *p, bt_where *out)
{
    bt__token token = p->token;
    bt__types types = { 0 };
    bt__attr_set attrs;
    const bt_op *op;
    const char *name = bt__token_name(p, &token);
    if (!name || !bt__find_op(p, name, &token, &op))
        return 0;
    bt__advance(p);
    if (!bt__expect(p, BT_TOKEN_LPAREN) || (op && !bt__attrs_begin(p, op, &attrs)))
        return 0;
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        if (!parse_where_item(p, op, &attrs, &types))
            return 0;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    if (!bt__expect(p, BT_TOKEN_RPAREN) || !bt__expect(p, BT_TOKEN_ARROW) ||
        (op && !bt__attrs_end(p, &attrs, &token)))
        return 0;
    const bt_type *result = bt__parse_term(p, BT_KIND_TYPE);
    if (!result)
        return 0;
    if (!BT_PUSH(p->arena, &types, result))
        return bt__error_memory(p);
    *out = (bt_where){ .op = op, .ntype = types.len, .types = types.at };
    if (!op || !op->attrs_nbytes)
        return 1;
    out->attrs = bt_attrs_copy(p->store, op->attrs, op->attrs_nbytes, attrs.at);
    return out->attrs || bt__error_memory(p);
}

/* A relation stands here: a name, then `(`. No type begins so, but for `fn` and `ref`. */
static int at_where(const bt__parser *p)
{
    return p->next.kind == BT_TOKEN_LPAREN &&
           (bt__at(p, BT_TOKEN_STRING) ||
            (bt__at(p, BT_TOKEN_WORD) && !bt__at_word(p, "fn") &&
             !bt__at_word(p, "ref")));
}

int bt__parse_wheres(bt__parser *p, bt__wheres *out)
{
    if (!bt__accept_word(p, "where"))
        return 1;
    do {
        bt_where *where = BT_NEW(p->arena, bt_where);
        if (!where)
            return bt__error_memory(p);
        if (!at_where(p))
            return bt__error_expected(p, "a relation, such as add(A, B) -> C");
        if (!parse_where(p, where))
            return 0;
        // One of an unknown operator, which is reported at the end, is left out.
        if (where->op && !BT_PUSH(p->arena, out, where))
            return bt__error_memory(p);
        if (!bt__at(p, BT_TOKEN_COMMA))
            return 1;
        // The comma may belong to a list that this function type stands in.
        bt__token after = p->after;
        int goes_on =
            after.kind == BT_TOKEN_LPAREN &&
            (p->next.kind == BT_TOKEN_STRING ||
             (p->next.kind == BT_TOKEN_WORD && !bt__token_is_word(p, &p->next, "fn") &&
              !bt__token_is_word(p, &p->next, "ref")));
        if (!goes_on)
            return 1;
        bt__advance(p);
    } while (1);
}
