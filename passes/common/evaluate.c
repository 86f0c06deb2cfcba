#include "common/evaluate.h"

#include <baton/compute.h>

int64_t evaluate_nbytes(const bt_type *type)
{
    const int64_t nbytes = bt_type_nbytes(type);
    return nbytes < 0 ? INT64_MAX : nbytes;
}

/* Nests no deeper than its type. */
bt_status evaluate_leaves(bt_arena *arena, const bt_object *object, leaf_list *out)
{
    const bt_tensor *tensor = bt_object_as_tensor(object);
    const bt_tuple *tuple = bt_object_as_tuple(object);
    if (tensor && !BT_PUSH(arena, out, tensor))
        return bt_no_memory();
    for (uint32_t i = 0; tuple && i < tuple->nfield; i++)
        BT_TRY(evaluate_leaves(arena, tuple->fields[i], out));
    return NULL;
}

bt_status evaluate_operand(bt_rewrite *rewrite, const bt_value *old, leaf_list *out,
                           int *is_const)
{
    const bt_pass_call *call = bt_rewrite_call(rewrite);
    const bt_value *value;
    BT_TRY(bt_rewrite_operand(rewrite, old, &value));
    value = bt_module_constant(call->module, value);
    const bt_const *constant = bt_as_const(value);
    const bt_tuple_value *tuple = bt_as_tuple(value);
    *is_const = constant || tuple;
    if (constant)
        return evaluate_leaves(call->scratch, constant->object, out);
    for (uint32_t i = 0; tuple && *is_const && i < tuple->nfield; i++) {
        const bt_const *field =
            bt_as_const(bt_module_constant(call->module, tuple->fields[i]));
        *is_const = field != NULL;
        if (field)
            BT_TRY(evaluate_leaves(call->scratch, field->object, out));
    }
    return NULL;
}

bt_status evaluate_contents(bt_builder *builder, const bt_call *call,
                            const bt_value **out)
{
    const bt_contents *contents = call->contents;
    uint32_t rank;
    int64_t dims[BT_MAX_RANK], number;
    bt_tensor *tensor;
    if (!contents || !bt_tensor_static(call->base.type, &rank, dims))
        return NULL;
    for (uint32_t i = 0; i < contents->n; i++) {
        if (!bt_dim_is_const(contents->dims[i], &number))
            return NULL;
    }
    BT_TRY(bt_tensor_create(bt_builder_ctx(builder), bt_tensor_dtype(call->base.type),
                            rank, dims, &tensor));
    for (uint32_t i = 0; i < contents->n && i < tensor->nelem; i++) {
        if (bt_dim_is_const(contents->dims[i], &number))
            bt_tensor_set_int(tensor, i, number);
    }
    bt_status status =
        tensor->nelem == contents->n ? bt_build_const(builder, &tensor->base, out) : NULL;
    bt_tensor_unref(tensor);
    return status;
}

static bt_status make_const(bt_builder *builder, bt_arena *arena, const bt_type *type,
                            uint32_t n, bt_tensor **tensors, const bt_value **out)
{
    if (type->kind != BT_TYPE_TUPLE)
        return bt_build_const(builder, &tensors[0]->base, out);
    bt_object **fields = BT_NEWS(arena, bt_object *, n);
    bt_tuple *tuple;
    if (!fields)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        fields[i] = &tensors[i]->base;
    BT_TRY(bt_tuple_create(bt_builder_ctx(builder), n, fields, &tuple));
    bt_status status = bt_build_const(builder, &tuple->base, out);
    bt_object_unref(&tuple->base);
    return status;
}

/* Whether it is what the call is stated to hold (`holds`). */
static int gives_stated(const bt_contents *stated, const bt_tensor *tensor)
{
    int64_t element;
    for (uint32_t i = 0; stated && i < stated->n && i < tensor->nelem; i++) {
        if (!bt_dim_is_const(stated->dims[i], &element) ||
            element != bt_tensor_get_int(tensor, i))
            return 0;
    }
    return 1;
}

bt_status evaluate_call(bt_builder *builder, bt_arena *arena, const bt_call *call,
                        const leaf_list *leaves, const bt_value **out)
{
    bt_ctx *ctx = bt_builder_ctx(builder);
    bt_formula_call formula;
    BT_TRY(bt_call_formula(arena, call, &formula));
    bt_compute *compute;
    bt_status status = bt_compute_create(ctx, &formula, &compute);
    if (status) // a size in its attributes is known when it runs: it stays a call
        return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    uint32_t nout = bt_compute_nout(compute);
    bt_tensor **tensors = BT_NEWS(arena, bt_tensor *, nout);
    int may_fold = 0;
    status = tensors
                 ? bt_compute_may_fold(ctx, compute, leaves->len, leaves->at, &may_fold)
                 : bt_no_memory();
    if (!status && may_fold)
        status = bt_compute_run(ctx, compute, leaves->len, leaves->at, tensors);
    bt_compute_destroy(compute);
    for (uint32_t i = 0; i < leaves->len; i++) // the result is in memory instead
        bt_tensor_forget(leaves->at[i]);
    if (status || !may_fold)
        return status && status->code == BT_ERR_RUNTIME ? NULL : status;
    if (gives_stated(call->contents, tensors[0]))
        status = make_const(builder, arena, call->base.type, nout, tensors, out);
    for (uint32_t i = 0; i < nout; i++)
        bt_tensor_unref(tensors[i]);
    return status;
}

bt_status evaluate_deep(bt_builder *builder, bt_arena *arena, const bt_module *module,
                        uint32_t depth, const bt_value **value)
{
    const bt_call *call = bt_as_call(*value);
    leaf_list leaves = { 0 };
    if (!call || call->callee_kind != BT_CALLEE_OP || depth == 0)
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++) {
        const bt_value *arg = call->args[i];
        BT_TRY(evaluate_deep(builder, arena, module, depth - 1, &arg));
        const bt_tensor *leaf = bt_const_tensor(bt_module_constant(module, arg));
        if (!leaf)
            return NULL;
        if (!BT_PUSH(arena, &leaves, leaf))
            return bt_no_memory();
    }
    return evaluate_call(builder, arena, call, &leaves, value);
}
