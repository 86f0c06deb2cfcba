/*
 * transpose-weights: a weight that several dense layers of few rows share is transposed once.
 *     nn.dense(%x, %w)  ->  nn.matmul(%x, transpose(%w, axes=[1, 0]))
 * A dense layer sums along the rows of its weight, and a target that wants columns packs the
 * weight for each product anew, which takes as long as some tens of rows do. So a recurrent
 * net, whose steps share a weight, would pack it at each step. Constants are packed once in
 * any case. It needs common-subexpr behind it, which leaves one of these transposes.
 * keeps    no invariant
 * option   max-rows  layers of more rows are left alone, default 64
 * option   min-uses  layers that share a weight, at least, default 4
 */
#include "common/chain.h"

struct options {
    int64_t max_rows, min_uses;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_rows, INT, "64", 0, INT64_MAX,
                  "layers of more rows are left alone"),
    BT_ATTR_RANGE(struct options, min_uses, INT, "4", 1, INT64_MAX,
                  "layers that share a weight, at least"),
    { 0 },
};

/* A layer of few rows, of which all dims are numbers; else NULL. */
static const bt_call *layer_of(const struct options *o, const bt_value *value)
{
    const bt_call *dense = value ? bt_as_op_call(value, "nn.dense") : NULL;
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    return dense && !dense->ncheck && bt_dtype_is_float(bt_tensor_dtype(value->type)) &&
                   bt_tensor_dtype(dense->args[0]->type) ==
                       bt_tensor_dtype(value->type) &&
                   bt_tensor_static(dense->args[1]->type, &rank, dims) && rank == 2 &&
                   bt_tensor_static(dense->args[0]->type, &rank, dims) && rank == 2 &&
                   dims[0] <= o->max_rows
               ? dense
               : NULL;
}

/* Whether so many layers of the block at hand share the weight. */
static int is_shared(bt_rewrite *rewrite, const struct options *o, const bt_value *weight)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < bt_rewrite_nuse(rewrite, weight) && n < o->min_uses; i++) {
        const bt_value *use = bt_rewrite_use(rewrite, weight, i);
        const bt_call *dense = layer_of(o, use);
        n += dense && dense->args[1] == weight && bt_rewrite_is_here(rewrite, use);
    }
    return n == o->min_uses;
}

static bt_status transpose(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    const struct options *o = bt_rewrite_call(rewrite)->options;
    const bt_module *module = bt_rewrite_call(rewrite)->module;
    const bt_call *dense = layer_of(o, &call->base);
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    const bt_value *data, *weight;
    if (!dense || bt_const_tensor(bt_module_constant(module, dense->args[1])) ||
        !is_shared(rewrite, o, dense->args[1]))
        return NULL;
    BT_TRY(bt_rewrite_operand(rewrite, dense->args[0], &data));
    BT_TRY(bt_rewrite_operand(rewrite, dense->args[1], &weight));
    weight = chain_op1(&c, "transpose", "axes=[1, 0]", weight);
    const bt_value *product = chain_op2(&c, "nn.matmul", NULL, data, weight);
    if (product && product->type == call->base.type)
        *out = product;
    return c.status;
}

static const bt_rewriter rewriter = { .call_ = transpose };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "transpose-weights",
        .doc =
            "A weight that several dense layers of few rows share is transposed once.\n"
            "before\n"
            "    def @main(%x: Tensor[(1, 2), float32], %w: Tensor[(2, 2), float32]) {\n"
            "        %0 = nn.dense(%x, %w);\n"
            "        %1 = nn.dense(%0, %w);\n"
            "        %2 = nn.dense(%1, %w);\n"
            "        nn.dense(%2, %w)\n"
            "    }\n"
            "after, with common-subexpr and dead-code\n"
            "    def @main(%x: Tensor[(1, 2), float32], %w: Tensor[(2, 2), float32]) {\n"
            "        %0 = transpose(%w, axes=[1, 0]);\n"
            "        %1 = nn.matmul(%x, %0);\n"
            "        %2 = nn.matmul(%1, %0);\n"
            "        %3 = nn.matmul(%2, %0);\n"
            "        nn.matmul(%3, %0)\n"
            "    }",
        .level = 3,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_transpose_weights[] = { BT_PASSES(passes), { 0 } };
