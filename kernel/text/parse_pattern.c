/*
 * Matches.
 *
 *   match   = "match" [ "?" ] atom "{" { clause [ "," ] } "}" [ "else" STRING ]
 *   atom    = %x, %x.0, (e), (a, b)
 *   clause  = pattern "=>" ( "{" body "}" | expr )
 *   pattern = "_" | %name [ ":" type ] [ "on" NUMBER ]
 *           | "(" [ pattern { "," pattern } [ "," ] ] ")"
 *           | NAME [ "(" pattern { "," pattern } ")" ]
 */
#include "text/draft.h"

static bt__draft_pattern *parse_pattern(bt__parser *p, bt__draft_block *block);

static int parse_fields(bt__parser *p, bt__draft_block *block, bt__draft_pattern *out)
{
    bt__advance(p);
    while (!bt__at(p, BT_TOKEN_RPAREN)) {
        bt__draft_pattern *field = parse_pattern(p, block);
        if (!field)
            return 0;
        if (!BT_PUSH(p->arena, &out->at, field))
            return bt__error_memory(p);
        if (!bt__accept(p, BT_TOKEN_COMMA))
            break;
    }
    return bt__expect(p, BT_TOKEN_RPAREN);
}

/* The variable becomes a parameter of the clause's block. */
static int parse_variable(bt__parser *p, bt__draft_block *block, bt__draft_pattern *out)
{
    out->kind = BT_PATTERN_VAR;
    out->var = bt__parse_param(p, block);
    return out->var != NULL;
}

static int parse_constructor(bt__parser *p, bt__draft_block *block,
                             bt__draft_pattern *out)
{
    bt__token token = p->token;
    const char *name = bt__token_name(p, &token);
    if (!name)
        return 0;
    out->kind = BT_PATTERN_CTOR;
    out->ctor = bt__module_ctor(p, name);
    if (!out->ctor && bt__is_unread(p, name))
        return 0;
    if (!out->ctor) {
        const char *near = bt__module_near_ctor(p, name);
        return bt__error_token(p, BT_ERR_NAME, &token, "no constructor is named %s%s",
                               bt__token_show(p, &token), bt__hint(p, name, near));
    }
    bt__advance(p);
    if (bt__at(p, BT_TOKEN_LPAREN) && !parse_fields(p, block, out))
        return 0;
    if (out->at.len == out->ctor->nfield)
        return 1;
    return bt__error(p, BT_ERR_TYPE, token.offset, p->end - token.offset,
                     "constructor %s has %u field%s, the pattern %u", out->ctor->name,
                     (unsigned)out->ctor->nfield, out->ctor->nfield == 1 ? "" : "s",
                     (unsigned)out->at.len);
}

static int parse_pattern_into(bt__parser *p, bt__draft_block *block,
                              bt__draft_pattern *out)
{
    if (bt__at(p, BT_TOKEN_LOCAL))
        return parse_variable(p, block, out);
    if (bt__accept_word(p, "_")) {
        out->kind = BT_PATTERN_WILDCARD;
        return 1;
    }
    if (bt__at(p, BT_TOKEN_LPAREN)) {
        out->kind = BT_PATTERN_TUPLE;
        return parse_fields(p, block, out);
    }
    if (bt__at(p, BT_TOKEN_WORD) || bt__at(p, BT_TOKEN_STRING))
        return parse_constructor(p, block, out);
    return bt__error_expected(p, "a pattern: _, %name, a constructor or a tuple");
}

static bt__draft_pattern *parse_pattern(bt__parser *p, bt__draft_block *block)
{
    bt__draft_pattern *out = BT_NEW(p->arena, bt__draft_pattern);
    if (!out) {
        bt__error_memory(p);
        return NULL;
    }
    if (!bt__enter(p))
        return NULL;
    out->place.offset = p->token.offset;
    int ok = parse_pattern_into(p, block, out);
    bt__leave(p);
    out->place.nbytes = p->end - out->place.offset;
    // A variable's place is its own, and was read with it.
    if (ok && out->kind == BT_PATTERN_VAR)
        out->place = out->var->place;
    else if (ok)
        ok = bt__parse_place(p, &out->place);
    return ok ? out : NULL;
}

/* A clause without braces. */
static int parse_short_body(bt__parser *p, bt__draft *match, bt__draft_block *block)
{
    bt__draft_block *outer = p->module->block;
    p->module->block = block;
    bt__draft *result = bt__parse_scoped(p);
    p->module->block = outer;
    block->result = result;
    return result && bt__draft_region(p, match, block);
}

static int parse_long_body(bt__parser *p, bt__draft *match, bt__draft_block *block)
{
    bt__advance(p);
    if (!bt__enter(p))
        return 0;
    int ok = bt__parse_body(p, block);
    bt__leave(p);
    return ok && bt__expect(p, BT_TOKEN_RBRACE) && bt__draft_region(p, match, block);
}

static int parse_clause(bt__parser *p, bt__draft *match, struct bt__draft_clause *out)
{
    uint32_t mark = bt__scoped_mark(p);
    bt__draft_block *block = bt__draft_block_new(p, match);
    int ok = block && (out->pattern = parse_pattern(p, block)) &&
             bt__expect(p, BT_TOKEN_FAT_ARROW);
    if (ok)
        ok = bt__at(p, BT_TOKEN_LBRACE) ? parse_long_body(p, match, block)
                                        : parse_short_body(p, match, block);
    bt__scoped_release(p, mark);
    return ok;
}

static int parse_clauses(bt__parser *p, bt__draft *match)
{
    bt_vec(struct bt__draft_clause) clauses = { 0 };
    if (!bt__expect(p, BT_TOKEN_LBRACE))
        return 0;
    while (!bt__at(p, BT_TOKEN_RBRACE)) {
        struct bt__draft_clause clause;
        if (!parse_clause(p, match, &clause))
            return 0;
        if (!BT_PUSH(p->arena, &clauses, clause))
            return bt__error_memory(p);
        bt__accept(p, BT_TOKEN_COMMA);
    }
    match->u.clauses = clauses.at;
    return bt__expect(p, BT_TOKEN_RBRACE);
}

/* What the error says where no clause fits. */
static int parse_otherwise(bt__parser *p, bt__draft *match)
{
    match->otherwise = "";
    if (!bt__accept_word(p, "else"))
        return 1;
    if (!bt__at(p, BT_TOKEN_STRING))
        return bt__error_expected(p, "what the error says, such as \"there is no *\"");
    match->otherwise = bt__token_name(p, &p->token);
    if (match->otherwise)
        bt__advance(p);
    return match->otherwise != NULL;
}

bt__draft *bt__parse_match(bt__parser *p)
{
    uint32_t start = p->token.offset;
    bt__advance(p);
    int is_partial = bt__accept(p, BT_TOKEN_ANY);
    bt__draft *data = bt__parse_atom(p);
    if (!data)
        return NULL;
    bt__draft *match = bt__draft_new(p, BT_VALUE_MATCH, start);
    if (!match || !bt__draft_operands(p, match, 1, &data) || !parse_clauses(p, match))
        return NULL;
    if (is_partial && !parse_otherwise(p, match))
        return NULL;
    return bt__draft_append(p, match);
}
