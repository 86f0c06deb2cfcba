/* What is said besides of a name that stands for nothing: a library that defines it, else
 * a name that is near. */
#include "base/arena.h"
#include "text/draft.h"

#include <string.h>

#include <baton/plugin.h>

/* In a text, the definitions are looked for by their tokens: it is not parsed. */
struct search {
    bt__lexer lexer;
    const char *name;
    uint32_t depth;   /* of brackets */
    uint32_t in_type; /* between `type` and the end of its constructors */
    uint32_t last;    /* kind of the token before */
};

static int is_name(const struct search *s, const bt__token *token, const char *name)
{
    return strlen(name) == token->nbytes &&
           memcmp(s->lexer.text + token->offset, name, token->nbytes) == 0;
}

static int is_opening(uint32_t kind)
{
    return kind == BT_TOKEN_LPAREN || kind == BT_TOKEN_LBRACE ||
           kind == BT_TOKEN_LBRACKET || kind == BT_TOKEN_HEADER;
}

static int is_closing(uint32_t kind)
{
    return kind == BT_TOKEN_RPAREN || kind == BT_TOKEN_RBRACE ||
           kind == BT_TOKEN_RBRACKET;
}

/* Whether the token names what is defined there: `@name` between definitions; in a type,
 * what stands at the head or begins a constructor. */
static int is_defined_by(const struct search *s, const bt__token *token)
{
    if (*s->name == '@')
        return s->depth == 0 && token->kind == BT_TOKEN_GLOBAL;
    return s->in_type && token->kind == BT_TOKEN_WORD &&
           (s->depth == 0 ||
            (s->depth == 1 && (s->last == BT_TOKEN_LBRACE || s->last == BT_TOKEN_COMMA)));
}

static int defines(const char *text, uint32_t nbytes, const char *name)
{
    struct search s = { .name = name };
    bt__token token;
    bt__lexer_init(&s.lexer, text, nbytes);
    while ((token = bt__lex(&s.lexer)).kind != BT_TOKEN_END) {
        if (is_defined_by(&s, &token) && is_name(&s, &token, name))
            return 1;
        if (is_closing(token.kind) && s.depth && --s.depth == 0 &&
            token.kind == BT_TOKEN_RBRACE)
            s.in_type = 0;
        if (s.depth == 0 && token.kind == BT_TOKEN_WORD && is_name(&s, &token, "type"))
            s.in_type = 1;
        s.depth += (uint32_t)is_opening(token.kind);
        s.last = token.kind;
    }
    return 0;
}

/* NULL: none. What goes wrong here is not the error that is reported. */
static const char *library_of(bt__parser *p, const char *name)
{
    uint32_t n = bt_plugins_scan(p->ctx) ? 0 : bt_provided_len(p->ctx, "library");
    for (uint32_t i = 0; i < n; i++) {
        struct bt__text text;
        bt_provided item;
        size_t nbytes;
        if (!bt_provided_at(p->ctx, "library", i, &item) &&
            !bt__read_library(p, item.name, &text, &nbytes) &&
            defines(text.text, (uint32_t)nbytes, name))
            return item.name;
    }
    return NULL;
}

const char *bt__hint(bt__parser *p, const char *name, const char *near)
{
    if (bt__scoped_find(p, BT__TYPES, name))
        return "; it is a dim or a type here, which is no value: a dim of %x is "
               "take(shape_of(%x), 0), with the number of its axis";
    const char *library = p->module ? library_of(p, name) : NULL;
    const char *hint =
        library ? bt__format(p->arena,
                             "; library %s defines it: write import \"%s\" at the head "
                             "of the text",
                             library, library)
        : near  ? bt__format(p->arena, "; did you mean `%s%s`?", *name == '@' ? "@" : "",
                             near)
                : NULL;
    return hint ? hint : "";
}
