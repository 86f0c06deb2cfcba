#include "retype.h"

bt_status retype_list(const struct retype *r, uint32_t n, const bt_type *const *types,
                      const bt_type ***out, int *same)
{
    *out = BT_NEWS(r->arena, const bt_type *, n);
    if (!*out)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        BT_TRY(r->map(r->state, types[i], &(*out)[i]));
        *same &= (*out)[i] == types[i];
    }
    return NULL;
}

bt_status retype_parts(const struct retype *r, const bt_type *type, const bt_type **out)
{
    const bt_list_type *list = bt_as_list_type(type);
    const bt_type **at;
    int same = 1;
    *out = type;
    if (!list || (type->kind != BT_TYPE_TUPLE && type->kind != BT_TYPE_REF &&
                  type->kind != BT_TYPE_APPLY))
        return NULL;
    BT_TRY(retype_list(r, list->n, list->at, &at, &same));
    if (same)
        return NULL;
    if (type->kind == BT_TYPE_TUPLE)
        *out = bt_type_tuple(r->store, list->n, at);
    else if (type->kind == BT_TYPE_REF)
        *out = bt_type_ref(r->store, at[0]);
    else
        *out = bt_type_apply(r->store, ((const bt_adt_type *)(const void *)at[0])->def,
                             list->n - 1, at + 1);
    return *out ? NULL : bt_store_why(r->ctx, r->store);
}
