/*
 * annotation.checkpoint: what gives the value is computed again by derivatives.
 *     annotation.checkpoint(@f(%x))      the way back keeps %x, and nothing of @f
 * It is the value itself. Pass outline-checkpoints reads it.
 * source  Relay, annotation.checkpoint; T. Chen et al., "Training Deep Nets with Sublinear Memory
 *         Cost", 2016
 */
#include <baton/op.h>

static const bt_op_input any[] = {
    { .name = "value", .type = "?", .doc = "the result of a call or a branch" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    return bt_relation_result(s, r, bt_relation_arg(s, r, 0));
}

static bt_status eval(bt_ctx *ctx, const bt_eval_call *call)
{
    (void)ctx;
    for (uint32_t i = 0; i < call->nout; i++)
        call->out[i] = bt_tensor_ref(call->in[i]);
    return NULL;
}

static const bt_op ops[] = {
    {
        .name = "annotation.checkpoint",
        .revision = 1,
        .doc = "The value, which derivatives compute again.\n"
               "Of the call or the branch that gives it they keep the arguments alone, and "
               "run it a second time on the way back.",
        .source = "Relay, annotation.checkpoint",
        .inputs = any,
        .relate = relate,
        .eval = eval,
    },
    { 0 },
};
const bt_table bt_ops_function_checkpoint[] = { BT_OPS(ops), { 0 } };
