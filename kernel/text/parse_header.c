/*
 * Headers.
 *
 *   headers = ( "#[" "version" "=" STRING "]" | "v0.0.4" ) { "#[" header "]" }
 *   header  = "typed" | "spans" | "weights" "=" STRING | "attrs" "(" attributes ")"
 *           | "source" NUMBER "=" STRING | "origin" NUMBER [ "=" span ]
 */
#include "text/draft.h"

#include <string.h>

#define VERSION       "baton 0.1"
#define RELAY_VERSION "0.0.5"
#define OLD_RELAY     "v0.0.4" /* stands alone on the first line */

static int version_error(bt__parser *p)
{
    return bt__error_token(p, BT_ERR_UNSUPPORTED, &p->token,
                           "this Baton reads text of version \"%s\" and Relay's of "
                           "\"%s\", found %s",
                           VERSION, RELAY_VERSION, bt__token_show(p, &p->token));
}

static int parse_version(bt__parser *p)
{
    bt__advance(p);
    if (!bt__expect_word(p, "version") || !bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    if (!bt__at(p, BT_TOKEN_STRING))
        return bt__error_expected(p, "a version, such as \"" VERSION "\"");
    const char *version = bt__token_name(p, &p->token);
    if (!version)
        return 0;
    if (strcmp(version, RELAY_VERSION) == 0)
        p->dialect = BT__RELAY;
    else if (strcmp(version, VERSION) != 0)
        return version_error(p);
    bt__advance(p);
    return bt__expect(p, BT_TOKEN_RBRACKET);
}

/* source 0 = "net.py": numbers count up from 0. */
static int parse_source(bt__parser *p)
{
    bt__module_draft *module = p->module;
    bt__token token = p->token;
    uint32_t number, source;
    if (!bt__parse_uint32(p, &number) || !bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    if (number != module->sources.len)
        return bt__error_token(p, BT_ERR_SYNTAX, &token, "expected source %u",
                               (unsigned)module->sources.len);
    const char *file = bt__at(p, BT_TOKEN_STRING) ? bt__token_name(p, &p->token) : NULL;
    if (!bt__expect(p, BT_TOKEN_STRING) || !file)
        return 0;
    bt_status status = bt_store_add_source(p->ctx, p->store, file, NULL, 0, &source);
    if (status)
        return bt__error_status(p, status);
    return BT_PUSH(p->arena, &module->sources, source) || bt__error_memory(p);
}

/* origin 0 = span: a binding of some source. */
static int parse_origin(bt__parser *p)
{
    bt__module_draft *module = p->module;
    bt__token token = p->token;
    uint32_t number;
    bt_span span = 0;
    if (!bt__parse_uint32(p, &number))
        return 0;
    if (number != module->origins.len)
        return bt__error_token(p, BT_ERR_SYNTAX, &token, "expected origin %u",
                               (unsigned)module->origins.len);
    if (bt__accept(p, BT_TOKEN_EQUAL) && !bt__parse_span(p, &span))
        return 0;
    bt_prov prov = bt_prov_new(p->store, span);
    if (!prov)
        return bt__error_memory(p);
    return BT_PUSH(p->arena, &module->origins, prov) || bt__error_memory(p);
}

static int parse_weights(bt__parser *p)
{
    bt__token token;
    if (!bt__expect(p, BT_TOKEN_EQUAL))
        return 0;
    token = p->token;
    if (!bt__at(p, BT_TOKEN_STRING))
        return bt__error_expected(p, "a file name, such as \"net.npz\"");
    const char *name = bt__token_name(p, &token);
    if (!name)
        return 0;
    if (!*name || strchr(name, '/'))
        return bt__error_token(p, BT_ERR_SYNTAX, &token,
                               "weights stand beside the text: expected a file name "
                               "without folders, found %s",
                               bt__token_show(p, &token));
    p->module->weights = name;
    bt__advance(p);
    return 1;
}

static int parse_header(bt__parser *p)
{
    int ok = 1;
    bt__advance(p);
    if (bt__accept_word(p, "typed"))
        p->module->is_typed = 1;
    else if (p->in)
        ok = bt__error_token(p, BT_ERR_UNSUPPORTED, &p->token,
                             "a text that is imported has no header %s: only the text "
                             "that is run has",
                             bt__token_show(p, &p->token));
    else if (bt__accept_word(p, "spans"))
        p->module->has_spans = 1;
    else if (bt__accept_word(p, "weights"))
        ok = parse_weights(p);
    else if (bt__accept_word(p, "attrs"))
        ok = bt__expect(p, BT_TOKEN_LPAREN) && bt__parse_dict(p, &p->module->attrs);
    else if (bt__accept_word(p, "source"))
        ok = parse_source(p);
    else if (bt__accept_word(p, "origin"))
        ok = parse_origin(p);
    else
        ok =
            bt__error_expected(p, "typed, spans, weights, attrs, source, origin or data");
    return ok && bt__expect(p, BT_TOKEN_RBRACKET);
}

static int at_old_relay(const bt__parser *p)
{
    uint32_t at = p->token.offset, n = (uint32_t)strlen(OLD_RELAY);
    if (p->nbytes - at < n || memcmp(p->text + at, OLD_RELAY, n) != 0)
        return 0;
    return at + n == p->nbytes || strchr("\r\n \t", p->text[at + n]) != NULL;
}

int bt__parse_headers(bt__parser *p)
{
    if (at_old_relay(p)) {
        p->dialect = BT__RELAY;
        bt__seek(p, p->token.offset + (uint32_t)strlen(OLD_RELAY));
        return 1;
    }
    if (!bt__at(p, BT_TOKEN_HEADER)) {
        p->dialect = BT__RELAY;
        if (!bt__at_definition(p) && !bt__at(p, BT_TOKEN_END))
            return 1;
        if (bt__at(p, BT_TOKEN_END) && p->nbytes == 0)
            return bt__error_token(p, BT_ERR_SYNTAX, &p->token, "the text is empty");
        return bt__error_token(
            p, BT_ERR_SYNTAX, &p->token,
            "expected #[version = \"%s\"] (or, for Relay's text, \"%s\") "
            "before the first definition",
            VERSION, RELAY_VERSION);
    }
    if (!parse_version(p))
        return 0;
    while (bt__at(p, BT_TOKEN_HEADER) && !bt__at_section(p, "data") &&
           !bt__at_section(p, "metadata")) {
        if (!parse_header(p))
            return 0;
    }
    return 1;
}
