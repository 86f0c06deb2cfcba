/*
 * Types and other terms.
 *
 *   type = "_" | dtype | "Tensor" "[" shape "," dtype [ "," STRING ] "]"
 *        | "Ref" "[" type "]" | "(" [ type { "," type } [ "," ] ] ")"
 *        | NAME [ "[" term { "," term } "]" ]
 *        | "fn" [ params ] "(" [ type { "," type } ] ")" "->" type [ wheres ]
 *   term = type | KIND term of that kind
 */
#include "text/draft.h"

#include <string.h>

/* ---- element types and tensors ---- */

bt_dtype bt__dtype_named(const bt__parser *p, const char *name, size_t nbytes)
{
    static const struct {
        const char *name;
        bt_dtype dtype;
    } of_relay[] = { { "int", BT_INT32 },
                     { "uint", BT_UINT32 },
                     { "float", BT_FLOAT32 } };
    for (size_t i = 0; p->dialect == BT__RELAY && i < BT_COUNT(of_relay); i++) {
        if (strlen(of_relay[i].name) == nbytes && !memcmp(of_relay[i].name, name, nbytes))
            return of_relay[i].dtype;
    }
    return bt_dtype_parse(name, nbytes);
}

bt_dtype bt__token_dtype(const bt__parser *p)
{
    const bt__token *token = &p->token;
    return bt__at(p, BT_TOKEN_WORD)
               ? bt__dtype_named(p, p->text + token->offset, token->nbytes)
               : 0;
}

static const bt_type *parse_dtype(bt__parser *p)
{
    const bt_type *var = bt__find_type_var(p, &p->token);
    uint32_t start = p->token.offset;
    if (var)
        return bt__parse_type_var(p, var, BT_KIND_DTYPE);
    bt_dtype dtype = bt__token_dtype(p);
    if (dtype) {
        bt__advance(p);
        return bt__term_made(p, bt_type_dtype(p->store, dtype), start);
    }
    if (bt__at_word(p, "_"))
        return bt__parse_hole(p, BT_KIND_DTYPE);
    bt__error_expected(p, "an element type, such as float32");
    return NULL;
}

/* ---- types ---- */

static const bt_type *parse_tensor(bt__parser *p)
{
    uint32_t start = p->token.offset;
    const bt_type *shape, *dtype;
    const bt_layout *layout = NULL;
    bt__advance(p);
    if (!bt__expect(p, BT_TOKEN_LBRACKET) || !(shape = bt__parse_term(p, BT_KIND_SHAPE)))
        return NULL;
    if (bt__at(p, BT_TOKEN_RBRACKET)) {
        bt__error_expected(p, "`,` and a dtype, as in Tensor[(2, 3), float32]");
        return NULL;
    }
    if (!bt__expect(p, BT_TOKEN_COMMA) || !(dtype = parse_dtype(p)))
        return NULL;
    if (bt__accept(p, BT_TOKEN_COMMA)) {
        bt__token token = p->token;
        const char *text = bt__at(p, BT_TOKEN_STRING) ? bt__token_name(p, &token) : NULL;
        if (!text) {
            bt__error_expected(p, "a layout, such as \"NCHW:NCHW16c\"");
            return NULL;
        }
        if (!(layout = bt_layout_parse(p->store, text))) {
            if (bt_store_why(p->ctx, p->store)->code == BT_ERR_MEMORY)
                bt__error_memory(p);
            else
                bt__error_token(p, BT_ERR_SYNTAX, &token,
                                "not a layout; expected one such as \"NCHW:NCHW16c\"");
            return NULL;
        }
        bt__advance(p);
    }
    if (!bt__expect(p, BT_TOKEN_RBRACKET))
        return NULL;
    return bt__term_made(p,
                         layout ? bt_type_tensor_layout(p->store, shape, dtype, layout)
                                : bt_type_tensor(p->store, shape, dtype),
                         start);
}

/* Types up to the closing token; *is_single where no comma follows the only one. */
static int parse_types(bt__parser *p, bt__types *out, int *is_single)
{
    *is_single = 0;
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        const bt_type *type = bt__parse_term(p, BT_KIND_TYPE);
        if (!type)
            return 0;
        if (!BT_PUSH(p->arena, out, type))
            return bt__error_memory(p);
        if (!bt__accept(p, BT_TOKEN_COMMA)) {
            *is_single = out->len == 1;
            break;
        }
    }
    return bt__expect(p, BT_TOKEN_RPAREN);
}

static const bt_type *parse_tuple_type(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__types fields = { 0 };
    int is_single;
    bt__advance(p);
    if (!parse_types(p, &fields, &is_single))
        return NULL;
    // In Relay (T) is a tuple of one.
    return is_single && p->dialect != BT__RELAY
               ? fields.at[0]
               : bt__term_made(p, bt_type_tuple(p->store, fields.len, fields.at), start);
}

/* The arguments. Of a signature, `?` in them is a parameter of the function. */
static int parse_args(bt__parser *p, bt__types *vars, bt__types *args, int is_signature)
{
    uint32_t any = p->any;
    bt__types *outer = p->vars;
    int is_single;
    if (is_signature) {
        p->any = BT__ANY_PARAM;
        p->vars = vars;
    }
    int ok = bt__parse_type_params(p, vars) && bt__expect(p, BT_TOKEN_LPAREN) &&
             parse_types(p, args, &is_single);
    p->any = any;
    p->vars = outer;
    return ok;
}

static const bt_type *parse_func_body(bt__parser *p, uint32_t start, int is_signature)
{
    bt__types vars = { 0 }, args = { 0 };
    bt__wheres wheres = { 0 };
    if (!parse_args(p, &vars, &args, is_signature) || !bt__expect(p, BT_TOKEN_ARROW))
        return NULL;
    const bt_type *result = bt__parse_term(p, BT_KIND_TYPE);
    if (!result || !bt__parse_wheres(p, &wheres))
        return NULL;
    return bt__term_made(p,
                         bt_func_type_close(p->store, vars.len, vars.at, args.len,
                                            args.at, result, wheres.len, wheres.at),
                         start);
}

static const bt_type *parse_func_type(bt__parser *p, int is_signature)
{
    uint32_t start = p->token.offset, mark = bt__scoped_mark(p);
    bt__advance(p);
    const bt_type *type = parse_func_body(p, start, is_signature);
    bt__scoped_release(p, mark);
    return type;
}

const bt_type *bt__parse_signature(bt__parser *p)
{
    p->any = BT__ANY_OPAQUE;
    return bt__at_word(p, "fn") ? parse_func_type(p, 1) : bt__parse_term(p, BT_KIND_TYPE);
}

static const bt_type *parse_ref_type(bt__parser *p, uint32_t close)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    bt__advance(p);
    const bt_type *content = bt__parse_term(p, BT_KIND_TYPE);
    if (!content || !bt__expect(p, close))
        return NULL;
    return bt__term_made(p, bt_type_ref(p->store, content), start);
}

static const bt_adt_def *parse_adt_name(bt__parser *p)
{
    const char *name = bt__token_name(p, &p->token);
    if (!name)
        return NULL;
    const bt_adt_def *def = bt__module_adt(p, name);
    if (!def && bt__is_unread(p, name))
        return NULL;
    if (!def) {
        const char *near = bt__module_near_type(p, name);
        bt__error_token(p, BT_ERR_NAME, &p->token, "no type is named %s%s",
                        bt__token_show(p, &p->token), bt__hint(p, name, near));
        return NULL;
    }
    bt__advance(p);
    return def;
}

static const bt_type *parse_apply(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__types args = { 0 };
    const bt_adt_def *def = parse_adt_name(p);
    if (!def)
        return NULL;
    int has_list = bt__accept(p, BT_TOKEN_LBRACKET);
    while (has_list && !bt__at(p, BT_TOKEN_RBRACKET)) {
        uint32_t kind = args.len < def->nvar ? bt_type_kind_of(def->vars[args.len])
                                             : (uint32_t)BT_KIND_TYPE;
        const bt_type *arg = bt__parse_term(p, kind);
        if (!arg || (!BT_PUSH(p->arena, &args, arg) && !bt__error_memory(p)))
            return NULL;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    if (has_list && !bt__expect(p, BT_TOKEN_RBRACKET))
        return NULL;
    if (args.len != def->nvar) {
        bt__error(p, BT_ERR_KIND, start, p->end - start,
                  "`%s` takes %u type arguments, %u given", def->name,
                  (unsigned)def->nvar, (unsigned)args.len);
        return NULL;
    }
    return bt__term_made(p, bt_type_apply(p->store, def, args.len, args.at), start);
}

static const bt_type *parse_type(bt__parser *p)
{
    uint32_t start = p->token.offset;
    if (bt__at(p, BT_TOKEN_LPAREN))
        return parse_tuple_type(p);
    const bt_type *var = bt__find_type_var(p, &p->token);
    if (var)
        return bt__parse_type_var(p, var, BT_KIND_TYPE);
    if (bt__at(p, BT_TOKEN_STRING))
        return parse_apply(p);
    if (!bt__at(p, BT_TOKEN_WORD)) {
        bt__error_expected(p, "a type");
        return NULL;
    }
    if (bt__at_word(p, "_"))
        return bt__parse_hole(p, BT_KIND_TYPE);
    if (bt__at_word(p, "Tensor"))
        return parse_tensor(p);
    if (bt__at_word(p, "fn"))
        return parse_func_type(p, 0);
    if (bt__at_word(p, "Ref") && p->next.kind == BT_TOKEN_LBRACKET)
        return parse_ref_type(p, BT_TOKEN_RBRACKET);
    if (bt__at_word(p, "ref") && p->next.kind == BT_TOKEN_LPAREN)
        return parse_ref_type(p, BT_TOKEN_RPAREN);
    bt_dtype dtype = bt__token_dtype(p);
    if (dtype) {
        bt__advance(p);
        return bt__term_made(p, bt_type_scalar(p->store, dtype), start);
    }
    return parse_apply(p);
}

static const bt_type *parse_adt_handle(bt__parser *p)
{
    uint32_t start = p->token.offset;
    const bt_type *var = bt__find_type_var(p, &p->token);
    if (var)
        return bt__parse_type_var(p, var, BT_KIND_ADT);
    if (bt__at_word(p, "_"))
        return bt__parse_hole(p, BT_KIND_ADT);
    if (!bt__at(p, BT_TOKEN_WORD) && !bt__at(p, BT_TOKEN_STRING)) {
        bt__error_expected(p, "the name of a data type");
        return NULL;
    }
    const bt_adt_def *def = parse_adt_name(p);
    return def ? bt__term_made(p, bt_type_adt(p->store, def), start) : NULL;
}

const bt_type *bt__parse_term(bt__parser *p, uint32_t kind)
{
    if (!bt__enter(p))
        return NULL;
    const bt_type *term = NULL;
    if (kind == BT_KIND_SHAPE)
        term = bt__parse_shape(p);
    else if (kind == BT_KIND_DIM)
        term = bt__parse_dim(p);
    else if (kind == BT_KIND_DTYPE)
        term = parse_dtype(p);
    else if (kind == BT_KIND_ADT)
        term = parse_adt_handle(p);
    else
        term = parse_type(p);
    bt__leave(p);
    return term;
}

int bt__token_type_kind(const bt__parser *p, const bt__token *token)
{
    for (uint32_t kind = BT_KIND_TYPE; kind <= BT_KIND_ADT; kind++) {
        if (bt__token_is_word(p, token, bt_kind_name(kind)))
            return (int)kind;
    }
    return -1;
}

const bt_type *bt__parse_any_term(bt__parser *p)
{
    int kind = bt__token_type_kind(p, &p->token);
    if (kind < 0)
        return bt__parse_term(p, BT_KIND_TYPE);
    bt__advance(p);
    return bt__parse_term(p, (uint32_t)kind);
}

int bt__parse_terms(bt__parser *p, uint32_t kind, uint32_t close, bt__types *out)
{
    while (!bt__at(p, close)) {
        const bt_type *term =
            kind == BT__ANY_KIND ? bt__parse_any_term(p) : bt__parse_term(p, kind);
        if (!term || (!BT_PUSH(p->arena, out, term) && !bt__error_memory(p)))
            return 0;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    return bt__expect(p, close);
}
