/*
 * nn.group_norm: normalise each group of channels of each sample by its own moments.
 *     y = (data - mean) / sqrt(variance + epsilon) * gamma + beta
 * gamma counts where scale, beta where center is set; axis 0 is that of samples, unless
 * it is that of channels.
 * source  Relay, nn.group_norm; Wu, He 2018
 */
#include <baton/op.h>

struct attrs {
    int64_t num_groups, axis;
    double epsilon;
    int64_t center, scale;
};
static const bt_attr attrs[] = {
    BT_ATTR_RANGE(struct attrs, num_groups, INT, NULL, 1, INT32_MAX,
                  "channels are split into this many"),
    BT_ATTR(struct attrs, axis, INT, "1", "axis of channels"),
    BT_ATTR(struct attrs, epsilon, FLOAT, "1e-05", "added to the variance"),
    BT_ATTR(struct attrs, center, BOOL, "True", "add beta"),
    BT_ATTR(struct attrs, scale, BOOL, "True", "multiply by gamma"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "at least one axis" },
    { .name = "gamma", .type = "t[c]", .doc = "a factor for each channel" },
    { .name = "beta", .type = "t[c]", .doc = "a summand for each channel" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data, vector;
    const bt_type *channels, *groups = bt_dim(bt_relation_store(s), a->num_groups);
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    for (uint32_t i = 1; i < r->narg; i++) {
        BT_TRY(bt_relation_tensor_rank(s, r, i, 1, &vector));
        BT_TRY(bt_relation_unify(s, r, data.dims[axis], vector.dims[0],
                                 "the axis of data and the vectors"));
    }
    if (!groups)
        return bt_no_memory();
    BT_TRY(bt_relation_dim(s, r, data.dims[axis], &channels));
    BT_TRY(bt_relation_require(s, r, BT_CHECK_DIVISIBLE, channels, groups,
                               "channels and num_groups"));
    return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_each(f, "at", 0, rank, "i#");
    bt_formula_set(f, "at", axis, "g*size + k"); // channel k of group g
    bt_formula_each(f, "sample", 0, axis ? 1 : 0, "i#");
    bt_formula_item(f, "k", "k in size");
    bt_formula_item(f, "count", "size");
    for (uint32_t i = 1; i < rank; i++) {
        if (i == axis)
            continue;
        bt_formula_item(f, "k", "i%u", i);
        bt_formula_item(f, "count", "extent(data, %u)", i);
    }
    bt_formula_item(f, "off", "(float64(data[$at]) - mean[$sample, g])");
    bt_formula_add(
        f,
        "size = floordiv(extent(data, %u), num_groups);\n"
        "mean: float64[$sample, g in num_groups] = sum($k: (float64(data[$at]))) "
        "/ float64($[ * ]count);\n"
        "variance: float64[$sample, g in num_groups] = sum($k: $off * $off) "
        "/ float64($[ * ]count);\n"
        "y: t[$i] = t((float64(data[$i]) - mean[$sample, floordiv(i%u, size)]) / "
        "sqrt(variance[$sample, floordiv(i%u, size)] + epsilon))",
        axis, axis, axis);
    if (a->scale)
        bt_formula_add(f, " * gamma[i%u]", axis);
    if (a->center)
        bt_formula_add(f, " + beta[i%u]", axis);
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

static const bt_op ops[] = {
    {
        .name = "nn.group_norm",
        .revision = 1,
        .doc = "Normalises each group of channels of each sample by its own moments.",
        .source = "Relay, nn.group_norm; Wu, He 2018",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(
            BT_CASES(
                "float32[2, 6, 4, 5], float32[6], float32[6] | num_groups=3\n"
                "float32[2, 3, 4], float32[4], float32[4] | num_groups=2, axis=-1, "
                "center=False\n"
                "float64[6, 3], float64[6], float64[6] | num_groups=2, axis=0, "
                "scale=False, "
                "epsilon=0.01\nfloat32[2, 4], float32[4], float32[4] | num_groups=1"),
            BT_FACET("layout", layout)),
    },
    { 0 },
};
const bt_table bt_ops_nn_group_norm[] = { BT_OPS(ops), { 0 } };
