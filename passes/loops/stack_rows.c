/*
 * stack-rows: a tensor of which every row is put in its place is a stack of the rows.
 * What the tensor held before does not matter. So a loop that fills one row by row, once
 * it is unrolled, is computed without the tensors between.
 * keeps    no invariant
 */
#include <string.h>

#include "common/chain.h"

enum { MAX_ROWS = 256 };

/* Of a call that puts one row in its place, which row that is; -1: another call, or that is
 * not known. */
static int64_t row_of(bt_rewrite *rewrite, const bt_call *put, int64_t nrow)
{
    if (!put || put->ncheck || strcmp(bt_call_text(put, "mode"), "update") != 0)
        return -1;
    const bt_tensor *at = bt_const_tensor(
        bt_module_constant(bt_rewrite_call(rewrite)->module, put->args[1]));
    if (!at || at->rank != 1 || at->nelem != 1)
        return -1;
    const int64_t row = bt_tensor_get_int(at, 0);
    return row < -nrow || row >= nrow ? -1 : row < 0 ? row + nrow : row;
}

/* Rows that are put in their places one after the other, until all are, are a stack: what
 * was there before does not matter. */
static bt_status stack(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    const bt_value *rows[MAX_ROWS] = { 0 }, *tuple;
    const bt_call *put = bt_as_op_call(&call->base, "scatter_nd");
    const bt_shape_type *shape = put ? bt_tensor_shape(call->base.type) : NULL;
    int64_t nrow = 0, nleft, row;
    if (!shape || !shape->n || bt_type_layout(call->base.type) ||
        !bt_dim_is_const(shape->dims[0], &nrow) || nrow < 1 || nrow > MAX_ROWS)
        return NULL;
    nleft = nrow;
    for (uint32_t i = 0; i < 2 * MAX_ROWS && nleft; i++) {
        row = row_of(rewrite, put, nrow);
        if (row < 0)
            return NULL;
        nleft -= !rows[row];
        if (!rows[row])
            rows[row] = put->args[2];
        put = bt_as_op_call(put->args[0], "scatter_nd");
    }
    if (nleft)
        return NULL;
    for (uint32_t i = 0; i < nrow; i++)
        BT_TRY(bt_rewrite_operand(rewrite, rows[i], &rows[i]));
    struct chain chain = { .builder = bt_rewrite_builder(rewrite) };
    BT_TRY(bt_build_tuple(chain.builder, (uint32_t)nrow, rows, &tuple));
    *out = chain_op1(&chain, "stack", "axis=0", tuple);
    return chain.status;
}

static const bt_rewriter rewriter = { .call_ = stack };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "stack-rows",
        .doc = "A tensor of which every row is put in its place is a stack of the rows.\n"
               "before\n"
               "    def @main(%x: Tensor[(2, 3), float32], %a: Tensor[(3), float32], %b: "
               "Tensor[(3), float32]) {\n"
               "        %0 = scatter_nd(%x, const[(1), int64]{0}, %a);\n"
               "        scatter_nd(%0, const[(1), int64]{1}, %b)\n"
               "    }\n"
               "after, with dead-code\n"
               "    def @main(%x: Tensor[(2, 3), float32], %a: Tensor[(3), float32], %b: "
               "Tensor[(3), float32]) {\n"
               "        %0 = (%a, %b);\n"
               "        stack(%0)\n"
               "    }",
        .level = 2,
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_loops_stack_rows[] = { BT_PASSES(passes), { 0 } };
