/* Tiles: a loop over tiles around a loop over one. */
#include "compute/transform.h"

#include <inttypes.h>

struct split {
    struct bt__loops *loops;
    bt__stmt *loop;
    int64_t by, ntile, rest; /* rest: turns that are no whole tile */
    uint32_t number;         /* of the inner index */
};

/* by * tile + inner */
static const bt__node *joined(const struct split *s)
{
    bt__graph *g = s->loops->graph;
    const bt__node *parts[] = { bt__node_index(g, s->loop->index, s->ntile),
                                bt__node_index(g, s->number, s->by) };
    return bt__node_linear(g, 0, 2, parts, (int64_t[]){ s->by, 1 });
}

/* The body, behind the condition that the turn is one of the loop's. */
static bt_status guard(const struct split *s, bt__stmts *body)
{
    bt__graph *g = s->loops->graph;
    bt__stmts guarded = { .len = 0 };
    const bt__node *condition =
        bt__node_scalar(g, BT__SCALAR_LT, joined(s), bt__node_int(g, s->loop->extent));
    bt__stmt *stmt = condition ? bt__stmt_add(s->loops, &guarded, BT__STMT_IF) : NULL;
    if (!stmt)
        return bt__loops_why(s->loops);
    stmt->condition = condition;
    stmt->body = *body;
    *body = guarded;
    return NULL;
}

/* A loop over what is left after the tiles. */
static bt_status add_rest(const struct split *s, const struct bt__place *place,
                          bt__stmts *out)
{
    bt__graph *g = s->loops->graph;
    struct bt__edit edit;
    bt__stmt *loop = bt__stmt_copy(s->loops, s->loop);
    if (!loop || !BT_PUSH(s->loops->arena, out, place->block->at[place->at]) ||
        !BT_PUSH(s->loops->arena, out, loop))
        return bt__loops_why(s->loops);
    loop->extent = s->rest;
    const bt__node *turn = bt__node_index(g, loop->index, s->rest);
    struct bt__by_index by = {
        g, loop->index, bt__node_linear(g, s->ntile * s->by, 1, &turn, (int64_t[]){ 1 })
    };
    BT_TRY(bt__edit_make(s->loops, loop, bt__change_index, &by, &edit));
    bt__edit_swap(loop, &edit);
    return NULL;
}

static bt_status apply(const struct split *s, const struct bt__place *place,
                       uint32_t is_guarded, bt__stmt **out)
{
    struct bt__by_index by = { s->loops->graph, s->loop->index, joined(s) };
    struct bt__edit edit;
    bt__stmts body = s->loop->body, inside = { .len = 0 }, both = { .len = 0 };
    bt__stmt *inner = bt__stmt_add(s->loops, &inside, BT__STMT_FOR);
    if (!inner)
        return bt__loops_why(s->loops);
    if (is_guarded)
        BT_TRY(guard(s, &body));
    BT_TRY(bt__edit_make(s->loops, s->loop, bt__change_index, &by, &edit));
    if (s->rest && !is_guarded) {
        BT_TRY(add_rest(s, place, &both));
        if (!bt__stmts_replace(s->loops, place->block, place->at, &both))
            return bt__loops_why(s->loops);
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

bt_status bt__loops_split(struct bt__loops *loops, bt__stmt *loop, int64_t by,
                          uint32_t rest, bt__stmt **inner)
{
    struct bt__place place;
    BT_TRY(bt__loops_find_loop(loops, loop, &place));
    int number = bt__index_unused(place.open | bt__stmt_indices(loop));
    if (by < 1 || by > loop->extent)
        return bt__loops_refuse(loops, "i%u has %" PRId64 " turns: no tiles of %" PRId64,
                                loop->index, loop->extent, by);
    if (number < 0)
        return bt__loops_refuse(loops, "all %d indices are in use", BT__MAX_INDEX);
    struct split s = { .loops = loops, .loop = loop, .by = by };
    int is_guarded = rest == BT__REST_GUARD && loop->extent % by;
    s.ntile = loop->extent / by + is_guarded;
    s.rest = loop->extent % by;
    s.number = (uint32_t)number;
    return apply(&s, &place, (uint32_t)is_guarded, inner);
}
