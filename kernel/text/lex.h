/* Text to tokens. A token is a range of the text; names and strings are decoded on
 * demand. */
#ifndef TEXT_LEX_H
#define TEXT_LEX_H

#include <baton/base.h>

enum {
#define BT_TOKEN(UPPER, text) BT_TOKEN_##UPPER,
#include "text/tokens.def"
    BT_TOKEN_COUNT
};

typedef struct bt__token {
    uint32_t kind; /* BT_TOKEN_... */
    uint32_t offset, nbytes;
    uint32_t is_quoted; /* of LOCAL and GLOBAL: %"any name" */
    const char *error;  /* BT_TOKEN_ERROR: what is wrong */
} bt__token;

typedef struct bt__lexer {
    const char *text; /* need not end in NUL */
    uint32_t nbytes, at;
} bt__lexer;

void bt__lexer_init(bt__lexer *, const char *text, uint32_t nbytes);
/* The next token; BT_TOKEN_END again and again at the end. An error token covers what was
 * skipped. */
bt__token bt__lex(bt__lexer *);

/* As messages name it: "`->`", "a number". */
const char *bt__token_kind_text(uint32_t kind);

/* The name in a LOCAL or GLOBAL without its sigil, the contents of a STRING, the text of
 * anything else; escapes are decoded into `arena`. NULL: no memory. */
const char *bt__token_text(bt_arena *, const char *text, const bt__token *,
                           size_t *nbytes);
/* 1 for %0, %12: a local name that is a number. */
int bt__token_is_numbered(const char *text, const bt__token *);

/* 1 when the name lexes as one identifier token (dots between words allowed). */
int bt__is_word(const char *name);

#endif
