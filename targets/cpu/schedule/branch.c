/*
 * Several programs of one function as one, which chooses by dims of the call.
 *
 *     pack(...)                          pack(...)
 *     parallel for i0 in 8 {             parallel for i0 in 8 {
 *         tile(...)                          if not n == 1 {
 *     }                                          tile(...)
 *                                  ->        }
 *                                        }
 *                                        if n == 1 {
 *                                            dot(...)
 *                                        }
 *
 * Conditions stand inside parallel loops: threads take the outermost statements. What only
 * packs a constant stands under none: it runs when the program is compiled. Forms that are
 * equal are kept once, whichever program packs them.
 */
#include "branch.h"

#include "touch.h"

struct mover {
    bt_loops *to;
    const bt_loops *from;
    const bt_func *func;
    const bt_type_param *dims; /* of the function, for which `from` is */
    uint8_t *packs;            /* of each statement of `from`: it only packs a constant */
    uint32_t *buffers;         /* of `from` -> of `to` */
    bt_map nodes;              /* moved */
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

/* ---- values of dims ---- */

/* What is at least 0 for those values of the dim alone; 0 - (n mod step) of multiples. */
struct limits {
    uint32_t n;
    const bt_node *at[3];
};

static struct limits limits_of(bt_graph *g, const struct mover *m, uint32_t i)
{
    const bt_type_param *some = &m->dims[i],
                        *all = &bt_as_var_type(m->func->vars[i])->param;
    const bt_node *dim = bt_node_dim(g, i);
    struct limits l = { 0 };
    if (some->low > all->low)
        l.at[l.n++] = bt_node_linear(g, -some->low, 1, &dim, (int64_t[]){ 1 });
    if (some->high < all->high)
        l.at[l.n++] = bt_node_linear(g, some->high, 1, &dim, (int64_t[]){ -1 });
    if (some->step != all->step) {
        dim = bt_node_scalar(g, BT_SCALAR_MOD, dim, bt_node_int(g, some->step));
        l.at[l.n++] = bt_node_linear(g, 0, 1, &dim, (int64_t[]){ -1 });
    }
    return l;
}

/* Whether the dims have these values. */
static const bt_node *dims_are(const struct mover *m)
{
    bt_graph *g = m->to->graph;
    const bt_node *all = bt_node_bool(g, 1);
    for (uint32_t i = 0; i < m->func->nvar; i++) {
        const struct limits l = limits_of(g, m, i);
        const int is_number = l.n && m->dims[i].low == m->dims[i].high;
        if (is_number)
            all = bt_node_scalar(g, BT_SCALAR_AND, all,
                                 bt_node_scalar(g, BT_SCALAR_EQ, bt_node_dim(g, i),
                                                bt_node_int(g, m->dims[i].low)));
        for (uint32_t k = 0; !is_number && k < l.n; k++)
            all = bt_node_scalar(
                g, BT_SCALAR_AND, all,
                bt_node_scalar(g, BT_SCALAR_LE, bt_node_int(g, 0), l.at[k]));
    }
    return all;
}

/* What is not packed has no elements where the dims are others. */
static const bt_node *nelem_of(struct mover *m, uint32_t buffer)
{
    bt_graph *g = m->to->graph;
    const bt_node *nelem = move(m, m->from->graph->arrays[buffer]->extents[0]);
    for (uint32_t i = 0; i < m->func->nvar; i++) {
        const struct limits l = limits_of(g, m, i);
        const bt_node *is = bt_node_int(g, 1), *one = is;
        // max(0, min(1, 1 + limit)) is 1 where 0 <= limit, else 0
        for (uint32_t k = 0; k < l.n; k++)
            is = bt_node_scalar(g, BT_SCALAR_MIN, is,
                                bt_node_scalar(g, BT_SCALAR_ADD, one, l.at[k]));
        is = bt_node_scalar(g, BT_SCALAR_MAX, is, bt_node_int(g, 0));
        nelem = bt_node_scalar(g, BT_SCALAR_MUL, nelem, is);
    }
    return nelem;
}

/* ---- buffers ---- */

static int is_packed(const struct mover *m, uint8_t *const *touched, uint32_t buffer)
{
    for (uint32_t k = 0; k < m->from->body.len; k++) {
        if (m->packs[k] && (touched[k][buffer] & CPU_WRITES))
            return 1;
    }
    return 0;
}

static int add_buffers(struct mover *m, uint8_t *const *touched)
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
        const bt_node *nelem = role == BT_BUFFER_TEMP && !is_packed(m, touched, i)
                                   ? nelem_of(m, i)
                                   : move(m, array->extents[0]);
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

/* Statements that stand where they stood are `packs`. */
static int put_all_under(bt_loops *loops, const bt_node *condition, bt_stmts *body,
                         const uint8_t *packs)
{
    for (uint32_t i = 0; i < body->len; i++) {
        if (!packs[i] && !put_under(loops, condition, &body->at[i]))
            return 0;
    }
    return 1;
}

/* The version's statements, moved; not yet among those of the program. */
static int move_version(struct mover *m, const struct cpu_config *config, bt_stmts *moved)
{
    uint8_t **touched;
    bt_map_init(&m->nodes, m->to->arena, 0);
    if (!cpu_touch_all(m->to->arena, config, m->from, &touched) ||
        !(m->packs = cpu_find_packing(m->to->arena, config, m->from, touched)) ||
        !add_buffers(m, touched) || !copy_block(m, &m->from->body, moved))
        return 0;
    for (uint32_t i = 0; i < moved->len; i++) {
        if (!bt_stmt_walk(moved->at[i], move_slot, m))
            return 0;
    }
    return 1;
}

bt_status cpu_branch(bt_loops *loops, const struct cpu_config *config,
                     const bt_func *func, uint32_t nversion,
                     const struct cpu_version *versions)
{
    bt_graph *g = loops->graph;
    const bt_node *none = NULL; // of the versions before fits; NULL: always
    bt_stmts all = { 0 };
    uint8_t **touched, *packs;
    if (!cpu_touch_all(loops->arena, config, loops, &touched) ||
        !(packs = cpu_find_packing(loops->arena, config, loops, touched)))
        return bt_no_memory();
    for (uint32_t v = 0; v < nversion; v++) {
        struct mover m = {
            .to = loops, .from = versions[v].loops, .func = func, .dims = versions[v].dims
        };
        bt_stmts moved = { 0 };
        const int ok = move_version(&m, config, &moved);
        if (m.is_refused)
            continue;
        const bt_node *is = ok ? dims_are(&m) : NULL,
                      *is_not = is ? bt_node_scalar(g, BT_SCALAR_NOT, is, NULL) : NULL;
        if (none && is_not) {
            is = bt_node_scalar(g, BT_SCALAR_AND, none, is);
            is_not = bt_node_scalar(g, BT_SCALAR_AND, none, is_not);
        }
        if (!is || !is_not || !put_all_under(loops, is, &moved, m.packs))
            return bt_loops_why(loops);
        none = is_not;
        for (uint32_t i = 0; i < moved.len; i++) {
            if (!BT_PUSH(loops->arena, &all, moved.at[i]))
                return bt_no_memory();
        }
    }
    if (none && !put_all_under(loops, none, &loops->body, packs))
        return bt_loops_why(loops);
    for (uint32_t i = 0; i < all.len; i++) {
        if (!BT_PUSH(loops->arena, &loops->body, all.at[i]))
            return bt_no_memory();
    }
    return NULL;
}
