#include "common/wrap.h"

bt_status wrap_external(bt_ctx *ctx, bt_builder *b, bt_arena *arena,
                        const bt_global *global, bt_func *out, const bt_param ***params)
{
    bt_store *store = bt_builder_store(b);
    const bt_func_type *type = bt_as_func_type(global->type);
    const bt_type **vars = BT_NEWS(arena, const bt_type *, type->nparam);
    const uint32_t nvar = type->nparam;
    *params = BT_NEWS(arena, const bt_param *, type->narg);
    if (!vars || !*params)
        return bt_no_memory();
    for (uint32_t i = 0; i < nvar; i++) {
        if (!(vars[i] = bt_type_var(store, &type->params[i], "n")))
            return bt_store_why(ctx, store);
    }
    if (nvar && !(type = bt_func_type_open(store, type, vars)))
        return bt_store_why(ctx, store);
    for (uint32_t i = 0; i < type->narg; i++)
        BT_TRY(bt_build_param(b, "x", type->args[i], &(*params)[i]));
    *out = (bt_func){ .name = global->name,
                      .span = global->span,
                      .nvar = nvar,
                      .vars = vars,
                      .nwhere = type->nwhere,
                      .wheres = type->wheres,
                      .result = type->result };
    return NULL;
}

bt_status wrap_call(bt_builder *b, const bt_global *global, uint32_t n,
                    const bt_param *const *params, bt_func *func)
{
    const bt_value *result;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = n,
                     .args = (const bt_value *const *)params,
                     .ntype_arg = func->nvar,
                     .type_args = func->vars };
    BT_TRY(bt_block_begin(b, n, params));
    BT_TRY(bt_build_global(b, global->name, &call.callee));
    bt_builder_at(b, func->span, 0);
    bt_builder_type(b, func->result);
    BT_TRY(bt_build_call(b, &call, &result));
    return bt_block_end(b, result, &func->block);
}
