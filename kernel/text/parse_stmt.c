/*
 * Statements, blocks, and where a binding stands.
 *
 *   body      = { statement } expr
 *   statement = [ "let" ] head { "," head } "=" expr { "," expr } [ place ] ";"
 *             | "free_var" head [ ";" ] | expr ";"
 *   head      = %name [ ":" type ] [ "on" NUMBER ]
 *   place     = [ "at" span ] [ "from" NUMBER { "," NUMBER } ]
 *   span      = NUMBER [ ":" STRING | ":" NUMBER ":" NUMBER [ "+" NUMBER ] ]
 */
#include "ir/builder.h"
#include "ir/type_match.h"
#include "text/draft.h"

/* ---- positions ---- */

int bt__parse_device(bt__parser *p, bt__draft_place *place)
{
    return !bt__accept_word(p, "on") || bt__parse_uint32(p, &place->device);
}

/* source ":" line ":" column "+" width, source ":" "node", or a source alone. */
int bt__parse_span(bt__parser *p, bt_span *out)
{
    bt__token token = p->token;
    uint32_t source, line, column, width = 1;
    if (!bt__parse_uint32(p, &source))
        return 0;
    if (source >= p->module->sources.len)
        return bt__error_token(p, BT_ERR_NAME, &token, "no #[source %u] stands above",
                               (unsigned)source);
    source = p->module->sources.at[source];
    if (!bt__accept(p, BT_TOKEN_COLON)) {
        *out = bt_span_line(p->store, source, 0, 0, 1);
    } else if (bt__at(p, BT_TOKEN_STRING)) {
        const char *node = bt__token_name(p, &p->token);
        if (!node)
            return 0;
        bt__advance(p);
        *out = bt_span_node(p->store, source, node);
    } else {
        if (!bt__parse_uint32(p, &line) || !bt__expect(p, BT_TOKEN_COLON) ||
            !bt__parse_uint32(p, &column) ||
            (bt__accept(p, BT_TOKEN_PLUS) && !bt__parse_uint32(p, &width)))
            return 0;
        *out = bt_span_line(p->store, source, line, column, width);
    }
    return *out || bt__error_memory(p);
}

static int parse_origin(bt__parser *p, bt_prov *prov)
{
    bt__token token = p->token;
    uint32_t origin;
    if (!bt__parse_uint32(p, &origin))
        return 0;
    if (origin >= p->module->origins.len)
        return bt__error_token(p, BT_ERR_NAME, &token, "no #[origin %u] stands above",
                               (unsigned)origin);
    *prov = bt_prov_join(p->store, *prov, p->module->origins.at[origin]);
    return *prov || bt__error_memory(p);
}

int bt__parse_place(bt__parser *p, bt__draft_place *place)
{
    place->is_given = p->module->has_spans;
    if (bt__accept_word(p, "at") && !bt__parse_span(p, &place->span))
        return 0;
    if (!bt__accept_word(p, "from"))
        return 1;
    do {
        if (!parse_origin(p, &place->prov))
            return 0;
    } while (bt__at(p, BT_TOKEN_COMMA) && p->next.kind == BT_TOKEN_NUMBER &&
             bt__accept(p, BT_TOKEN_COMMA));
    return 1;
}

/* ---- statements ---- */

typedef struct head {
    bt__token token;
    const char *name;
    const bt_type *type;
    bt__draft_place place;
} head;
typedef bt_vec(head) heads;

static int parse_head(bt__parser *p, head *out)
{
    *out = (head){ .token = p->token };
    if (!bt__at(p, BT_TOKEN_LOCAL))
        return bt__error_expected(p, "a local name, such as %x");
    if (!(out->name = bt__token_name(p, &out->token)))
        return 0;
    bt__advance(p);
    if (!bt__skip_virtual_device(p) ||
        (bt__accept(p, BT_TOKEN_COLON) && !(out->type = bt__parse_term(p, BT_KIND_TYPE))))
        return 0;
    return bt__parse_device(p, &out->place);
}

/* Makes the name stand for the value from here on. */
static int bind_name(bt__parser *p, const head *h, bt__draft *value, int to_end)
{
    uint32_t space = bt__local_space(p, &h->token);
    return to_end ? bt__scoped_set_all(p, space, h->name, value)
                  : bt__scoped_set(p, space, h->name, value);
}

int bt__annotate_const(bt__parser *p, uint32_t offset, uint32_t nbytes,
                       const bt_type *stated, const bt_object *object)
{
    const bt_type *type = bt__const_type(p->store, object);
    if (!type)
        return bt__error_store(p, offset);
    if (bt__type_accepts(p->arena, stated, type))
        return 1;
    bt_text text;
    bt_text_init(&text, p->arena);
    bt_print_type(p->ctx, stated, &text);
    bt_text_addf(&text, ", but the constant is ");
    bt_print_type(p->ctx, type, &text);
    const char *message = bt_text_get(&text);
    return message ? bt__error(p, BT_ERR_TYPE, offset, nbytes, "annotated as %s", message)
                   : bt__error_memory(p);
}

/* A further name for a value: its type is said once, where the value has none yet. */
static int annotate_alias(bt__parser *p, const head *h, bt__draft *value)
{
    uint32_t offset = h->token.offset, nbytes = h->token.nbytes;
    if (value->kind == BT_VALUE_CONST)
        return bt__annotate_const(p, offset, nbytes, h->type, value->u.object);
    if (value->kind >= BT_VALUE_COUNT || value->type == h->type)
        return 1;
    if (value->kind != BT_VALUE_GLOBAL && !value->type &&
        (value->kind == BT_VALUE_PARAM || value->block)) {
        value->type = h->type;
        return 1;
    }
    return bt__error(p, BT_ERR_TYPE, offset, nbytes,
                     "`%%%s` is another name of %s%s, whose type is stated there: leave "
                     "it out here",
                     h->name,
                     value->kind == BT_VALUE_GLOBAL ? "@"
                     : value->name                  ? "%"
                                                    : "",
                     value->name ? value->name : "a value");
}

/* What the statement says about the binding that it made. Where it only names an older
 * value, there is nothing to say. */
static int annotate(bt__parser *p, const head *h, bt__draft *value, uint32_t since)
{
    int is_own = value->serial >= since && value->kind < BT_VALUE_COUNT &&
                 value->block == p->module->block && !value->name && value->block;
    bt__draft_place given = h->place;
    if (!bt__parse_place(p, &given))
        return 0;
    if (!is_own)
        return !h->type || annotate_alias(p, h, value);
    if (h->type && !value->type)
        value->type = h->type;
    if (!bt__token_is_numbered(p->text, &h->token))
        value->name = h->name;
    value->place.offset = h->token.offset;
    value->place.nbytes = p->end > h->token.offset ? p->end - h->token.offset : 1;
    value->place.is_given = given.is_given;
    value->place.span = given.span;
    value->place.prov = given.prov;
    value->place.device = given.device;
    return 1;
}

/* Closures that may refer to each other: all names are known in all bodies. */
static int parse_closures(bt__parser *p, const heads *names)
{
    bt__drafts closures = { 0 };
    for (uint32_t i = 0; i < names->len; i++) {
        bt__draft *closure = bt__draft_new(p, BT_VALUE_CLOSURE, p->token.offset);
        if (!closure || (!BT_PUSH(p->arena, &closures, closure) && !bt__error_memory(p)))
            return 0;
        const head *h = &names->at[i];
        closure->block = p->module->block;
        closure->type = h->type;
        closure->place.device = h->place.device;
        if (!bt__token_is_numbered(p->text, &h->token))
            closure->name = h->name;
        if (!bind_name(p, h, closure, 0))
            return 0;
    }
    return bt__parse_closures(p, closures.at, closures.len) != NULL;
}

/* `%0 = e` of Relay: its bindings wait in a list of their own until the definition
 * ends. */
static bt__draft *parse_graph_node(bt__parser *p, const head *h)
{
    bt__module_draft *module = p->module;
    bt__draft_group *group = BT_NEW(p->arena, bt__draft_group);
    if (!group) {
        bt__error_memory(p);
        return NULL;
    }
    group->mark = bt__draft_new(p, BT__DRAFT_MARK, h->token.offset);
    if (!group->mark)
        return NULL;
    group->mark->u.group = group;
    bt__draft_append(p, group->mark);
    group->list.group = group;
    bt__draft_block *outer = module->block;
    module->block = &group->list;
    uint32_t since = module->nserial;
    bt__draft *value = bt__parse_expr(p);
    int ok = value && annotate(p, h, value, since);
    module->block = outer;
    if (ok && !BT_PUSH(p->arena, &module->groups, group))
        ok = bt__error_memory(p);
    return ok ? value : NULL;
}

/* The right side of a binding; NULL after an error. */
static bt__draft *parse_value(bt__parser *p, const head *h)
{
    uint32_t since = p->module->nserial;
    bt__draft *value = bt__parse_expr(p);
    return value && annotate(p, h, value, since) ? value : NULL;
}

/* One name and its value. */
static int parse_one(bt__parser *p, const heads *names, int is_let)
{
    const head *h = &names->at[0];
    int is_graph = p->dialect == BT__RELAY && !is_let;
    if (bt__at_word(p, "fn") && !is_graph)
        return parse_closures(p, names);
    bt__draft *value = is_graph ? parse_graph_node(p, h) : parse_value(p, h);
    return value && bind_name(p, h, value, is_graph);
}

static int parse_names(bt__parser *p, heads *out)
{
    do {
        head h;
        int ok = parse_head(p, &h);
        // A name whose type has an error is defined all the same.
        if (h.name && !BT_PUSH(p->arena, out, h))
            return bt__error_memory(p);
        if (!ok)
            return 0;
    } while (bt__accept(p, BT_TOKEN_COMMA));
    return bt__expect(p, BT_TOKEN_EQUAL);
}

/* Names whose value had an error are still defined, so that their uses are no errors. */
static int poison_names(bt__parser *p, const heads *names)
{
    for (uint32_t i = 0; i < names->len && !p->stop; i++) {
        bt__draft *none = bt__draft_poison(p);
        if (!none || !bind_name(p, &names->at[i], none, p->dialect == BT__RELAY))
            return 0;
    }
    return 0;
}

static int parse_binding(bt__parser *p, int is_let)
{
    heads names = { 0 };
    int ok = parse_names(p, &names);
    if (ok && names.len > 1 && !bt__at_word(p, "fn"))
        ok = bt__error_expected(p, "`fn`: only functions are bound together");
    if (ok)
        ok = names.len > 1 ? parse_closures(p, &names) : parse_one(p, &names, is_let);
    if (ok)
        ok = bt__expect(p, BT_TOKEN_SEMICOLON);
    return ok || poison_names(p, &names);
}

/* A free variable is a parameter of the lone expression that it stands before. */
static int parse_free_var(bt__parser *p)
{
    head h;
    if (!parse_head(p, &h))
        return 0;
    bt__accept(p, BT_TOKEN_SEMICOLON); /* older texts have none */
    bt__draft_block *block = p->module->lone;
    if (!block)
        return bt__error_token(
            p, BT_ERR_SYNTAX, &h.token,
            "free variables stand in a lone expression only: make %s a "
            "parameter",
            bt__token_show(p, &h.token));
    bt__draft *param = bt__draft_new(p, BT_VALUE_PARAM, h.token.offset);
    if (!param)
        return 0;
    param->name = h.name;
    param->type = h.type;
    param->block = block;
    return bind_name(p, &h, param, 1) &&
           (BT_PUSH(p->arena, &block->params, param) || bt__error_memory(p));
}

static int at_binding(const bt__parser *p)
{
    uint32_t next = p->next.kind;
    return bt__at(p, BT_TOKEN_LOCAL) &&
           (next == BT_TOKEN_EQUAL || next == BT_TOKEN_COLON || next == BT_TOKEN_COMMA ||
            bt__token_is_word(p, &p->next, "on"));
}

/* 1: a statement was read. 0: an error. -1: what stands here is the result. */
static int parse_statement(bt__parser *p, bt__draft **result)
{
    if (bt__accept_word(p, "let"))
        return parse_binding(p, 1);
    if (bt__at_word(p, "free_var") && p->next.kind == BT_TOKEN_LOCAL) {
        bt__advance(p);
        return parse_free_var(p);
    }
    // In a list a comma ends the expression; only `%a, %b = fn` needs it as well.
    if (at_binding(p) && (p->next.kind != BT_TOKEN_COMMA || p->in_block))
        return parse_binding(p, 0);
    *result = bt__parse_expr(p);
    if (!*result)
        return 0;
    return bt__accept(p, BT_TOKEN_SEMICOLON) ? 1 : -1;
}

bt__draft *bt__parse_statements(bt__parser *p)
{
    bt__draft *result = NULL;
    uint32_t was = p->in_block;
    p->in_block = 0;
    int more;
    do {
        more = parse_statement(p, &result);
    } while (more > 0);
    p->in_block = was;
    return more < 0 ? result : NULL;
}

/* No errors about names are reported from a statement that could not be read: it may
 * have been meant as several. */
static void forget_names(bt__parser *p, uint32_t first)
{
    uint32_t last = p->faults.len - 1;
    if (!p->faults.len || p->faults.at[last].status->code != BT_ERR_SYNTAX)
        return;
    for (uint32_t i = first; i < last; i++)
        p->faults.at[i].is_follow_up = p->faults.at[i].status->code == BT_ERR_NAME;
}

int bt__parse_body(bt__parser *p, bt__draft_block *block)
{
    bt__draft_block *outer = p->module->block;
    bt__draft *result = NULL;
    uint32_t braces = p->braces;
    int more = 1;
    p->module->block = block;
    while (more >= 0 && !p->stop) {
        if (bt__at(p, BT_TOKEN_RBRACE) || bt__at(p, BT_TOKEN_END)) {
            more = bt__error_expected(p, "the result of the block");
            break;
        }
        uint32_t first = p->faults.len;
        p->in_block = 1;
        more = parse_statement(p, &result);
        p->in_block = 0;
        int is_over = more < 0 && !bt__at(p, BT_TOKEN_RBRACE) && !p->module->lone;
        if (is_over)
            more = bt__error_expected(p, "`;`, or `}` after the result");
        if (more == 0 && !p->stop) {
            forget_names(p, first);
            bt__skip_statement(p, braces);
            if (bt__at_definition(p) || bt__at(p, BT_TOKEN_END) ||
                bt__at(p, BT_TOKEN_RBRACE))
                break;
        }
    }
    p->module->block = outer;
    if (p->stop)
        return 0;
    if (more >= 0 && !(result = bt__draft_poison(p)))
        return 0;
    block->result = result;
    return 1;
}
