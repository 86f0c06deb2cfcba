/*
 * The text of a rule, read and checked.
 *
 *     rule      = pattern "=>" expr [ "where" NAME "=" expr { "," ... } ]
 *                 [ "if" [ "not" ] condition { "and" ... } ]
 *     expr      = [ NAME ":" ] literal | "const" NAME | "(" expr { "," expr } ")"
 *               | NAME { "|" NAME } [ "(" [ arg { "," arg } ] ")" ]
 *     arg       = expr | NAME "=" expr | ".."
 */
#include <ctype.h>
#include <string.h>

#include "rule.h"

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

/* ---- reading ---- */

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

static bt_status slot_of(bt_ctx *ctx, struct rule *rule, const struct rule_node *node,
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
    BT_TRY(slot_of(r->ctx, r->rule, node, &node->slot));
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

/* ---- checking ---- */

struct checker {
    bt_ctx *ctx;
    bt_store *store;
    struct rule *rule;
    int is_pattern;
};

static bt_status check_node(struct checker *, struct rule_node *);
static bt_status check_value(struct checker *, struct rule_node *);
static bt_status check_call(struct checker *, struct rule_node *);

static const bt_attr *find_attr(const bt_op *op, const char *name)
{
    const bt_attr *row = op->attrs;
    while (row && row->name && strcmp(row->name, name) != 0)
        row++;
    return row && row->name ? row : NULL;
}

/* "; did you mean axes?" */
static const char *nearest_attr(struct checker *c, const bt_op *op, const char *name)
{
    uint32_t n = 0;
    while (op->attrs && op->attrs[n].name)
        n++;
    const char **names = BT_NEWS(c->rule->arena, const char *, n + 1);
    for (uint32_t i = 0; names && i < n; i++)
        names[i] = op->attrs[i].name;
    return names ? bt_nearest(c->rule->arena, name, names) : "";
}

/* An attribute that a name or a function gives. */
static bt_status check_attr(struct checker *c, const bt_op *op, const char *name,
                            struct rule_node *node)
{
    const bt_attr *row = find_attr(op, name);
    if (!row)
        return rule_fail(c->ctx, c->rule, node->at, "%s has no attribute %s%s", op->name,
                         name, nearest_attr(c, op, name));
    if (node->kind == RULE_LITERAL)
        return NULL;
    if (node->kind != RULE_NAME) {
        node->function = c->is_pattern ? NULL : rule_function_find(node->text);
        if (!node->function || (!node->function->ints && !node->function->text))
            return rule_fail(c->ctx, c->rule, node->at,
                             "expected a literal or a name for attribute %s%s%s", name,
                             c->is_pattern ? "" : ", or a function that gives one",
                             c->is_pattern || node->kind != RULE_CALL
                                 ? ""
                                 : rule_function_nearest(c->rule->arena, node->text, 0));
        return check_node(c, node);
    }
    struct rule_name *bound = &c->rule->names[node->slot];
    if (c->is_pattern && bound->kind == RULE_UNBOUND) {
        bound->kind = RULE_ATTR;
        bound->attr_kind = row->kind;
    }
    if (bound->kind == RULE_VALUE)
        return rule_fail(
            c->ctx, c->rule, node->at,
            "%s is a value, attribute %s of %s is none; shape(%s), dtype(%s), "
            "extent(%s, a) or number(%s) give attributes",
            bound->text, name, op->name, bound->text, bound->text, bound->text,
            bound->text);
    if (bound->kind != RULE_ATTR)
        return rule_fail(c->ctx, c->rule, node->at, "%s is no attribute of the pattern",
                         bound->text);
    return bound->attr_kind == row->kind
               ? NULL
               : rule_fail(c->ctx, c->rule, node->at,
                           "%s is of another kind than attribute %s of %s", bound->text,
                           name, op->name);
}

/* Stands for an attribute that must be given until a name gives it. */
static const char *sample_of(uint32_t kind)
{
    return kind == BT_ATTR_FLOAT                        ? "0f"
           : kind == BT_ATTR_BOOL                       ? "False"
           : kind == BT_ATTR_STRING                     ? ""
           : kind == BT_ATTR_INT || kind == BT_ATTR_DIM ? "0"
           : kind == BT_ATTR_DTYPE || kind == BT_ATTR_TYPE || kind == BT_ATTR_FUNC ||
                   kind == BT_ATTR_SHAPE
               ? "None"
               : "[]";
}

/* Literals are tried: the attributes of a call in which everything else has its default. */
static bt_status fix_attrs(struct checker *c, struct rule_node *node, uint32_t k)
{
    const bt_op *op = node->rows[k];
    bt_text text;
    bt_text_init(&text, c->rule->arena);
    for (uint32_t i = 0; i < node->nattr; i++) {
        BT_TRY(check_attr(c, op, node->attr_names[i], node->attrs[i]));
        if (node->attrs[i]->kind == RULE_LITERAL)
            bt_text_addf(&text, "%s%s=%s", text.len ? ", " : "", node->attr_names[i],
                         node->attrs[i]->text);
    }
    if (text.failed)
        return bt_no_memory();
    if (!op->attrs)
        return NULL;
    // what must be given is given by names, which come later
    bt_op lax = *op;
    uint32_t n = 0;
    while (op->attrs[n].name)
        n++;
    bt_attr *rows = BT_NEWS(c->rule->arena, bt_attr, n + 1);
    if (!rows)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = op->attrs[i];
        if (!rows[i].preset)
            rows[i].preset = sample_of(rows[i].kind);
    }
    lax.attrs = rows;
    bt_status status =
        bt_attrs_parse(c->ctx, c->store, &lax, bt_text_get(&text), &node->fixed[k]);
    return !status || status->code == BT_ERR_MEMORY
               ? status
               : rule_fail(c->ctx, c->rule, node->at, "%s", status->message);
}

static bt_status check_op(struct checker *c, struct rule_node *node, uint32_t k)
{
    uint32_t nrequired;
    bt_status status = bt_op_get(c->ctx, node->ops[k], &node->rows[k]);
    if (status && status->code != BT_ERR_MEMORY)
        return rule_fail(
            c->ctx, c->rule, node->at, "%s%s", status->message,
            c->is_pattern ? "" : rule_function_nearest(c->rule->arena, node->text, 0));
    BT_TRY(status);
    uint32_t n = bt_op_ninput(node->rows[k], &nrequired);
    if (node->narg > n || node->narg < nrequired)
        return rule_fail(c->ctx, c->rule, node->at, "%s takes %u operand%s, not %u",
                         node->ops[k], n, n == 1 ? "" : "s", node->narg);
    return fix_attrs(c, node, k);
}

static int is_variable(const char *word)
{
    return isupper((unsigned char)word[0]) && !word[1];
}

/* Whether a function has a use for an attribute of this kind. */
static int takes_attr(char letter, uint32_t kind)
{
    int is_integer = kind == BT_ATTR_INT || kind == BT_ATTR_BOOL;
    if (letter == 'x' || letter == 'o')
        return 0;
    return letter == 'd'   ? kind == BT_ATTR_DTYPE
           : letter == 'n' ? is_integer || kind == BT_ATTR_FLOAT
                           : is_integer || kind == BT_ATTR_INTS;
}

/* A literal that stands for a value, or for a number of a function. */
static bt_status check_number(struct checker *c, struct rule_node *node)
{
    node->number = strcmp(node->text, "True") == 0;
    node->is_bool = node->number != 0 || strcmp(node->text, "False") == 0;
    const size_t n = node->is_bool ? 0 : bt_number_read(node->text, &node->number);
    return node->is_bool || (n && !node->text[n])
               ? NULL
               : rule_fail(
                     c->ctx, c->rule, node->at,
                     "%s is no number: a constant is compared with a number, True or "
                     "False",
                     node->text);
}

/* An operand of a function, by its letter. */
static bt_status check_operand(struct checker *c, struct rule_node *call, uint32_t i)
{
    struct rule_node *node = call->args[i];
    char letter = call->function->takes[i];
    const struct rule_name *name =
        node->kind == RULE_NAME ? &c->rule->names[node->slot] : NULL;
    uint32_t kind = name ? name->kind : RULE_UNBOUND;
    if (letter == 'v')
        return check_value(c, node);
    if (letter == 'n' && node->kind == RULE_LITERAL)
        return check_number(c, node);
    if ((letter == 'x' && name &&
         (kind == RULE_VALUE || strcmp(name->text, "result") == 0)) ||
        (letter == 'o' && kind == RULE_OP) ||
        (kind == RULE_ATTR && takes_attr(letter, name->attr_kind)))
        return NULL;
    if (letter == 'l' && node->kind == RULE_CALL) {
        BT_TRY(check_call(c, node));
        if (node->function && node->function->ints)
            return NULL;
    }
    return rule_fail(c->ctx, c->rule, node->at, "%s expects %s here%s%s", call->text,
                     letter == 'x'   ? "a value that the pattern names, or result,"
                     : letter == 'o' ? "a variable for an operator"
                     : letter == 'n' ? "a number, or an attribute that is one"
                     : letter == 'd' ? "an attribute that is a dtype"
                     : letter == 'l' ? "an attribute of integers, or a list"
                                     : "an attribute of integers",
                     kind == RULE_ATTR ? ", which is another kind of attribute than "
                                       : "",
                     kind == RULE_ATTR ? name->text : "");
}

static bt_status check_call(struct checker *c, struct rule_node *node)
{
    if (!c->is_pattern && node->nop == 1)
        node->function = rule_function_find(node->text);
    if (node->function && node->narg != strlen(node->function->takes))
        return rule_fail(c->ctx, c->rule, node->at, "%s takes %zu operand%s, not %u",
                         node->text, strlen(node->function->takes),
                         node->function->takes[1] ? "s" : "", node->narg);
    for (uint32_t i = 0; node->function && i < node->narg; i++)
        BT_TRY(check_operand(c, node, i));
    if (node->function)
        return NULL;
    if (node->nop == 1 && is_variable(node->text)) {
        BT_TRY(slot_of(c->ctx, c->rule, node, &node->slot));
        struct rule_name *name = &c->rule->names[node->slot];
        if (!c->is_pattern && name->kind != RULE_OP)
            return rule_fail(c->ctx, c->rule, node->at,
                             "%s stands for no operator of the pattern", node->text);
        if (node->nattr || node->is_open)
            return rule_fail(c->ctx, c->rule, node->at,
                             "%s stands for an operator with all its attributes: none "
                             "are written",
                             node->text);
        name->kind = RULE_OP;
    } else {
        if (node->nop > 1 && !c->is_pattern)
            return rule_fail(c->ctx, c->rule, node->at,
                             "one of several operators cannot be built");
        for (uint32_t k = 0; k < node->nop; k++)
            BT_TRY(check_op(c, node, k));
    }
    for (uint32_t i = 0; i < node->narg; i++)
        BT_TRY(check_value(c, node->args[i]));
    return NULL;
}

static bt_status check_name(struct checker *c, const struct rule_node *node)
{
    struct rule_name *name = &c->rule->names[node->slot];
    if (strcmp(name->text, "result") == 0 && !c->is_pattern)
        return NULL;
    if (c->is_pattern && name->kind == RULE_UNBOUND && !name->definition)
        name->kind = RULE_VALUE;
    if (c->is_pattern && name->kind == RULE_VALUE)
        return NULL;
    if (!c->is_pattern && (name->kind == RULE_VALUE || name->definition))
        return NULL;
    if (name->kind == RULE_ATTR)
        return rule_fail(c->ctx, c->rule, node->at,
                         "%s is an attribute, a value is expected: scalar(%s, x) is one, "
                         "in the element type of x",
                         name->text, name->text);
    return rule_fail(c->ctx, c->rule, node->at, "%s is not bound by the pattern",
                     name->text);
}

static bt_status check_node(struct checker *c, struct rule_node *node)
{
    if (node->alias != RULE_NAMES && !c->is_pattern)
        return rule_fail(c->ctx, c->rule, node->at,
                         "only parts of the pattern have names");
    if (node->alias != RULE_NAMES)
        c->rule->names[node->alias].kind = RULE_VALUE;
    if (node->kind == RULE_CALL)
        return check_call(c, node);
    for (uint32_t i = 0; node->kind == RULE_TUPLE && i < node->narg; i++)
        BT_TRY(check_value(c, node->args[i]));
    return node->kind == RULE_NAME ? check_name(c, node) : NULL;
}

/* One that stands for a value, at either side. */
static bt_status check_value(struct checker *c, struct rule_node *node)
{
    if (node->kind == RULE_LITERAL && !c->is_pattern)
        return rule_fail(c->ctx, c->rule, node->at,
                         "%s has no element type here: write scalar(%s, x)", node->text,
                         node->text);
    if (node->kind == RULE_LITERAL)
        return check_number(c, node);
    BT_TRY(check_node(c, node));
    return !node->function || node->function->value
               ? NULL
               : rule_fail(c->ctx, c->rule, node->at, "%s gives no value", node->text);
}

/* Definitions must not need themselves. */
static bt_status check_order(struct checker *c, const struct rule_node *node)
{
    struct rule_name *name = node->kind == RULE_NAME ? &c->rule->names[node->slot] : NULL;
    for (uint32_t i = 0; i < node->narg; i++)
        BT_TRY(check_order(c, node->args[i]));
    if (!name || !name->definition || name->walk == 2)
        return NULL;
    if (name->walk == 1)
        return rule_fail(c->ctx, c->rule, node->at, "%s is defined by itself",
                         name->text);
    name->walk = 1;
    BT_TRY(check_order(c, name->definition));
    name->walk = 2;
    return NULL;
}

bt_status rule_check(bt_ctx *ctx, bt_store *store, struct rule *rule)
{
    struct checker c = { .ctx = ctx, .store = store, .rule = rule, .is_pattern = 1 };
    if (rule->is_checked)
        return NULL;
    BT_TRY(check_value(&c, rule->pattern));
    c.is_pattern = 0;
    BT_TRY(check_value(&c, rule->result));
    for (uint32_t i = 0; i < rule->nname; i++) {
        if (rule->names[i].definition)
            BT_TRY(check_value(&c, rule->names[i].definition));
    }
    BT_TRY(check_order(&c, rule->result));
    for (uint32_t i = 0; i < rule->ncondition; i++) {
        struct rule_node *node = rule->conditions[i];
        const struct rule_function *function =
            node->kind == RULE_CALL ? rule_function_find(node->text) : NULL;
        if (!function || !function->truth)
            return rule_fail(
                ctx, rule, node->at, "%s is no condition%s",
                node->text ? node->text : "a tuple",
                node->text ? rule_function_nearest(rule->arena, node->text, 1) : "");
        BT_TRY(check_node(&c, node));
    }
    rule->is_checked = 1;
    return NULL;
}
