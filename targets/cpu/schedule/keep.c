#include "keep.h"

/* ---- who reads and writes ---- */

/* Expressions of statements share nodes: a read counts once in each. */
struct count {
    uint32_t buffer, nread, nwrite;
    uint32_t expression; /* the number of the one at hand, from 1 on */
    uint32_t *seen;      /* by node: the last expression that it was met in */
};

static void count_reads(struct count *c, const bt_node *node)
{
    if (!node->reads || c->seen[node->id] == c->expression)
        return;
    c->seen[node->id] = c->expression;
    c->nread += node->kind == BT_NODE_READ && node->which == c->buffer;
    for (uint32_t i = 0; i < node->narg; i++)
        count_reads(c, node->args[i]);
}

static int count_all(void *self, bt_stmt *stmt, const bt_node **slot)
{
    struct count *c = self;
    c->expression++;
    count_reads(c, *slot);
    if ((stmt->kind == BT_STMT_STORE || stmt->kind == BT_STMT_TAKE) &&
        slot == &stmt->offset)
        c->nwrite += stmt->buffer == c->buffer || stmt->buffer2 == c->buffer;
    for (uint32_t i = 0; stmt->kind == BT_STMT_CALL && i < stmt->narg; i++)
        c->nwrite += stmt->args[i].is_address && stmt->args[i].buffer == c->buffer;
    return 1;
}

/* 0: no memory. */
static int begin_count(bt_loops *loops, uint32_t buffer, struct count *c)
{
    *c = (struct count){ .buffer = buffer, .expression = 1 };
    c->seen = BT_NEWS(loops->arena, uint32_t, loops->graph->nnode);
    if (!c->seen)
        loops->graph->status = bt_no_memory();
    return c->seen != NULL;
}

static int count_of(bt_loops *loops, uint32_t buffer, struct count *c)
{
    if (!begin_count(loops, buffer, c))
        return 0;
    for (uint32_t i = 0; i < loops->body.len; i++)
        (void)bt_stmt_walk(loops->body.at[i], count_all, c);
    return 1;
}

/* ---- which slice ---- */

struct update {
    uint32_t in, result;
    const bt_node *value, *at; /* of the slice; which it is */
    const bt_node *condition, *kept;
    const bt_node *sum; /* what the value is added in, to what is kept; NULL: it is not */
};

static int is_zero(const bt_node *node)
{
    return node->kind == BT_NODE_CONST &&
           (bt_dtype_is_float(node->dtype) ? node->value.f == 0 : node->value.i == 0);
}

/* Takes apart select(c, e, kept), or kept + select(c, e, 0). */
static int find_value(const bt_node *value, const bt_node *offset, struct update *u)
{
    const bt_node *choice = value;
    *u = (struct update){ 0 };
    if (value->kind == BT_NODE_SCALAR && value->which == BT_SCALAR_ADD) {
        const uint32_t in =
            value->args[0]->kind != BT_NODE_READ || value->args[0]->args[0] != offset;
        u->sum = value;
        u->kept = value->args[in];
        choice = value->args[1 - in];
        if (choice->kind == BT_NODE_CAST)
            choice = choice->args[0];
    }
    if (choice->kind != BT_NODE_SELECT || (u->sum && !is_zero(choice->args[2])))
        return 0;
    u->condition = choice->args[0];
    u->value = choice->args[1];
    u->kept = u->sum ? u->kept : choice->args[2];
    return u->kept->kind == BT_NODE_READ && u->kept->narg == 1 &&
           u->kept->args[0] == offset;
}

/* What the index is where the condition holds; NULL: it is not just one, or depends on loops
 * inside. */
static const bt_node *solve(bt_graph *g, const bt_node *condition, uint32_t index)
{
    bt_linear l, r;
    if (condition->kind != BT_NODE_SCALAR || condition->which != BT_SCALAR_EQ ||
        condition->args[0]->dtype != BT_INT64)
        return NULL;
    bt_node_as_linear(condition->args[0], &l);
    bt_node_as_linear(condition->args[1], &r);
    const int64_t a = bt_linear_coef(&l, index), b = bt_linear_coef(&r, index);
    const bt_node *left = condition->args[0], *right = condition->args[1], *one;
    if (!((a == 1 || a == -1) && b == 0) && !((b == 1 || b == -1) && a == 0))
        return NULL;
    // a * index + left' == right, the index alone on its side
    if (b) {
        one = left;
        left = right;
        right = one;
    }
    const bt_node *rest = bt_node_substitute(g, left, index, bt_node_int(g, 0));
    if (a + b == 1)
        one = bt_node_scalar(g, BT_SCALAR_SUB, right, rest);
    else
        one = bt_node_scalar(g, BT_SCALAR_SUB, rest, right);
    return one && !one->free ? one : NULL;
}

/* Leaf `n` of a type; NULL: it has not so many. Recursion is bounded by the depth of types. */
static const bt_type *leaf_of(const bt_type *type, uint32_t *n)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_type *found = NULL;
    if (!tuple)
        return (*n)-- ? NULL : type;
    for (uint32_t i = 0; !found && i < tuple->n; i++)
        found = leaf_of(tuple->at[i], n);
    return found;
}

/* Only then may one buffer be both. */
static int same_type(const bt_func *primitive, uint32_t in, uint32_t result)
{
    const bt_type *to = leaf_of(primitive->result, &result), *from = NULL;
    for (uint32_t i = 0; !from && i < primitive->block->nparam; i++)
        from = leaf_of(primitive->block->params[i]->base.type, &in);
    return to && to == from;
}

/* Whether the loop stores a slice, and what another buffer has everywhere else. */
static int find_update(bt_loops *loops, const bt_func *primitive, bt_stmt *loop,
                       struct update *u)
{
    const bt_stmt *inner = loop;
    while (inner->kind == BT_STMT_FOR && inner->body.len == 1)
        inner = inner->body.at[0];
    struct count of_value, of_in, of_out;
    if (loop->kind != BT_STMT_FOR || inner->kind != BT_STMT_STORE ||
        loops->roles.at[inner->buffer] != BT_BUFFER_OUTPUT ||
        !find_value(inner->value, inner->offset, u) ||
        loops->roles.at[u->kept->which] != BT_BUFFER_INPUT)
        return 0;
    const bt_node *kept = u->kept;
    const bt_array *in = loops->graph->arrays[kept->which],
                   *out = loops->graph->arrays[inner->buffer];
    u->in = kept->which;
    u->at = solve(loops->graph, u->condition, loop->index);
    while (u->result < loops->results.len &&
           loops->results.at[u->result] != inner->buffer)
        u->result++;
    if (!u->at || in->dtype != out->dtype || in->extents[0] != out->extents[0] ||
        !same_type(primitive, u->in, u->result) ||
        !begin_count(loops, kept->which, &of_value) ||
        !count_of(loops, kept->which, &of_in) || !count_of(loops, inner->buffer, &of_out))
        return 0;
    count_reads(&of_value, u->value);
    return of_value.nread == 0 && of_in.nread == 1 && of_out.nread == 0 &&
           of_out.nwrite == 1;
}

/* ---- in place ---- */

struct at {
    bt_graph *graph;
    uint32_t index;
    const bt_node *by;
};

static int put_at(void *self, bt_stmt *stmt, const bt_node **slot)
{
    const struct at *a = self;
    (void)stmt;
    *slot = bt_node_substitute(a->graph, *slot, a->index, a->by);
    return *slot != NULL;
}

static int write_slice(bt_loops *loops, uint32_t number, const struct update *u)
{
    bt_graph *g = loops->graph;
    bt_stmt *loop = loops->body.at[number], *store = loop;
    bt_stmts by = { 0 };
    struct at at = { g, loop->index, u->at };
    bt_stmt *guard = bt_stmt_add(loops, &by, BT_STMT_IF);
    while (store->kind == BT_STMT_FOR)
        store = store->body.at[0];
    store->value = u->value;
    if (u->sum) {
        const bt_node *before = bt_loops_read(loops, store->buffer, store->offset);
        const bt_node *value = bt_node_cast(g, u->sum->dtype, u->value);
        store->value =
            before && value ? bt_node_scalar(g, BT_SCALAR_ADD, before, value) : NULL;
    }
    if (!guard || !store->value)
        return 0;
    guard->condition =
        bt_node_and(g, bt_node_scalar(g, BT_SCALAR_LE, bt_node_int(g, 0), u->at),
                    bt_node_scalar(g, BT_SCALAR_LT, u->at, loop->extent));
    guard->body = loop->body;
    for (uint32_t i = 0; i < guard->body.len; i++) {
        if (!bt_stmt_walk(guard->body.at[i], put_at, &at))
            return 0;
    }
    return guard->condition && bt_stmts_replace(loops, &loops->body, number, &by);
}

int cpu_keep(bt_loops *loops, const bt_func *primitive, cpu_kept_list *kept)
{
    for (uint32_t i = 0; i < loops->body.len; i++) {
        struct update u;
        if (!find_update(loops, primitive, loops->body.at[i], &u))
            continue;
        if (!write_slice(loops, i, &u))
            return 0;
        if (!BT_PUSH(loops->arena, kept, ((struct cpu_kept){ u.in, u.result })))
            return 0;
    }
    return !loops->graph->status;
}
