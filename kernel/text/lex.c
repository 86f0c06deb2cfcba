/*
 * Text to tokens.
 *
 *   word     letters, digits and _, not starting with a digit; words joined by dots are
 *            one (nn.conv2d)
 *   local    %word, %word/word (Relay's texts hold slashes), %12, %"any name"
 *   global   @word, @"any name"
 *   number   digits, fraction, exponent and a suffix of letters and digits: 1i64, 2.5f
 *   .0       a projection: a dot and digits
 *   ?  ?a    a dim that is not known, and a shared one
 *
 * Comments run from // to the end of the line, or between slash-star pairs, which nest.
 */
#include "text/lex.h"

#include <string.h>

void bt__lexer_init(bt__lexer *lexer, const char *text, uint32_t nbytes)
{
    *lexer = (bt__lexer){ .text = text, .nbytes = nbytes };
}

const char *bt__token_kind_text(uint32_t kind)
{
    static const char *const texts[] = {
#define BT_TOKEN(UPPER, text) text,
#include "text/tokens.def"
    };
    return kind < BT_TOKEN_COUNT ? texts[kind] : "?";
}

static int is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static int is_word_char(int c)
{
    return is_letter(c) || is_digit(c);
}

/* The byte `ahead` of the current one, 0 beyond the end. */
static int peek(const bt__lexer *lexer, uint32_t ahead)
{
    return ahead < lexer->nbytes - lexer->at
               ? (unsigned char)lexer->text[lexer->at + ahead]
               : 0;
}

/* 1, or 0 when the comment that starts here never ends. */
static int skip_block_comment(bt__lexer *lexer)
{
    uint32_t depth = 0;
    do {
        if (lexer->at >= lexer->nbytes)
            return 0;
        if (peek(lexer, 0) == '/' && peek(lexer, 1) == '*') {
            depth++;
            lexer->at += 2;
        } else if (peek(lexer, 0) == '*' && peek(lexer, 1) == '/') {
            depth--;
            lexer->at += 2;
        } else {
            lexer->at++;
        }
    } while (depth);
    return 1;
}

/* Skips white space and comments up to *start; 0 when the comment there never ends. */
static int skip_blank(bt__lexer *lexer, uint32_t *start)
{
    for (;;) {
        int c = peek(lexer, 0);
        *start = lexer->at;
        if (lexer->at >= lexer->nbytes)
            return 1;
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            lexer->at++;
        } else if (c == '/' && peek(lexer, 1) == '/') {
            while (lexer->at < lexer->nbytes && peek(lexer, 0) != '\n')
                lexer->at++;
        } else if (c == '/' && peek(lexer, 1) == '*') {
            if (!skip_block_comment(lexer))
                return 0;
        } else {
            return 1;
        }
    }
}

/* Moves past a quoted text whose opening quote is the current byte; 0 when it does not
 * end on its line. */
static int skip_quoted(bt__lexer *lexer)
{
    lexer->at++;
    while (lexer->at < lexer->nbytes) {
        int c = peek(lexer, 0);
        if (c == '\n')
            return 0;
        lexer->at++;
        if (c == '"')
            return 1;
        if (c == '\\' && lexer->at < lexer->nbytes && peek(lexer, 0) != '\n')
            lexer->at++;
    }
    return 0;
}

/* Words joined by single dots. A dot before anything but a letter is left alone, so that
 * %x.0 is a projection. */
static void skip_word(bt__lexer *lexer, int slash_too)
{
    for (;;) {
        while (is_word_char(peek(lexer, 0)))
            lexer->at++;
        int c = peek(lexer, 0);
        int joins = (c == '.' && is_letter(peek(lexer, 1))) ||
                    (slash_too && c == '/' && is_letter(peek(lexer, 1)));
        if (!joins)
            return;
        lexer->at++;
    }
}

static void skip_digits(bt__lexer *lexer)
{
    while (is_digit(peek(lexer, 0)))
        lexer->at++;
}

static void skip_number(bt__lexer *lexer)
{
    skip_digits(lexer);
    if (peek(lexer, 0) == '.' && (is_digit(peek(lexer, 1)) || peek(lexer, 1) == 'f')) {
        lexer->at++;
        skip_digits(lexer);
    }
    int c = peek(lexer, 0), sign = peek(lexer, 1) == '+' || peek(lexer, 1) == '-';
    if ((c == 'e' || c == 'E') && is_digit(peek(lexer, sign ? 2 : 1))) {
        lexer->at += sign ? 2 : 1;
        skip_digits(lexer);
    }
    while (is_word_char(peek(lexer, 0)))
        lexer->at++;
}

static bt__token finish(const bt__lexer *lexer, uint32_t start, uint32_t kind)
{
    return (bt__token){ .kind = kind, .offset = start, .nbytes = lexer->at - start };
}

static bt__token fail(const bt__lexer *lexer, uint32_t start, const char *why)
{
    bt__token token = finish(lexer, start, BT_TOKEN_ERROR);
    token.error = why;
    return token;
}

static bt__token lex_sigil(bt__lexer *lexer, uint32_t kind)
{
    uint32_t start = lexer->at++;
    int c = peek(lexer, 0);
    if (c == '"') {
        if (!skip_quoted(lexer))
            return fail(lexer, start, "a quoted name that does not end on its line");
        bt__token token = finish(lexer, start, kind);
        token.is_quoted = 1;
        return token;
    }
    if (kind == BT_TOKEN_LOCAL && is_digit(c))
        skip_digits(lexer);
    else if (is_letter(c))
        skip_word(lexer, 1);
    else
        return fail(lexer, start,
                    kind == BT_TOKEN_LOCAL
                        ? "`%` without a name; expected %name, %0 or %\"any name\""
                        : "`@` without a name; expected @name or @\"any name\"");
    return finish(lexer, start, kind);
}

/* A run of bytes that start no token: skipped together, so that one error covers them. */
static bt__token lex_unknown(bt__lexer *lexer)
{
    uint32_t start = lexer->at++;
    if ((unsigned char)lexer->text[start] >= 0x80)
        while (peek(lexer, 0) >= 0x80)
            lexer->at++;
    return fail(lexer, start, "a character that starts no token");
}

static bt__token lex_dot(bt__lexer *lexer)
{
    uint32_t start = lexer->at;
    if (peek(lexer, 1) == '.') {
        lexer->at += 2;
        return finish(lexer, start, BT_TOKEN_DOTS);
    }
    if (!is_digit(peek(lexer, 1)))
        return lex_unknown(lexer);
    lexer->at++;
    skip_digits(lexer);
    return finish(lexer, start, BT_TOKEN_PROJ);
}

static uint32_t punctuation(const bt__lexer *lexer, uint32_t *nbytes)
{
    // clang-format off
    static const struct {
        char text[3];
        uint32_t kind;
    } rows[] = { // longer ones first
        { "#[", BT_TOKEN_HEADER },      { "<=", BT_TOKEN_LESS_EQUAL },
        { ">=", BT_TOKEN_GREATER_EQUAL }, { "==", BT_TOKEN_EQUAL_EQUAL },
        { "!=", BT_TOKEN_NOT_EQUAL },   { "->", BT_TOKEN_ARROW },
        { "=>", BT_TOKEN_FAT_ARROW },   { "(", BT_TOKEN_LPAREN },
        { ")", BT_TOKEN_RPAREN },       { "{", BT_TOKEN_LBRACE },
        { "}", BT_TOKEN_RBRACE },       { "[", BT_TOKEN_LBRACKET },
        { "]", BT_TOKEN_RBRACKET },     { "<", BT_TOKEN_LESS },
        { ">", BT_TOKEN_GREATER },      { "=", BT_TOKEN_EQUAL },
        { ",", BT_TOKEN_COMMA },        { ";", BT_TOKEN_SEMICOLON },
        { ":", BT_TOKEN_COLON },        { "+", BT_TOKEN_PLUS },
        { "-", BT_TOKEN_MINUS },        { "*", BT_TOKEN_STAR },
        { "/", BT_TOKEN_SLASH },
    };
    // clang-format on
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        *nbytes = rows[i].text[1] ? 2 : 1;
        if (peek(lexer, 0) == rows[i].text[0] &&
            (*nbytes == 1 || peek(lexer, 1) == rows[i].text[1]))
            return rows[i].kind;
    }
    return BT_TOKEN_ERROR;
}

bt__token bt__lex(bt__lexer *lexer)
{
    uint32_t start;
    if (!skip_blank(lexer, &start))
        return fail(lexer, start, "a comment that never ends; expected `*/`");
    if (start >= lexer->nbytes)
        return finish(lexer, start, BT_TOKEN_END);
    int c = peek(lexer, 0);
    if (is_letter(c)) {
        skip_word(lexer, 0);
        return finish(lexer, start, BT_TOKEN_WORD);
    }
    if (is_digit(c)) {
        skip_number(lexer);
        return finish(lexer, start, BT_TOKEN_NUMBER);
    }
    if (c == '"')
        return skip_quoted(lexer)
                   ? finish(lexer, start, BT_TOKEN_STRING)
                   : fail(lexer, start, "a string that does not end on its line");
    if (c == '%')
        return lex_sigil(lexer, BT_TOKEN_LOCAL);
    if (c == '@')
        return lex_sigil(lexer, BT_TOKEN_GLOBAL);
    if (c == '.')
        return lex_dot(lexer);
    if (c == '?') {
        lexer->at++;
        if (is_letter(peek(lexer, 0)))
            skip_word(lexer, 0);
        return finish(lexer, start, BT_TOKEN_ANY);
    }
    uint32_t nbytes, kind = punctuation(lexer, &nbytes);
    if (kind == BT_TOKEN_ERROR)
        return lex_unknown(lexer);
    lexer->at += nbytes;
    return finish(lexer, start, kind);
}

int bt__token_is_numbered(const char *text, const bt__token *token)
{
    return token->kind == BT_TOKEN_LOCAL && !token->is_quoted &&
           is_digit((unsigned char)text[token->offset + 1]);
}

static int hex_digit(int c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes the escape after a backslash at *i, which it moves past it. An escape that is
 * none stands for its own character. */
static char escape(const char *from, size_t nbytes, size_t *i)
{
    char c = from[(*i)++];
    if (c == 'n')
        return '\n';
    if (c == 't')
        return '\t';
    if (c == 'r')
        return '\r';
    if (c == 'x' && *i + 1 < nbytes) {
        int high = hex_digit((unsigned char)from[*i]);
        int low = hex_digit((unsigned char)from[*i + 1]);
        if (high >= 0 && low >= 0) {
            *i += 2;
            return (char)(high * 16 + low);
        }
    }
    return c;
}

const char *bt__token_text(bt_arena *arena, const char *text, const bt__token *token,
                           size_t *nbytes)
{
    const char *from = text + token->offset;
    size_t n = token->nbytes;
    if (token->kind == BT_TOKEN_LOCAL || token->kind == BT_TOKEN_GLOBAL ||
        token->kind == BT_TOKEN_ANY) {
        from++;
        n--;
    }
    int is_quoted = token->kind == BT_TOKEN_STRING || token->is_quoted;
    if (is_quoted) {
        from++;
        n -= 2;
    }
    char *out = bt_arena_alloc(arena, 1, n + 1);
    if (!out)
        return NULL;
    size_t len = 0;
    for (size_t i = 0; i < n;) {
        char c = from[i++];
        out[len++] = is_quoted && c == '\\' && i < n ? escape(from, n, &i) : c;
    }
    out[len] = 0;
    *nbytes = len;
    return out;
}

int bt__is_word(const char *name)
{
    size_t nbytes = strlen(name);
    if (!nbytes || nbytes >= UINT32_MAX)
        return 0;
    bt__lexer lexer;
    bt__lexer_init(&lexer, name, (uint32_t)nbytes);
    bt__token token = bt__lex(&lexer);
    return token.kind == BT_TOKEN_WORD && token.nbytes == nbytes;
}
