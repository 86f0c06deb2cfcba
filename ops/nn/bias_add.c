/*
 * nn.bias_add: add a vector along an axis.
 *     y[.., i, ..] = data[.., i, ..] + bias[i]
 * source  Relay, nn.bias_add
 */
#include <baton/op.h>

#include <stdio.h>

struct attrs {
    int64_t axis;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, axis, INT, "1", "axis that bias lies along"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:number[..]", .doc = "at least one axis" },
    { .name = "bias", .type = "t[n]", .doc = "one number for each element of axis" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data, bias;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, 1, &bias));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    BT_TRY(bt_relation_unify(s, r, data.dims[axis], bias.dims[0],
                             "the axis of data and bias"));
    return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_add(f, "y: t[$i] = data[$i] + bias[i%u]",
                   bt_formula_axis(f, a->axis, rank));
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

static const bt_op ops[] = {
    {
        .name = "nn.bias_add",
        .revision = 1,
        .doc = "Adds a vector along an axis.",
        .source = "Relay, nn.bias_add",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 3, 4], float32[3]\nfloat32[2, 3], float32[3] | axis=-1\n"
                     "int32[2, 3], int32[2] | axis=0\nfloat32[0, 3], float32[3]"),
            BT_FACET("layout", layout)),
    },
    { 0 },
};
const bt_table bt_ops_nn_bias_add[] = { BT_OPS(ops), { 0 } };
