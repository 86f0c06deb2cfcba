/* Functions among an operator's attributes: globals, typed like any other operand. */
#include <string.h>

#include "solve/solver.h"

static const bt_value **function_at(void *attrs, const bt_attr *row)
{
    return (const bt_value **)(void *)((char *)attrs + row->offset);
}

bt_status bt__map_attrs(bt_solver *s, const bt_call *call, bt__map_value *map, void *self,
                        const void **out)
{
    void *copy = NULL;
    *out = call->attrs;
    for (const bt_attr *row = call->op->attrs; row && row->name; row++) {
        if (row->kind != BT_ATTR_FUNC)
            continue;
        if (!copy) {
            copy = bt_arena_alloc(bt_store_arena(s->store), 1, call->op->attrs_nbytes);
            if (!copy)
                return bt_no_memory();
            memcpy(copy, call->attrs, call->op->attrs_nbytes);
            *out = copy;
        }
        const bt_value **at = function_at(copy, row);
        if (*at)
            BT_TRY(map(self, *at, at));
    }
    return NULL;
}
