/* Copies of closures, and closures in place of functions. */
#include "common/copy.h"

static bt_status closure_func(struct copy *c, const bt_func *func, const bt_func **out)
{
    bt_func now = *func;
    BT_TRY(copy_wheres(c, func->nwhere, func->wheres, &now.wheres));
    BT_TRY(copy_type(c, func->result, &now.result));
    BT_TRY(copy_block(c, func->block, func->result, &now.block));
    return bt_func_create(c->ctx, c->store, &now, out);
}

bt_status copy_group(struct copy *c, const bt_closure_group *group)
{
    bt_status (*make)(struct copy *, const bt_func *, const bt_func **) =
        c->closure ? c->closure : closure_func;
    const char **names = BT_NEWS(c->arena, const char *, group->n);
    const bt_type **types = BT_NEWS(c->arena, const bt_type *, group->n);
    const bt_value **now = BT_NEWS(c->arena, const bt_value *, group->n);
    if (!names || !types || !now)
        return bt_no_memory();
    for (uint32_t i = 0; i < group->n; i++) {
        names[i] = group->at[i]->base.name;
        BT_TRY(copy_type(c, group->at[i]->base.type, &types[i]));
    }
    bt_builder_like(c->b, &group->at[0]->base);
    BT_TRY(bt_build_closures(c->b, group->n, names, types, now));
    for (uint32_t i = 0; i < group->n; i++)
        BT_TRY(copy_put(c, &group->at[i]->base, now[i]));
    for (uint32_t i = 0; i < group->n; i++) {
        const bt_func *func;
        BT_TRY(make(c, group->at[i]->func, &func));
        BT_TRY(bt_build_closure_body(c->b, now[i], func));
    }
    return NULL;
}

bt_status copy_closure(struct copy *c, const bt_closure_value *closure,
                       const bt_type *type, const bt_value **out)
{
    const bt_func *func = closure->func;
    bt_func now = { .name = func->name, .span = func->span, .attrs = func->attrs };
    BT_TRY(copy_type(c, func->result, &now.result));
    bt_builder_like(c->b, &closure->base);
    BT_TRY(bt_build_closures(c->b, 1, &closure->base.name, &type, out));
    BT_TRY(copy_block(c, func->block, func->result, &now.block));
    BT_TRY(bt_func_create(c->ctx, c->store, &now, &func));
    return bt_build_closure_body(c->b, *out, func);
}

bt_status copy_eta(struct copy *c, const bt_value *old, const bt_func *f,
                   const bt_type *wanted, bt_call *call, const bt_value **out)
{
    const bt_func_type *type = bt_as_func_type(wanted);
    const bt_param **params = BT_NEWS(c->arena, const bt_param *, f->block->nparam);
    const bt_type **vars = BT_NEWS(c->arena, const bt_type *, type->nparam);
    const bt_value *result;
    const bt_func *now;
    bt_func func = { .nvar = type->nparam, .vars = vars };
    if (!params || !vars)
        return bt_no_memory();
    for (uint32_t i = 0; i < type->nparam; i++) {
        if (!(vars[i] = bt_type_var(c->store, &type->params[i], "A")))
            return bt_store_why(c->ctx, c->store);
    }
    if (type->nparam && !(type = bt_func_type_open(c->store, type, vars)))
        return bt_store_why(c->ctx, c->store);
    func.result = type->result;
    func.nwhere = type->nwhere;
    func.wheres = type->wheres;
    if (func.nvar) {
        call->ntype_arg = func.nvar;
        call->type_args = vars;
    }
    bt_builder_at(c->b, old->span, old->prov);
    BT_TRY(bt_build_closures(c->b, 1, NULL, &wanted, out));
    for (uint32_t i = 0; i < type->narg; i++)
        BT_TRY(bt_build_param(c->b, f->block->params[i]->base.name, type->args[i],
                              &params[i]));
    BT_TRY(bt_block_begin(c->b, type->narg, params));
    call->callee_kind = BT_CALLEE_VALUE;
    call->narg = type->narg;
    call->args = (const bt_value *const *)params;
    bt_builder_type(c->b, type->result);
    BT_TRY(bt_build_call(c->b, call, &result));
    BT_TRY(bt_block_end(c->b, result, &func.block));
    BT_TRY(bt_func_create(c->ctx, c->store, &func, &now));
    return bt_build_closure_body(c->b, *out, now);
}
