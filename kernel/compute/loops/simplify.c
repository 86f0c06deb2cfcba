/*
 * What bounds of indices and the conditions around decide goes: conditions that hold,
 * branches that are never taken, loops of one iteration or none, empty blocks.
 */
#include "compute/graph/bounds.h"
#include "compute/loops/transform.h"

struct simplify {
    bt_loops *loops;
};

static int simplify_block(struct simplify *s, const bt_stmts *from,
                          const struct bt__facts *facts, bt_stmts *out);

/* ---- expressions ---- */

struct deciding {
    struct simplify *s;
    const struct bt__facts *facts;
};

static const bt_node *decide(void *self, const bt_node *node)
{
    const struct deciding *d = self;
    bt_graph *g = d->s->loops->graph;
    if (node->kind != BT_NODE_SELECT)
        return node;
    if (bt__facts_imply(g, d->facts, node->args[0]))
        return node->args[1];
    const bt_node *opposite = bt_node_scalar(g, BT_SCALAR_NOT, node->args[0], NULL);
    return !opposite                                ? NULL
           : bt__facts_imply(g, d->facts, opposite) ? node->args[2]
                                                    : node;
}

static int decide_all(struct simplify *s, bt_stmt *stmt, const struct bt__facts *facts)
{
    const bt_node **slots[] = { &stmt->condition, &stmt->offset, &stmt->value,
                                &stmt->position };
    struct deciding d = { s, facts };
    bt_by_node by = { s->loops, decide, &d };
    for (size_t i = 0; i < BT_COUNT(slots); i++) {
        const bt_node *made = *slots[i] ? bt_node_change(&by, *slots[i]) : NULL;
        if (*slots[i] && !made)
            return 0;
        *slots[i] = made;
    }
    return 1;
}

/* ---- conditions ---- */

/* What is not known of a condition; NULL: no memory. */
static const bt_node *unknown_of(struct simplify *s, const bt_node *condition,
                                 const struct bt__facts *facts)
{
    bt_graph *g = s->loops->graph;
    bt_nodes conjuncts = { .len = 0 };
    const bt_node *all = bt_node_bool(g, 1);
    if (!bt_node_conjuncts(s->loops->arena, condition, &conjuncts))
        return NULL;
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        const bt_node *opposite = bt_node_scalar(g, BT_SCALAR_NOT, conjuncts.at[i], NULL);
        if (bt__facts_imply(g, facts, conjuncts.at[i]))
            continue;
        if (opposite && bt__facts_imply(g, facts, opposite))
            return bt_node_bool(g, 0);
        all = opposite ? bt_node_and(g, all, conjuncts.at[i]) : NULL;
    }
    return all;
}

/* Of a condition, what stays true whatever is stored. */
static int learn(struct simplify *s, const bt_node *condition, struct bt__facts *out)
{
    bt_nodes conjuncts = { .len = 0 };
    if (!condition || !bt_node_conjuncts(s->loops->arena, condition, &conjuncts))
        return 0;
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        if (!conjuncts.at[i]->reads &&
            !BT_PUSH(s->loops->arena, &out->conjuncts, conjuncts.at[i]))
            return 0;
    }
    return 1;
}

static int push_all(struct simplify *s, const bt_stmts *from, bt_stmts *to)
{
    for (uint32_t i = 0; i < from->len; i++) {
        if (!BT_PUSH(s->loops->arena, to, from->at[i]))
            return 0;
    }
    return 1;
}

static int simplify_if(struct simplify *s, bt_stmt *stmt, const struct bt__facts *facts,
                       bt_stmts *out)
{
    bt_graph *g = s->loops->graph;
    struct bt__facts yes = { .outer = facts }, no = { .outer = facts };
    bt_stmts body = { .len = 0 }, otherwise = { .len = 0 };
    const bt_node *condition = unknown_of(s, stmt->condition, facts);
    if (!condition)
        return 0;
    if (bt_node_is_true(condition))
        return simplify_block(s, &stmt->body, facts, out);
    if (bt_node_is_false(condition))
        return simplify_block(s, &stmt->otherwise, facts, out);
    const bt_node *opposite = bt_node_scalar(g, BT_SCALAR_NOT, condition, NULL);
    if (!learn(s, condition, &yes) || !learn(s, opposite, &no) ||
        !simplify_block(s, &stmt->body, &yes, &body) ||
        !simplify_block(s, &stmt->otherwise, &no, &otherwise))
        return 0;
    int is_inverted = body.len == 0;
    stmt->condition = is_inverted ? opposite : condition;
    stmt->body = is_inverted ? otherwise : body;
    stmt->otherwise = is_inverted ? body : otherwise;
    return !stmt->body.len || BT_PUSH(s->loops->arena, out, stmt);
}

/* ---- statements ---- */

static int simplify_for(struct simplify *s, bt_stmt *stmt, const struct bt__facts *facts,
                        bt_stmts *out)
{
    bt_stmts body = { .len = 0 };
    if (bt_node_number(stmt->extent) == 0)
        return 1;
    if (!simplify_block(s, &stmt->body, facts, &body))
        return 0;
    stmt->body = body;
    // the index of one iteration is 0 wherever it stands
    if (bt_node_number(stmt->extent) == 1)
        return push_all(s, &body, out);
    return !body.len || BT_PUSH(s->loops->arena, out, stmt);
}

static int simplify_block(struct simplify *s, const bt_stmts *from,
                          const struct bt__facts *facts, bt_stmts *out)
{
    for (uint32_t i = 0; i < from->len; i++) {
        bt_stmt *stmt = from->at[i];
        int ok;
        if (!decide_all(s, stmt, facts))
            return 0;
        if (stmt->kind == BT_STMT_FOR)
            ok = simplify_for(s, stmt, facts, out);
        else if (stmt->kind == BT_STMT_IF)
            ok = simplify_if(s, stmt, facts, out);
        else if (stmt->kind == BT_STMT_CHECK &&
                 bt__facts_imply(s->loops->graph, facts, stmt->condition))
            ok = 1;
        else
            ok = BT_PUSH(s->loops->arena, out, stmt);
        if (!ok)
            return 0;
    }
    return 1;
}

bt_status bt_loops_simplify(bt_loops *loops)
{
    struct simplify s = { loops };
    bt_stmts body = { .len = 0 };
    if (!simplify_block(&s, &loops->body, NULL, &body))
        return bt_loops_why(loops);
    loops->body = body;
    return NULL;
}
