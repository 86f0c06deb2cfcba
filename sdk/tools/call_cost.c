#include "call_cost.h"

#include <stdio.h>

/* Tensors of an argument's type that hold nothing: costs read extents only. */
typedef bt_vec(bt_tensor *) tensor_list;

static int add_shape(bt_ctx *ctx, bt_arena *arena, const bt_type *type, tensor_list *out,
                     bt_status *status)
{
    static int64_t nothing[1]; /* aligned for any element */
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bt_tensor *tensor;
    const bt_list_type *tuple = bt_as_tuple_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        if (!add_shape(ctx, arena, tuple->at[i], out, status))
            return 0;
    }
    if (tuple)
        return 1;
    if (!bt_tensor_dtype(type) || !bt_tensor_static(type, &rank, dims))
        return 0;
    *status = bt_tensor_wrap(ctx, bt_tensor_dtype(type), rank, dims, nothing, &tensor);
    if (*status)
        return 0;
    if (BT_PUSH(arena, out, tensor))
        return 1;
    bt_tensor_unref(tensor);
    *status = bt_no_memory();
    return 0;
}

bt_status call_cost(bt_ctx *ctx, bt_arena *arena, const bt_call *call, int64_t *out)
{
    const bt_type **types = BT_NEWS(arena, const bt_type *, call->narg);
    tensor_list in = { 0 };
    bt_status status = types ? NULL : bt_no_memory();
    bt_compute *compute = NULL;
    int known = !status && !(call->base.type->has & (BT_HAS_VAR | BT_HAS_OPAQUE));
    *out = -1;
    for (uint32_t i = 0; known && i < call->narg; i++) {
        types[i] = call->args[i]->type;
        known = add_shape(ctx, arena, types[i], &in, &status);
    }
    bt_formula_call formula = { .op = call->op,
                                .attrs = call->attrs,
                                .narg = call->narg,
                                .args = types,
                                .result = call->base.type };
    if (known && !call->op->eval && !bt_compute_create(ctx, &formula, &compute) &&
        bt_compute_cost(ctx, compute, in.len, (const bt_tensor *const *)in.at, out))
        *out = -1;
    bt_compute_destroy(compute);
    for (uint32_t i = 0; i < in.len; i++)
        bt_tensor_unref(in.at[i]);
    return status;
}

const char *scaled(double value, char out[SCALED_NBYTES])
{
    static const char *const units[] = { "", " k", " M", " G", " T", " P" };
    uint32_t unit = 0;
    while (value >= 1000 && unit + 1 < BT_COUNT(units)) {
        value /= 1000;
        unit++;
    }
    snprintf(out, SCALED_NBYTES, unit ? "%.3g%s" : "%.0f%s", value, units[unit]);
    return out;
}
