/*
 * Types, shapes, dims, dtypes; type parameters; where relations.
 *
 *   type   = "_" | dtype | "Tensor" "[" shape "," dtype [ "," STRING ] "]" | "Ref" "["
 * type "]" | "(" [ type { "," type } [ "," ] ] ")" | "fn" [ params ] "(" types ")" "->"
 * type [ wheres ] | NAME [ "[" term { "," term } "]" ] shape  = NAME | "_" | "(" [ item {
 * "," item } [ "," ] ] ")";   item = dim | ".." NAME dim    = product { ("+"|"-") product
 * };  product = atom { "*" atom } atom   = NUMBER | NAME | "?" | "?"NAME | "_" | FUNCTION
 * "(" dim "," dim { "," dim } ")" | "(" dim ")"
 */
#include "text/draft.h"

#include <string.h>

/* ---- small parts ---- */

static const bt_type *made(bt__parser *p, const bt_type *type, uint32_t start)
{
    if (!type)
        bt__error_store(p, start);
    return type;
}

static const bt_type *kind_error(bt__parser *p, const bt__token *token, uint32_t wanted,
                                 uint32_t found)
{
    bt__error_token(p, BT_ERR_KIND, token, "expected a term of kind %s, found %s, a %s",
                    bt_kind_name(wanted), bt__token_show(p, token), bt_kind_name(found));
    return NULL;
}

/* The type variable of that name, NULL if there is none. */
static const bt_type *find_var(bt__parser *p, const bt__token *token)
{
    if (token->kind != BT_TOKEN_WORD && token->kind != BT_TOKEN_STRING)
        return NULL;
    const char *name = bt__token_name(p, token);
    return name ? bt__scoped_find(p, BT__TYPES, name) : NULL;
}

static const bt_type *parse_var(bt__parser *p, const bt_type *var, uint32_t kind)
{
    bt__token token = p->token;
    bt__advance(p);
    uint32_t found = bt_type_kind_of(var);
    return found == kind ? var : kind_error(p, &token, kind, found);
}

static const bt_type *parse_hole(bt__parser *p, uint32_t kind)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    return made(p, bt_type_hole(p->store, kind), start);
}

/* ---- dims ---- */

static const bt_type *parse_dim(bt__parser *p);

static const bt_type *anonymous_dim(bt__parser *p, uint32_t start)
{
    bt_type_param free_dim = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    const bt_type *var = made(p, bt_type_var_anonymous(p->store, &free_dim), start);
    if (var && !BT_PUSH(p->arena, p->vars, var)) {
        bt__error_memory(p);
        return NULL;
    }
    return var;
}

/* `?`, or `?a`: the same dim wherever the definition says so. */
static const bt_type *parse_question(bt__parser *p)
{
    bt__token token = p->token;
    const char *name = NULL;
    bt__advance(p);
    if (token.nbytes > 1) {
        if (!(name = bt__token_name(p, &token)))
            return NULL;
        const bt_type *known = bt__scoped_find(p, BT__SHARED_DIMS, name);
        if (known)
            return known;
    }
    const bt_type *dim = NULL;
    if (p->any == BT__ANY_PARAM)
        dim = anonymous_dim(p, token.offset);
    else if (p->any == BT__ANY_OPAQUE || (name && p->any == BT__ANY_HOLE))
        dim = made(p, bt_dim_opaque(p->store, name), token.offset);
    else if (p->any == BT__ANY_HOLE)
        return made(p, bt_type_hole(p->store, BT_KIND_DIM), token.offset);
    else
        bt__error_token(p, BT_ERR_KIND, &token,
                        "`?` has no meaning here: give the dim a name as a parameter");
    if (!dim || !name)
        return dim;
    // A parameter's is known in its function, any other one in the whole definition.
    void *shared = (void *)(uintptr_t)dim;
    int ok = p->any == BT__ANY_PARAM
                 ? bt__scoped_set(p, BT__SHARED_DIMS, name, shared)
                 : bt__scoped_set_all(p, BT__SHARED_DIMS, name, shared);
    return ok ? dim : NULL;
}

typedef const bt_type *dim_function(bt_store *, const bt_type *, const bt_type *);

static dim_function *find_dim_function(const bt__parser *p, int *is_nary)
{
    // clang-format off
    static const struct {
        const char *name;
        dim_function *apply;
        int is_nary;
    } rows[] = {
        { "floordiv", bt_dim_floordiv, 0 }, { "ceildiv", bt_dim_ceildiv, 0 },
        { "mod", bt_dim_mod, 0 },           { "min", bt_dim_min, 1 },
        { "max", bt_dim_max, 1 },
    };
    // clang-format on
    if (p->next.kind != BT_TOKEN_LPAREN)
        return NULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (bt__at_word(p, rows[i].name)) {
            *is_nary = rows[i].is_nary;
            return rows[i].apply;
        }
    }
    return NULL;
}

static int has_hole(bt__parser *p, const bt_type *dim, uint32_t start)
{
    if (!(dim->has & BT_HAS_HOLE))
        return 0;
    bt__error(p, BT_ERR_KIND, start, p->end - start,
              "an unknown dim stands alone: it cannot be part of an expression");
    return 1;
}

static const bt_type *parse_dim_call(bt__parser *p, dim_function *apply, int is_nary)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    bt__advance(p);
    const bt_type *left = parse_dim(p);
    uint32_t n = 1;
    for (; left && bt__accept(p, BT_TOKEN_COMMA); n++) {
        const bt_type *right = parse_dim(p);
        if (!right || has_hole(p, left, start) || has_hole(p, right, start))
            return NULL;
        left = made(p, apply(p->store, left, right), start);
    }
    if (!left || !bt__expect(p, BT_TOKEN_RPAREN))
        return NULL;
    if (n < 2 || (n > 2 && !is_nary)) {
        bt__error(p, BT_ERR_SYNTAX, start, p->end - start, "expected %s, found %u",
                  is_nary ? "two or more dims" : "two dims", (unsigned)n);
        return NULL;
    }
    return left;
}

static const bt_type *parse_dim_atom(bt__parser *p)
{
    uint32_t start = p->token.offset;
    int is_nary;
    if (bt__at(p, BT_TOKEN_NUMBER) || bt__at(p, BT_TOKEN_MINUS)) {
        int64_t value;
        return bt__parse_int(p, &value) ? made(p, bt_dim(p->store, value), start) : NULL;
    }
    if (bt__at(p, BT_TOKEN_ANY))
        return parse_question(p);
    if (bt__at_word(p, "_"))
        return parse_hole(p, BT_KIND_DIM);
    dim_function *apply = find_dim_function(p, &is_nary);
    if (apply)
        return parse_dim_call(p, apply, is_nary);
    if (bt__accept(p, BT_TOKEN_LPAREN)) {
        const bt_type *dim = parse_dim(p);
        return dim && bt__expect(p, BT_TOKEN_RPAREN) ? dim : NULL;
    }
    const bt_type *var = find_var(p, &p->token);
    if (var)
        return parse_var(p, var, BT_KIND_DIM);
    if (bt__at_word(p, "meta"))
        bt__error_token(p, BT_ERR_UNSUPPORTED, &p->token,
                        "a dim from #[metadata] is not handled; write the dim itself");
    else if (bt__at(p, BT_TOKEN_WORD) &&
             !bt_dtype_parse(p->text + p->token.offset, p->token.nbytes))
        bt__error_token(p, BT_ERR_NAME, &p->token,
                        "no dim is named %s; declare it as a type parameter: <%.*s: Dim>",
                        bt__token_show(p, &p->token),
                        (int)(p->token.nbytes < 40 ? p->token.nbytes : 40),
                        p->text + p->token.offset);
    else
        bt__error_expected(p, "a dim");
    return NULL;
}

static const bt_type *parse_product(bt__parser *p)
{
    uint32_t start = p->token.offset;
    const bt_type *left = parse_dim_atom(p);
    while (left && bt__accept(p, BT_TOKEN_STAR)) {
        const bt_type *right = parse_dim_atom(p);
        if (!right || has_hole(p, left, start) || has_hole(p, right, start))
            return NULL;
        left = made(p, bt_dim_mul(p->store, left, right), start);
    }
    return left;
}

static const bt_type *parse_sum(bt__parser *p)
{
    uint32_t start = p->token.offset;
    const bt_type *left = parse_product(p);
    while (left && (bt__at(p, BT_TOKEN_PLUS) || bt__at(p, BT_TOKEN_MINUS))) {
        int is_minus = bt__at(p, BT_TOKEN_MINUS);
        bt__advance(p);
        const bt_type *right = parse_product(p);
        if (!right || has_hole(p, left, start) || has_hole(p, right, start))
            return NULL;
        left =
            made(p, (is_minus ? bt_dim_sub : bt_dim_add)(p->store, left, right), start);
    }
    return left;
}

static const bt_type *parse_dim(bt__parser *p)
{
    if (!bt__enter(p))
        return NULL;
    const bt_type *dim = parse_sum(p);
    bt__leave(p);
    return dim;
}

/* ---- shapes and dtypes ---- */

const bt_type *bt__parse_shape_list(bt__parser *p, uint32_t close, int is_codes)
{
    uint32_t start = p->token.offset, position = 0;
    const bt_type *rest = NULL;
    bt__types dims = { 0 };
    bt__advance(p);
    while (!bt__at(p, close)) {
        bt__token token = p->token;
        if (bt__accept(p, BT_TOKEN_DOTS)) {
            if (rest) {
                bt__error_token(p, BT_ERR_SYNTAX, &token,
                                "a shape has at most one shape variable");
                return NULL;
            }
            position = dims.len;
            if (!(rest = bt__parse_term(p, BT_KIND_SHAPE)))
                return NULL;
        } else {
            const bt_type *dim = parse_dim(p);
            int64_t value;
            if (dim && !is_codes && bt_dim_is_const(dim, &value) && value < 0) {
                bt__error(p, BT_ERR_SHAPE, token.offset, p->end - token.offset,
                          "a dim is at least 0");
                return NULL;
            }
            if (!dim || (!BT_PUSH(p->arena, &dims, dim) && !bt__error_memory(p)))
                return NULL;
        }
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    if (!bt__expect(p, close))
        return NULL;
    return made(p,
                rest ? bt_type_shape_rest(p->store, dims.len, dims.at, position, rest)
                     : bt_type_shape(p->store, dims.len, dims.at),
                start);
}

static const bt_type *parse_shape(bt__parser *p)
{
    if (bt__at(p, BT_TOKEN_LPAREN))
        return bt__parse_shape_list(p, BT_TOKEN_RPAREN, 0);
    if (bt__at_word(p, "_"))
        return parse_hole(p, BT_KIND_SHAPE);
    const bt_type *var = find_var(p, &p->token);
    if (var)
        return parse_var(p, var, BT_KIND_SHAPE);
    bt__error_expected(p, "a shape, such as (n, 4)");
    return NULL;
}

/* The dtype that a word names, 0 if none. */
static bt_dtype token_dtype(const bt__parser *p)
{
    return bt__at(p, BT_TOKEN_WORD)
               ? bt_dtype_parse(p->text + p->token.offset, p->token.nbytes)
               : 0;
}

static const bt_type *parse_dtype(bt__parser *p)
{
    const bt_type *var = find_var(p, &p->token);
    uint32_t start = p->token.offset;
    if (var)
        return parse_var(p, var, BT_KIND_DTYPE);
    bt_dtype dtype = token_dtype(p);
    if (dtype) {
        bt__advance(p);
        return made(p, bt_type_dtype(p->store, dtype), start);
    }
    if (bt__at_word(p, "_"))
        return parse_hole(p, BT_KIND_DTYPE);
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
    if (!bt__expect(p, BT_TOKEN_LBRACKET) ||
        !(shape = bt__parse_term(p, BT_KIND_SHAPE)) || !bt__expect(p, BT_TOKEN_COMMA) ||
        !(dtype = parse_dtype(p)))
        return NULL;
    if (bt__accept(p, BT_TOKEN_COMMA)) {
        bt__token token = p->token;
        const char *text = bt__at(p, BT_TOKEN_STRING) ? bt__token_name(p, &token) : NULL;
        if (!text) {
            bt__error_expected(p, "a layout, such as \"NCHW:NCHW16c\"");
            return NULL;
        }
        if (!(layout = bt_layout_parse(p->store, text))) {
            bt__error_token(p, BT_ERR_SYNTAX, &token,
                            "not a layout; expected one such as \"NCHW:NCHW16c\"");
            return NULL;
        }
        bt__advance(p);
    }
    if (!bt__expect(p, BT_TOKEN_RBRACKET))
        return NULL;
    return made(p,
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
    return is_single ? fields.at[0]
                     : made(p, bt_type_tuple(p->store, fields.len, fields.at), start);
}

static const bt_type *parse_func_body(bt__parser *p, uint32_t start)
{
    bt__types vars = { 0 }, args = { 0 };
    bt__wheres wheres = { 0 };
    int is_single;
    if (!bt__parse_type_params(p, &vars) || !bt__expect(p, BT_TOKEN_LPAREN) ||
        !parse_types(p, &args, &is_single) || !bt__expect(p, BT_TOKEN_ARROW))
        return NULL;
    const bt_type *result = bt__parse_term(p, BT_KIND_TYPE);
    if (!result || !bt__parse_wheres(p, &wheres))
        return NULL;
    return made(p,
                bt_func_type_close(p->store, vars.len, vars.at, args.len, args.at, result,
                                   wheres.len, wheres.at),
                start);
}

static const bt_type *parse_func_type(bt__parser *p)
{
    uint32_t start = p->token.offset, mark = bt__scoped_mark(p);
    bt__advance(p);
    const bt_type *type = parse_func_body(p, start);
    bt__scoped_release(p, mark);
    return type;
}

static const bt_type *parse_ref_type(bt__parser *p, uint32_t close)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    bt__advance(p);
    const bt_type *content = bt__parse_term(p, BT_KIND_TYPE);
    if (!content || !bt__expect(p, close))
        return NULL;
    return made(p, bt_type_ref(p->store, content), start);
}

static const bt_adt_def *parse_adt_name(bt__parser *p)
{
    const char *name = bt__token_name(p, &p->token);
    if (!name)
        return NULL;
    const bt_adt_def *def = bt__module_adt(p, name);
    if (!def) {
        const char *near = bt__module_near_type(p, name);
        bt__error_token(p, BT_ERR_NAME, &p->token, "no type is named %s%s%s%s",
                        bt__token_show(p, &p->token), near ? "; did you mean `" : "",
                        near ? near : "", near ? "`?" : "");
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
    return made(p, bt_type_apply(p->store, def, args.len, args.at), start);
}

static const bt_type *parse_type(bt__parser *p)
{
    uint32_t start = p->token.offset;
    if (bt__at(p, BT_TOKEN_LPAREN))
        return parse_tuple_type(p);
    const bt_type *var = find_var(p, &p->token);
    if (var)
        return parse_var(p, var, BT_KIND_TYPE);
    if (bt__at(p, BT_TOKEN_STRING))
        return parse_apply(p);
    if (!bt__at(p, BT_TOKEN_WORD)) {
        bt__error_expected(p, "a type");
        return NULL;
    }
    if (bt__at_word(p, "_"))
        return parse_hole(p, BT_KIND_TYPE);
    if (bt__at_word(p, "Tensor"))
        return parse_tensor(p);
    if (bt__at_word(p, "fn"))
        return parse_func_type(p);
    if (bt__at_word(p, "Ref") && p->next.kind == BT_TOKEN_LBRACKET)
        return parse_ref_type(p, BT_TOKEN_RBRACKET);
    if (bt__at_word(p, "ref") && p->next.kind == BT_TOKEN_LPAREN)
        return parse_ref_type(p, BT_TOKEN_RPAREN);
    bt_dtype dtype = token_dtype(p);
    if (dtype) {
        bt__advance(p);
        return made(p, bt_type_scalar(p->store, dtype), start);
    }
    return parse_apply(p);
}

static const bt_type *parse_adt_handle(bt__parser *p)
{
    uint32_t start = p->token.offset;
    const bt_type *var = find_var(p, &p->token);
    if (var)
        return parse_var(p, var, BT_KIND_ADT);
    if (bt__at_word(p, "_"))
        return parse_hole(p, BT_KIND_ADT);
    if (!bt__at(p, BT_TOKEN_WORD) && !bt__at(p, BT_TOKEN_STRING)) {
        bt__error_expected(p, "the name of a data type");
        return NULL;
    }
    const bt_adt_def *def = parse_adt_name(p);
    return def ? made(p, bt_type_adt(p->store, def), start) : NULL;
}

const bt_type *bt__parse_term(bt__parser *p, uint32_t kind)
{
    if (!bt__enter(p))
        return NULL;
    const bt_type *term = NULL;
    if (kind == BT_KIND_SHAPE)
        term = parse_shape(p);
    else if (kind == BT_KIND_DIM)
        term = parse_dim(p);
    else if (kind == BT_KIND_DTYPE)
        term = parse_dtype(p);
    else if (kind == BT_KIND_ADT)
        term = parse_adt_handle(p);
    else
        term = parse_type(p);
    bt__leave(p);
    return term;
}

/* The kind that the token names, -1 if none. */
static int token_kind(const bt__parser *p, const bt__token *token)
{
    for (uint32_t kind = BT_KIND_TYPE; kind <= BT_KIND_ADT; kind++) {
        if (bt__token_is_word(p, token, bt_kind_name(kind)))
            return (int)kind;
    }
    return -1;
}

const bt_type *bt__parse_any_term(bt__parser *p)
{
    int kind = token_kind(p, &p->token);
    if (kind < 0)
        return bt__parse_term(p, BT_KIND_TYPE);
    bt__advance(p);
    return bt__parse_term(p, (uint32_t)kind);
}

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

static const bt_type *parse_type_param(bt__parser *p)
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
        int kind = token_kind(p, &p->token);
        if (kind < 0 || (is_anonymous && kind != BT_KIND_DIM)) {
            bt__error_expected(p, "a kind: Type, Shape, Dim, DType or AdtHandle");
            return NULL;
        }
        param.kind = (uint32_t)kind;
        bt__advance(p);
    }
    if (param.kind == BT_KIND_DIM && !parse_range(p, &param))
        return NULL;
    const bt_type *var = made(p,
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
        const bt_type *var = parse_type_param(p);
        if (!var)
            return 0;
        if (!BT_PUSH(p->arena, out, var))
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
        bt_where where;
        if (!at_where(p))
            return bt__error_expected(p, "a relation, such as add(A, B) -> C");
        if (!parse_where(p, &where))
            return 0;
        if (!BT_PUSH(p->arena, out, where))
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
