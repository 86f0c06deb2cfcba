/*
 * nn.batch_norm_training: normalises by the moments of the batch, and moves the kept ones.
 *     mean, variance   of data over all axes but axis
 *     y                (data - mean) / sqrt(variance + epsilon) * gamma + beta
 *     new_mean         (1 - momentum) * moving_mean + momentum * mean
 *     new_var          likewise, of variance * n / (n - 1), n elements of each channel, where
 *                      unbiased is set, of one element 0
 * gamma counts where scale, beta where center is set. momentum is the weight of the batch, as
 * PyTorch and Relax have it; ONNX and Keras state that of the past, 1 - momentum. PyTorch's
 * moving variance is the unbiased one, ONNX's and TensorFlow's is not.
 * Pass train-mode puts it in place of nn.batch_norm, whose operands it has.
 * source  Ioffe, Szegedy 2015; PyTorch BatchNorm2d; ONNX BatchNormalization-15; StableHLO
 *         batch_norm_training
 */
#include "norm_training_adjoint.h"

static const bt_attr attrs[] = {
    BT_ATTR(struct norm_training_attrs, axis, INT, "1",
            "axis that gamma and beta lie along"),
    BT_ATTR(struct norm_training_attrs, epsilon, FLOAT, "1e-05", "added to the variance"),
    BT_ATTR(struct norm_training_attrs, center, BOOL, "True", "add beta"),
    BT_ATTR(struct norm_training_attrs, scale, BOOL, "True", "multiply by gamma"),
    BT_ATTR(struct norm_training_attrs, momentum, FLOAT, "0.1",
            "weight of the batch in the new moments"),
    BT_ATTR(struct norm_training_attrs, unbiased, BOOL, "True",
            "the new variance is an estimate: squares by n - 1, not by n"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "at least two axes" },
    { .name = "gamma", .type = "t[c]", .doc = "a factor for each element of axis" },
    { .name = "beta", .type = "t[c]", .doc = "a summand for each element of axis" },
    { .name = "moving_mean", .type = "t[c]", .doc = "means up to now" },
    { .name = "moving_var", .type = "t[c]", .doc = "variances up to now" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct norm_training_attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data, vector;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    if (data.rank < 2)
        return bt_relation_fail(s, r, 0,
                                "data has rank %u: there is no axis to take moments over",
                                data.rank);
    for (uint32_t i = 1; i < 5; i++) {
        BT_TRY(bt_relation_tensor_rank(s, r, i, 1, &vector));
        BT_TRY(bt_relation_unify(s, r, data.dims[axis], vector.dims[0],
                                 "the axis of data and the vectors"));
    }
    const bt_type *shape = bt_type_shape(store, data.rank, data.dims), *fields[3] = {
        shape ? bt_type_tensor_layout(store, shape, data.dtype, data.layout) : NULL,
        bt_relation_arg(s, r, 3),
        bt_relation_arg(s, r, 4),
    };
    const bt_type *result =
        fields[0] && fields[1] && fields[2] ? bt_type_tuple(store, 3, fields) : NULL;
    return result ? bt_relation_result(s, r, result) : bt_no_memory();
}

static void write(bt_formula *f, const bt_formula_call *call)
{
    const struct norm_training_attrs *a = call->attrs;
    const uint32_t rank = bt_formula_rank(f, call->args[0]),
                   axis = bt_formula_axis(f, a->axis, rank);
    const char *wide =
        bt_tensor_dtype(call->args[0]) == BT_FLOAT64 ? "float64" : "float32";
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_item(f, "c", "i%u", axis);
    for (uint32_t i = 0; i < rank; i++) {
        if (i == axis)
            continue;
        bt_formula_item(f, "over", "i%u", i);
        bt_formula_item(f, "count", "extent(data, %u)", i);
    }
    bt_formula_item(f, "off", "(%s(data[$i]) - centre[$c])", wide);
    bt_formula_item(f, "gamma", "%s(gamma[$c])", wide);
    bt_formula_item(f, "beta", "%s(beta[$c])", wide);
    bt_formula_item(f, "var", "squares[$c] / float64(n)");
    bt_formula_add(f,
                   "n = $[ * ]count;\n"
                   "sum_x: float64[$c] = sum($over: float64(data[$i]));\n"
                   "centre: %s[$c] = %s(sum_x[$c] / float64(n));\n"
                   "squares: float64[$c] = sum($over: float64($off * $off));\n"
                   "inverse: %s[$c] = %s(1 / sqrt($var + epsilon));\n"
                   "y: t[$i] = t($off * inverse[$c]%s%s);\n",
                   wide, wide, wide, wide, a->scale ? " * $gamma" : "",
                   a->center ? " + $beta" : "");
    bt_formula_add(
        f,
        "mean: t[$c] = t((1 - momentum) * float64(moving_mean[$c]) + momentum * "
        "float64(centre[$c]));\n"
        "variance: t[$c] = t((1 - momentum) * float64(moving_var[$c]) + momentum * "
        "($var%s)) -> y, mean, variance",
        a->unbiased ? " * (float64(n) / float64(max(n - 1, 1)))" : "");
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

// clang-format off
static const bt_op ops[] = {
    {
        .name = "nn.batch_norm_training", .revision = 1, .source = "Ioffe, Szegedy 2015; ONNX BatchNormalization-15",
        .doc = "Normalises by the means and variances of the batch.\nGives (y, new_mean, new_var), the moving moments moved toward those of the batch.",
        .inputs = inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct norm_training_attrs),
        .relate = relate, .write_formula = write,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3, 4], float32[3], float32[3], float32[3], float32[3] = 0.1..2\n"
            "float32[5, 3], float32[3], float32[3], float32[3], float32[3] = 0.1..2 | axis=-1, scale=False, momentum=0.5, unbiased=False\n"
            "float64[2, 3], float64[2], float64[2], float64[2], float64[2] = 0.1..2 | axis=0, center=False, epsilon=0.1\n"
            "float16[4, 2, 2, 3], float16[2], float16[2], float16[2], float16[2] = 0.1..2\n"
            "float32[1, 2, 5], float32[2], float32[2], float32[2], float32[2] = 0.1..2\n"
            "float32[1, 3, 1], float32[3], float32[3], float32[3], float32[3] = 0.1..2"), BT_FACET("layout", layout), BT_FACET("gradient", norm_training_gradient)),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_nn_norm_training[] = { BT_OPS(ops), { 0 } };
