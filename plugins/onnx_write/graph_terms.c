/*
 * Operators that are a few nodes: terms, as in "Reciprocal(Sqrt(a))".
 *     term = 'a' | 'b' | number | Operator ['{' attribute '=' integer '}'] '(' term {',' term} ')'
 * a and b are the arguments; numbers are of the type of a.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

enum { MAX_INPUT = 3, MAX_NAME = 32 };

/* A word of letters, digits and _; *at goes behind it. */
static void take_word(const char **at, char *out)
{
    uint32_t n = 0;
    for (; isalnum((unsigned char)**at) || **at == '_'; ++*at) {
        if (n < MAX_NAME - 1)
            out[n++] = **at;
    }
    out[n] = 0;
}

/* Behind what is to stand there, and blanks. */
static void skip(const char **at, char mark)
{
    *at += **at == mark;
    *at += strspn(*at, " ");
}

static const char *add_term(struct nodes *s, const char **at, const char *out);

static const char *add_inner(struct nodes *s, const char **at, const char *out)
{
    const char *in[MAX_INPUT];
    char name[MAX_NAME], attribute[MAX_NAME] = "";
    int64_t value = 0;
    uint32_t n = 0;
    take_word(at, name);
    if (**at == '{') {
        skip(at, '{');
        take_word(at, attribute);
        skip(at, '=');
        value = strtol(*at, (char **)(uintptr_t)at, 10);
        skip(at, '}');
    }
    for (skip(at, '('); **at && **at != ')' && n < MAX_INPUT; skip(at, ','))
        in[n++] = add_term(s, at, NULL);
    skip(at, ')');
    if (*attribute)
        attribute_int(s->g, &s->attributes, attribute, value);
    return nodes_add_n(s, out, name, n, in);
}

/* Recursion is bounded by the table's texts. */
static const char *add_term(struct nodes *s, const char **at, const char *out)
{
    if (isdigit((unsigned char)**at))
        return nodes_number(s, bt_tensor_dtype(s->call->args[0]->type),
                            strtod(*at, (char **)(uintptr_t)at));
    if (isupper((unsigned char)**at))
        return add_inner(s, at, out);
    return nodes_arg(s, (uint32_t)(*(*at)++ - 'a'));
}

bt_status write_term(struct graph *g, const bt_call *call, const char *onnx,
                     const char *out)
{
    struct nodes s = nodes_of(g, call);
    add_term(&s, &onnx, out);
    return s.status;
}
