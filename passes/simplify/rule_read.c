/*
 * The text of a rule, read.
 *
 *     rule      = pattern "=>" expr [ "where" NAME "=" expr { "," ... } ]
 *                 [ "if" [ "not" ] condition { "and" ... } ]
 *     expr      = [ NAME ":" ] literal | "const" NAME | "(" expr { "," expr } ")"
 *               | NAME { "|" NAME } [ "(" [ arg { "," arg } ] ")" ]
 *     arg       = expr | NAME "=" expr | ".."
 */
#include <ctype.h>
#include <string.h>

#include "simplify/rule.h"

struct reader {
    bt_ctx *ctx;
    struct rule *rule;
    const char *text;
    uint32_t at;
    uint32_t nnode;
};

bt_status rule_fail(bt_ctx *ctx, const struct rule *rule, uint32_t at, const char *format,
                    ...)
{
    const bt_place place = {
        .file = rule->plugin, .line = 1, .column = at + 1, .text = rule->row->text
    };
    bt_text text;
    va_list list;
    bt_text_init(&text, rule->arena);
    bt_text_addf(&text, "rule %s: ", rule->row->name);
    va_start(list, format);
    bt_text_addv(&text, format, list);
    va_end(list);
    const char *message = bt_text_get(&text);
    return message ? bt_fail_place(ctx, BT_ERR_PLUGIN, &place, "%s", message)
                   : bt_no_memory();
}

static char peek(struct reader *r)
{
    while (isspace((unsigned char)r->text[r->at]))
        r->at++;
    return r->text[r->at];
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static int take(struct reader *r, const char *token)
{
    size_t n = strlen(token);
    peek(r);
    if (strncmp(r->text + r->at, token, n) != 0 ||
        (isalpha((unsigned char)*token) && is_word(r->text[r->at + n])))
        return 0;
    r->at += (uint32_t)n;
    return 1;
}

static bt_status expect(struct reader *r, const char *token)
{
    return take(r, token) ? NULL
                          : rule_fail(r->ctx, r->rule, r->at, "expected %s%s", token,
                                      r->text[r->at] ? "" : ", found the end");
}

static bt_status slice(struct reader *r, uint32_t start, const char **out)
{
    *out = bt_arena_text(r->rule->arena, r->text + start, r->at - start);
    return *out ? NULL : bt_no_memory();
}

static bt_status read_word(struct reader *r, const char **out)
{
    peek(r);
    uint32_t start = r->at;
    while (isalnum((unsigned char)r->text[r->at]) || r->text[r->at] == '_' ||
           (r->text[r->at] == '.' && r->text[r->at + 1] != '.'))
        r->at++;
    if (r->at == start)
        return rule_fail(r->ctx, r->rule, start, "expected a name, a value or (");
    return slice(r, start, out);
}

/* A number, "text", [list] */
static bt_status read_literal(struct reader *r, const char **out)
{
    uint32_t start = r->at;
    char end = r->text[start] == '"' ? '"' : r->text[start] == '[' ? ']' : 0;
    do
        r->at++;
    while (r->text[r->at] && (end ? r->text[r->at] != end
                                  : isalnum((unsigned char)r->text[r->at]) ||
                                        strchr(".+-", r->text[r->at]) != NULL));
    if (end && !r->text[r->at])
        return rule_fail(r->ctx, r->rule, start, "a %s that does not end",
                         end == '"' ? "string" : "list");
    r->at += end != 0;
    return slice(r, start, out);
}

bt_status rule_slot(bt_ctx *ctx, struct rule *rule, const struct rule_node *node,
                    uint32_t *out)
{
    uint32_t i = 0;
    while (i < rule->nname && strcmp(rule->names[i].text, node->text) != 0)
        i++;
    if (i == RULE_NAMES)
        return rule_fail(ctx, rule, node->at, "more than %d names", RULE_NAMES);
    if (i == rule->nname)
        rule->names[rule->nname++].text = node->text;
    *out = i;
    return NULL;
}

static bt_status read_expr(struct reader *r, struct rule_node **out);

static bt_status read_arg(struct reader *r, struct rule_node *call)
{
    struct rule_node *value;
    uint32_t start = r->at;
    if (take(r, "..")) {
        call->is_open = 1;
        return NULL;
    }
    BT_TRY(read_expr(r, &value));
    int is_attr = value->kind == RULE_NAME && peek(r) == '=' && r->text[r->at + 1] != '>';
    if (is_attr) {
        call->attr_names[call->nattr] = value->text;
        r->at++;
        BT_TRY(read_expr(r, &value));
    }
    if (call->narg == RULE_ARGS || call->nattr == RULE_ARGS)
        return rule_fail(r->ctx, r->rule, start, "more than %d of them", RULE_ARGS - 1);
    if (is_attr)
        call->attrs[call->nattr++] = value;
    else
        call->args[call->narg++] = value;
    return NULL;
}

static bt_status read_args(struct reader *r, struct rule_node *call)
{
    if (take(r, ")"))
        return NULL;
    do
        BT_TRY(read_arg(r, call));
    while (take(r, ","));
    return expect(r, ")");
}

/* After a first word. */
static bt_status read_call(struct reader *r, struct rule_node *node)
{
    node->ops[node->nop++] = node->text;
    while (take(r, "|")) {
        if (node->nop == RULE_OPS)
            return rule_fail(r->ctx, r->rule, r->at, "more than %d operators", RULE_OPS);
        BT_TRY(read_word(r, &node->ops[node->nop++]));
    }
    node->kind = RULE_CALL;
    BT_TRY(expect(r, "("));
    return read_args(r, node);
}

static int is_literal(const struct reader *r)
{
    char c = r->text[r->at];
    static const char *const words[] = { "True", "False", "None" };
    for (uint32_t i = 0; i < BT_COUNT(words); i++) {
        size_t n = strlen(words[i]);
        if (strncmp(r->text + r->at, words[i], n) == 0 && !is_word(r->text[r->at + n]))
            return 1;
    }
    return isdigit((unsigned char)c) || c == '-' || c == '"' || c == '[';
}

/* Nesting is bounded by the number of nodes. */
static bt_status read_expr(struct reader *r, struct rule_node **out)
{
    struct rule_node *node = *out = BT_NEW(r->rule->arena, struct rule_node);
    if (!node)
        return bt_no_memory();
    char c = peek(r);
    node->at = r->at;
    node->slot = node->alias = RULE_NAMES;
    if (r->nnode++ == RULE_NODES)
        return rule_fail(r->ctx, r->rule, r->at, "the rule is too large");
    if (is_literal(r)) {
        node->kind = RULE_LITERAL;
        return read_literal(r, &node->text);
    }
    if (take(r, "(")) {
        node->kind = RULE_TUPLE;
        return read_args(r, node);
    }
    node->is_const = (uint32_t)take(r, "const");
    BT_TRY(read_word(r, &node->text));
    c = peek(r);
    if (c == '(' || c == '|')
        return read_call(r, node);
    BT_TRY(rule_slot(r->ctx, r->rule, node, &node->slot));
    if (c != ':')
        return NULL;
    uint32_t alias = node->slot;
    r->at++;
    BT_TRY(read_expr(r, out));
    (*out)->alias = alias;
    return NULL;
}

static bt_status read_definitions(struct reader *r)
{
    do {
        struct rule_node *name, *value;
        BT_TRY(read_expr(r, &name));
        BT_TRY(expect(r, "="));
        BT_TRY(read_expr(r, &value));
        if (name->kind != RULE_NAME || r->rule->names[name->slot].definition)
            return rule_fail(r->ctx, r->rule, name->at, "expected a new name");
        r->rule->names[name->slot].definition = value;
    } while (take(r, ","));
    return NULL;
}

static bt_status read_conditions(struct reader *r)
{
    struct rule *rule = r->rule;
    do {
        if (rule->ncondition == RULE_ARGS)
            return rule_fail(r->ctx, rule, r->at, "more than %d conditions", RULE_ARGS);
        rule->is_negated[rule->ncondition] = (uint32_t)take(r, "not");
        BT_TRY(read_expr(r, &rule->conditions[rule->ncondition]));
        rule->ncondition++;
    } while (take(r, "and"));
    return NULL;
}

static bt_status read_rule(struct reader *r)
{
    struct rule *rule = r->rule;
    BT_TRY(read_expr(r, &rule->pattern));
    if (rule->pattern->kind != RULE_CALL)
        return rule_fail(r->ctx, rule, 0, "a pattern is a call, as in nn.relu(x)");
    BT_TRY(expect(r, "=>"));
    BT_TRY(read_expr(r, &rule->result));
    if (take(r, "where"))
        BT_TRY(read_definitions(r));
    if (take(r, "if"))
        BT_TRY(read_conditions(r));
    return peek(r) ? rule_fail(r->ctx, rule, r->at, "expected where, if or the end")
                   : NULL;
}

bt_status rule_read(bt_ctx *ctx, bt_arena *arena, const bt_rule *row, const char *plugin,
                    struct rule **out)
{
    struct rule *rule = *out = BT_NEW(arena, struct rule);
    struct reader r = { .ctx = ctx, .rule = rule, .text = row->text };
    if (!rule)
        return bt_no_memory();
    rule->row = row;
    rule->plugin = plugin;
    rule->arena = arena;
    return read_rule(&r);
}
