/* What executors know the leaves of a planned function's values by. */
#include <baton/compiled.h>

#include "base/arena.h"

typedef bt_vec(const void *) item_list;

static bt_status put(bt_leaf_map *map, const bt_value *value, uint32_t n,
                     const void *const *at)
{
    bt_leaves *leaves = BT_NEW(map->arena, bt_leaves);
    if (!leaves)
        return bt_no_memory();
    *leaves = (bt_leaves){ n, at };
    return bt_map_put(&map->of, value, leaves) ? NULL : bt_no_memory();
}

bt_status bt_leaves_set(bt_leaf_map *map, const bt_value *value, uint32_t n,
                        const void *items, size_t nbytes)
{
    const void *const *at = bt__list(map->arena, items, n, nbytes);
    return at ? put(map, value, n, at) : bt_no_memory();
}

/* Recursion is bounded by the depth of values. */
static bt_status add_const(bt_leaf_map *map, const bt_object *object, item_list *out)
{
    const bt_tuple *tuple = bt_object_as_tuple(object);
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        BT_TRY(add_const(map, tuple->fields[i], out));
    if (tuple)
        return NULL;
    const void *item;
    BT_TRY(map->constant(map->self, bt_object_as_tensor(object), &item));
    return BT_PUSH(map->arena, out, item) ? NULL : bt_no_memory();
}

bt_status bt_leaves_find(bt_leaf_map *map, const bt_value *value, const bt_leaves **out)
{
    item_list list = { 0 };
    *out = bt_map_find(&map->of, value);
    if (*out)
        return NULL;
    if (value->kind != BT_VALUE_CONST)
        return bt_fail_at(map->ctx, BT_ERR_UNSUPPORTED, value->type->store, value->span,
                          "%s: a value of this kind is not planned", map->who);
    BT_TRY(add_const(map, bt_as_const(value)->object, &list));
    BT_TRY(put(map, value, list.len, list.at));
    *out = bt_map_find(&map->of, value);
    return NULL;
}

static bt_status follow_proj(bt_leaf_map *map, const bt_proj *proj)
{
    const bt_leaves *tuple;
    const uint32_t first = bt_type_first_leaf(proj->tuple->type, proj->index);
    BT_TRY(bt_leaves_find(map, proj->tuple, &tuple));
    return put(map, &proj->base, bt_type_nleaf(proj->base.type), tuple->at + first);
}

static bt_status follow_tuple(bt_leaf_map *map, const bt_tuple_value *tuple)
{
    item_list all = { 0 };
    for (uint32_t i = 0; i < tuple->nfield; i++) {
        const bt_leaves *field;
        BT_TRY(bt_leaves_find(map, tuple->fields[i], &field));
        for (uint32_t k = 0; k < field->n; k++) {
            if (!BT_PUSH(map->arena, &all, field->at[k]))
                return bt_no_memory();
        }
    }
    return put(map, &tuple->base, all.len, all.at);
}

bt_status bt_leaves_follow(bt_leaf_map *map, const bt_value *value, int *done)
{
    const bt_call *view = bt_as_op_call(value, "memory.view");
    const bt_leaves *of;
    *done = view || value->kind == BT_VALUE_TUPLE || value->kind == BT_VALUE_PROJ;
    if (value->kind == BT_VALUE_TUPLE)
        return follow_tuple(map, bt_as_tuple(value));
    if (value->kind == BT_VALUE_PROJ)
        return follow_proj(map, bt_as_proj(value));
    if (!view)
        return NULL;
    BT_TRY(bt_leaves_find(map, view->args[0], &of));
    return put(map, value, 1, of->at);
}
