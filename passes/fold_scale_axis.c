/*
 * fold-scale-axis: multiply the weights instead of the activations.
 *     before
 *         def @main(%x: Tensor[(2, 3), float32]) {
 *             %0 = nn.dense(%x, const[(2, 3), float32]{1, 2, 3, 4, 5, 6});
 *             %1 = add(%0, const[(2), float32]{7, 8});
 *             multiply(%1, const[(2), float32]{10, 100})
 *         }
 *     after, with fold-constant and dead-code
 *         def @main(%x: Tensor[(2, 3), float32]) {
 *             %0 = nn.dense(%x, const[(2, 3), float32]{10, 20, 30, 400, 500, 600});
 *             add(%0, const[(2), float32]{70, 800})
 *         }
 * Together with simplify-inference and fold-constant this takes a batch norm into the
 * convolution or dense layer before it. The factor is one number, or one a channel; the
 * weights are constants of the result's element type; layer and sum are used here alone,
 * in this very block. Floats round differently, within the usual bound.
 * keeps    no invariant
 * source   Relay's FoldScaleAxis (backward); Jacob et al. 2018, section 3.2
 */
#include <string.h>

#include "chain.h"

/* Layers whose output channels are rows of the weight. */
static const struct layer {
    const char *op;
    const char *layout, *kernel_layout; /* attributes; "" where there is none */
    const char *data, *kernel;          /* the layouts handled */
    uint32_t channel;                   /* axis of the result */
} layers[] = {
    { "nn.conv1d", "data_layout", "kernel_layout", "NCW", "OIW", 1 },
    { "nn.conv2d", "data_layout", "kernel_layout", "NCHW", "OIHW", 1 },
    { "nn.conv3d", "data_layout", "kernel_layout", "NCDHW", "OIDHW", 1 },
    { "nn.dense", "", "", "", "", 1 },
};

static const struct layer *find_layer(const bt_value *value)
{
    for (uint32_t i = 0; i < BT_COUNT(layers); i++) {
        const bt_call *call = bt_as_op_call(value, layers[i].op);
        if (call && strcmp(call_text(call, layers[i].layout), layers[i].data) == 0 &&
            strcmp(call_text(call, layers[i].kernel_layout), layers[i].kernel) == 0 &&
            bt_const_tensor(call->args[1]))
            return &layers[i];
    }
    return NULL;
}

/* Used once, by a binding of the same block: what is computed before a loop stays
 * there. */
static int is_step(bt_rewrite *rewrite, const bt_value *value)
{
    return bt_rewrite_nuse(rewrite, value) == 1 && bt_rewrite_is_here(rewrite, value);
}

/* The old layer under a multiplication: itself, or under one addition of a constant. */
static const bt_call *find_target(bt_rewrite *rewrite, const bt_value *value,
                                  const bt_call **sum)
{
    *sum = NULL;
    if (!is_step(rewrite, value))
        return NULL;
    const bt_call *add = bt_as_op_call(value, "add");
    if (add && bt_const_tensor(add->args[1])) {
        *sum = add;
        value = add->args[0];
        if (!is_step(rewrite, value))
            return NULL;
    }
    return find_layer(value) ? bt_as_call(value) : NULL;
}

/* The weight times the scale, whose channels move to the weight's first axis. */
static const bt_value *scale_weight(struct chain *c, const bt_value *weight,
                                    const bt_value *scale)
{
    uint32_t rank = type_rank(weight->type);
    if (bt_const_tensor(scale)->nelem == 1)
        return chain_op2(c, "multiply", NULL, weight,
                         chain_op1(c, "reshape", "newshape=[1]", scale));
    const bt_value *vector = chain_op1(c, "reshape", "newshape=[-1]", scale);
    return vector
               ? chain_op2(c, "multiply", NULL, weight, chain_along(c, vector, rank, 0))
               : NULL;
}

static bt_status fold(bt_rewrite *rewrite, const bt_call *layer, const bt_call *sum,
                      const bt_value *scale, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    const bt_value *args[2], *scaled;
    BT_TRY(bt_rewrite_operand(rewrite, layer->args[0], &args[0]));
    args[1] = scale_weight(&c, layer->args[1], scale);
    if (c.status)
        return c.status;
    BT_TRY(bt_build_op(c.builder, layer->op, layer->attrs, 2, args, &scaled));
    if (sum)
        scaled = chain_op2(&c, "add", NULL, scaled,
                           chain_op2(&c, "multiply", NULL, sum->args[1], scale));
    if (!c.status)
        *out = scaled;
    return c.status;
}

static bt_status fold_multiply(bt_rewrite *rewrite, const bt_call *call,
                               const bt_value **out)
{
    const bt_call *sum;
    if (!bt_as_op_call(&call->base, "multiply"))
        return NULL;
    const bt_call *layer = find_target(rewrite, call->args[0], &sum);
    uint32_t rank = layer ? type_rank(layer->base.type) : 0;
    if (!layer || call->base.type != layer->base.type || call->ncheck ||
        bt_tensor_dtype(layer->args[1]->type) != bt_tensor_dtype(layer->base.type))
        return NULL;
    uint32_t channel = find_layer(&layer->base)->channel;
    if (!is_per_channel(call->args[1], rank, channel) ||
        (sum && !is_per_channel(sum->args[1], rank, channel)))
        return NULL;
    return fold(rewrite, layer, sum, call->args[1], out);
}

static const bt_rewriter rewriter = { .call_ = fold_multiply };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "fold-scale-axis",
        .doc = "Multiply the weights instead of the activations.\n"
               "before\n"
               "    def @main(%x: Tensor[(2, 3), float32]) {\n"
               "        %0 = nn.dense(%x, const[(2, 3), float32]{1, 2, 3, 4, 5, 6});\n"
               "        %1 = add(%0, const[(2), float32]{7, 8});\n"
               "        multiply(%1, const[(2), float32]{10, 100})\n"
               "    }\n"
               "after, with fold-constant and dead-code\n"
               "    def @main(%x: Tensor[(2, 3), float32]) {\n"
               "        %0 = nn.dense(%x, const[(2, 3), float32]{10, 20, 30, 400, 500, "
               "600});\n"
               "        add(%0, const[(2), float32]{70, 800})\n"
               "    }",
        .level = 3,
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_fold_scale_axis[] = { BT_PASSES(passes), { 0 } };
