#include "common/patterns.h"

bt_status pattern_ctor(bt_store *store, bt_arena *arena, const bt_ctor *ctor,
                       const bt_param *const *fields, const bt_pattern **out)
{
    const bt_pattern **at = BT_NEWS(arena, const bt_pattern *, ctor->nfield);
    const bt_pattern pattern = {
        .kind = BT_PATTERN_CTOR, .ctor = ctor, .n = ctor->nfield, .at = at
    };
    if (!at)
        return bt_no_memory();
    for (uint32_t i = 0; i < ctor->nfield; i++) {
        at[i] = bt_pattern_create(
            store, &(bt_pattern){ .kind = BT_PATTERN_VAR, .var = fields[i] });
        if (!at[i])
            return bt_no_memory();
    }
    *out = bt_pattern_create(store, &pattern);
    return *out ? NULL : bt_no_memory();
}
