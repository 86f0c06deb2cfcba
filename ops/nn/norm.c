/*
 * Normalisations: nn.batch_norm, nn.layer_norm, nn.instance_norm.
 *     nn.batch_norm      y = (data - moving_mean) / sqrt(moving_var + epsilon) * gamma
 *                            + beta, along axis; gives (y, moving_mean, moving_var)
 *     nn.layer_norm      moments over axis
 *     nn.instance_norm   moments over all axes but the first and axis
 * gamma counts where scale, beta where center is set.
 * source  Relay's operators of the same names; Ioffe, Szegedy 2015; Ba et al. 2016;
 *         Ulyanov et al. 2016
 */
#include <string.h>

#include <baton/op.h>

struct attrs {
    int64_t axis;
    double epsilon;
    int64_t center, scale;
};
#define NORM_ATTRS(axis_)                                                              \
    {                                                                                  \
        BT_ATTR(struct attrs, axis, INT, axis_, "axis that gamma and beta lie along"), \
            BT_ATTR(struct attrs, epsilon, FLOAT, "1e-05", "added to the variance"),   \
            BT_ATTR(struct attrs, center, BOOL, "True", "add beta"),                   \
            BT_ATTR(struct attrs, scale, BOOL, "True", "multiply by gamma"), { 0 },    \
    }
static const bt_attr front_attrs[] = NORM_ATTRS("1");
static const bt_attr back_attrs[] = NORM_ATTRS("-1");

static const bt_op_input batch_inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "at least one axis" },
    { .name = "gamma", .type = "t[c]", .doc = "a factor for each element of axis" },
    { .name = "beta", .type = "t[c]", .doc = "a summand for each element of axis" },
    { .name = "moving_mean", .type = "t[c]", .doc = "means" },
    { .name = "moving_var", .type = "t[c]", .doc = "variances" },
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "at least one axis" },
    { .name = "gamma", .type = "t[c]", .doc = "a factor for each element of axis" },
    { .name = "beta", .type = "t[c]", .doc = "a summand for each element of axis" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data, vector;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    for (uint32_t i = 1; i < r->narg; i++) {
        BT_TRY(bt_relation_tensor_rank(s, r, i, 1, &vector));
        BT_TRY(bt_relation_unify(s, r, data.dims[axis], vector.dims[0],
                                 "the axis of data and the vectors"));
    }
    return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
}

static bt_status relate_batch(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data, vector;
    const bt_type *fields[3], *shape;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    for (uint32_t i = 1; i < 5; i++) {
        BT_TRY(bt_relation_tensor_rank(s, r, i, 1, &vector));
        BT_TRY(bt_relation_unify(s, r, data.dims[axis], vector.dims[0],
                                 "the axis of data and the vectors"));
    }
    shape = bt_type_shape(store, data.rank, data.dims);
    fields[0] =
        shape ? bt_type_tensor_layout(store, shape, data.dtype, data.layout) : NULL;
    fields[1] = bt_relation_arg(s, r, 3);
    fields[2] = bt_relation_arg(s, r, 4);
    const bt_type *result =
        fields[0] && fields[1] && fields[2] ? bt_type_tuple(store, 3, fields) : NULL;
    return result ? bt_relation_result(s, r, result) : bt_no_memory();
}

/* "* gamma[i1] + beta[i1]" */
static void write_affine(bt_formula *f, const struct attrs *a, uint32_t axis)
{
    if (a->scale)
        bt_formula_add(f, " * gamma[i%u]", axis);
    if (a->center)
        bt_formula_add(f, " + beta[i%u]", axis);
}

static void write_batch(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_add(f,
                   "y: t[$i] = (data[$i] - moving_mean[i%u]) / sqrt(moving_var[i%u] + "
                   "epsilon)",
                   axis, axis);
    write_affine(f, a, axis);
    bt_formula_add(f, ";\nmean: t[c] = moving_mean[c];\nvariance: t[c] = moving_var[c] "
                      "-> y, mean, variance");
}

/* Whether moments are taken over an axis. */
static int is_reduced(const bt_op *op, uint32_t i, uint32_t axis)
{
    return strcmp(op->name, "nn.layer_norm") == 0 ? i == axis : i != 0 && i != axis;
}

static void write_moments(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]), nreduced = 0;
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_clear(f, "kept");
    for (uint32_t i = 0; i < rank; i++) {
        int reduced = is_reduced(call->op, i, axis);
        bt_formula_item(f, reduced ? "over" : "kept", "i%u", i);
        if (reduced)
            bt_formula_item(f, "count", "extent(data, %u)", i);
        nreduced += (uint32_t)reduced;
    }
    if (nreduced == 0)
        bt_formula_fail(f, BT_ERR_UNSUPPORTED,
                        "data of rank %u has no axis to take moments over", rank);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_item(f, "off", "(float64(data[$i]) - mean[$kept])");
    bt_formula_add(f, "mean: float64[$kept] = sum($over: float64(data[$i])) / "
                      "float64($[ * ]count);\n"
                      "variance: float64[$kept] = sum($over: $off * $off) / "
                      "float64($[ * ]count);\n"
                      "y: t[$i] = t($off / sqrt(variance[$kept] + epsilon))");
    write_affine(f, a, axis);
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

// clang-format off
static const bt_op ops[] = {
    {
        .name = "nn.batch_norm", .revision = 1, .source = "Relay, nn.batch_norm; Ioffe, Szegedy 2015",
        .doc = "Normalises by given means and variances.\nGives (y, moving_mean, moving_var), as at inference.",
        .inputs = batch_inputs, .attrs = front_attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_batch, .write_formula = write_batch,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3, 4], float32[3], float32[3], float32[3], float32[3] = 0.1..2\n"
            "float32[2, 3], float32[3], float32[3], float32[3], float32[3] = 0.1..2 | axis=-1, scale=False\n"
            "float64[2, 3], float64[2], float64[2], float64[2], float64[2] = 0.1..2 | axis=0, center=False, epsilon=0.1"), BT_FACET("layout", layout)),
    },
    {
        .name = "nn.layer_norm", .revision = 1, .source = "Relay, nn.layer_norm; Ba, Kiros, Hinton 2016",
        .doc = "Normalises by the moments along an axis.",
        .inputs = inputs, .attrs = back_attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_moments,
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 5], float32[5], float32[5]\n"
                                         "float32[2, 3, 4], float32[3], float32[3] | axis=1, scale=False"), BT_FACET("layout", layout)),
    },
    {
        .name = "nn.instance_norm", .revision = 1, .source = "Relay, nn.instance_norm; Ulyanov et al. 2016",
        .doc = "Normalises each channel of each sample by its own moments.",
        .inputs = inputs, .attrs = front_attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_moments,
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3, 4, 5], float32[3], float32[3]\n"
                                         "float32[2, 4, 3], float32[3], float32[3] | axis=2, epsilon=0.01"), BT_FACET("layout", layout)),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_nn_norm[] = { BT_OPS(ops), { 0 } };
