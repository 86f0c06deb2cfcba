/* What is said besides of a name that stands for nothing: a library that defines it, else
 * a name that is near. */
#include "base/arena.h"
#include "text/draft.h"

#include <string.h>

#include <baton/plugin.h>

/* Whether a text defines `name`, by its tokens: it is not parsed. A global that is defined
 * stands behind a word; in a type, its own name does, and constructors begin its parts. */
static int defines(const char *text, uint32_t nbytes, const char *name)
{
    uint32_t in_type = 0, depth = 0, last = 0;
    bt__lexer lexer;
    bt__token token;
    bt__lexer_init(&lexer, text, nbytes);
    while ((token = bt__lex(&lexer)).kind != BT_TOKEN_END) {
        const char *at = text + token.offset;
        const int is_name =
            strlen(name) == token.nbytes && memcmp(at, name, token.nbytes) == 0;
        if (is_name &&
            (*name == '@' ? last == BT_TOKEN_WORD
                          : in_type && !depth &&
                                (last == BT_TOKEN_WORD || last == BT_TOKEN_LBRACE ||
                                 last == BT_TOKEN_COMMA)))
            return 1;
        in_type =
            token.kind == BT_TOKEN_WORD && token.nbytes == 4 && memcmp(at, "type", 4) == 0
                ? 1
                : in_type && token.kind != BT_TOKEN_RBRACE;
        depth += token.kind == BT_TOKEN_LPAREN || token.kind == BT_TOKEN_LBRACKET;
        depth -=
            depth && (token.kind == BT_TOKEN_RPAREN || token.kind == BT_TOKEN_RBRACKET);
        last = token.kind;
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
