/*
 * @name@: what it computes, in one line.
 *     y = data * sigmoid(beta * data)
 * source  the paper or standard
 */
#include <baton/op.h>

/* Members in the order of the rows below, 8 bytes each. */
struct attrs {
    double beta;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, beta, FLOAT, "1", "steepness of the sigmoid"),
    { 0 },
};

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape" },
    { 0 },
};

/* The type relation follows from inputs and formula; see <baton/op.h> for relations of one's own, hooks that write the
 * formula, and operators in plain C. */
static const bt_op ops[] = {
    {
        .name = "@name@",
        .revision = 1,
        .doc = "data times the sigmoid of beta times data.",
        .source = "Ramachandran, Zoph, Le 2017",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .formula = "y: t[..] = data[..] * sigmoid(beta * data[..])",
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3]\nfloat32[4] | beta=2\nfloat64[]\nfloat32[0]")),
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_OPS(ops), { 0 } };
