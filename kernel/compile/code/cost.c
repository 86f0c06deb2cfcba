/* Work and traffic of calls and functions, from their types. */
#include <baton/compute.h>

#include "compile/code/compiled.h"

struct shapes {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_vec(bt_tensor *) at;
};

/* Tensors of a type that hold nothing: costs read extents only. 0: a leaf's dims are not
 * known. Recursion is bounded by the depth of types. */
static bt_status add_shape(struct shapes *s, const bt_type *type, int *known)
{
    static int64_t nothing[1]; /* aligned for any element */
    const bt_list_type *tuple = bt_as_tuple_type(type);
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bt_tensor *tensor;
    for (uint32_t i = 0; tuple && *known && i < tuple->n; i++)
        BT_TRY(add_shape(s, tuple->at[i], known));
    if (tuple || !*known)
        return NULL;
    *known = bt_tensor_dtype(type) && bt_tensor_static(type, &rank, dims);
    if (!*known)
        return NULL;
    BT_TRY(bt_tensor_wrap(s->ctx, bt_tensor_dtype(type), rank, dims, nothing, &tensor));
    if (BT_PUSH(s->arena, &s->at, tensor))
        return NULL;
    bt_tensor_unref(tensor);
    return bt_no_memory();
}

/* By the operator's facet; *out stays -1 where it says nothing. */
static bt_status ask_facet(struct shapes *s, const bt_formula_call *call, int64_t *out)
{
    const bt_cost_facet *facet;
    const void *table;
    int64_t nbytes;
    BT_TRY(bt_op_facet(s->ctx, call->op, "cost", &table));
    facet = table;
    bt_status status =
        facet && facet->estimate ? facet->estimate(s->ctx, call, out, &nbytes) : NULL;
    if (status)
        *out = -1;
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

static bt_status find_cost(struct shapes *s, const bt_call *call, int64_t *out)
{
    bt_formula_call formula;
    bt_compute *compute;
    int known = !(call->base.type->has & (BT_HAS_VAR | BT_HAS_OPAQUE));
    for (uint32_t i = 0; known && i < call->narg; i++)
        BT_TRY(add_shape(s, call->args[i]->type, &known));
    if (!known)
        return NULL;
    BT_TRY(bt_call_formula(s->arena, call, &formula));
    BT_TRY(ask_facet(s, &formula, out));
    if (*out >= 0 || call->op->eval)
        return NULL;
    bt_status status = bt_compute_create(s->ctx, &formula, &compute);
    if (!status) {
        status = bt_compute_cost(s->ctx, compute, s->at.len,
                                 (const bt_tensor *const *)s->at.at, out);
        bt_compute_destroy(compute);
    }
    if (status)
        *out = -1;
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

bt_status bt_call_cost(bt_ctx *ctx, const bt_call *call, int64_t *out)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    struct shapes s = { .ctx = ctx, .arena = scratch };
    *out = -1;
    bt_status status = find_cost(&s, call, out);
    if (status && status->code == BT_ERR_LIMIT) {
        status = NULL; // a tensor that is too large is an error where it is computed
        *out = -1;
    }
    for (uint32_t i = 0; i < s.at.len; i++)
        bt_tensor_unref(s.at.at[i]);
    bt_arena_release(scratch, mark);
    return status;
}

int64_t bt_type_nbytes(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    uint32_t rank;
    int64_t dims[BT_MAX_RANK], sum = 0, part;
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        part = bt_type_nbytes(tuple->at[i]);
        if (part < 0 || !bt_add_int64(sum, part, &sum))
            return -1;
    }
    if (tuple)
        return sum;
    if (!bt_dtype_is_stored(bt_tensor_dtype(type)) ||
        !bt_tensor_physical(type, &rank, dims))
        return -1;
    sum = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (!bt_mul_int64(sum, dims[i], &sum))
            return -1;
    }
    return bt_elements_nbytes(bt_tensor_dtype(type), sum, &sum) ? sum : -1;
}

static void add(int64_t *sum, int64_t part)
{
    if (*sum >= 0 && (part < 0 || !bt_add_int64(*sum, part, sum)))
        *sum = -1;
}

bt_status bt__func_cost(bt_ctx *ctx, const bt_func *func, int64_t *multiply_adds,
                        int64_t *nbytes)
{
    const bt_block *block = func->block;
    *multiply_adds = *nbytes = 0;
    for (uint32_t i = 0; i < block->nbinding && *multiply_adds >= 0; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        int64_t cost = 0;
        if (call && call->op)
            BT_TRY(bt_call_cost(ctx, call, &cost));
        add(multiply_adds, cost);
    }
    for (uint32_t i = 0; i < block->nparam; i++)
        add(nbytes, bt_type_nbytes(block->params[i]->base.type));
    add(nbytes, bt_type_nbytes(func->result));
    return NULL;
}
