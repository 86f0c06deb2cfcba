/*
 * Interchange of a loop and the only one in it.
 *
 * Turns (a, b) and (a', b') change their order only where a < a' and b > b'. So it is
 * legal where accesses in conflict always have a = a', or always b = b'.
 */
#include "compute/loops/transform.h"

static const struct bt__access *find_conflict(const bt__accesses *all, uint64_t open,
                                              const uint8_t *is_private, uint32_t outer,
                                              uint32_t inner)
{
    for (uint32_t i = 0; i < all->len; i++) {
        for (uint32_t k = 0; k < all->len; k++) {
            bt__accesses a = { .at = &all->at[i], .len = 1 };
            bt__accesses b = { .at = &all->at[k], .len = 1 };
            struct bt__conflict_question q = {
                .a = &a, .b = &b, .outer = open, .number = outer, .is_private = is_private
            };
            const struct bt__access *found = bt__conflict_find(&q);
            q.number = inner;
            if (found && bt__conflict_find(&q))
                return found;
        }
    }
    return NULL;
}

bt_status bt_loops_interchange(bt_loops *loops, bt_stmt *outer)
{
    bt_stmt_place place;
    bt__accesses all = { .len = 0 };
    BT_TRY(bt__loops_find_loop(loops, outer, &place));
    if (outer->body.len != 1 || outer->body.at[0]->kind != BT_STMT_FOR)
        return bt__loops_refuse(loops, "the body of i%u is not one loop", outer->index);
    bt_stmt *inner = outer->body.at[0];
    if (outer->is_parallel || inner->is_parallel)
        return bt__loops_refuse(loops, "a parallel loop keeps its place");
    uint8_t *is_private = bt__locals_private(loops, inner);
    if (!is_private || !bt__accesses_of(loops, inner, &all))
        return bt_loops_why(loops);
    const struct bt__access *found =
        outer->extent > 1 && inner->extent > 1
            ? find_conflict(&all, place.open, is_private, outer->index, inner->index)
            : NULL;
    if (found)
        return bt__loops_refuse(loops,
                                "i%u and i%u do not change places: the order of "
                                "what is done to %s may matter",
                                outer->index, inner->index,
                                loops->graph->arrays[found->buffer].name);
    bt_stmts body = inner->body;
    inner->body = outer->body;
    inner->body.at[0] = outer;
    outer->body = body;
    place.block->at[place.at] = inner;
    return NULL;
}
