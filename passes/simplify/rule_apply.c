/* Matching the pattern of a rule, and building what stands at its right. */
#include <stdlib.h>
#include <string.h>

#include "simplify/rule.h"

/* ---- attributes ---- */

static size_t attr_nbytes(const bt_attr *row)
{
    return row->kind == BT_ATTR_INTS || row->kind == BT_ATTR_FLOATS ||
                   row->kind == BT_ATTR_STRINGS || row->kind == BT_ATTR_INT_OR_INTS
               ? 2 * sizeof(int64_t)
               : sizeof(int64_t);
}

/* Whether two attributes of one kind are equal, wherever they stand in their structs. */
static int same_attr(const bt_attr *row, const void *a, const void *b)
{
    bt_attr alone[2] = { *row, { 0 } };
    alone[0].offset = 0;
    return bt_attrs_equal(alone, a, b);
}

static const struct rule_node *attr_of(const struct rule_node *node, const char *name)
{
    for (uint32_t i = 0; i < node->nattr; i++) {
        if (strcmp(node->attr_names[i], name) == 0)
            return node->attrs[i];
    }
    return NULL;
}

/* Those with names are bound; the others are as they stand there, or have their
 * defaults. */
static int match_attrs(struct rule_match *m, const struct rule_node *node, uint32_t k,
                       const void *attrs)
{
    for (const bt_attr *row = node->rows[k]->attrs; row && row->name; row++) {
        const struct rule_node *wanted = attr_of(node, row->name);
        const char *member = (const char *)attrs + row->offset;
        if (!wanted && node->is_open)
            continue;
        if (!wanted || wanted->kind == RULE_LITERAL) {
            if (!same_attr(row, member, (const char *)node->fixed[k] + row->offset))
                return 0;
            continue;
        }
        if (m->rows[wanted->slot] && !same_attr(row, member, m->members[wanted->slot]))
            return 0;
        m->rows[wanted->slot] = row;
        m->members[wanted->slot] = member;
    }
    return 1;
}

/* ---- values ---- */

/* A constant whose elements are all what the literal says. */
static int is_all(const bt_value *value, const struct rule_node *literal)
{
    const bt_tensor *tensor = bt_const_tensor(value);
    if (!tensor || tensor->nelem == 0 || tensor->nelem > RULE_MAX_ALL ||
        (tensor->dtype == BT_BOOL) != literal->is_bool)
        return 0;
    for (int64_t i = 0; i < tensor->nelem; i++) {
        if (bt_tensor_get(tensor, i) != literal->number)
            return 0;
    }
    return 1;
}

static int match_value(struct rule_match *, const struct rule_node *, const bt_value *);

static int match_op(struct rule_match *m, const struct rule_node *node,
                    const bt_call *call)
{
    if (node->slot != RULE_NAMES) { // a variable for an operator
        const bt_op *bound = m->ops[node->slot];
        if (bound && (bound != call->op || !bt_attrs_equal(bound->attrs, call->attrs,
                                                           m->op_attrs[node->slot])))
            return 0;
        m->ops[node->slot] = call->op;
        m->op_attrs[node->slot] = call->attrs;
        return 1;
    }
    for (uint32_t k = 0; k < node->nop; k++) {
        if (node->rows[k] == call->op)
            return match_attrs(m, node, k, call->attrs);
    }
    return 0;
}

static int match_call(struct rule_match *m, const struct rule_node *node,
                      const bt_call *call, const bt_value *const *args)
{
    if (call->callee_kind != BT_CALLEE_OP || call->narg != node->narg ||
        !match_op(m, node, call))
        return 0;
    const int is_swapped = (m->swapped & node->swap) != 0;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!match_value(m, node->args[i], args[is_swapped ? 1 - i : i]))
            return 0;
    }
    return 1;
}

/* As deep as a rule is nested. */
static int match_value(struct rule_match *m, const struct rule_node *node,
                       const bt_value *value)
{
    if (node->alias != RULE_NAMES) {
        const bt_value *bound = m->values[node->alias];
        if (bound && bound != value)
            return 0;
        m->values[node->alias] = value;
    }
    const bt_call *call = bt_as_call(value);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    if (node->kind == RULE_CALL)
        return call && match_call(m, node, call, call->args);
    if (node->kind == RULE_LITERAL)
        return is_all(value, node);
    for (uint32_t i = 0; node->kind == RULE_TUPLE && i < node->narg; i++) {
        if (!tuple || tuple->nfield != node->narg ||
            !match_value(m, node->args[i], tuple->fields[i]))
            return 0;
    }
    if (node->kind == RULE_TUPLE)
        return 1;
    if ((node->is_const && value->kind != BT_VALUE_CONST) ||
        (m->values[node->slot] && m->values[node->slot] != value))
        return 0;
    m->values[node->slot] = value;
    return 1;
}

/* ---- building ---- */

/* The attributes of a call at the right. NULL with chain.status NULL: some function
 * gives none. */
static const void *build_attrs(struct rule_match *m, struct chain *c,
                               const struct rule_node *node)
{
    const bt_op *op = node->rows[0];
    char *out = bt_arena_alloc(m->arena, 1, op->attrs_nbytes ? op->attrs_nbytes : 1);
    if (!out)
        c->status = bt_no_memory();
    else if (node->fixed[0])
        memcpy(out, node->fixed[0], op->attrs_nbytes);
    for (const bt_attr *row = op->attrs; out && row && row->name; row++) {
        const struct rule_node *from = attr_of(node, row->name);
        bt_attr alone[2] = { *row, { 0 } };
        const bt_op one = { .name = op->name,
                            .attrs = alone,
                            .attrs_nbytes = attr_nbytes(row) };
        const void *member =
            from && from->kind == RULE_NAME ? m->members[from->slot] : NULL;
        const bt_type *type;
        bt_text text;
        if (!from || from->kind == RULE_LITERAL)
            continue;
        if ((row->kind == BT_ATTR_SHAPE || row->kind == BT_ATTR_DIM) && from->function &&
            from->function->type) {
            type = from->function->type(m, from->args);
            member = &type;
            if (!type)
                return NULL;
        }
        alone[0].offset = 0;
        bt_text_init(&text, m->arena);
        bt_text_addf(&text, "%s=", row->name);
        if (!member && !rule_attr_text(m, from, &text))
            return NULL;
        if (!member && !bt_text_get(&text))
            c->status = bt_no_memory();
        else if (!member)
            c->status =
                bt_attrs_parse(m->ctx, m->store, &one, bt_text_get(&text), &member);
        if (c->status)
            return NULL;
        memcpy(out + row->offset, member, attr_nbytes(row));
    }
    return out;
}

static const bt_value *build_call(struct rule_match *m, struct chain *c,
                                  const struct rule_node *node)
{
    const bt_value *args[RULE_ARGS], *out = NULL;
    int is_variable = node->slot != RULE_NAMES;
    const bt_op *op = is_variable ? m->ops[node->slot] : node->rows[0];
    const void *attrs = is_variable ? m->op_attrs[node->slot] : build_attrs(m, c, node);
    if (!is_variable && !attrs)
        return NULL;
    for (uint32_t i = 0; i < node->narg; i++) {
        args[i] = rule_build(m, c, node->args[i]);
        if (!args[i])
            return NULL;
    }
    c->status =
        bt_build_op(c->builder, op, op->attrs ? attrs : NULL, node->narg, args, &out);
    return out;
}

static const bt_value *build_tuple(struct rule_match *m, struct chain *c,
                                   const struct rule_node *node)
{
    const bt_value *fields[RULE_ARGS], *out = NULL;
    for (uint32_t i = 0; i < node->narg; i++) {
        fields[i] = rule_build(m, c, node->args[i]);
        if (!fields[i])
            return NULL;
    }
    c->status = bt_build_tuple(c->builder, node->narg, fields, &out);
    return out;
}

const bt_value *rule_build(struct rule_match *m, struct chain *c,
                           const struct rule_node *node)
{
    if (c->status)
        return NULL;
    if (node->kind == RULE_TUPLE)
        return build_tuple(m, c, node);
    if (node->kind == RULE_CALL)
        return node->function ? node->function->value(m, c, node->args)
                              : build_call(m, c, node);
    if (!m->values[node->slot] && m->rule->names[node->slot].definition)
        m->values[node->slot] = rule_build(m, c, m->rule->names[node->slot].definition);
    return m->values[node->slot];
}

/* Built in a block of its own first: what fails, or has another type, is dropped with
 * it. */
static bt_status try_build(const struct rule_match *m, bt_rewrite *rewrite, int *out)
{
    struct rule_match copy = *m;
    struct chain c = { 0 };
    *out = 0;
    BT_TRY(bt_builder_create(m->ctx, m->store, bt_rewrite_call(rewrite)->module,
                             &c.builder));
    bt_status status = bt_block_begin(c.builder, 0, NULL);
    if (!status) {
        const bt_value *value = rule_build(&copy, &c, m->rule->result);
        *out = value && value->type == m->type;
        int is_ill_typed =
            c.status && (c.status->code == BT_ERR_TYPE || c.status->code == BT_ERR_SHAPE);
        if (!is_ill_typed)
            status = c.status;
    }
    bt_builder_destroy(c.builder);
    return status;
}

static int meets_conditions(struct rule_match *m)
{
    const struct rule *rule = m->rule;
    for (uint32_t i = 0; i < rule->ncondition; i++) {
        const struct rule_node *node = rule->conditions[i];
        if (node->function->truth(m, node->args) == (int)rule->is_negated[i])
            return 0;
    }
    return 1;
}

bt_status rule_apply(struct rule *rule, bt_rewrite *rewrite, const bt_call *call,
                     const bt_value *const *args, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    struct rule_match m = { .rule = rule,
                            .ctx = bt_rewrite_ctx(rewrite),
                            .arena = bt_rewrite_call(rewrite)->scratch,
                            .store = bt_builder_store(c.builder),
                            .type = call->base.type };
    int can = 0;
    for (uint32_t swapped = 0; !can && !m.status && swapped < 1u << rule->nswap;
         swapped++) {
        struct rule_match one = m;
        one.swapped = swapped;
        can = match_call(&one, rule->pattern, call, args) && meets_conditions(&one);
        if (can || one.status)
            m = one;
    }
    if (!can)
        return m.status;
    if (rule->result->kind == RULE_NAME && m.values[rule->result->slot]) {
        if (m.values[rule->result->slot]->type == m.type)
            *out = m.values[rule->result->slot];
        return NULL;
    }
    BT_TRY(try_build(&m, rewrite, &can));
    if (!can)
        return NULL;
    *out = rule_build(&m, &c, rule->result);
    return c.status;
}
