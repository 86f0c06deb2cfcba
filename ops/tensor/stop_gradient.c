/*
 * stop_gradient: the same elements, taken for constants by derivatives.
 *     gradient of x * stop_gradient(x) by x: stop_gradient(x)
 * source  TensorFlow and JAX, stop_gradient
 */
#include <baton/op.h>

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "any tensor" },
    { 0 },
};

static const bt_gradient_facet gradient = {
    .blocked = 1u << 0,
    .instead = "nothing flows back, as is asked for",
};
static const bt_layout_facet layout = { .choose = bt_layout_follow };

static const bt_op ops[] = {
    {
        .name = "stop_gradient",
        .revision = 1,
        .doc = "The same elements, which derivatives take for constants.",
        .source = "TensorFlow, stop_gradient",
        .inputs = inputs,
        .relation = "Identity",
        .formula = "y: t[..] = data[..]",
        .facets =
            BT_FACET_ROWS(BT_CASES("float32[2, 3]\nint8[4]\nfloat16[]"),
                          BT_FACET("gradient", gradient), BT_FACET("layout", layout)),
    },
    { 0 },
};
const bt_table bt_ops_tensor_stop_gradient[] = { BT_OPS(ops), { 0 } };
