/*
 * What a kernel of constants takes, before it is run. A kernel says nothing of its work, but its
 * function does: a kernel that makes results does what the function does; one that packs does no more
 * than those calls which depend on nothing but what it reads.
 */
#include <string.h>

#include <baton/compute.h>

#include "compile/code/pack_constants.h"
#include "compute/evaluate/compute.h"

enum {
    MAX_GROWTH = 8, /* Winograd's F(6, 3) makes 64 elements of 9 */
    FREE_NBYTES = 1 << 20
};

static int is_small(int64_t read, int64_t written)
{
    int64_t most;
    return read >= 0 && written >= 0 && bt_mul_int64(read, MAX_GROWTH, &most) &&
           bt_add_int64(most, FREE_NBYTES, &most) && written <= most;
}

static int makes_results(const bt_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->nout; i++) {
        if (kernel->out[i].kind == BT_BUFFER_OUTPUT)
            return 1;
    }
    return 0;
}

/* Puts the parameters that the kernel reads, or all where it makes results, into the set. */
static int add_params(const bt_kernel *kernel, bt_map *set)
{
    const bt_block *block = kernel->primitive->block;
    const int all = makes_results(kernel);
    uint32_t first = 0;
    for (uint32_t i = 0; i < block->nparam; i++) {
        const bt_value *param = &block->params[i]->base;
        const uint32_t end = first + bt_type_nleaf(param->type);
        int reads = all;
        for (uint32_t k = 0; k < kernel->nin && !reads; k++)
            reads = kernel->in[k].kind == BT_BUFFER_INPUT &&
                    kernel->in[k].index >= first && kernel->in[k].index < end;
        if (reads && !bt_map_put(set, param, set))
            return 0;
        first = end;
    }
    return 1;
}

static int depends_on(const bt_value *value, const bt_map *set)
{
    for (uint32_t i = 0; i < bt_value_noperand(value); i++) {
        const bt_value *operand = bt_value_operand(value, i);
        if (operand->kind != BT_VALUE_CONST && !bt_map_find(set, operand))
            return 0;
    }
    return 1;
}

/* Elements of a type's tensors, or bytes, as some have less than one; 0: not known. */
static int64_t elements(const bt_type *type)
{
    const int64_t nbytes = bt_type_nbytes(type),
                  nbits = bt_dtype_nbits(bt_tensor_dtype(type));
    return nbytes <= 0 ? 0 : nbits >= 8 ? nbytes / (nbits / 8) : nbytes;
}

/* Adds the steps of the function's calls that depend on the set alone. */
static bt_status add_steps(bt_ctx *ctx, const bt_func *func, bt_map *set, int64_t *steps)
{
    const bt_block *block = func->block;
    for (uint32_t i = 0; i < block->nbinding; i++) {
        const bt_value *value = block->bindings[i];
        const bt_call *call = bt_as_call(value);
        int64_t multiply_adds = 0;
        if (!depends_on(value, set))
            continue;
        if (!bt_map_put(set, value, set))
            return bt_no_memory();
        if (!call || !call->op)
            continue;
        BT_TRY(bt_call_cost(ctx, call, &multiply_adds));
        bt__folding_add(steps, multiply_adds < 0 ? 0 : multiply_adds);
        bt__folding_add(steps, elements(value->type));
    }
    return NULL;
}

bt_status bt__pack_may_run(bt_ctx *ctx, bt_arena *arena, const bt_kernel *kernel,
                           const bt_call *invoke, int *out)
{
    const int64_t read = bt_type_nbytes(invoke->args[0]->type),
                  written = bt_type_nbytes(invoke->args[1]->type);
    struct bt__folding folding = { .read = read, .made = written };
    bt_map set;
    *out = is_small(read, written);
    if (!*out)
        return NULL;
    bt_map_init(&set, arena, 0);
    if (!add_params(kernel, &set))
        return bt_no_memory();
    BT_TRY(add_steps(ctx, kernel->primitive, &set, &folding.steps));
    if (invoke->narg > 2)
        bt__folding_add(&folding.made, bt_type_nbytes(invoke->args[2]->type));
    *out = bt__may_fold(&folding);
    return NULL;
}
