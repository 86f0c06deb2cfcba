/* The parser's place in the text: tokens ahead, errors, and going on after them. */
#include "text/draft.h"

#include <string.h>

#include "base/arena.h"
#include "base/ctx.h"

enum { SHOWN_NBYTES = 40 /* of a token in a message */ };

void bt__parser_init(bt__parser *p, bt_ctx *ctx, bt_store *store, bt_arena *arena,
                     const char *file, const char *text, uint32_t nbytes)
{
    *p = (bt__parser){ .ctx = ctx,
                       .store = store,
                       .arena = arena,
                       .file = file,
                       .text = text,
                       .nbytes = nbytes };
    bt__scoped_init(p);
    bt_map_init(&p->op_presets, arena, 0);
    bt__seek(p, 0);
}

/* The next token that is one; those that are not are reported here. */
static bt__token lex(bt__parser *p)
{
    for (;;) {
        bt__token token = bt__lex(&p->lexer);
        if (token.kind != BT_TOKEN_ERROR)
            return token;
        if (!p->is_scanning)
            bt__error_token(p, BT_ERR_SYNTAX, &token, "%s", token.error);
        if (p->stop) {
            token.kind = BT_TOKEN_END;
            return token;
        }
    }
}

void bt__seek(bt__parser *p, uint32_t offset)
{
    bt__lexer_init(&p->lexer, p->text, p->nbytes);
    p->lexer.at = offset;
    p->end = offset;
    p->token = lex(p);
    p->next = lex(p);
    p->after = lex(p);
}

void bt__advance(bt__parser *p)
{
    p->end = p->token.offset + p->token.nbytes;
    p->braces += p->token.kind == BT_TOKEN_LBRACE;
    p->braces -= p->token.kind == BT_TOKEN_RBRACE;
    p->token = p->next;
    p->next = p->after;
    p->after = lex(p);
}

int bt__at(const bt__parser *p, uint32_t kind)
{
    return p->token.kind == kind;
}

int bt__token_is_word(const bt__parser *p, const bt__token *token, const char *word)
{
    return token->kind == BT_TOKEN_WORD && strlen(word) == token->nbytes &&
           memcmp(p->text + token->offset, word, token->nbytes) == 0;
}

int bt__at_word(const bt__parser *p, const char *word)
{
    return bt__token_is_word(p, &p->token, word);
}

int bt__accept(bt__parser *p, uint32_t kind)
{
    if (p->token.kind != kind)
        return 0;
    bt__advance(p);
    return 1;
}

int bt__accept_word(bt__parser *p, const char *word)
{
    if (!bt__at_word(p, word))
        return 0;
    bt__advance(p);
    return 1;
}

int bt__accept_none(bt__parser *p)
{
    return bt__accept_word(p, "None") ||
           (p->dialect == BT__RELAY && bt__accept_word(p, "nullptr"));
}

int bt__expect(bt__parser *p, uint32_t kind)
{
    return bt__accept(p, kind) || bt__error_expected(p, bt__token_kind_text(kind));
}

int bt__expect_word(bt__parser *p, const char *word)
{
    char what[40];
    if (bt__accept_word(p, word))
        return 1;
    what[0] = '`';
    strncpy(what + 1, word, sizeof(what) - 3);
    what[sizeof(what) - 2] = 0;
    strcat(what, "`");
    return bt__error_expected(p, what);
}

/* ---- errors ---- */

static int comes_before(bt_status a, bt_status b)
{
    return a->place.line != b->place.line ? a->place.line < b->place.line
                                          : a->place.column < b->place.column;
}

void bt__report_faults(bt__parser *p)
{
    struct bt__fault *at = p->faults.at;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->faults.len; i++) {
        struct bt__fault fault = at[i];
        uint32_t k = i;
        for (; k && comes_before(fault.status, at[k - 1].status); k--)
            at[k] = at[k - 1];
        at[k] = fault;
    }
    for (uint32_t i = 0; i < p->faults.len; i++) {
        if (at[i].is_follow_up)
            continue;
        bt_report(p->ctx, at[i].status);
        if (!n++)
            p->first = at[i].status;
    }
}

int bt__error_status(bt__parser *p, bt_status status)
{
    struct bt__fault fault = { status, 0 };
    if (!p->is_quiet && (!p->fault_arena || !BT_PUSH(p->fault_arena, &p->faults, fault)))
        bt_report(p->ctx, status);
    if (!p->first)
        p->first = status;
    p->nerror++;
    if (status->code == BT_ERR_MEMORY || p->nerror >= bt_ctx_limits(p->ctx)->errors)
        p->stop = 1;
    return 0;
}

BT_PRINTF(5, 0)
static bt_status make_status(bt__parser *p, uint32_t code, uint32_t offset,
                             uint32_t nbytes, const char *format, va_list args)
{
    const struct bt__range range = { p->file, p->text, p->nbytes, offset, nbytes };
    return bt__fail_in(p->ctx, code, &range, format, args);
}

bt_status bt__status_at(bt__parser *p, uint32_t code, uint32_t offset, uint32_t nbytes,
                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bt_status status = make_status(p, code, offset, nbytes, format, args);
    va_end(args);
    return status;
}

int bt__error(bt__parser *p, uint32_t code, uint32_t offset, uint32_t nbytes,
              const char *format, ...)
{
    if (p->stop)
        return 0;
    va_list args;
    va_start(args, format);
    bt_status status = make_status(p, code, offset, nbytes, format, args);
    va_end(args);
    return bt__error_status(p, status);
}

int bt__error_token(bt__parser *p, uint32_t code, const bt__token *token,
                    const char *format, ...)
{
    if (p->stop)
        return 0;
    va_list args;
    va_start(args, format);
    bt_status status = make_status(p, code, token->offset, token->nbytes, format, args);
    va_end(args);
    return bt__error_status(p, status);
}

const char *bt__token_show(bt__parser *p, const bt__token *token)
{
    if (token->kind == BT_TOKEN_END)
        return bt__token_kind_text(BT_TOKEN_END);
    uint32_t nbytes = token->nbytes < SHOWN_NBYTES ? token->nbytes : SHOWN_NBYTES;
    const char *out =
        bt__format(p->arena, "`%.*s%s`", (int)nbytes, p->text + token->offset,
                   nbytes < token->nbytes ? "..." : "");
    return out ? out : "something else";
}

int bt__error_expected(bt__parser *p, const char *what)
{
    // An error at the same place about what was expected was reported already.
    if (p->nerror && p->expected_at == p->token.offset)
        return 0;
    p->expected_at = p->token.offset;
    return bt__error_token(p, BT_ERR_SYNTAX, &p->token, "expected %s, found %s", what,
                           bt__token_show(p, &p->token));
}

int bt__error_memory(bt__parser *p)
{
    if (!p->stop)
        bt__error_status(p, bt_no_memory());
    return 0;
}

int bt__error_store(bt__parser *p, uint32_t offset)
{
    bt_status why = bt_store_why(p->ctx, p->store);
    if (why->code == BT_ERR_MEMORY)
        return bt__error_memory(p);
    return bt__error(p, why->code, offset, p->end > offset ? p->end - offset : 1, "%s",
                     why->message);
}

int bt__enter(bt__parser *p)
{
    uint32_t limit = bt_ctx_limits(p->ctx)->depth;
    if (p->depth < limit) {
        p->depth++;
        return 1;
    }
    return bt__error_token(p, BT_ERR_LIMIT, &p->token,
                           "nested more than %u deep (limits.depth)", (unsigned)limit);
}

void bt__leave(bt__parser *p)
{
    p->depth--;
}

/* ---- names ---- */

const char *bt__token_name(bt__parser *p, const bt__token *token)
{
    const char *from = p->text + token->offset;
    size_t nbytes = token->nbytes;
    const void *mark = bt_arena_mark(p->arena);
    if (token->kind != BT_TOKEN_WORD)
        from = bt__token_text(p->arena, p->text, token, &nbytes);
    const char *name = NULL;
    if (from && memchr(from, 0, nbytes))
        bt__error_token(p, BT_ERR_SYNTAX, token, "a name cannot hold a zero byte");
    else if (!from || !(name = p->store ? bt_name(p->store, from, nbytes)
                                        : bt_arena_text(p->arena, from, nbytes)))
        bt__error_memory(p);
    if (p->store)
        bt_arena_release(p->arena, mark);
    return name;
}

int bt__parse_int(bt__parser *p, int64_t *out)
{
    int is_negative = bt__accept(p, BT_TOKEN_MINUS);
    if (!bt__at(p, BT_TOKEN_NUMBER))
        return bt__error_expected(p, "an integer");
    const char *digits = p->text + p->token.offset;
    uint64_t value = 0;
    for (uint32_t i = 0; i < p->token.nbytes; i++) {
        uint64_t digit = (uint64_t)(digits[i] - '0');
        if (digit > 9)
            return bt__error_expected(p, "an integer");
        if (value > ((uint64_t)INT64_MAX + (uint64_t)is_negative - digit) / 10)
            return bt__error_token(p, BT_ERR_LIMIT, &p->token,
                                   "an integer beyond 64 bits");
        value = value * 10 + digit;
    }
    bt__advance(p);
    *out = is_negative ? (int64_t)(0 - value) : (int64_t)value;
    return 1;
}

int bt__parse_uint32(bt__parser *p, uint32_t *out)
{
    bt__token token = p->token;
    int64_t value;
    if (!bt__parse_int(p, &value))
        return 0;
    if (value < 0 || value > UINT32_MAX)
        return bt__error_token(p, BT_ERR_LIMIT, &token, "expected an integer of 0 to %u",
                               (unsigned)UINT32_MAX);
    *out = (uint32_t)value;
    return 1;
}

/* ---- going on ---- */

int bt__at_definition(const bt__parser *p)
{
    const bt__token *next = &p->next;
    if (bt__at_word(p, "def") || bt__at_word(p, "const") || bt__at_word(p, "gradient") ||
        bt__at_word(p, "jvp"))
        return next->kind == BT_TOKEN_GLOBAL;
    if (bt__at_word(p, "type"))
        return next->kind == BT_TOKEN_WORD || next->kind == BT_TOKEN_STRING;
    if (bt__at_word(p, "extern"))
        return next->kind == BT_TOKEN_GLOBAL || bt__token_is_word(p, next, "type");
    return bt__at(p, BT_TOKEN_HEADER);
}

int bt__at_section(const bt__parser *p, const char *name)
{
    return bt__at(p, BT_TOKEN_HEADER) && bt__token_is_word(p, &p->next, name);
}

/* A name that skipped text binds is known, though not what it is. */
static void skip_name(bt__parser *p)
{
    int binds = p->next.kind == BT_TOKEN_EQUAL || p->next.kind == BT_TOKEN_COLON;
    if (!bt__at(p, BT_TOKEN_LOCAL) || !binds || !p->module)
        return;
    const char *name = bt__token_name(p, &p->token);
    uint32_t space = bt__local_space(p, &p->token);
    bt__draft *poison =
        name && !bt__scoped_find(p, space, name) ? bt__draft_poison(p) : NULL;
    if (poison)
        (void)bt__scoped_set(p, space, name, poison);
}

void bt__skip_statement(bt__parser *p, uint32_t braces)
{
    while (!bt__at(p, BT_TOKEN_END) && !bt__at_definition(p)) {
        int is_outside = (int32_t)(p->braces - braces) <= 0;
        if (is_outside && bt__at(p, BT_TOKEN_RBRACE))
            return;
        int is_end = is_outside && bt__at(p, BT_TOKEN_SEMICOLON);
        skip_name(p);
        bt__advance(p);
        if (is_end)
            return;
    }
}

const char *bt__name_list(bt__parser *p, const char *const *names)
{
    enum { LONGEST = 400 };
    bt_text text;
    bt_text_init(&text, p->arena);
    for (uint32_t i = 0; names[i] && text.len < LONGEST; i++)
        bt_text_addf(&text, "%s%s", i ? ", " : "", names[i]);
    if (text.len >= LONGEST)
        bt_text_addf(&text, ", ...");
    const char *out = bt_text_get(&text);
    return out ? out : "...";
}

/* Levenshtein distance of two names, `most` + 1 when it is more than that. */
static uint32_t distance(const char *a, const char *b, uint32_t most)
{
    enum { LONGEST = 64 };
    uint32_t row[LONGEST + 1];
    size_t na = strlen(a), nb = strlen(b);
    if (na > LONGEST || nb > LONGEST)
        return most + 1;
    for (uint32_t j = 0; j <= nb; j++)
        row[j] = j;
    for (uint32_t i = 1; i <= na; i++) {
        uint32_t diagonal = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= nb; j++) {
            uint32_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (row[j] + 1 < best)
                best = row[j] + 1;
            row[j] = best;
        }
    }
    return row[nb] <= most ? row[nb] : most + 1;
}

const char *bt__nearest(const char *name, const char *const *candidates)
{
    size_t nbytes = strlen(name);
    uint32_t most = nbytes < 4 ? 1 : nbytes < 8 ? 2 : 3, best = most + 1;
    const char *nearest = NULL;
    for (uint32_t i = 0; candidates[i]; i++) {
        uint32_t d = distance(name, candidates[i], most);
        if (d < best) {
            best = d;
            nearest = candidates[i];
        }
    }
    return nearest;
}
