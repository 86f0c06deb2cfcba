/*
 * Results that are copies of what was computed elsewhere are computed where they are wanted, as
 * elements that data address:
 *
 *     for i1 in 2048 { b[idx[i1]] sum= x[i1] }           for i1 in 2048 { y[idx[i1]] sum= x[i1] }
 *     for i0 in 10000 { y[i0] = b[i0] }           ->
 *
 * Of a result all elements are stored, once, so that such loops copy all of a buffer as large.
 */
#include "direct.h"

struct uses {
    const bt_loops *loops;
    uint32_t from, to; /* of the copy */
    uint32_t nread;    /* of `from` */
    uint32_t nwritten; /* statements that write `to` */
    int is_other;      /* something cannot be renamed */
    uint8_t *seen;     /* by id, of one statement */
};

static void find_reads(struct uses *u, const bt_node *node)
{
    if (!node->reads || u->seen[node->id])
        return;
    u->seen[node->id] = 1;
    if (node->kind == BT_NODE_READ) {
        u->nread += node->which == u->from;
        u->is_other |= node->which == u->to;
    }
    for (uint32_t i = 0; i < node->narg; i++)
        find_reads(u, node->args[i]);
}

static int look_at(void *self, bt_stmt *stmt, const bt_node **slot)
{
    struct uses *u = self;
    u->seen = BT_NEWS(u->loops->arena, uint8_t, u->loops->graph->nnode + 1);
    (void)stmt;
    if (u->seen)
        find_reads(u, *slot);
    return u->seen != NULL;
}

static void look_at_targets(struct uses *u, const bt_stmts *block)
{
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *stmt = block->at[i];
        const int writes = stmt->kind == BT_STMT_STORE || stmt->kind == BT_STMT_TAKE;
        u->nwritten += writes && stmt->buffer == u->to;
        u->is_other |= stmt->kind == BT_STMT_TAKE && stmt->position &&
                       (stmt->buffer2 == u->from || stmt->buffer2 == u->to);
        for (uint32_t k = 0; stmt->kind == BT_STMT_CALL && k < stmt->narg; k++)
            u->is_other |= stmt->args[k].is_address && (stmt->args[k].buffer == u->from ||
                                                        stmt->args[k].buffer == u->to);
        look_at_targets(u, &stmt->body);
        look_at_targets(u, &stmt->otherwise);
    }
}

/* The store of loops that do nothing but copy a temp to a result; NULL: they are none. */
static const bt_stmt *find_copy(const bt_loops *loops, const bt_stmt *stmt)
{
    const bt_graph *g = loops->graph;
    if (stmt->kind != BT_STMT_FOR)
        return NULL;
    while (stmt->kind == BT_STMT_FOR && stmt->body.len == 1)
        stmt = stmt->body.at[0];
    if (stmt->kind != BT_STMT_STORE || stmt->value->kind != BT_NODE_READ ||
        stmt->value->args[0] != stmt->offset)
        return NULL;
    const uint32_t from = stmt->value->which, to = stmt->buffer;
    return loops->roles.at[to] == BT_BUFFER_OUTPUT &&
                   loops->roles.at[from] == BT_BUFFER_TEMP &&
                   g->arrays[from]->dtype == g->arrays[to]->dtype &&
                   g->arrays[from]->extents[0] == g->arrays[to]->extents[0]
               ? stmt
               : NULL;
}

static void rename_targets(const bt_stmts *block, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < block->len; i++) {
        bt_stmt *stmt = block->at[i];
        if ((stmt->kind == BT_STMT_STORE || stmt->kind == BT_STMT_TAKE) &&
            stmt->buffer == from)
            stmt->buffer = to;
        rename_targets(&stmt->body, from, to);
        rename_targets(&stmt->otherwise, from, to);
    }
}

int cpu_compute_directly(bt_loops *loops)
{
    for (uint32_t i = 0; i < loops->body.len; i++) {
        const bt_stmt *copy = find_copy(loops, loops->body.at[i]);
        if (!copy)
            continue;
        struct uses u = { .loops = loops,
                          .from = copy->value->which,
                          .to = copy->buffer };
        for (uint32_t k = 0; k < loops->body.len; k++) {
            if (!bt_stmt_walk(loops->body.at[k], look_at, &u))
                return 0;
        }
        look_at_targets(&u, &loops->body);
        if (u.is_other || u.nread != 1 || u.nwritten != 1)
            continue;
        if (!bt_stmts_replace(loops, &loops->body, i--, &(bt_stmts){ 0 }))
            return 0;
        rename_targets(&loops->body, u.from, u.to);
    }
    return 1;
}
