/* Tokens of index notation. */
#include "compute/formula/lex.h"

#include <string.h>

#include "value/decimal.h"

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* First byte at or after `i` that is neither blank nor comment. */
static size_t skip_blank(const char *text, size_t n, size_t i)
{
    while (i < n) {
        if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
            i++;
        } else if (text[i] == '/' && i + 1 < n && text[i + 1] == '/') {
            while (i < n && text[i] != '\n')
                i++;
        } else {
            break;
        }
    }
    return i;
}

static size_t name_end(const char *text, size_t n, size_t i)
{
    while (i < n && (is_letter(text[i]) || is_digit(text[i])))
        i++;
    // a field of a tuple: data.0
    if (i + 1 < n && text[i] == '.' && is_digit(text[i + 1])) {
        i++;
        while (i < n && is_digit(text[i]))
            i++;
    }
    return i;
}

/* Past a number; *is_float when it has a point or an exponent. */
static size_t number_end(const char *text, size_t n, size_t i, int *is_float)
{
    while (i < n && is_digit(text[i]))
        i++;
    if (i < n && text[i] == '.' && (i + 1 == n || text[i + 1] != '.')) {
        *is_float = 1;
        for (i++; i < n && is_digit(text[i]);)
            i++;
    }
    if (i < n && (text[i] == 'e' || text[i] == 'E')) {
        size_t k = i + 1;
        if (k < n && (text[k] == '+' || text[k] == '-'))
            k++;
        if (k < n && is_digit(text[k])) {
            *is_float = 1;
            for (i = k; i < n && is_digit(text[i]);)
                i++;
        }
    }
    return i;
}

static void read_number(struct bt__token *t, int is_float)
{
    uint64_t integer;
    if (is_float) {
        t->kind = BT__TOKEN_FLOAT;
        t->number =
            bt__float_read(t->at, t->place.width, bt__float_format_of(BT_FLOAT64));
    } else if (bt__int_read(t->at, t->place.width, &integer) && integer <= INT64_MAX) {
        t->integer = (int64_t)integer;
    } else {
        t->kind = BT__TOKEN_BAD;
        t->fault = "an integer of 64 bits";
    }
}

static size_t sign_width(const char *text, size_t n, size_t i)
{
    static const char pairs[] = "== != <= >= || && -> => .. ";
    if (i + 1 < n) {
        for (const char *p = pairs; *p; p += 3) {
            if (p[0] == text[i] && p[1] == text[i + 1])
                return 2;
        }
    }
    return text[i] && strchr("[](){},;:=+-*/%!<>|&?", text[i]) ? 1 : 0;
}

struct bt__token bt__token_read(const char *text, size_t n, size_t offset)
{
    size_t i = skip_blank(text, n, offset), end = i;
    int is_float = 0;
    struct bt__token t = { .kind = BT__TOKEN_END, .at = text + i };
    if (i < n && is_letter(text[i])) {
        t.kind = BT__TOKEN_NAME;
        end = name_end(text, n, i);
    } else if (i < n && (is_digit(text[i]) ||
                         (text[i] == '.' && i + 1 < n && is_digit(text[i + 1])))) {
        t.kind = BT__TOKEN_INT;
        end = number_end(text, n, i, &is_float);
    } else if (i < n) {
        t.kind = BT__TOKEN_SIGN;
        end = i + sign_width(text, n, i);
        if (end == i) {
            t.kind = BT__TOKEN_BAD;
            t.fault = "a name, number or sign";
            end = i + 1;
        }
    }
    t.place.offset = (uint32_t)i;
    t.place.width = (uint32_t)(end - i);
    if (t.kind == BT__TOKEN_INT)
        read_number(&t, is_float);
    return t;
}

int bt__token_is(const struct bt__token *t, const char *word)
{
    return (t->kind == BT__TOKEN_SIGN || t->kind == BT__TOKEN_NAME) &&
           strlen(word) == t->place.width && memcmp(word, t->at, t->place.width) == 0;
}
