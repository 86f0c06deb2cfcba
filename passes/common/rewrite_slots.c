#include "common/rewrite_slots.h"

bt_status rewrite_proj(bt_rewrite *rewrite, const bt_proj *proj, const bt_value **out)
{
    const bt_value *now;
    BT_TRY(bt_rewrite_operand(rewrite, proj->tuple, &now));
    if (bt_as_tuple(now))
        *out = bt_as_tuple(now)->fields[proj->index];
    return NULL;
}

/* Blocks that wait, the one put in last first: what is nested deep is found early. */
struct level {
    const bt_block *block;
    uint32_t depth;
};

bt_status rewrite_has_room(bt_rewrite *rewrite, bt_arena *arena, const bt_func *func,
                           int *out)
{
    const uint32_t most = bt_ctx_limits(bt_rewrite_ctx(rewrite))->depth / 2;
    bt_vec(struct level) waiting = { 0 };
    struct level at = { func->block, bt_rewrite_depth(rewrite) + 1 };
    *out = 0;
    if (!BT_PUSH(arena, &waiting, at))
        return bt_no_memory();
    while (waiting.len) {
        at = waiting.at[--waiting.len];
        if (at.depth > most)
            return NULL;
        for (uint32_t i = 0; i < at.block->nbinding; i++) {
            const bt_value *value = at.block->bindings[i];
            for (uint32_t k = 0; k < bt_value_nregion(value); k++) {
                struct level inner = { bt_value_region(value, k), at.depth + 1 };
                if (!BT_PUSH(arena, &waiting, inner))
                    return bt_no_memory();
            }
        }
    }
    *out = 1;
    return NULL;
}
