/* Calls of functions that keep a tape, forward and backward. */
#include "common/checked.h"
#include "gradients/adjoint_data.h"
#include "gradients/adjoint_path.h"

/* ---- forward ---- */

/* Single numbers that are no floats are left to passes that run what is known of a program. */
static int is_worth_marking(const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    return bt_dtype_is_float(bt_tensor_dtype(type)) ||
           (bt_tensor_dtype(type) && !(shape && shape->n == 0));
}

/* The value for code that is computed again: what reads its tensors is not taken for what the
 * way forward has computed of them. */
static bt_status mark_again(struct adjoint *a, const bt_value *now, const bt_value **out)
{
    const bt_list_type *tuple = bt_as_tuple_type(now->type);
    *out = now;
    if (!tuple)
        return is_worth_marking(now->type)
                   ? bt_build(a->copy.b, "annotation.again", NULL, &now, 1, out)
                   : NULL;
    const bt_value **fields = BT_NEWS(a->copy.arena, const bt_value *, tuple->n);
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < tuple->n; i++) {
        BT_TRY(bt_build_proj(a->copy.b, now, i, &fields[i]));
        BT_TRY(mark_again(a, fields[i], &fields[i]));
    }
    return bt_build_tuple(a->copy.b, tuple->n, fields, out);
}

/* What the primal gives is stated; and its tape. */
static bt_status type_forward(struct copy *c, const bt_call *old, const bt_call *call,
                              const bt_type **out)
{
    const bt_func_type *func = bt_as_func_type(call->callee->type);
    const bt_type *both[2];
    if (func->nparam && !(func = bt_func_type_open(c->store, func, call->type_args)))
        return bt_store_why(c->ctx, c->store);
    both[1] = bt_as_tuple_type(func->result)->at[1];
    BT_TRY(copy_type(c, old->base.type, &both[0]));
    *out = bt_type_tuple(c->store, 2, both);
    return *out ? NULL : bt_store_why(c->ctx, c->store);
}

bt_status adjoint_call_forward(struct adjoint *a, const bt_call *old,
                               const struct adjoint_pair *pair, const bt_value **out)
{
    struct copy *c = &a->copy;
    const bt_value **args;
    const bt_type *type;
    int same;
    bt_call call = { .callee_kind = BT_CALLEE_VALUE,
                     .narg = old->narg,
                     .ntype_arg = old->ntype_arg };
    BT_TRY(copy_args(c, old, &args, &same));
    for (uint32_t i = 0; pair->is_again && i < old->narg; i++)
        BT_TRY(mark_again(a, args[i], &args[i]));
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &call.type_args));
    BT_TRY(bt_build_global(c->b, pair->forward, &call.callee));
    call.args = args;
    BT_TRY(type_forward(c, old, &call, &type));
    return copy_call_as(c, old, &call, type, out);
}

/* ---- backward ---- */

/* Adjoints have the types of what the primal was given. */
static bt_status type_backward(struct adjoint *a, const struct adjoint_taped *t,
                               const bt_type **out)
{
    struct copy *c = &a->copy;
    const uint32_t n = t->wanted.len;
    const bt_type **types = BT_NEWS(c->arena, const bt_type *, n);
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        const struct adjoint_output *output = &t->wanted.at[i];
        const bt_type *now =
            adjoint_leaf(adjoint_now(a, output->old)->type, output->leaf);
        BT_TRY(adjoint_type_of(a->diff, now, &types[i]));
    }
    *out = n == 1 ? types[0] : bt_type_tuple(c->store, n, types);
    return *out ? NULL : bt_store_why(c->ctx, c->store);
}

/* Those of the call, and what the dims of the seeds are that only the run knows. */
static bt_status type_args(struct adjoint *a, const bt_call *old,
                           const struct adjoint_taped *t, const adjoint_values *seeds,
                           bt_call *call)
{
    struct copy *c = &a->copy;
    adjoint_types like = { 0 };
    dims_of_type all = { 0 };
    const bt_type *const *own;
    BT_TRY(copy_types(c, old->ntype_arg, old->type_args, &own));
    for (uint32_t i = 0; i < old->ntype_arg; i++) {
        if (!BT_PUSH(c->arena, &all, own[i]))
            return bt_no_memory();
    }
    BT_TRY(adjoint_leaf_types(a->diff, t->pair->primal->result, &like));
    for (uint32_t i = 0; i < like.len; i++)
        BT_TRY(adjoint_dims_given(a->diff, like.at[i], seeds->at[i]->type, &all));
    call->ntype_arg = all.len;
    call->type_args = all.at;
    return NULL;
}

/* Adds what a sum is before the call: nothing where there is nothing yet, or another argument
 * goes on with it. */
static bt_status begin_sum(struct adjoint *a, struct adjoint_taped *t,
                           struct adjoint_output *output, adjoint_values *args)
{
    const bt_value *sum = adjoint_of_leaf(a, output->old, output->leaf);
    output->is_sum = !adjoint_output_of(&t->wanted, output->old, output->leaf);
    if (!sum || !output->is_sum) {
        adjoint_values now = { 0 };
        BT_TRY(adjoint_split(a, adjoint_now(a, output->old), &now));
        const bt_value *like = now.at[output->leaf];
        BT_TRY(adjoint_zero(a->diff, &a->copy, like, like->type, &sum));
    }
    return BT_PUSH(a->copy.arena, args, sum) ? NULL : bt_no_memory();
}

bt_status adjoint_call_backward(struct adjoint *a, const bt_call *old,
                                struct adjoint_taped *t, const adjoint_values *seeds,
                                const bt_value **out)
{
    struct copy *c = &a->copy;
    const bt_type *type;
    adjoint_values args = { 0 };
    bt_call call = { .callee_kind = BT_CALLEE_VALUE };
    if (t->pair->is_again) {
        BT_TRY(adjoint_call_forward(a, old, t->pair, out));
        BT_TRY(bt_build_proj(c->b, *out, 1, &t->tape));
    }
    int is_pushed = BT_PUSH(c->arena, &args, t->tape);
    for (uint32_t i = 0; i < seeds->len; i++)
        is_pushed &= BT_PUSH(c->arena, &args, seeds->at[i]);
    if (!is_pushed)
        return bt_no_memory();
    t->wanted = (adjoint_outputs){ 0 };
    for (uint32_t i = 0; i < old->narg; i++) {
        for (uint32_t k = 0; k < bt_type_nleaf(old->args[i]->type); k++) {
            struct adjoint_output output = { old->args[i], k, NULL, 0 };
            if (!t->pair->wants[i] ||
                !adjoint_has(a->diff, adjoint_leaf(old->args[i]->type, k)))
                continue;
            if (adjoint_sums(t->pair, i, k))
                BT_TRY(begin_sum(a, t, &output, &args));
            if (!BT_PUSH(c->arena, &t->wanted, output))
                return bt_no_memory();
        }
    }
    call.narg = args.len;
    call.args = args.at;
    BT_TRY(type_args(a, old, t, seeds, &call));
    BT_TRY(bt_build_global(c->b, t->pair->backward, &call.callee));
    if (!old->ncheck)
        return bt_build_call(c->b, &call, out);
    BT_TRY(type_backward(a, t, &type));
    return checked_call(c, &call, type, out);
}
