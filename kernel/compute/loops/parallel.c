/* Loops whose iterations may be done in any order, or at once: no two of them touch an
 * element that one of them writes. In a parallel loop each iteration has locals of its
 * own. */
#include "compute/loops/transform.h"

#include <string.h>

/* Locals that the loop uses as others do not. */
static bt_status check_locals(bt_loops *loops, const bt_stmt *loop,
                              const bt__accesses *all, const uint8_t *is_private)
{
    for (uint32_t i = 0; i < all->len; i++) {
        uint32_t buffer = all->at[i].buffer;
        if (loops->roles.at[buffer] == BT_BUFFER_LOCAL && !is_private[buffer])
            return bt__loops_refuse(
                loops,
                "iterations of i%u are not independent: %s holds something "
                "from one to the next, or from before the loop",
                loop->index, loops->graph->arrays[buffer]->name);
    }
    return NULL;
}

static bt_status check_elements(bt_loops *loops, const bt_stmt *loop,
                                const bt__accesses *all, const uint8_t *is_private,
                                int is_parallel, uint64_t open)
{
    struct bt__conflict_question q = { .a = all,
                                       .b = all,
                                       .outer = open,
                                       .number = loop->index,
                                       .is_private = is_private,
                                       .is_parallel = is_parallel };
    const struct bt__access *found =
        bt__loops_repeats(loop) ? bt__conflict_find(&q) : NULL;
    if (found)
        return bt__loops_refuse(
            loops,
            "iterations of i%u are not seen to be independent: they may "
            "write the same element of %s",
            loop->index, loops->graph->arrays[found->buffer]->name);
    return NULL;
}

/* What each iteration has for itself goes to `out`, which may be NULL. */
static bt_status check_loop(bt_loops *loops, bt_stmt *loop, int is_parallel, uint8_t *out)
{
    struct bt__place place;
    bt__accesses all = { .len = 0 };
    BT_TRY(bt__loops_find_loop(loops, loop, &place));
    uint8_t *is_private = bt__locals_private(loops, loop);
    if (!is_private || !bt__accesses_of(loops, loop, &all))
        return bt_loops_why(loops);
    if (is_parallel)
        BT_TRY(check_locals(loops, loop, &all, is_private));
    if (out)
        memcpy(out, is_private, loops->roles.len);
    return check_elements(loops, loop, &all, is_private, is_parallel, place.open);
}

bt_status bt_loops_parallel(bt_loops *loops, bt_stmt *loop)
{
    BT_TRY(check_loop(loops, loop, 1, NULL));
    loop->is_parallel = 1;
    return NULL;
}

bt_status bt_loops_lanes(bt_loops *loops, bt_stmt *loop, uint8_t *out)
{
    return check_loop(loops, loop, 0, out);
}
