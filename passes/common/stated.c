#include "common/stated.h"

#include "common/checked.h"
#include "common/dims.h"

static bt_status add(const struct copy *c, const bt_type *var, const bt_type *stated,
                     const bt_type *value, bt_map *out)
{
    const struct dims_map m = { .ctx = c->ctx, .arena = c->arena, .store = c->store };
    dims_of_type was = { 0 }, told = { 0 }, is = { 0 };
    BT_TRY(dims_list(&m, var, &was));
    BT_TRY(dims_list(&m, stated, &told));
    BT_TRY(dims_list(&m, value, &is));
    for (uint32_t i = 0; was.len == is.len && told.len == is.len && i < is.len; i++) {
        if (was.at[i]->kind == BT_TYPE_OPAQUE && told.at[i]->has & BT_HAS_HOLE &&
            !bt_map_put(out, was.at[i], (void *)(uintptr_t)is.at[i]))
            return bt_no_memory();
    }
    return NULL;
}

bt_status stated_brought(bt_rewrite *rewrite, const struct copy *c,
                         const bt_block *clause, const bt_value *const *values,
                         bt_map *out)
{
    for (uint32_t i = 0; i < clause->nparam; i++) {
        const bt_value *var = &clause->params[i]->base;
        const bt_type *stated;
        BT_TRY(bt_rewrite_stated(rewrite, var, &stated));
        BT_TRY(add(c, var->type, stated, values ? values[i]->type : var->type, out));
    }
    return NULL;
}

static const bt_type *find_brought(bt_subst *subst, const bt_type *leaf)
{
    return bt_map_find(subst->state, leaf);
}

bt_status stated_types(bt_rewrite *rewrite, struct copy *c, const bt_block *clause,
                       const bt_value *const *values, const bt_type **out)
{
    bt_map brought;
    bt_subst subst = { .leaf = find_brought, .state = &brought };
    bt_map_init(&brought, c->arena, 0);
    BT_TRY(stated_brought(rewrite, c, clause, values, &brought));
    for (uint32_t i = 0; i < clause->nparam; i++) {
        BT_TRY(bt_rewrite_stated(rewrite, &clause->params[i]->base, &out[i]));
        if (!(out[i] = bt_type_subst(c->store, &subst, out[i])))
            return bt_store_why(c->ctx, c->store);
        BT_TRY(checked_type(c, values[i]->type, out[i], &out[i]));
    }
    return NULL;
}
