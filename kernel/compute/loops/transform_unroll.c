/* Turns of a loop written one after the other. */
#include "compute/loops/transform.h"

enum { MOST_TURNS = 64 };

bt_status bt_loops_unroll(bt_loops *loops, bt_stmt *loop)
{
    bt_graph *g = loops->graph;
    bt_stmts all = { .len = 0 };
    bt_stmt_place place;
    BT_TRY(bt__loops_find_loop(loops, loop, &place));
    if (loop->extent > MOST_TURNS)
        return bt__loops_refuse(loops, "i%u has more than %d turns", loop->index,
                                MOST_TURNS);
    for (int64_t turn = 0; turn < loop->extent; turn++) {
        struct bt__by_index by = { g, loop->index, bt_node_int(g, turn) };
        for (uint32_t i = 0; i < loop->body.len; i++) {
            struct bt__edit edit;
            bt_stmt *copy = bt_stmt_copy(loops, loop->body.at[i]);
            if (!copy || !BT_PUSH(loops->arena, &all, copy))
                return bt_loops_why(loops);
            BT_TRY(bt__edit_make(loops, copy, bt__change_index, &by, &edit));
            bt__edit_swap(copy, &edit);
        }
    }
    return bt_stmts_replace(loops, place.block, place.at, &all) ? NULL
                                                                : bt_loops_why(loops);
}
