/*
 * check-zero-points: zero points that a program is given are codes, or it fails.
 * Differences with a zero point of a longer type than its codes would wrap near the ends of that
 * type. Pass qdq-to-integer looks at constants.
 * keeps    no invariant
 */
#include <stdio.h>
#include <string.h>

#include "common/chain.h"

/* The operand whose codes a zero point is one of: operands stand first, and their zero points in
 * the same order. */
static const bt_type *codes_of(const bt_call *call, uint32_t index)
{
    const bt_op_input *inputs = call->op->inputs;
    uint32_t operand = 0;
    if (strncmp(inputs[index].name, "output", 6) == 0)
        return call->base.type;
    for (uint32_t i = 0; i < index; i++)
        operand += strstr(inputs[i].name, "zero_point") != NULL;
    return call->args[operand]->type;
}

/* Whether it may be none of the codes, and nobody looks at it: it is no constant, and of a type
 * that has more numbers. */
static int is_unchecked(const bt_rewrite *rewrite, const bt_call *call, uint32_t index)
{
    const bt_value *zero = call->args[index];
    const bt_dtype codes = bt_tensor_dtype(codes_of(call, index)),
                   dtype = bt_tensor_dtype(zero->type);
    return strstr(call->op->inputs[index].name, "zero_point") &&
           !bt_const_tensor(bt_module_constant(bt_rewrite_call(rewrite)->module, zero)) &&
           !bt_as_op_call(zero, "qnn.check_zero_point") && codes && dtype &&
           !bt_dtype_is_float(codes) && BT_DTYPE_BITS(codes) <= 32 && codes != dtype;
}

static bt_status rewrite_call(bt_rewrite *rewrite, const bt_call *call,
                              const bt_value **out)
{
    struct chain chain = { .builder = bt_rewrite_builder(rewrite) };
    const bt_value **args = NULL;
    if (!call->op || strncmp(call->op->name, "qnn.", 4) != 0 || !call->op->inputs)
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++) {
        char attrs[64], name[BT_DTYPE_NAME_SIZE];
        if (!is_unchecked(rewrite, call, i))
            continue;
        if (!args) {
            args =
                BT_NEWS(bt_rewrite_call(rewrite)->scratch, const bt_value *, call->narg);
            if (!args)
                return bt_no_memory();
            for (uint32_t k = 0; k < call->narg; k++)
                BT_TRY(bt_rewrite_operand(rewrite, call->args[k], &args[k]));
        }
        snprintf(attrs, sizeof(attrs), "dtype=\"%s\"",
                 bt_dtype_name(bt_tensor_dtype(codes_of(call, i)), name, sizeof(name)));
        args[i] = chain_op1(&chain, "qnn.check_zero_point", attrs, args[i]);
        BT_TRY(chain.status);
    }
    return args ? bt_build_op(chain.builder, call->op, call->attrs, call->narg, args, out)
                : NULL;
}

static const bt_rewriter rewriter = { .call_ = rewrite_call };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "check-zero-points",
        .doc = "Zero points that a program is given are codes, or it fails.\n"
               "before\n"
               "    def @main(%x: Tensor[(2), int8], %z: int32) {\n"
               "        qnn.dequantize(%x, 0.5f, %z)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: Tensor[(2), int8], %z: int32) {\n"
               "        %0 = qnn.check_zero_point(%z);\n"
               "        qnn.dequantize(%x, 0.5f, %0)\n"
               "    }",
        .level = 0, /* without it, results may be wrong */
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_quantize_check_zero_points[] = { BT_PASSES(passes), { 0 } };
