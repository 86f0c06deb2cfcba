/*
 * What rounding may do to the results of a primitive function. Each call's own error is
 * bounded by its result; the error of an operand is carried on by computing the call again
 * with the operand changed by that much: cos of a sum of large terms differs by as much as
 * the sum does, however small the cosine is.
 */
#include "kernel_check.h"

#include <math.h>

#include <baton/compute.h>
#include <baton/op.h>

double rounding_bound(bt_dtype dtype, double value, double largest)
{
    return bt_dtype_epsilon(dtype) *
           (16 * fabs(value) + (bt_dtype_is_small_float(dtype) ? 8 : 64) * largest);
}

/* A value of the function: one tensor, and by how much its elements may differ. */
struct bounded {
    const bt_tensor *tensor;
    double *errors; /* NULL: an input or a constant, which is exact */
};

struct bounds {
    const struct kernel_call *of;
    bt_ctx *ctx;
    bt_arena *arena;
    bt_map values; /* -> struct bounded */
    bt_vec(bt_tensor *) made;
};

/* NULL: not one tensor, or in a layout. */
static const struct bounded *find(struct bounds *b, const bt_value *value)
{
    struct bounded *found = bt_map_find(&b->values, value);
    const bt_tensor *constant = bt_const_tensor(value);
    if (found || !constant)
        return found;
    found = BT_NEW(b->arena, struct bounded);
    if (!found)
        return NULL;
    found->tensor = constant;
    return bt_map_put(&b->values, value, found) ? found : NULL;
}

/* The operand with every element changed by a part of its error. */
static bt_status change(struct bounds *b, const struct bounded *from, double part,
                        bt_tensor **out)
{
    const bt_tensor *t = from->tensor;
    BT_TRY(bt_tensor_create(b->ctx, t->dtype, t->rank, t->dims, out));
    for (int64_t i = 0; i < t->nelem; i++)
        bt_tensor_set(*out, i, bt_tensor_get(t, i) + part * from->errors[i]);
    return NULL;
}

/* What the error of operand `at` adds to the errors of the result: the largest effect
 * of several parts of that error, since a function need not be monotonic. */
static bt_status add_error(struct bounds *b, bt_compute *compute, uint32_t narg,
                           const bt_tensor **in, uint32_t at, const struct bounded *from,
                           struct bounded *result)
{
    static const double parts[] = { -1, -0.5, -0.2, 0.2, 0.5, 1 };
    const bt_tensor *kept = in[at];
    double *most = BT_NEWS(b->arena, double, (size_t)result->tensor->nelem);
    if (!most)
        return bt_no_memory();
    for (uint32_t k = 0; k < BT_COUNT(parts); k++) {
        bt_tensor *changed, *out;
        BT_TRY(change(b, from, parts[k], &changed));
        in[at] = changed;
        bt_status status = bt_compute_run(b->ctx, compute, narg, in, &out);
        in[at] = kept;
        bt_tensor_unref(changed);
        BT_TRY(status);
        for (int64_t i = 0; i < out->nelem; i++) {
            double apart = fabs(bt_tensor_get(out, i) - bt_tensor_get(result->tensor, i));
            most[i] = isfinite(apart) && apart > most[i] ? apart : most[i];
        }
        bt_tensor_unref(out);
    }
    for (int64_t i = 0; i < result->tensor->nelem; i++)
        result->errors[i] += most[i];
    return NULL;
}

/* What the way that a target has taken may change: of operators that sum products. */
static bt_status error_of_way(struct bounds *b, const bt_formula_call *call, double *out)
{
    bt_fuse_info fuse;
    BT_TRY(bt_fuse_look(b->ctx, call, &fuse));
    *out = fuse.kind == BT_FUSE_CONTRACTION ? b->of->lowering->error : 0;
    return NULL;
}

/* The least exact type of what a call reads and gives: float64 of products that are float32. */
static bt_dtype lowest_of(const bt_tensor *result, uint32_t narg,
                          const bt_tensor *const *in)
{
    bt_dtype lowest = result->dtype;
    for (uint32_t i = 0; i < narg; i++) {
        if (bt_dtype_is_float(in[i]->dtype) &&
            bt_dtype_epsilon(in[i]->dtype) > bt_dtype_epsilon(lowest))
            lowest = in[i]->dtype;
    }
    return lowest;
}

static bt_status bound_call(struct bounds *b, const bt_call *call,
                            const bt_formula_call *what, bt_compute *compute,
                            const struct bounded **args, struct bounded *result)
{
    const bt_tensor **in = BT_NEWS(b->arena, const bt_tensor *, call->narg);
    if (!in)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        in[i] = args[i]->tensor;
    bt_tensor *t;
    BT_TRY(bt_compute_run(b->ctx, compute, call->narg, in, &t));
    if (!BT_PUSH(b->arena, &b->made, t)) {
        bt_tensor_unref(t);
        return bt_no_memory();
    }
    result->tensor = t;
    if (!bt_dtype_is_float(t->dtype))
        return NULL;
    double largest = bt_tensor_largest(t), way;
    result->errors = BT_NEWS(b->arena, double, (size_t)t->nelem);
    if (!result->errors)
        return bt_no_memory();
    BT_TRY(error_of_way(b, what, &way));
    const bt_dtype lowest = lowest_of(t, call->narg, in);
    for (int64_t i = 0; i < t->nelem; i++)
        result->errors[i] =
            way * largest + rounding_bound(lowest, bt_tensor_get(t, i), largest);
    for (uint32_t i = 0; i < call->narg; i++) {
        if (args[i]->errors)
            BT_TRY(add_error(b, compute, call->narg, in, i, args[i], result));
    }
    return NULL;
}

/* A type parameter is a number in this call. */
static const bt_type *number_of(bt_subst *subst, const bt_type *leaf)
{
    const struct kernel_call *of = subst->state;
    for (uint32_t i = 0; i < of->func->nvar; i++) {
        if (of->func->vars[i] == leaf)
            return bt_dim(leaf->store, of->dims[i]);
    }
    return NULL;
}

/* The call as it is with these sizes. */
static bt_status read_call(struct bounds *b, const bt_call *call, bt_formula_call *out)
{
    bt_subst subst = { .leaf = number_of, .state = (void *)(uintptr_t)b->of };
    bt_store *store = call->base.type->store;
    const bt_type **args = BT_NEWS(b->arena, const bt_type *, call->narg);
    BT_TRY(bt_call_formula(b->arena, call, out));
    if (!args)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        if (!(args[i] = bt_type_subst(store, &subst, out->args[i])))
            return bt_store_why(b->ctx, store);
    }
    out->args = args;
    out->result = bt_type_subst(store, &subst, out->result);
    if (out->attrs)
        out->attrs = bt_attrs_subst(store, &subst, call->op->attrs,
                                    call->op->attrs_nbytes, out->attrs);
    return out->result && (out->attrs || !call->attrs) ? NULL
                                                       : bt_store_why(b->ctx, store);
}

/* *done 0: the call is of a kind that is not followed. */
static bt_status bound_binding(struct bounds *b, const bt_value *value, int *done)
{
    const bt_call *call = bt_as_call(value);
    bt_compute *compute;
    *done = call && call->callee_kind == BT_CALLEE_OP && !bt_type_layout(value->type) &&
            bt_as_tensor_type(value->type);
    if (!*done)
        return NULL;
    const struct bounded **args = BT_NEWS(b->arena, const struct bounded *, call->narg);
    bt_formula_call what;
    struct bounded *result = BT_NEW(b->arena, struct bounded);
    if (!args || !result)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        args[i] = find(b, call->args[i]);
        *done = *done && args[i];
    }
    if (!*done)
        return NULL;
    BT_TRY(read_call(b, call, &what));
    BT_TRY(bt_compute_create(b->ctx, &what, &compute));
    bt_status status = bound_call(b, call, &what, compute, args, result);
    bt_compute_destroy(compute);
    BT_TRY(status);
    return bt_map_put(&b->values, value, result) ? NULL : bt_no_memory();
}

static bt_status bound_func(struct bounds *b, const bt_func *func, bt_tensor *const *in,
                            const double **out)
{
    const bt_block *block = func->block;
    int done = 1;
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_type *type = block->params[i]->base.type;
        struct bounded *input = BT_NEW(b->arena, struct bounded);
        if (!bt_as_tensor_type(type) || bt_type_layout(type))
            return NULL;
        if (!input || !bt_map_put(&b->values, block->params[i], input))
            return bt_no_memory();
        input->tensor = in[i];
    }
    for (uint32_t i = 0; done && i < block->nbinding; i++)
        BT_TRY(bound_binding(b, block->bindings[i], &done));
    const struct bounded *result = done ? find(b, block->result) : NULL;
    *out = result ? result->errors : NULL;
    return NULL;
}

bt_status find_bounds(const struct kernel_call *call, const double **out)
{
    struct bounds b = { .of = call, .ctx = call->ctx, .arena = call->arena };
    *out = NULL;
    bt_map_init(&b.values, call->arena, 0);
    bt_status status = bound_func(&b, call->func, call->in, out);
    for (uint32_t i = 0; i < b.made.len; i++)
        bt_tensor_unref(b.made.at[i]);
    return status;
}
