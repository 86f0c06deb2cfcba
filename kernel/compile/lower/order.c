/*
 * The order in which bindings are lowered: fields are taken at once of what a call, a branch or a match
 * gives. One that is taken late would keep the tuple until then, with all its other fields.
 *
 *     %a = @f(%x);  ..  %b = %a.0;  ..  %c = %a.1    ->    %a = @f(%x);  %b = %a.0;  %c = %a.1;  ..
 */
#include "compile/lower/lowerer.h"

struct order {
    const bt_block *block;
    const bt_value **at;
    uint32_t n;
    bt_map fields;  /* tuple -> 1 + the first binding that is a field of it */
    uint32_t *next; /* by binding: the same of the next one; 0: there is none */
    uint8_t *is_put;
};

/* Of fields that are tuples the fields follow, too. */
static void put(struct order *o, uint32_t index)
{
    const bt_value *value = o->block->bindings[index];
    if (o->is_put[index])
        return;
    o->is_put[index] = 1;
    o->at[o->n++] = value;
    for (uintptr_t i = (uintptr_t)bt_map_find(&o->fields, value); i; i = o->next[i - 1])
        put(o, (uint32_t)i - 1);
}

bt_status bt__lower_order(bt_arena *arena, const bt_block *block,
                          const bt_value *const **out)
{
    const uint32_t n = block->nbinding;
    struct order o = { .block = block,
                       .at = BT_NEWS(arena, const bt_value *, n),
                       .next = BT_NEWS(arena, uint32_t, n),
                       .is_put = BT_NEWS(arena, uint8_t, n) };
    bt_map_init(&o.fields, arena, 0);
    if (!o.at || !o.next || !o.is_put)
        return bt_no_memory();
    for (uint32_t i = n; i-- > 0;) {
        const bt_proj *proj = bt_as_proj(block->bindings[i]);
        if (!proj || bt_as_tuple(proj->tuple)) // one that is built here need not be there
            continue;
        o.next[i] = (uint32_t)(uintptr_t)bt_map_find(&o.fields, proj->tuple);
        if (!bt_map_put(&o.fields, proj->tuple, (void *)(uintptr_t)(i + 1)))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < n; i++)
        put(&o, i);
    *out = (const bt_value *const *)o.at;
    return NULL;
}
