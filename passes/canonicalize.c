/*
 * canonicalize: one form for what has several.
 *     before
 *         def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3), float32]) {
 *             nn.bias_add(%x, %b)
 *         }
 *     after
 *         def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3), float32]) {
 *             add(%x, expand_dims(%b, axis=1, num_newaxis=2))
 *         }
 * Constants stand at the right of commutative operators; a field of a tuple that is in
 * sight is the field. What is checked at run time stays as it is.
 * keeps    no invariant
 * source   Relay's CanonicalizeOps
 */
#include <string.h>

#include "chain.h"

static bt_status bias_add(bt_rewrite *rewrite, const bt_call *call,
                          const bt_value *const *args, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    uint32_t rank = type_rank(args[0]->type);
    if (rank == 0)
        return NULL;
    const bt_value *bias =
        chain_along(&c, args[1], rank, call_axis(call, "axis", 1, rank));
    const bt_value *sum = chain_op2(&c, "add", NULL, args[0], bias);
    if (!c.status)
        *out = sum;
    return c.status;
}

static bt_status swap_const(bt_rewrite *rewrite, const bt_call *call,
                            const bt_value *const *args, const bt_value **out)
{
    struct chain c = { .builder = bt_rewrite_builder(rewrite) };
    if (args[0]->kind != BT_VALUE_CONST || args[1]->kind == BT_VALUE_CONST)
        return NULL;
    const bt_value *swapped = chain_op2(&c, call->op->name, NULL, args[1], args[0]);
    if (!c.status)
        *out = swapped;
    return c.status;
}

static const struct form {
    const char *op;
    bt_status (*rewrite)(bt_rewrite *, const bt_call *, const bt_value *const *args,
                         const bt_value **out);
} forms[] = {
    { "nn.bias_add", bias_add },  { "add", swap_const },
    { "multiply", swap_const },   { "maximum", swap_const },
    { "minimum", swap_const },    { "logical_and", swap_const },
    { "logical_or", swap_const }, { "bitwise_and", swap_const },
    { "equal", swap_const },      { "not_equal", swap_const },
    { "bitwise_or", swap_const }, { "bitwise_xor", swap_const },
};

static bt_status rewrite_call(bt_rewrite *rewrite, const bt_call *call,
                              const bt_value **out)
{
    const bt_value *args[2];
    for (uint32_t i = 0; i < BT_COUNT(forms); i++) {
        if (call->callee_kind != BT_CALLEE_OP || call->ncheck || call->narg != 2 ||
            strcmp(call->op->name, forms[i].op) != 0)
            continue;
        BT_TRY(bt_rewrite_operand(rewrite, call->args[0], &args[0]));
        BT_TRY(bt_rewrite_operand(rewrite, call->args[1], &args[1]));
        return forms[i].rewrite(rewrite, call, args, out);
    }
    return NULL;
}

static const bt_rewriter rewriter = { .call_ = rewrite_call, .proj_ = rewrite_proj };

static bt_status run(bt_ctx *ctx, bt_pass_call *call, bt_module **out)
{
    return bt_rewrite_module(ctx, call, &rewriter, NULL, out);
}

static const bt_pass passes[] = {
    {
        .name = "canonicalize",
        .doc = "One form for what has several.\n"
               "before\n"
               "    def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3), "
               "float32]) {\n"
               "        nn.bias_add(%x, %b)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3), "
               "float32]) {\n"
               "        add(%x, expand_dims(%b, axis=1, num_newaxis=2))\n"
               "    }",
        .level = 1,
        .run = run,
    },
    { 0 },
};

const bt_table bt_passes_canonicalize[] = { BT_PASSES(passes), { 0 } };
