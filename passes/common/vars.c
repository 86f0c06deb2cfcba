#include "common/vars.h"

bt_status vars_like(bt_ctx *ctx, bt_arena *arena, bt_store *store, uint32_t n,
                    const bt_type *const *vars, const bt_type ***out)
{
    if (!(*out = BT_NEWS(arena, const bt_type *, n)))
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const bt_var_type *var = bt_as_var_type(vars[i]);
        if (!((*out)[i] = bt_type_var(store, &var->param, var->name)))
            return bt_store_why(ctx, store);
    }
    return NULL;
}

int vars_are_generic(const bt_type *type)
{
    const bt_func_type *func = type ? bt_as_func_type(type) : NULL;
    for (uint32_t i = 0; func && i < func->nparam; i++) {
        if (func->params[i].kind != BT_KIND_DIM)
            return 1;
    }
    return 0;
}
