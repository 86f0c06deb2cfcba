/* Parallel loops: no two turns touch an element that one of them writes, and what a turn
 * has in locals is its own. */
#include "compute/transform.h"

/* Locals that the loop uses as others do not. */
static bt_status check_locals(struct bt__loops *loops, const bt__stmt *loop,
                              const bt__accesses *all, const uint8_t *is_private)
{
    for (uint32_t i = 0; i < all->len; i++) {
        uint32_t buffer = all->at[i].buffer;
        if (loops->roles.at[buffer] == BT__BUFFER_LOCAL && !is_private[buffer])
            return bt__loops_refuse(
                loops,
                "turns of i%u are not independent: %s holds something "
                "from one to the next, or from before the loop",
                loop->index, loops->graph->arrays[buffer].name);
    }
    return NULL;
}

bt_status bt__loops_parallel(struct bt__loops *loops, bt__stmt *loop)
{
    struct bt__place place;
    bt__accesses all = { .len = 0 };
    BT_TRY(bt__loops_find_loop(loops, loop, &place));
    uint8_t *is_private = bt__locals_private(loops, loop);
    if (!is_private || !bt__accesses_of(loops, loop, &all))
        return bt__loops_why(loops);
    BT_TRY(check_locals(loops, loop, &all, is_private));
    struct bt__conflict_question q = { .a = &all,
                                       .b = &all,
                                       .outer = place.open,
                                       .number = loop->index,
                                       .is_private = is_private,
                                       .is_parallel = 1 };
    const struct bt__access *found = loop->extent > 1 ? bt__conflict_find(&q) : NULL;
    if (found)
        return bt__loops_refuse(loops,
                                "turns of i%u are not seen to be independent: they may "
                                "write the same element of %s",
                                loop->index, loops->graph->arrays[found->buffer].name);
    loop->is_parallel = 1;
    return NULL;
}
