/*
 * nn.bias_add: add a vector along an axis.
 *     y[.., i, ..] = data[.., i, ..] + bias[i]
 * source  Relay, nn.bias_add
 */
#include "axis.h"

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

static bt_status build_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = axis_rank(call, 0), axis = axis_front(a->axis, rank);
    char names[BT_MAX_RANK][12];
    bt_index axes[BT_MAX_RANK];
    const bt_expr *at[BT_MAX_RANK], *pair[2];
    for (uint32_t i = 0; i < rank; i++) {
        snprintf(names[i], sizeof(names[i]), "i%u", i);
        axes[i] = (bt_index){ names[i], NULL };
        at[i] = bt_expr_name(f, names[i]);
    }
    pair[0] = bt_expr_read(f, "data", rank, at);
    pair[1] = bt_expr_read(f, "bias", 1, &at[axis]);
    bt_stage y = { "y", "t", rank, axes, bt_expr_call(f, "add", 2, pair) };
    return bt_formula_stage(f, &y);
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
        .build_formula = build_formula,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 3, 4], float32[3]\nfloat32[2, 3], float32[3] | axis=-1\n"
                     "int32[2, 3], int32[2] | axis=0\nfloat32[0, 3], float32[3]"),
            BT_FACET("layout", layout)),
    },
    { 0 },
};
const bt_table bt_ops_nn_bias_add[] = { BT_OPS(ops), { 0 } };
