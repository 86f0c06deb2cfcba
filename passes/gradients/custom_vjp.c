/*
 * Functions that bring the derivative with them: the attribute vjp names a function that takes
 * the arguments, the result and its adjoint, and gives the adjoints of the arguments that hold
 * floats, one alone as it is.
 *
 *     def @f(%x: float32, %n: int32, vjp="f_back") -> float32 { .. }
 *     def @f_back(%x: float32, %n: int32, %y: float32, %dy: float32) -> float32 { .. }
 *
 * It stands in place of differentiating @f, which may then be external. A call of @f stays.
 */
#include "gradients/adjoint_data.h"
#include "gradients/custom.h"

/* ---- its type ---- */

static bt_status wanted_type(const struct differentiation *diff,
                             const bt_func_type *primal, const bt_type **out)
{
    bt_store *store = diff->module->store;
    bt_func_type now = *primal;
    const bt_type **args = BT_NEWS(diff->arena, const bt_type *, primal->narg + 2);
    const bt_type **back = BT_NEWS(diff->arena, const bt_type *, primal->narg);
    uint32_t n = 0;
    if (!args || !back)
        return bt_no_memory();
    for (uint32_t i = 0; i < primal->narg; i++) {
        args[i] = primal->args[i];
        if (adjoint_has(diff, args[i]))
            back[n++] = args[i];
    }
    args[primal->narg] = args[primal->narg + 1] = primal->result;
    now.args = args;
    now.narg += 2;
    now.result = n == 1 ? back[0] : bt_type_tuple(store, n, back);
    *out = now.result ? bt_type_func(store, &now) : NULL;
    return *out ? NULL : bt_store_why(diff->ctx, store);
}

static const struct custom_rule vjp = {
    "vjp", "f_back", wanted_type,
    "the arguments, the result and its adjoint, giving the adjoints of the arguments "
    "that hold floats; what a fn uses from around it comes first among its arguments"
};

/* ---- calls ---- */

bt_status custom_vjp_want(struct adjoint *a, const bt_value *old)
{
    const bt_call *call = bt_as_call(old);
    const bt_global *back;
    int any = 0;
    for (uint32_t i = 0; i < call->narg; i++)
        any |= adjoint_is_active(a, call->args[i]);
    if (!any)
        return NULL;
    BT_TRY(custom_find(a->diff, &vjp, old, &back));
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(adjoint_convert_want(a->diff, call->args[i]->type, ADJOINT_STRIP));
    return adjoint_convert_want(a->diff, old->type, ADJOINT_FILL);
}

static bt_status call_vjp(struct adjoint *a, const bt_call *old, const bt_call *now,
                          const bt_value **out)
{
    struct copy *c = &a->copy;
    const bt_global *back;
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, now->narg + 2);
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = now->narg + 2,
                     .args = args,
                     .ntype_arg = now->ntype_arg,
                     .type_args = now->type_args };
    if (!args)
        return bt_no_memory();
    BT_TRY(custom_find(a->diff, &vjp, &old->base, &back));
    for (uint32_t i = 0; i < now->narg; i++)
        args[i] = now->args[i];
    args[now->narg] = &now->base;
    BT_TRY(adjoint_join(a, &now->base, adjoint_of(a, &old->base), &args[now->narg + 1]));
    BT_TRY(bt_build_global(c->b, back->name, &call.callee));
    return bt_build_call(c->b, &call, out);
}

bt_status custom_vjp_reverse(struct adjoint *a, const bt_value *binding)
{
    const bt_call *old = bt_as_call(binding);
    const bt_call *now = bt_as_call(adjoint_now(a, binding));
    const bt_value *given;
    uint32_t nfield = 0, next = 0;
    BT_TRY(call_vjp(a, old, now, &given));
    for (uint32_t i = 0; i < now->narg; i++)
        nfield += adjoint_has(a->diff, now->args[i]->type) != 0;
    for (uint32_t i = 0; i < now->narg; i++) {
        const bt_value *field = given;
        adjoint_values leaves = { 0 };
        if (!adjoint_has(a->diff, now->args[i]->type))
            continue;
        const uint32_t at = next++;
        if (!adjoint_is_active(a, old->args[i]))
            continue;
        if (nfield > 1)
            BT_TRY(bt_build_proj(a->copy.b, given, at, &field));
        BT_TRY(adjoint_leaves(a, field, ADJOINT_STRIP, &leaves));
        for (uint32_t k = 0; k < leaves.len; k++)
            BT_TRY(adjoint_add(a, old->args[i], k, leaves.at[k]));
    }
    return NULL;
}
