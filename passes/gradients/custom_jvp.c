/*
 * Functions that bring their tangents with them: the attribute jvp names a function that takes
 * the arguments, then a tangent of each that holds floats, and gives the result and its tangent.
 *
 *     def @f(%x: float32, %n: int32, jvp="f_moved") -> float32 { .. }
 *     def @f_moved(%x: float32, %n: int32, %dx: float32) -> (float32, float32) { .. }
 *
 * It stands in place of going through @f forward, which may then be external.
 */
#include "gradients/custom.h"
#include "gradients/tangent.h"

/* ---- its type ---- */

static bt_status wanted_type(const struct differentiation *diff,
                             const bt_func_type *primal, const bt_type **out)
{
    bt_store *store = diff->module->store;
    const bt_type **args =
        BT_NEWS(diff->arena, const bt_type *, (size_t)2 * primal->narg);
    const bt_type *both[] = { primal->result, primal->result };
    bt_func_type now = *primal;
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < primal->narg; i++)
        args[i] = primal->args[i];
    for (uint32_t i = 0; i < primal->narg; i++) {
        if (adjoint_has(diff, primal->args[i]))
            args[now.narg++] = primal->args[i];
    }
    now.args = args;
    now.result = bt_type_tuple(store, 2, both);
    *out = now.result ? bt_type_func(store, &now) : NULL;
    return *out ? NULL : bt_store_why(diff->ctx, store);
}

static const struct custom_rule jvp = { "jvp", "f_moved", wanted_type,
                                        "the arguments and tangents of those that hold "
                                        "floats, giving the result and its tangent" };

/* ---- calls ---- */

bt_status custom_jvp_want(struct adjoint *a, const bt_call *call)
{
    const bt_global *moved;
    BT_TRY(custom_find(a->diff, &jvp, &call->base, &moved));
    for (uint32_t i = 0; i < call->narg; i++)
        BT_TRY(adjoint_convert_want(a->diff, call->args[i]->type, ADJOINT_FILL));
    return adjoint_convert_want(a->diff, call->base.type, ADJOINT_STRIP);
}

bt_status custom_jvp_forward(struct adjoint *a, const bt_call *old)
{
    struct copy *c = &a->copy;
    const bt_value **args = BT_NEWS(c->arena, const bt_value *, (size_t)2 * old->narg),
                   **now, *both, *value, *tangent;
    const bt_global *moved;
    adjoint_values leaves = { 0 };
    bt_call call = { .callee_kind = BT_CALLEE_VALUE, .ntype_arg = old->ntype_arg };
    int same;
    if (!args)
        return bt_no_memory();
    BT_TRY(custom_find(a->diff, &jvp, &old->base, &moved));
    BT_TRY(copy_args(c, old, &now, &same));
    for (uint32_t i = 0; i < old->narg; i++)
        args[call.narg++] = now[i];
    for (uint32_t i = 0; i < old->narg; i++) {
        if (adjoint_has(a->diff, now[i]->type))
            BT_TRY(
                adjoint_join(a, now[i], adjoint_of(a, old->args[i]), &args[call.narg++]));
    }
    call.args = args;
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &call.type_args));
    BT_TRY(bt_build_global(c->b, moved->name, &call.callee));
    bt_builder_like(c->b, &old->base);
    bt_builder_name(c->b, NULL);
    BT_TRY(bt_build_call(c->b, &call, &both));
    bt_builder_like(c->b, &old->base);
    BT_TRY(bt_build_proj(c->b, both, 0, &value));
    bt_builder_name(c->b, NULL);
    BT_TRY(copy_put(c, &old->base, value));
    BT_TRY(bt_build_proj(c->b, both, 1, &tangent));
    BT_TRY(adjoint_leaves(a, tangent, ADJOINT_STRIP, &leaves));
    for (uint32_t i = 0; i < leaves.len; i++)
        BT_TRY(adjoint_add(a, &old->base, i, leaves.at[i]));
    return NULL;
}
