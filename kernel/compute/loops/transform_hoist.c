/*
 * What does not change from turn to turn is done before the loop.
 *
 *     for i0 in n { if (c) { A } }   ->   if (c) { for i0 in n { A } }
 *     for i0 in n { t[0] = e  A }    ->   t[0] = e  for i0 in n { A }
 */
#include "compute/loops/transform.h"

struct hoist {
    bt_loops *loops;
    bt_stmt *loop;
    bt__accesses all; /* of the loop */
};

/* Whether an expression has the same value in every turn. */
static int is_constant(const struct hoist *h, const bt_node *node)
{
    if (!node)
        return 1;
    if (node->free & bt_index_bit(h->loop->index))
        return 0;
    if (!node->reads)
        return 1;
    for (uint32_t i = 0; i < h->all.len; i++) {
        if (node->kind == BT_NODE_READ && h->all.at[i].writes &&
            h->all.at[i].buffer == node->which)
            return 0;
    }
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!is_constant(h, node->args[i]))
            return 0;
    }
    return 1;
}

/* The only access of the local that writes, and none came before it. */
static int is_first(const struct hoist *h, uint32_t at)
{
    const bt_stmt *stmt = h->loop->body.at[at];
    uint32_t nwrite = 0;
    for (uint32_t i = 0; i < h->all.len; i++)
        nwrite += h->all.at[i].buffer == stmt->buffer && h->all.at[i].writes;
    if (nwrite != 1)
        return 0;
    for (uint32_t i = 0; i < at; i++) {
        bt__accesses before = { .len = 0 };
        if (!bt__accesses_of(h->loops, h->loop->body.at[i], &before))
            return 0;
        for (uint32_t k = 0; k < before.len; k++) {
            if (before.at[k].buffer == stmt->buffer)
                return 0;
        }
    }
    return 1;
}

static int can_go(const struct hoist *h, uint32_t at)
{
    const bt_stmt *stmt = h->loop->body.at[at];
    if (stmt->kind == BT_STMT_CHECK)
        return is_constant(h, stmt->condition);
    return stmt->kind == BT_STMT_STORE &&
           h->loops->roles.at[stmt->buffer] == BT_BUFFER_LOCAL &&
           is_constant(h, stmt->offset) && is_constant(h, stmt->value) && is_first(h, at);
}

/* The condition around the loop. */
static bt_status move_condition(struct hoist *h, bt_stmt_place *place)
{
    bt_stmts inside = { .len = 0 };
    bt_stmt *choice = h->loop->body.at[0];
    if (!BT_PUSH(h->loops->arena, &inside, h->loop))
        return bt_loops_why(h->loops);
    h->loop->body = choice->body;
    choice->body = inside;
    place->block->at[place->at] = choice;
    return NULL;
}

static bt_status move_statements(struct hoist *h, bt_stmt_place *place)
{
    bt_stmts out = { .len = 0 }, rest = { .len = 0 };
    for (uint32_t i = 0; i < h->loop->body.len; i++) {
        bt_stmts *to = can_go(h, i) ? &out : &rest;
        if (!BT_PUSH(h->loops->arena, to, h->loop->body.at[i]))
            return bt_loops_why(h->loops);
    }
    if (out.len == 0)
        return bt__loops_refuse(h->loops, "all that i%u does depends on it",
                                h->loop->index);
    if (!BT_PUSH(h->loops->arena, &out, h->loop) ||
        !bt_stmts_replace(h->loops, place->block, place->at, &out))
        return bt_loops_why(h->loops);
    h->loop->body = rest;
    return NULL;
}

bt_status bt_loops_hoist(bt_loops *loops, bt_stmt *loop)
{
    bt_stmt_place place;
    struct hoist h = { .loops = loops, .loop = loop };
    BT_TRY(bt__loops_find_loop(loops, loop, &place));
    if (!bt__accesses_of(loops, loop, &h.all))
        return bt_loops_why(loops);
    const bt_stmt *only = loop->body.len == 1 ? loop->body.at[0] : NULL;
    if (only && only->kind == BT_STMT_IF && !only->otherwise.len &&
        (loop->extent > 0 || !only->condition->reads) && is_constant(&h, only->condition))
        return move_condition(&h, &place);
    if (loop->is_parallel || loop->extent < 1)
        return bt__loops_refuse(loops, "i%u is parallel, or has no turns", loop->index);
    return move_statements(&h, &place);
}
