/*
 * Dims and shapes.
 *
 *   shape = NAME | "_" | "(" [ item { "," item } [ "," ] ] ")"
 *   item  = dim | ".." NAME
 *   dim   = product { ( "+" | "-" ) product }
 *   product = atom { "*" atom }
 *   atom  = [ "-" ] NUMBER | NAME | "?" | "?"NAME | "_" | "(" dim ")"
 *         | ( "floordiv" | "ceildiv" | "mod" | "min" | "max" )
 *           "(" dim "," dim { "," dim } ")"
 */
#include "text/draft.h"

/* ---- what all terms share ---- */

const bt_type *bt__term_made(bt__parser *p, const bt_type *type, uint32_t start)
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

const bt_type *bt__find_type_var(bt__parser *p, const bt__token *token)
{
    if (token->kind != BT_TOKEN_WORD && token->kind != BT_TOKEN_STRING)
        return NULL;
    const char *name = bt__token_name(p, token);
    return name ? bt__scoped_find(p, BT__TYPES, name) : NULL;
}

const bt_type *bt__parse_type_var(bt__parser *p, const bt_type *var, uint32_t kind)
{
    bt__token token = p->token;
    bt__advance(p);
    uint32_t found = bt_type_kind_of(var);
    return found == kind ? var : kind_error(p, &token, kind, found);
}

const bt_type *bt__parse_hole(bt__parser *p, uint32_t kind)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    return bt__term_made(p, bt_type_hole(p->store, kind), start);
}

/* ---- dims ---- */

static const bt_type *anonymous_dim(bt__parser *p, uint32_t start)
{
    bt_type_param free_dim = { .kind = BT_KIND_DIM, .high = INT64_MAX, .step = 1 };
    const bt_type *var =
        bt__term_made(p, bt_type_var_anonymous(p->store, &free_dim), start);
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
        dim = bt__term_made(p, bt_dim_opaque(p->store, name), token.offset);
    else if (p->any == BT__ANY_HOLE)
        return bt__term_made(p, bt_type_hole(p->store, BT_KIND_DIM), token.offset);
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
    const bt_type *left = bt__parse_dim(p);
    uint32_t n = 1;
    for (; left && bt__accept(p, BT_TOKEN_COMMA); n++) {
        const bt_type *right = bt__parse_dim(p);
        if (!right || has_hole(p, left, start) || has_hole(p, right, start))
            return NULL;
        left = bt__term_made(p, apply(p->store, left, right), start);
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
        return bt__parse_int(p, &value) ? bt__term_made(p, bt_dim(p->store, value), start)
                                        : NULL;
    }
    if (bt__at(p, BT_TOKEN_ANY))
        return parse_question(p);
    if (bt__at_word(p, "_"))
        return bt__parse_hole(p, BT_KIND_DIM);
    dim_function *apply = find_dim_function(p, &is_nary);
    if (apply)
        return parse_dim_call(p, apply, is_nary);
    if (bt__accept(p, BT_TOKEN_LPAREN)) {
        const bt_type *dim = bt__parse_dim(p);
        return dim && bt__expect(p, BT_TOKEN_RPAREN) ? dim : NULL;
    }
    const bt_type *var = bt__find_type_var(p, &p->token);
    if (var)
        return bt__parse_type_var(p, var, BT_KIND_DIM);
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
        left = bt__term_made(p, bt_dim_mul(p->store, left, right), start);
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
        left = bt__term_made(
            p, (is_minus ? bt_dim_sub : bt_dim_add)(p->store, left, right), start);
    }
    return left;
}

const bt_type *bt__parse_dim(bt__parser *p)
{
    if (!bt__enter(p))
        return NULL;
    const bt_type *dim = parse_sum(p);
    bt__leave(p);
    return dim;
}

/* ---- shapes ---- */

const bt_type *bt__parse_shape_list(bt__parser *p, uint32_t close, const bt_attr *row)
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
            const bt_type *dim = bt__parse_dim(p);
            int64_t value;
            int is_number =
                token.kind == BT_TOKEN_NUMBER && p->end == token.offset + token.nbytes;
            if (dim && row && row->low < 0 && !is_number &&
                bt_dim_is_const(dim, &value) && value == 0)
                dim = bt__term_made(p, bt_dim(p->store, BT_SHAPE_ZERO), token.offset);
            if (dim && !row && bt_dim_is_const(dim, &value) && value < 0) {
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
    return bt__term_made(
        p,
        rest ? bt_type_shape_rest(p->store, dims.len, dims.at, position, rest)
             : bt_type_shape(p->store, dims.len, dims.at),
        start);
}

const bt_type *bt__parse_shape(bt__parser *p)
{
    if (bt__at(p, BT_TOKEN_LPAREN))
        return bt__parse_shape_list(p, BT_TOKEN_RPAREN, NULL);
    if (bt__at_word(p, "_"))
        return bt__parse_hole(p, BT_KIND_SHAPE);
    const bt_type *var = bt__find_type_var(p, &p->token);
    if (var)
        return bt__parse_type_var(p, var, BT_KIND_SHAPE);
    bt__error_expected(p, "a shape, such as (n, 4)");
    return NULL;
}
