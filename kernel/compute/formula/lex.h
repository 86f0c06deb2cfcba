/* Tokens of index notation, for formulas and for the types of inputs. */
#ifndef COMPUTE_FORMULA_LEX_H
#define COMPUTE_FORMULA_LEX_H

#include "compute/formula/ast.h"

enum {
    BT__TOKEN_END,
    BT__TOKEN_NAME,  /* x, data.0 */
    BT__TOKEN_INT,   /* 12 */
    BT__TOKEN_FLOAT, /* 1.5, 1e-5 */
    BT__TOKEN_SIGN,  /* one of  [ ] ( ) { } , ; : = + - * / % ! < > | & ? and the pairs
                        == != <= >= || && -> => .. */
    BT__TOKEN_BAD
};

struct bt__token {
    uint32_t kind;
    struct bt__ast_place place;
    const char *at; /* place.width bytes */
    int64_t integer;
    double number;
    const char *fault; /* of BT__TOKEN_BAD */
};

/* The token that starts at or after `offset`: blanks and // comments are skipped. */
struct bt__token bt__token_read(const char *text, size_t nbytes, size_t offset);
/* Whether it is this sign or name. */
int bt__token_is(const struct bt__token *, const char *);
#endif
