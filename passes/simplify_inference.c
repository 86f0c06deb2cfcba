/*
 * simplify-inference: write normalisations by arithmetic; drop what only training needs.
 *     before
 *         def @main(%x: Tensor[(2, 3), float32], %g: Tensor[(3), float32],
 *                   %v: Tensor[(3), float32]) {
 *             %0 = nn.batch_norm(%x, %g, %g, %g, %v);
 *             %0.0
 *         }
 *     after, with dead-code
 *         def @main(%x: Tensor[(2, 3), float32], %g: Tensor[(3), float32],
 *                   %v: Tensor[(3), float32]) {
 *             %0 = multiply(%g, rsqrt(add(%v, 1e-05f)));
 *             %1 = add(negative(multiply(%g, %0)), %g);
 *             add(multiply(%x, %0), %1)
 *         }
 * Also nn.layer_norm and nn.instance_norm; nn.dropout becomes its input and a mask of
 * ones. What is checked at run time stays as it is.
 * keeps    no invariant
 * source   Relay's SimplifyInference; Ioffe, Szegedy 2015; Ba, Kiros, Hinton 2016
 */
#include <string.h>

#include "chain.h"

/* What an axis' elements are multiplied by and what is added to them. */
struct affine {
    const bt_value *scale, *shift;
};

/* gamma / sqrt(variance + epsilon), beta - mean * that. */
static struct affine affine_of(struct chain *c, const bt_call *call,
                               const bt_value *gamma, const bt_value *beta,
                               const bt_value *mean, const bt_value *variance)
{
    bt_dtype dtype = bt_tensor_dtype(call->args[0]->type);
    struct affine out;
    const bt_value *epsilon = chain_scalar(c, dtype, call_float(call, "epsilon", 1e-5));
    const bt_value *inverse =
        chain_op1(c, "rsqrt", NULL, chain_op2(c, "add", NULL, variance, epsilon));
    out.scale = call_int(call, "scale", 1)
                    ? chain_op2(c, "multiply", NULL, gamma, inverse)
                    : inverse;
    out.shift =
        chain_op1(c, "negative", NULL, chain_op2(c, "multiply", NULL, mean, out.scale));
    if (call_int(call, "center", 1))
        out.shift = chain_op2(c, "add", NULL, out.shift, beta);
    return out;
}

static bt_status batch_norm(bt_rewrite *rewrite, const bt_call *call,
                            const bt_value *const *args, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    uint32_t rank = type_rank(args[0]->type), axis = call_axis(call, "axis", 1, rank);
    if (rank == 0)
        return NULL;
    struct affine affine = affine_of(&c, call, args[1], args[2], args[3], args[4]);
    const bt_value *scaled = chain_op2(&c, "multiply", NULL, args[0],
                                       chain_along(&c, affine.scale, rank, axis));
    const bt_value *fields[3] = { NULL, args[3], args[4] };
    fields[0] =
        chain_op2(&c, "add", NULL, scaled, chain_along(&c, affine.shift, rank, axis));
    return c.status ? c.status : bt_build_tuple(c.builder, 3, fields, out);
}

/* (x - mean) * rsqrt(var + epsilon) * gamma + beta, moments over `axes`, gamma and beta
 * along `axis`. */
static bt_status moments_norm(bt_rewrite *rewrite, const bt_call *call,
                              const bt_value *const *args, const char *axes,
                              uint32_t axis, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    uint32_t rank = type_rank(args[0]->type);
    bt_dtype dtype = bt_tensor_dtype(args[0]->type);
    const bt_value *mean =
        chain_op1f(&c, args[0], "mean", "axis=%s, keepdims=True", axes);
    const bt_value *centred = chain_op2(&c, "subtract", NULL, args[0], mean);
    const bt_value *square = chain_op2(&c, "multiply", NULL, centred, centred);
    const bt_value *variance =
        chain_op1f(&c, square, "mean", "axis=%s, keepdims=True", axes);
    const bt_value *epsilon = chain_scalar(&c, dtype, call_float(call, "epsilon", 1e-5));
    const bt_value *inverse =
        chain_op1(&c, "rsqrt", NULL, chain_op2(&c, "add", NULL, variance, epsilon));
    const bt_value *y = chain_op2(&c, "multiply", NULL, centred, inverse);
    if (call_int(call, "scale", 1))
        y = chain_op2(&c, "multiply", NULL, y, chain_along(&c, args[1], rank, axis));
    if (call_int(call, "center", 1))
        y = chain_op2(&c, "add", NULL, y, chain_along(&c, args[2], rank, axis));
    if (!c.status)
        *out = y;
    return c.status;
}

static bt_status layer_norm(bt_rewrite *rewrite, const bt_call *call,
                            const bt_value *const *args, const bt_value **out)
{
    uint32_t rank = type_rank(args[0]->type), axis = call_axis(call, "axis", -1, rank);
    bt_text axes;
    if (rank == 0)
        return NULL;
    bt_text_init(&axes, bt_rewrite_call(rewrite)->scratch);
    bt_text_addf(&axes, "[%u]", axis);
    return axes.failed ? bt_no_memory()
                       : moments_norm(rewrite, call, args, axes.at, axis, out);
}

/* Moments over all axes but the first and the channels'. */
static bt_status instance_norm(bt_rewrite *rewrite, const bt_call *call,
                               const bt_value *const *args, const bt_value **out)
{
    uint32_t rank = type_rank(args[0]->type), axis = call_axis(call, "axis", 1, rank);
    bt_text axes;
    if (rank < 2 || axis == 0)
        return NULL;
    bt_text_init(&axes, bt_rewrite_call(rewrite)->scratch);
    for (uint32_t i = 1; i < rank; i++) {
        if (i != axis)
            bt_text_addf(&axes, "%s%u", axes.len ? ", " : "[", i);
    }
    bt_text_addf(&axes, axes.len ? "]" : "[]");
    return axes.failed ? bt_no_memory()
                       : moments_norm(rewrite, call, args, axes.at, axis, out);
}

static bt_status dropout(bt_rewrite *rewrite, const bt_call *call,
                         const bt_value *const *args, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    if (call->base.type->kind != BT_TYPE_TUPLE) {
        *out = args[0];
        return NULL;
    }
    const bt_value *fields[2] = { args[0], chain_op1(&c, "ones_like", NULL, args[0]) };
    return c.status ? c.status : bt_build_tuple(c.builder, 2, fields, out);
}

static const struct expansion {
    const char *op;
    bt_status (*expand)(bt_rewrite *, const bt_call *, const bt_value *const *args,
                        const bt_value **out);
} expansions[] = {
    { "nn.batch_norm", batch_norm },
    { "nn.layer_norm", layer_norm },
    { "nn.instance_norm", instance_norm },
    { "nn.dropout", dropout },
};

static bt_status expand_call(bt_rewrite *rewrite, const bt_call *call,
                             const bt_value **out)
{
    const bt_value *args[8];
    for (uint32_t i = 0; i < BT_COUNT(expansions); i++) {
        if (call->callee_kind != BT_CALLEE_OP || call->ncheck ||
            strcmp(call->op->name, expansions[i].op) != 0)
            continue;
        for (uint32_t k = 0; k < call->narg && k < BT_COUNT(args); k++)
            BT_TRY(bt_rewrite_operand(rewrite, call->args[k], &args[k]));
        return expansions[i].expand(rewrite, call, args, out);
    }
    return NULL;
}

static const bt_rewriter rewriter = { .call_ = expand_call, .proj_ = rewrite_proj };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "simplify-inference",
        .doc = "Write normalisations by arithmetic, and drop what only training needs.\n"
               "before\n"
               "    def @main(%x: Tensor[(2, 3), float32], %g: Tensor[(3), float32],\n"
               "              %v: Tensor[(3), float32]) {\n"
               "        %0 = nn.batch_norm(%x, %g, %g, %g, %v);\n"
               "        %0.0\n"
               "    }\n"
               "after, with dead-code\n"
               "    def @main(%x: Tensor[(2, 3), float32], %g: Tensor[(3), float32],\n"
               "              %v: Tensor[(3), float32]) {\n"
               "        %0 = multiply(%g, rsqrt(add(%v, 1e-05f)));\n"
               "        %1 = add(negative(multiply(%g, %0)), %g);\n"
               "        add(multiply(%x, %0), %1)\n"
               "    }",
        .level = 0,
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_inference[] = { BT_PASSES(passes), { 0 } };
