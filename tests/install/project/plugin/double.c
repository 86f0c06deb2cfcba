/* outside.double: twice the input. */
#include <baton/op.h>

static const bt_op_input inputs[] = {
    { .name = "x", .type = "t:number[..]", .doc = "any tensor" },
    { 0 },
};
static const bt_op ops[] = {
    {
        .name = "outside.double",
        .revision = 1,
        .doc = "Twice the input.",
        .inputs = inputs,
        .formula = "y: t [..] = x[..] + x[..]",
    },
    { 0 },
};
extern const bt_table bt_outside_double[];
const bt_table bt_outside_double[] = { BT_OPS(ops), { 0 } };
