#include "common/leaves.h"

bt_status leaves_split(bt_builder *b, bt_arena *arena, const bt_value *value,
                       leaf_values *out)
{
    const bt_list_type *type = bt_as_tuple_type(value->type);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    if (!type)
        return BT_PUSH(arena, out, value) ? NULL : bt_no_memory();
    for (uint32_t i = 0; i < type->n; i++) {
        const bt_value *field = tuple ? tuple->fields[i] : NULL;
        if (!field)
            BT_TRY(bt_build_proj(b, value, i, &field));
        BT_TRY(leaves_split(b, arena, field, out));
    }
    return NULL;
}

bt_status leaves_join(bt_builder *b, bt_arena *arena, const bt_type *type,
                      const bt_value *const **leaves, const bt_value **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple) {
        *out = *(*leaves)++;
        return NULL;
    }
    const bt_value **fields = BT_NEWS(arena, const bt_value *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++)
        BT_TRY(leaves_join(b, arena, tuple->at[i], leaves, &fields[i]));
    return bt_build_tuple(b, tuple->n, fields, out);
}
