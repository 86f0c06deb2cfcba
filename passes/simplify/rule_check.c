/* What a rule names: operators, attributes, functions, and what it binds. */
#include <ctype.h>
#include <string.h>

#include "simplify/rule.h"

struct checker {
    bt_ctx *ctx;
    bt_store *store;
    struct rule *rule;
    int is_pattern;
};

static bt_status check_node(struct checker *, struct rule_node *);
static bt_status check_value(struct checker *, struct rule_node *);
static bt_status check_call(struct checker *, struct rule_node *);

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
    const bt_attr *row = bt_attr_row(op->attrs, name);
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
    const uint32_t n = bt_op_ninput(node->rows[k], &nrequired);
    if (!bt_op_takes(node->rows[k], node->narg))
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

/* A call of the pattern that matches with its operands in either order. */
static bt_status check_swap(struct checker *c, struct rule_node *node)
{
    if (!c->is_pattern || node->narg != 2 || c->rule->nswap == RULE_SWAPS)
        return NULL;
    for (uint32_t k = 0; k < node->nop; k++) {
        const void *facet = NULL;
        if (node->rows[k])
            BT_TRY(bt_op_facet(c->ctx, node->rows[k], "algebra", &facet));
        if (!facet || !(((const bt_algebra_facet *)facet)->laws & BT_COMMUTATIVE))
            return NULL;
    }
    node->swap = UINT32_C(1) << c->rule->nswap++;
    return NULL;
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
        BT_TRY(rule_slot(c->ctx, c->rule, node, &node->slot));
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
    BT_TRY(check_swap(c, node));
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
