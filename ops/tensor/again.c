/*
 * annotation.again: the same elements, for code that is computed again.
 * Pass differentiate writes it around what annotation.checkpoint has computed again, so that no
 * pass finds it equal to what was computed before; pass drop-again takes it away where none looks
 * any more.
 * source  JAX, optimization_barrier as of jax.checkpoint
 */
#include <baton/op.h>

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "any tensor" },
    { 0 },
};

static const bt_layout_facet layout = { .choose = bt_layout_follow };

static const bt_op ops[] = {
    {
        .name = "annotation.again",
        .revision = 1,
        .doc = "The same elements, for code that is computed again and not to be merged.",
        .source = "JAX, optimization_barrier as of jax.checkpoint",
        .inputs = inputs,
        .relation = "Identity",
        .formula = "y: t[..] = data[..]",
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3]\nint8[4]\nfloat16[]"),
                                BT_FACET("layout", layout)),
    },
    { 0 },
};
const bt_table bt_ops_tensor_again[] = { BT_OPS(ops), { 0 } };
