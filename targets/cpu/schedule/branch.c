/*
 * Two programs of one function as one, which chooses by a dim of the call.
 *
 *     parallel for i0 in 8 {             parallel for i0 in 8 {
 *         tile(...)                          if n != 1 {
 *     }                                          tile(...)
 *                                  ->        }
 *                                        }
 *                                        if n == 1 {
 *                                            dot(...)
 *                                        }
 *
 * Conditions stand inside parallel loops: threads take the outermost statements.
 */
#include "branch.h"

struct mover {
    bt_loops *to;
    const bt_loops *from;
    uint32_t *buffers; /* of `from` -> of `to` */
    bt_map nodes;      /* moved */
    int is_refused;
};

/* ---- expressions ---- */

static const bt_node *move(struct mover *m, const bt_node *node);

static const bt_node *move_args(struct mover *m, const bt_node *node)
{
    const bt_node **args = BT_NEWS(m->to->arena, const bt_node *, node->narg);
    for (uint32_t i = 0; args && i < node->narg; i++) {
        args[i] = move(m, node->args[i]);
        if (!args[i])
            return NULL;
    }
    return !args ? NULL
           : node->kind == BT_NODE_READ
               ? bt_loops_read(m->to, m->buffers[node->which], args[0])
           : node->kind == BT_NODE_INDEX
               ? bt_node_index(m->to->graph, node->which, args[0])
               : bt_node_again(m->to->graph, node, node->first, args);
}

/* NULL: failure, or it is refused. Recursion is bounded by the depth of expressions. */
static const bt_node *move(struct mover *m, const bt_node *node)
{
    bt_graph *g = m->to->graph;
    const bt_node *known = bt_map_find(&m->nodes, node);
    int64_t number;
    if (known)
        return known;
    if (bt_node_is_const(node, &number) && node->dtype == BT_INT64)
        known = bt_node_int(g, number);
    else if (node->kind == BT_NODE_CONST || node->kind == BT_NODE_REDUCE)
        m->is_refused = 1; // what calls are given has none of these
    else if (node->kind == BT_NODE_DIM)
        known = bt_node_dim(g, node->which);
    else if (node->kind == BT_NODE_INDEX && !node->narg)
        known = bt_node_index(g, node->which, bt_node_int(g, node->high + 1));
    else
        known = move_args(m, node);
    return known && bt_map_put(&m->nodes, node, (void *)(uintptr_t)known) ? known : NULL;
}

static int move_slot(void *self, bt_stmt *stmt, const bt_node **slot)
{
    (void)stmt;
    *slot = *slot ? move(self, *slot) : NULL;
    return *slot != NULL;
}

/* ---- statements ---- */

static int copy_block(struct mover *m, const bt_stmts *from, bt_stmts *to);

/* With the expressions of the old one. Recursion is bounded by the depth of loops. */
static int copy_stmt(struct mover *m, const bt_stmt *from, bt_stmts *to)
{
    bt_stmt *stmt = bt_stmt_add(m->to, to, from->kind);
    bt_call_arg *args = BT_NEWS(m->to->arena, bt_call_arg, from->narg);
    if (!stmt || !args)
        return 0;
    *stmt = *from;
    stmt->body = stmt->otherwise = (bt_stmts){ 0 };
    stmt->args = args;
    for (uint32_t i = 0; i < from->narg; i++) {
        args[i] = from->args[i];
        if (args[i].is_address)
            args[i].buffer = m->buffers[args[i].buffer];
    }
    m->is_refused |= from->kind != BT_STMT_FOR && from->kind != BT_STMT_IF &&
                     from->kind != BT_STMT_CALL && from->kind != BT_STMT_CHECK;
    return copy_block(m, &from->body, &stmt->body) &&
           copy_block(m, &from->otherwise, &stmt->otherwise);
}

static int copy_block(struct mover *m, const bt_stmts *from, bt_stmts *to)
{
    for (uint32_t i = 0; i < from->len; i++) {
        if (!copy_stmt(m, from->at[i], to))
            return 0;
    }
    return 1;
}

static int add_buffers(struct mover *m)
{
    const bt_loops *from = m->from;
    const uint32_t n = from->graph->narray;
    m->buffers = BT_NEWS(m->to->arena, uint32_t, n);
    for (uint32_t i = 0; m->buffers && i < n; i++) {
        const bt_array *array = from->graph->arrays[i];
        const uint32_t role = from->roles.at[i];
        m->buffers[i] = i;
        if (role == BT_BUFFER_INPUT || role == BT_BUFFER_OUTPUT)
            continue;
        const bt_node *nelem = move(m, array->extents[0]);
        if (!nelem || !bt_loops_add_buffer(m->to, role, array->name, array->dtype, nelem,
                                           &m->buffers[i]))
            return 0;
    }
    for (uint32_t i = 0; m->buffers && i < from->results.len; i++)
        m->buffers[from->results.at[i]] = m->to->results.at[i];
    return m->buffers != NULL;
}

/* ---- conditions ---- */

/* The statement where the condition holds. */
static int put_under(bt_loops *loops, const bt_node *condition, bt_stmt **at)
{
    bt_stmt *stmt = *at;
    const int is_inside = stmt->kind == BT_STMT_FOR && stmt->is_parallel;
    bt_stmts tests = { 0 };
    bt_stmt *test = bt_stmt_add(loops, &tests, BT_STMT_IF);
    if (!test)
        return 0;
    test->condition = condition;
    if (is_inside) {
        test->body = stmt->body;
        stmt->body = tests;
        return 1;
    }
    *at = test;
    return BT_PUSH(loops->arena, &test->body, stmt);
}

bt_status cpu_branch(bt_loops *loops, uint32_t which, int64_t number,
                     const bt_loops *other, int *done)
{
    struct mover m = { .to = loops, .from = other };
    bt_graph *g = loops->graph;
    bt_stmts moved = { 0 };
    const bt_node *holds[2]; // not, and that it is this number
    *done = 0;
    bt_map_init(&m.nodes, loops->arena, 0);
    int ok = add_buffers(&m) && copy_block(&m, &other->body, &moved);
    for (uint32_t i = 0; ok && i < moved.len; i++)
        ok = bt_stmt_walk(moved.at[i], move_slot, &m);
    if (m.is_refused)
        return NULL;
    holds[1] = ok ? bt_node_scalar(g, BT_SCALAR_EQ, bt_node_dim(g, which),
                                   bt_node_int(g, number))
                  : NULL;
    holds[0] = holds[1] ? bt_node_scalar(g, BT_SCALAR_NOT, holds[1], NULL) : NULL;
    for (uint32_t i = 0; holds[0] && ok && i < loops->body.len; i++)
        ok = put_under(loops, holds[0], &loops->body.at[i]);
    for (uint32_t i = 0; holds[0] && ok && i < moved.len; i++)
        ok = put_under(loops, holds[1], &moved.at[i]) &&
             BT_PUSH(loops->arena, &loops->body, moved.at[i]);
    *done = ok && holds[0];
    return *done ? NULL : bt_loops_why(loops);
}
