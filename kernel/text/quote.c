/* Names and texts in quotes, where they need them. */
#include "text/lex.h"
#include "text/print.h"

#include <string.h>

#include "base/utf8.h"

/* Words that mean something where a type or an expression may stand. */
static const char *const reserved[] = {
    "Tensor",    "Ref",      "Type", "Shape", "Dim",  "DType", "AdtHandle", "fn",
    "if",        "match",    "let",  "const", "meta", "op",    "ref",       "ref_read",
    "ref_write", "free_var", "True", "False", "None", "_",
};

/* inf, inff16, nan64, ...: literals. */
static int is_special(const char *word)
{
    return (strncmp(word, "inf", 3) == 0 || strncmp(word, "nan", 3) == 0) &&
           (!word[3] || word[3] == 'f' || word[3] == 'b');
}

int bt__is_reserved(const char *word)
{
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++) {
        if (strcmp(word, reserved[i]) == 0)
            return 1;
    }
    return is_special(word) || bt_dtype_parse(word, strlen(word)) != 0;
}

void bt__print_quoted(bt_text *out, const char *text)
{
    size_t left = strlen(text);
    bt_text_add(out, "\"", 1);
    while (left) {
        uint32_t c;
        size_t nbytes = bt__utf8_read(text, left, &c);
        int is_raw = nbytes && !bt__utf8_is_control(c);
        if (!nbytes)
            nbytes = 1;
        if (is_raw && (c == '"' || c == '\\'))
            bt_text_addf(out, "\\%c", (char)c);
        else if (is_raw)
            bt_text_add(out, text, nbytes);
        else if (*text == '\n')
            bt_text_add(out, "\\n", 2);
        else if (*text == '\t')
            bt_text_add(out, "\\t", 2);
        else
            for (size_t i = 0; i < nbytes; i++)
                bt_text_addf(out, "\\x%02x", (unsigned)(unsigned char)text[i]);
        text += nbytes;
        left -= nbytes;
    }
    bt_text_add(out, "\"", 1);
}

void bt__print_name(bt_text *out, const char *sigil, const char *name)
{
    bt_text_add(out, sigil, strlen(sigil));
    if (bt__is_word(name))
        bt_text_add(out, name, strlen(name));
    else
        bt__print_quoted(out, name);
}

void bt__print_word(bt_text *out, const char *name)
{
    if (bt__is_reserved(name))
        bt__print_quoted(out, name);
    else
        bt__print_name(out, "", name);
}
