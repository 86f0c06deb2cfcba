#include "common/refuted.h"

#include "common/dims.h"

bt_status refuted_note(bt_arena *arena, const bt_value *binding, open_checks *out)
{
    const bt_call *call = bt_as_call(binding);
    for (uint32_t i = 0; call && i < call->ncheck; i++) {
        const bt_check *check = &call->checks[i];
        if ((check->left->has | check->right->has) & BT_HAS_OPAQUE &&
            !BT_PUSH(arena, out, check))
            return bt_no_memory();
    }
    return NULL;
}

static const bt_type *find_dim(bt_subst *subst, const bt_type *leaf)
{
    return bt_map_find(subst->state, leaf);
}

bt_status refuted_by(bt_ctx *ctx, bt_arena *arena, const open_checks *checks,
                     const bt_type *old, const bt_type *now, int *out)
{
    const struct dims_map m = { .ctx = ctx, .arena = arena, .store = old->store };
    dims_of_type was = { 0 }, is = { 0 };
    bt_map dims;
    bt_subst subst = { .leaf = find_dim, .state = &dims };
    *out = 0;
    if (!(old->has & BT_HAS_OPAQUE) || !checks->len)
        return NULL;
    bt_map_init(&dims, arena, 0);
    BT_TRY(dims_list(&m, old, &was));
    BT_TRY(dims_list(&m, now, &is));
    for (uint32_t i = 0; was.len == is.len && i < is.len; i++) {
        if (was.at[i]->kind == BT_TYPE_OPAQUE &&
            !bt_map_put(&dims, was.at[i], (void *)(uintptr_t)is.at[i]))
            return bt_no_memory();
    }
    for (uint32_t i = 0; !*out && i < checks->len; i++) {
        const bt_check *check = checks->at[i];
        const bt_type *left = bt_type_subst(old->store, &subst, check->left);
        const bt_type *right = bt_type_subst(old->store, &subst, check->right);
        if (!left || !right)
            return bt_store_why(ctx, old->store);
        *out = bt_check_decide(old->store, check->relation, left, right) < 0;
    }
    return NULL;
}
