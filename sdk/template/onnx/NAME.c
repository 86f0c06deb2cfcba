/*
 * @name@: operators that ONNX models use beyond the standard, by calls of Baton's operators.
 * <baton/onnx.h> has what a row may say, and what a conversion may ask and build.
 */
#include <baton/onnx.h>

/* Scaled(x; factor = 2): x times a number. */
static void scaled(bt_onnx_node *n)
{
    const bt_value *x = n->tools->input(n, 0);
    const bt_value *factor = n->tools->number(n, x, n->tools->get_float(n, "factor", 2));
    const bt_value *both[2] = { x, factor };
    n->tools->give(n, 0, n->tools->call(n, "multiply", NULL, 2, both));
}

/* The first is a call of one operator, with the node's inputs and its attributes, which have the same names. */
static const bt_onnx_operator operators[] = {
    { .name = "com.example.Leaky-1", .arg = "nn.leaky_relu" },
    { .name = "com.example.Scaled-1", .convert = scaled },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_ONNX_OPERATORS(operators), { 0 } };
