/*
 * The order in which floats are summed, for results show it: 32 sums side by side, where
 * lanes are terms, or one term after the other, where each lane has a sum of its own. It
 * is the cheaper one where numbers are, and must be the same where they are not known:
 * what decides is how the terms lie and how many they are.
 */
#include "lanes.h"

static int is_ordered(const bt_stmt *take)
{
    return (take->reducer == BT_REDUCER_SUM || take->reducer == BT_REDUCER_PROD) &&
           (BT_CLASS_BITS_FLOAT & 1u << BT_DTYPE_CLASS(take->of));
}

/* Whether neighbours along the index lie beside each other in all that the value reads;
 * *n counts reads. `seen` by id. */
static int are_beside(const bt_node *value, uint32_t index, uint8_t *seen, uint32_t *n)
{
    if (!(value->free & bt_index_bit(index)) || !value->reads || seen[value->id])
        return 1;
    seen[value->id] = 1;
    if (value->kind == BT_NODE_READ) {
        bt_linear offset;
        bt_node_as_linear(value->args[0], &offset);
        ++*n;
        for (uint32_t i = 0; i < offset.n; i++) {
            if ((offset.atoms[i]->free & bt_index_bit(index)) &&
                (offset.atoms[i]->kind != BT_NODE_INDEX || offset.coefs[i] != 1))
                return 0;
        }
        return 1;
    }
    for (uint32_t i = 0; i < value->narg; i++) {
        if (!are_beside(value->args[i], index, seen, n))
            return 0;
    }
    return 1;
}

/* How the loop around a take should be done. */
static uint32_t order_of_take(struct vectoriser *v, const bt_stmt *loop,
                              const bt_stmt *take)
{
    uint8_t *seen = BT_NEWS(v->scratch, uint8_t, v->graph->nnode);
    uint32_t n = 0;
    // a strip of few terms is taken one after the other too
    return seen && loop->extent->high > CPU_FEW_TERMS &&
                   are_beside(take->value, loop->index, seen, &n) && n
               ? CPU_BY_LANES
               : CPU_BY_ITERATION;
}

static int begins_sum(const bt_stmts *block, uint32_t buffer)
{
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *stmt = block->at[i];
        if ((stmt->kind == BT_STMT_STORE && stmt->buffer == buffer) ||
            begins_sum(&stmt->body, buffer) || begins_sum(&stmt->otherwise, buffer))
            return 1;
    }
    return 0;
}

/* A part of an axis of open extent: with numbers, its loop may be one with its neighbours,
 * and the terms lie otherwise. */
static int is_quotient(const bt_node *extent)
{
    int found = extent->kind == BT_NODE_SCALAR && extent->which == BT_SCALAR_FLOORDIV;
    for (uint32_t i = 0; !found && i < extent->narg; i++)
        found = is_quotient(extent->args[i]);
    return found;
}

static void find_takes(struct vectoriser *v, const bt_stmt *loop, const bt_stmt *around,
                       const bt_stmts *block, uint32_t *found)
{
    for (uint32_t i = 0; i < block->len; i++) {
        const bt_stmt *stmt = block->at[i];
        find_takes(v, loop, stmt->kind == BT_STMT_FOR ? stmt : around, &stmt->body,
                   found);
        find_takes(v, loop, around, &stmt->otherwise, found);
        if (stmt->kind != BT_STMT_TAKE || !is_ordered(stmt))
            continue;
        uint32_t order = order_of_take(v, around, stmt);
        int is_around = begins_sum(&loop->body, stmt->buffer) ||
                        (stmt->offset->free & bt_index_bit(loop->index));
        if (!is_around && is_quotient(loop->extent))
            *found |= CPU_BY_NEITHER;
        // a call for all lanes takes each one's terms by lanes
        if (is_around && order == CPU_BY_LANES && cpu_is_row(v, around, loop->index))
            continue;
        if (is_around ? order != CPU_BY_ITERATION : around != loop)
            order = CPU_BY_ITERATION;
        else if (is_around)
            continue;
        *found |= order;
    }
}

uint32_t cpu_order(struct vectoriser *v, const bt_stmt *loop)
{
    uint32_t found = 0;
    find_takes(v, loop, loop, &loop->body, &found);
    return found & CPU_BY_NEITHER     ? CPU_BY_NEITHER
           : found & CPU_BY_ITERATION ? CPU_BY_ITERATION
                                      : found;
}
