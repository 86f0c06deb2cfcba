/* Tiles: a loop over tiles around a loop over one. */
#include "compute/loops/transform.h"

#include <inttypes.h>

struct split {
    bt_loops *loops;
    bt_stmt *loop;
    int64_t by, ntile, rest; /* rest: turns that are no whole tile */
    uint32_t number;         /* of the inner index */
};

/* by * tile + inner */
static const bt_node *joined(const struct split *s)
{
    bt_graph *g = s->loops->graph;
    const bt_node *parts[] = { bt_node_index(g, s->loop->index, s->ntile),
                               bt_node_index(g, s->number, s->by) };
    return bt_node_linear(g, 0, 2, parts, (int64_t[]){ s->by, 1 });
}

/* The body, behind the condition that the turn is one of the loop's. */
static bt_status guard(const struct split *s, bt_stmts *body)
{
    bt_graph *g = s->loops->graph;
    bt_stmts guarded = { .len = 0 };
    const bt_node *condition =
        bt_node_scalar(g, BT_SCALAR_LT, joined(s), bt_node_int(g, s->loop->extent));
    bt_stmt *stmt = condition ? bt_stmt_add(s->loops, &guarded, BT_STMT_IF) : NULL;
    if (!stmt)
        return bt_loops_why(s->loops);
    stmt->condition = condition;
    stmt->body = *body;
    *body = guarded;
    return NULL;
}

/* A loop over what is left after the tiles. */
static bt_status add_rest(const struct split *s, const bt_stmt_place *place,
                          bt_stmts *out)
{
    bt_graph *g = s->loops->graph;
    struct bt__edit edit;
    bt_stmt *loop = bt_stmt_copy(s->loops, s->loop);
    if (!loop || !BT_PUSH(s->loops->arena, out, place->block->at[place->at]) ||
        !BT_PUSH(s->loops->arena, out, loop))
        return bt_loops_why(s->loops);
    loop->extent = s->rest;
    const bt_node *turn = bt_node_index(g, loop->index, s->rest);
    struct bt__by_index by = {
        g, loop->index, bt_node_linear(g, s->ntile * s->by, 1, &turn, (int64_t[]){ 1 })
    };
    BT_TRY(bt__edit_make(s->loops, loop, bt__change_index, &by, &edit));
    bt__edit_swap(loop, &edit);
    return NULL;
}

static bt_status apply(const struct split *s, const bt_stmt_place *place,
                       uint32_t is_guarded, bt_stmt **out)
{
    struct bt__by_index by = { s->loops->graph, s->loop->index, joined(s) };
    struct bt__edit edit;
    bt_stmts body = s->loop->body, inside = { .len = 0 }, both = { .len = 0 };
    bt_stmt *inner = bt_stmt_add(s->loops, &inside, BT_STMT_FOR);
    if (!inner)
        return bt_loops_why(s->loops);
    if (is_guarded)
        BT_TRY(guard(s, &body));
    BT_TRY(bt__edit_make(s->loops, s->loop, bt__change_index, &by, &edit));
    if (s->rest && !is_guarded) {
        BT_TRY(add_rest(s, place, &both));
        if (!bt_stmts_replace(s->loops, place->block, place->at, &both))
            return bt_loops_why(s->loops);
    }
    bt__edit_swap(s->loop, &edit);
    inner->index = s->number;
    inner->extent = s->by;
    inner->body = body;
    s->loop->body = inside;
    s->loop->extent = s->ntile;
    *out = inner;
    return NULL;
}

bt_status bt_loops_split(bt_loops *loops, bt_stmt *loop, int64_t by, uint32_t rest,
                         bt_stmt **inner)
{
    bt_stmt_place place;
    BT_TRY(bt__loops_find_loop(loops, loop, &place));
    int number = bt_index_unused(place.open | bt_stmt_indices(loop));
    if (by < 1 || by > loop->extent)
        return bt__loops_refuse(loops, "i%u has %" PRId64 " turns: no tiles of %" PRId64,
                                loop->index, loop->extent, by);
    if (number < 0)
        return bt__loops_refuse(loops, "all %d indices are in use", BT_MAX_INDEX);
    struct split s = { .loops = loops, .loop = loop, .by = by };
    int is_guarded = rest == BT_REST_GUARD && loop->extent % by;
    s.ntile = loop->extent / by + is_guarded;
    s.rest = loop->extent % by;
    s.number = (uint32_t)number;
    return apply(&s, &place, (uint32_t)is_guarded, inner);
}
