/*
 * nn.l2_normalize: divide by the length along axes.
 *     y = data / sqrt(max(sum over axis of data^2, eps))
 * source  Relay, nn.l2_normalize
 */
#include <baton/op.h>

struct attrs {
    double eps;
    bt_ints axis;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, eps, FLOAT, NULL, "least sum of squares to divide by"),
    BT_ATTR(struct attrs, axis, INTS, "None", "axes to sum along; None: all"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data;
    uint32_t axis, seen = 0;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    for (int64_t i = 0; i < a->axis.n; i++) {
        BT_TRY(bt_relation_axis(s, r, "axis", a->axis.at[i], data.rank, &axis));
        if (seen & 1u << axis)
            return bt_relation_fail(s, r, -1, "axis names %u twice", axis);
        seen |= 1u << axis;
    }
    return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]), summed = 0;
    for (uint32_t i = 0; i < rank && a->axis.n == BT_NONE_LIST; i++)
        summed |= 1u << i;
    for (int64_t i = 0; i < a->axis.n; i++)
        summed |= 1u << bt_formula_axis(f, a->axis.at[i], rank);
    bt_formula_clear(f, "kept");
    for (uint32_t i = 0; i < rank; i++)
        bt_formula_item(f, summed >> i & 1 ? "over" : "kept", "i%u", i);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_item(f, "square", "float64(data[$i]) * float64(data[$i])");
    bt_formula_add(f, summed ? "s: float64[$kept] = sum($over: $square);\n"
                             : "s: float64[$kept] = $square;\n");
    bt_formula_add(f, "y: t[$i] = t(float64(data[$i]) / sqrt(max(s[$kept], eps)))");
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

static const bt_op ops[] = {
    {
        .name = "nn.l2_normalize",
        .revision = 1,
        .doc = "Divides by the length along axes.",
        .source = "Relay, nn.l2_normalize",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 3, 4] | eps=1e-12, axis=[1]\nfloat32[2, 3] | eps=0.1\n"
                     "float64[2, 3, 4] | eps=0.5, axis=[0, -1]\nfloat16[4] | eps=1e-05, "
                     "axis=[]\n"
                     "float32[] | eps=1e-05"),
            BT_FACET("layout", layout)),
    },
    { 0 },
};
const bt_table bt_ops_nn_l2_normalize[] = { BT_OPS(ops), { 0 } };
