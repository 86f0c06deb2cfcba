/*
 * fold-take: a product of rows that are taken from a constant table is rows of a product.
 * So the first layer behind an embedding costs no product, and its weight is not read. The
 * table of products is computed when the program is compiled: no larger than max-bytes, by no
 * more than max-work products. Floats are summed as the reference evaluator does.
 * keeps    no invariant
 * option   max-bytes  largest table to create, default 16 MiB
 * option   max-work   products to compute for one, default 2^29
 */
#include <baton/compute.h>

#include "common/evaluate.h"
#include "common/layout.h"

struct options {
    int64_t max_bytes, max_work;
};

static const bt_attr options[] = {
    BT_ATTR_RANGE(struct options, max_bytes, INT, "16777216", 0, INT64_MAX,
                  "largest table to create"),
    BT_ATTR_RANGE(struct options, max_work, INT, "536870912", 0, INT64_MAX,
                  "products to compute for one"),
    { 0 },
};

/* The product of all rows; *out is left alone where it is too large. */
static bt_status multiply_rows(bt_rewrite *rewrite, const bt_call *dense,
                               const bt_value *table, const bt_value *weight,
                               const bt_value **out)
{
    const bt_pass_call *pass = bt_rewrite_call(rewrite);
    const struct options *o = pass->options;
    const bt_tensor *rows = bt_const_tensor(table), *columns = bt_const_tensor(weight);
    const bt_value *both[] = { table, weight }, *product;
    bt_builder *builder = bt_rewrite_builder(rewrite);
    leaf_list leaves = { 0 };
    int64_t work, nbytes = (bt_dtype_nbits(bt_tensor_dtype(dense->base.type)) + 7) / 8;
    if (!bt_mul_int64(rows->dims[0], columns->nelem, &work) || work > o->max_work ||
        !bt_mul_int64(nbytes, rows->dims[0], &nbytes) ||
        !bt_mul_int64(nbytes, columns->dims[0], &nbytes) || nbytes > o->max_bytes)
        return NULL;
    BT_TRY(bt_build_op(builder, dense->op, dense->attrs, 2, both, &product));
    BT_TRY(evaluate_leaves(pass->scratch, &rows->base, &leaves));
    BT_TRY(evaluate_leaves(pass->scratch, &columns->base, &leaves));
    return evaluate_call(builder, pass->scratch, bt_as_call(product), &leaves, out);
}

static bt_status fold_dense(bt_rewrite *rewrite, const bt_call *call,
                            const bt_value **out)
{
    const bt_module *module = bt_rewrite_call(rewrite)->module;
    const bt_call *dense = bt_as_op_call(&call->base, "nn.dense");
    const bt_value *row, *weight, *product = NULL;
    if (!dense)
        return NULL;
    BT_TRY(bt_rewrite_operand(rewrite, dense->args[0], &row));
    BT_TRY(bt_rewrite_operand(rewrite, dense->args[1], &weight));
    const bt_call *take = bt_as_op_call(row, "take");
    const bt_value *table = take ? bt_module_constant(module, take->args[0]) : NULL;
    weight = bt_module_constant(module, weight);
    if (!table || !bt_const_tensor(table) || !weight || !bt_const_tensor(weight) ||
        bt_const_tensor(table)->rank != 2 || call_axis(take, "axis", -1, 2) != 0)
        return NULL;
    BT_TRY(multiply_rows(rewrite, dense, table, weight, &product));
    const bt_value *args[] = { product, take->args[1] };
    return product ? bt_build_op(bt_rewrite_builder(rewrite), take->op, take->attrs, 2,
                                 args, out)
                   : NULL;
}

static const bt_rewriter rewriter = { .call_ = fold_dense };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "fold-take",
        .doc =
            "A product of rows that are taken from a constant table is rows of a "
            "product.\n"
            "before\n"
            "    def @main(%i: Tensor[(1), int32]) {\n"
            "        %0 = take(const[(3, 2), float32]{1, 0, 2, 1, 0, 3}, %i, axis=0);\n"
            "        nn.dense(%0, const[(2, 2), float32]{1, 2, 3, 4})\n"
            "    }\n"
            "after, with dead-code\n"
            "    def @main(%i: Tensor[(1), int32]) {\n"
            "        take(const[(3, 2), float32]{1, 3, 4, 10, 6, 12}, %i, axis=0)\n"
            "    }",
        .level = 3,
        .options = options,
        .options_nbytes = sizeof(struct options),
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_simplify_fold_take[] = { BT_PASSES(passes), { 0 } };
