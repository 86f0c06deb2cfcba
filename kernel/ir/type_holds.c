/* What values of a type hold, in the fields of data too. */
#include "ir/store.h"

struct search {
    bt_arena *arena;
    bt_vec(const bt_type *) left; /* types that are still to be looked at */
    bt_map seen;                  /* types, and definitions of data types */
};

static bt_status look(struct search *s, const bt_type *type)
{
    if (bt_map_find(&s->seen, type))
        return NULL;
    return bt_map_put(&s->seen, type, s) && BT_PUSH(s->arena, &s->left, type)
               ? NULL
               : bt_no_memory();
}

/* Fields of all constructors, once; those of a parameter's type are among the arguments. */
static bt_status look_at_fields(struct search *s, const bt_adt_def *def)
{
    if (bt_map_find(&s->seen, def))
        return NULL;
    if (!bt_map_put(&s->seen, def, s))
        return bt_no_memory();
    for (uint32_t i = 0; i < def->nctor; i++) {
        for (uint32_t k = 0; k < def->ctors[i]->nfield; k++)
            BT_TRY(look(s, def->ctors[i]->fields[k]));
    }
    return NULL;
}

bt_status bt_type_holds(bt_arena *arena, const bt_type *type, int *has_float,
                        int *has_code)
{
    struct search s = { .arena = arena };
    *has_float = *has_code = 0;
    bt_map_init(&s.seen, arena, 0);
    BT_TRY(look(&s, type));
    while (s.left.len) {
        const bt_type *part = s.left.at[--s.left.len];
        const bt_list_type *tuple = bt_as_tuple_type(part);
        const bt_list_type *apply = bt_as_apply_type(part);
        const bt_dtype dtype = bt_tensor_dtype(part);
        if (bt_as_tensor_type(part))
            *has_float |= !dtype || bt_dtype_is_float(dtype);
        *has_code |= bt_as_func_type(part) || bt_as_ref_type(part);
        for (uint32_t i = 0; tuple && i < tuple->n; i++)
            BT_TRY(look(&s, tuple->at[i]));
        for (uint32_t i = 1; apply && i < apply->n; i++)
            BT_TRY(look(&s, apply->at[i]));
        if (apply)
            BT_TRY(look_at_fields(
                &s, ((const bt_adt_type *)(const void *)apply->at[0])->def));
    }
    return NULL;
}
