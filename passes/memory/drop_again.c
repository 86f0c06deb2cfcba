/*
 * drop-again: marks of what is computed again go.
 *     %0 = annotation.again(%x);  tanh(%0)   ->   tanh(%x)
 * They keep passes from finding it equal to what was computed before; this stands behind the last
 * of these.
 * keeps    every invariant
 */
#include <baton/pass.h>

static bt_status drop(bt_rewrite *rewrite, const bt_call *call, const bt_value **out)
{
    return bt_as_op_call(&call->base, "annotation.again")
               ? bt_rewrite_operand(rewrite, call->args[0], out)
               : NULL;
}

static const bt_rewriter rewriter = { .call_ = drop };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "drop-again",
        .doc = "Marks of what is computed again go.\n"
               "before\n"
               "    def @main(%x: float32) {\n"
               "        %0 = annotation.again(%x);\n"
               "        tanh(%0)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: float32) { tanh(%x) }",
        .level = 0,
        .keeps = "*",
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_memory_drop_again[] = { BT_PASSES(passes), { 0 } };
