/*
 * Expressions, flattened as they are read.
 *
 *   expr    = operand { infix operand }    * /, then + -, then < <= > >=, then == !=
 *   operand = primary { "(" arguments ")" | ".0" }
 *   primary = %name | @name | literal | const | NAME
 *           | "(" [ body { "," body } [ "," ] ] ")" | "{" body "}"
 *           | "if" "(" body ")" block [ "else" block ]
 *           | match | "fn" function | "ref" "(" body ")" | ...
 *
 * A body is statements and an expression: parse_stmt.c.
 */
#include "text/draft.h"

/* ---- names ---- */

uint32_t bt__local_space(const bt__parser *p, const bt__token *token)
{
    return bt__token_is_numbered(p->text, token) ? BT__NUMBERS : BT__LOCALS;
}

bt__draft *bt__draft_poison(bt__parser *p)
{
    return bt__draft_new(p, BT__DRAFT_POISON, p->token.offset);
}

static bt__draft *parse_local(bt__parser *p)
{
    bt__token token = p->token;
    const char *name = bt__token_name(p, &token);
    if (!name)
        return NULL;
    bt__advance(p);
    bt__draft *found = bt__scoped_find(p, bt__local_space(p, &token), name);
    if (found)
        return bt__draft_use(p, found) ? found : NULL;
    bt__error_token(p, BT_ERR_NAME, &token, "%s is not defined here",
                    bt__token_show(p, &token));
    // A name is reported once.
    bt__draft *none = p->stop ? NULL : bt__draft_poison(p);
    return none && bt__scoped_set(p, bt__local_space(p, &token), name, none) ? none
                                                                             : NULL;
}

static bt__draft *parse_global(bt__parser *p)
{
    bt__token token = p->token;
    const char *name = bt__token_name(p, &token);
    if (!name || !bt__use_global(p, name, &token, NULL))
        return NULL;
    bt__advance(p);
    bt__draft *draft = bt__draft_new(p, BT_VALUE_GLOBAL, token.offset);
    if (draft)
        draft->name = name;
    return draft;
}

/* ---- primaries ---- */

bt__draft *bt__parse_scoped(bt__parser *p)
{
    uint32_t mark = bt__scoped_mark(p);
    if (!bt__enter(p))
        return NULL;
    bt__draft *result = bt__parse_statements(p);
    bt__leave(p);
    bt__scoped_release(p, mark);
    return result;
}

static bt__draft *parse_tuple(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__drafts fields = { 0 };
    int has_comma = 0;
    bt__advance(p);
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        bt__draft *field = bt__parse_scoped(p);
        if (!field || (!BT_PUSH(p->arena, &fields, field) && !bt__error_memory(p)))
            return NULL;
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
        has_comma = 1;
    }
    if (!bt__at(p, BT_TOKEN_RPAREN)) {
        bt__error_expected(p, "`,` or `)`");
        return NULL;
    }
    bt__advance(p);
    if (fields.len == 1 && !has_comma)
        return fields.at[0];
    bt__draft *draft = bt__draft_new(p, BT_VALUE_TUPLE, start);
    return draft && bt__draft_operands(p, draft, fields.len, fields.at)
               ? bt__draft_append(p, draft)
               : NULL;
}

static bt__draft *parse_braces(bt__parser *p)
{
    bt__advance(p);
    bt__draft *result = bt__parse_scoped(p);
    return result && bt__expect(p, BT_TOKEN_RBRACE) ? result : NULL;
}

/* One region of a branch: `{ body }`. */
static int parse_region(bt__parser *p, bt__draft *parent)
{
    uint32_t mark = bt__scoped_mark(p);
    bt__draft_block *block = bt__draft_block_new(p, parent);
    int ok = block && bt__expect(p, BT_TOKEN_LBRACE) && bt__enter(p);
    if (ok) {
        ok = bt__parse_body(p, block);
        bt__leave(p);
    }
    bt__scoped_release(p, mark);
    return ok && bt__expect(p, BT_TOKEN_RBRACE) && bt__draft_region(p, parent, block);
}

static bt__draft *parse_if(bt__parser *p);

/* `else if` is an if alone in the block. */
static int parse_else_if(bt__parser *p, bt__draft *parent)
{
    bt__draft_block *block = bt__draft_block_new(p, parent), *outer = p->module->block;
    if (!block || !bt__enter(p))
        return 0;
    p->module->block = block;
    bt__draft *inner = parse_if(p);
    p->module->block = outer;
    bt__leave(p);
    block->result = inner;
    return inner && bt__draft_region(p, parent, block);
}

static bt__draft *parse_if(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    if (!bt__expect(p, BT_TOKEN_LPAREN))
        return NULL;
    bt__draft *condition = bt__parse_scoped(p);
    if (!condition || !bt__expect(p, BT_TOKEN_RPAREN))
        return NULL;
    bt__draft *draft = bt__draft_new(p, BT_VALUE_IF, start);
    if (!draft || !bt__draft_operands(p, draft, 1, &condition) ||
        !parse_region(p, draft) || !bt__expect_word(p, "else"))
        return NULL;
    int ok = bt__at_word(p, "if") ? parse_else_if(p, draft) : parse_region(p, draft);
    return ok ? bt__draft_append(p, draft) : NULL;
}

/* ref, ref_read, ref_write: `n` operands in parentheses. */
static bt__draft *parse_cell(bt__parser *p, uint32_t kind, uint32_t n)
{
    uint32_t start = p->token.offset;
    bt__draft *operands[2] = { NULL };
    bt__advance(p);
    if (!bt__expect(p, BT_TOKEN_LPAREN))
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        if ((i && !bt__expect(p, BT_TOKEN_COMMA)) || !(operands[i] = bt__parse_scoped(p)))
            return NULL;
    }
    bt__accept(p, BT_TOKEN_COMMA);
    if (!bt__expect(p, BT_TOKEN_RPAREN))
        return NULL;
    bt__draft *draft = bt__draft_new(p, kind, start);
    return draft && bt__draft_operands(p, draft, n, operands) ? bt__draft_append(p, draft)
                                                              : NULL;
}

static bt__draft *parse_fn(bt__parser *p)
{
    bt__draft *closure = bt__draft_new(p, BT_VALUE_CLOSURE, p->token.offset);
    return closure ? bt__parse_closures(p, &closure, 1) : NULL;
}

static bt__draft *parse_word(bt__parser *p)
{
    uint32_t next = p->next.kind;
    if (bt__at_word(p, "if"))
        return parse_if(p);
    if (bt__at_word(p, "fn"))
        return parse_fn(p);
    if (bt__at_word(p, "match"))
        return bt__parse_match(p);
    if (bt__at_word(p, "ref"))
        return parse_cell(p, BT_VALUE_REF, 1);
    if (bt__at_word(p, "ref_read"))
        return parse_cell(p, BT_VALUE_READ, 1);
    if (bt__at_word(p, "ref_write"))
        return parse_cell(p, BT_VALUE_WRITE, 2);
    if (bt__at_literal(p))
        return bt__parse_literal(p);
    if (bt__at_word(p, "const"))
        return bt__parse_const(p);
    if (bt__at_word(p, "meta") && next == BT_TOKEN_LBRACKET)
        return bt__parse_meta(p);
    return bt__parse_named(p);
}

/* --10 is 10, as in Relay. */
static void skip_pairs_of_signs(bt__parser *p)
{
    while (bt__at(p, BT_TOKEN_MINUS) && p->next.kind == BT_TOKEN_MINUS &&
           (p->after.kind == BT_TOKEN_MINUS || p->after.kind == BT_TOKEN_NUMBER)) {
        bt__advance(p);
        bt__advance(p);
    }
}

static bt__draft *parse_primary(bt__parser *p)
{
    skip_pairs_of_signs(p);
    if (bt__at(p, BT_TOKEN_WORD))
        return parse_word(p);
    if (bt__at(p, BT_TOKEN_LOCAL))
        return parse_local(p);
    if (bt__at(p, BT_TOKEN_GLOBAL))
        return parse_global(p);
    if (bt__at_literal(p))
        return bt__parse_literal(p);
    if (bt__at(p, BT_TOKEN_LPAREN))
        return parse_tuple(p);
    if (bt__at(p, BT_TOKEN_LBRACE))
        return parse_braces(p);
    if (bt__at(p, BT_TOKEN_STRING))
        return bt__parse_named(p);
    if (bt__at(p, BT_TOKEN_MINUS))
        bt__error_token(p, BT_ERR_SYNTAX, &p->token,
                        "`-` stands between two expressions only: write negative(...)");
    else
        bt__error_expected(p, "an expression");
    return NULL;
}

/* ---- what follows a primary ---- */

static bt__draft *parse_proj(bt__parser *p, bt__draft *tuple, uint32_t start)
{
    const char *digits = p->text + p->token.offset + 1;
    uint64_t index = 0;
    for (uint32_t i = 0; i + 1 < p->token.nbytes && index <= UINT32_MAX; i++)
        index = index * 10 + (uint64_t)(digits[i] - '0');
    if (index > UINT32_MAX) {
        bt__error_token(p, BT_ERR_LIMIT, &p->token, "no tuple has so many fields");
        return NULL;
    }
    bt__advance(p);
    bt__draft *draft = bt__draft_new(p, BT_VALUE_PROJ, start);
    if (!draft || !bt__draft_operands(p, draft, 1, &tuple))
        return NULL;
    draft->u.index = (uint32_t)index;
    return bt__draft_append(p, draft);
}

bt__draft *bt__parse_atom(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__draft *value = parse_primary(p);
    while (value && bt__at(p, BT_TOKEN_PROJ))
        value = parse_proj(p, value, start);
    return value;
}

static bt__draft *parse_operand(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__draft *value = parse_primary(p);
    while (value) {
        if (bt__at(p, BT_TOKEN_PROJ))
            value = parse_proj(p, value, start);
        else if (bt__at(p, BT_TOKEN_LPAREN) || bt__at(p, BT_TOKEN_LBRACKET))
            value = bt__parse_call(p, value, start);
        else
            return value;
    }
    return NULL;
}

// clang-format off
static const struct infix {
    uint32_t token, level; /* a higher level binds tighter */
    const char *op;
} infixes[] = {
    { BT_TOKEN_STAR, 4, "multiply" },       { BT_TOKEN_SLASH, 4, "divide" },
    { BT_TOKEN_PLUS, 3, "add" },            { BT_TOKEN_MINUS, 3, "subtract" },
    { BT_TOKEN_LESS, 2, "less" },           { BT_TOKEN_LESS_EQUAL, 2, "less_equal" },
    { BT_TOKEN_GREATER, 2, "greater" },     { BT_TOKEN_GREATER_EQUAL, 2, "greater_equal" },
    { BT_TOKEN_EQUAL_EQUAL, 1, "equal" },   { BT_TOKEN_NOT_EQUAL, 1, "not_equal" },
};
// clang-format on

static const struct infix *find_infix(const bt__parser *p)
{
    for (size_t i = 0; i < sizeof(infixes) / sizeof(*infixes); i++) {
        if (bt__at(p, infixes[i].token))
            return &infixes[i];
    }
    return NULL;
}

/* Recurses once for each level at most; a chain of one level is a loop. */
static bt__draft *parse_infix(bt__parser *p, uint32_t level)
{
    uint32_t start = p->token.offset;
    bt__draft *left = parse_operand(p);
    const struct infix *infix;
    while (left && (infix = find_infix(p)) && infix->level >= level) {
        bt__token token = p->token;
        bt__advance(p);
        bt__draft *operands[2] = { left, parse_infix(p, infix->level + 1) };
        if (!operands[1])
            return NULL;
        left = bt__call_op(p, infix->op, &token, 2, operands);
        if (!left)
            return NULL;
        left->place.offset = start;
        left->place.nbytes = p->end - start;
    }
    return left;
}

bt__draft *bt__parse_expr(bt__parser *p)
{
    return parse_infix(p, 1);
}
