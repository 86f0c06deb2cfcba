/* Closures, loops by recursion, calls of closures and of globals. */
#include "maker.h"

bt_status make_closure(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_func_type *func_type = bt_as_func_type(type);
    const bt_param *param;
    const bt_block *block;
    const bt_func *func;
    const char *name = "f";
    BT_TRY(bt_build_closures(m->builder, 1, &name, &type, out));
    BT_TRY(bt_build_param(m->builder, "p", func_type->args[0], &param));
    BT_TRY(make_block(m, 1, &param, func_type->result, &block));
    bt_func fields = { .result = func_type->result, .block = block };
    BT_TRY(bt_func_create(m->ctx, m->store, &fields, &func));
    return bt_build_closure_body(m->builder, *out, func);
}

bt_status call_value(struct maker *m, const bt_value *callee, uint32_t n,
                     const bt_value *const *args, const bt_value **out)
{
    bt_call call = {
        .callee_kind = BT_CALLEE_VALUE, .callee = callee, .narg = n, .args = args
    };
    return bt_build_call(m->builder, &call, out);
}

bt_status make_closure_call(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_type *arg_type, *func_type;
    const bt_value *func, *arg;
    BT_TRY(random_type(m, 1, &arg_type));
    func_type = bt_type_func(
        m->store, &(bt_func_type){ .narg = 1, .args = &arg_type, .result = type });
    if (!func_type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(make(m, func_type, &func));
    BT_TRY(make(m, arg_type, &arg));
    return call_value(m, func, 1, &arg, out);
}

/* loop(i, x) = if (i < 1) { x } else { loop(i - 1, expression of x) }, called with a
 * small i. */
static bt_status make_loop_body(struct maker *m, const bt_value *loop,
                                const bt_param *const *params, const bt_type *type,
                                const bt_block **out)
{
    const bt_value *one, *done, *result, *args[2];
    const bt_block *stop, *again;
    uint32_t mark = m->scope.len;
    BT_TRY(bt_block_begin(m->builder, 2, params));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, 1, &one));
    BT_TRY(call_op(m, "less", NULL, &params[0]->base, one, &done));
    BT_TRY(bt_block_begin(m->builder, 0, NULL));
    BT_TRY(bt_block_end(m->builder, &params[1]->base, &stop));
    BT_TRY(bt_block_begin(m->builder, 0, NULL));
    BT_TRY(enter_scope(m, &params[1]->base));
    BT_TRY(call_op(m, "subtract", NULL, &params[0]->base, one, &args[0]));
    BT_TRY(make(m, type, &args[1]));
    BT_TRY(call_value(m, loop, 2, args, &result));
    BT_TRY(bt_block_end(m->builder, result, &again));
    BT_TRY(bt_build_if(m->builder, done, stop, again, &result));
    m->scope.len = mark;
    return bt_block_end(m->builder, result, out);
}

bt_status declare_loop(struct maker *m, const bt_type *type, const bt_value **loop,
                       const bt_param **params)
{
    const bt_type *arg_types[2] = { bt_type_scalar(m->store, BT_INT64), type };
    const char *name = "loop";
    const bt_type *func_type =
        arg_types[0] ? bt_type_func(m->store, &(bt_func_type){ .narg = 2,
                                                               .args = arg_types,
                                                               .result = type })
                     : NULL;
    if (!func_type)
        return bt_store_why(m->ctx, m->store);
    BT_TRY(bt_build_closures(m->builder, 1, &name, &func_type, loop));
    BT_TRY(bt_build_param(m->builder, "i", arg_types[0], &params[0]));
    return bt_build_param(m->builder, "x", type, &params[1]);
}

bt_status end_loop(struct maker *m, const bt_value *loop, const bt_type *type,
                   const bt_block *block)
{
    const bt_func *func;
    BT_TRY(bt_func_create(m->ctx, m->store, &(bt_func){ .result = type, .block = block },
                          &func));
    return bt_build_closure_body(m->builder, loop, func);
}

bt_status make_loop(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_param *params[2];
    const bt_value *loop, *args[2];
    const bt_block *block;
    BT_TRY(declare_loop(m, type, &loop, params));
    BT_TRY(make_loop_body(m, loop, params, type, &block));
    BT_TRY(end_loop(m, loop, type, block));
    BT_TRY(bt_build_scalar(m->builder, BT_INT64, below(m, 4), &args[0]));
    BT_TRY(make(m, type, &args[1]));
    return call_value(m, loop, 2, args, out);
}

/* A global made before whose result has the type; @choose or @second, which take any,
 * where there is none. */
bt_status make_global_call(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_value *callee, *args[4];
    const bt_global *found = NULL;
    for (uint32_t i = 0; i < m->module->nglobal; i++) {
        const bt_func_type *func = bt_as_func_type(m->module->globals[i]->type);
        if (func && !func->nparam && func->narg <= 4 && func->result == type &&
            (!found || below(m, 2)))
            found = m->module->globals[i];
    }
    const bt_func_type *func = found ? bt_as_func_type(found->type) : NULL;
    if (!func) {
        const bt_type *bool_type = bt_type_scalar(m->store, BT_BOOL);
        if (!bool_type)
            return bt_store_why(m->ctx, m->store);
        BT_TRY(make(m, bool_type, &args[0]));
        BT_TRY(make(m, type, &args[1]));
        BT_TRY(make(m, type, &args[2]));
        BT_TRY(bt_build_global(m->builder, below(m, 2) ? "choose" : "second", &callee));
        return call_value(m, callee, 3, args, out);
    }
    for (uint32_t i = 0; i < func->narg; i++)
        BT_TRY(make(m, func->args[i], &args[i]));
    BT_TRY(bt_build_global(m->builder, found->name, &callee));
    return call_value(m, callee, func->narg, args, out);
}
