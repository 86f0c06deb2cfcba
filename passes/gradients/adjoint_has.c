/*
 * Which types have adjoints: those in whose values there are floats.
 *
 * Of a data type it is found once, by what its constructors take, and handed on to those that have it
 * in a field:
 *
 *     type Leaf { Leaf(Tensor[(4), float32]), }      a float
 *     type Tree { Node(Tree, Leaf), None }           by Leaf
 *     type Name { Name(int32), }                     none
 *
 * Parameters are looked at where the type is applied: Box[float32] has one, and Box[int32] has none.
 */
#include "gradients/adjoint_data.h"

typedef bt_vec(const bt_adt_def *) definitions;

static bt_status add_user(struct differentiation *diff, bt_map *users,
                          const bt_adt_def *of, const bt_adt_def *user)
{
    definitions *all = bt_map_find(users, of);
    if (!all) {
        all = BT_NEW(diff->arena, definitions);
        if (!all || !bt_map_put(users, of, all))
            return bt_no_memory();
    }
    return BT_PUSH(diff->arena, all, user) ? NULL : bt_no_memory();
}

static bt_status find_users(struct differentiation *diff, bt_map *users,
                            const bt_type *field, const bt_adt_def *user)
{
    const bt_list_type *tuple = bt_as_tuple_type(field), *apply = bt_as_apply_type(field);
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        BT_TRY(find_users(diff, users, tuple->at[i], user));
    for (uint32_t i = 1; apply && i < apply->n; i++)
        BT_TRY(find_users(diff, users, apply->at[i], user));
    return apply ? add_user(diff, users, adjoint_def(field), user) : NULL;
}

static bt_status put(struct differentiation *diff, definitions *left,
                     const bt_adt_def *def)
{
    if (bt_map_find(&diff->floats, def))
        return NULL;
    return bt_map_put(&diff->floats, def, diff) && BT_PUSH(diff->arena, left, def)
               ? NULL
               : bt_no_memory();
}

bt_status adjoint_find_floats(struct differentiation *diff, uint32_t n,
                              const bt_adt_def *const *defs)
{
    definitions left = { 0 };
    bt_map users;
    bt_map_init(&users, diff->arena, 0);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < defs[i]->nctor; k++) {
            const bt_ctor *ctor = defs[i]->ctors[k];
            for (uint32_t f = 0; f < ctor->nfield; f++) {
                if (adjoint_has(diff, ctor->fields[f]))
                    BT_TRY(put(diff, &left, defs[i]));
                else
                    BT_TRY(find_users(diff, &users, ctor->fields[f], defs[i]));
            }
        }
    }
    while (left.len) {
        const definitions *found = bt_map_find(&users, left.at[--left.len]);
        for (uint32_t i = 0; found && i < found->len; i++)
            BT_TRY(put(diff, &left, found->at[i]));
    }
    return NULL;
}

int adjoint_has(const struct differentiation *diff, const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type), *apply = bt_as_apply_type(type);
    int has = apply && bt_map_find(&diff->floats, adjoint_def(type));
    for (uint32_t i = 0; tuple && !has && i < tuple->n; i++)
        has = adjoint_has(diff, tuple->at[i]);
    for (uint32_t i = 1; apply && !has && i < apply->n; i++)
        has = adjoint_has(diff, apply->at[i]);
    if (type->kind == BT_TYPE_DTYPE)
        return bt_dtype_is_float(((const bt_dtype_type *)(const void *)type)->dtype);
    return has || (bt_as_tensor_type(type) && bt_dtype_is_float(bt_tensor_dtype(type)));
}
