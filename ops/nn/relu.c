/*
 * Rectifiers: nn.relu, nn.leaky_relu, nn.prelu.
 *     nn.relu         y = max(data, 0)
 *     nn.leaky_relu   y = data > 0 ? data : alpha * data
 *     nn.prelu        the same with an alpha for each element of `axis`
 * source  Relay's operators of the same names; Maas et al. 2013; He et al. 2015
 */
#include <baton/op.h>

static const bt_op_input number_in[] = {
    { .name = "data", .type = "t:number[..]", .doc = "any shape" },
    { 0 },
};
static const bt_op_input float_in[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape" },
    { 0 },
};
static const bt_op_input prelu_in[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape" },
    { .name = "alpha",
      .type = "t[..]",
      .doc = "a vector along axis, or of a shape that broadcasts to data's" },
    { 0 },
};

struct leaky_attrs {
    double alpha;
};
static const bt_attr leaky_attrs[] = {
    BT_ATTR(struct leaky_attrs, alpha, FLOAT, "0.25", "slope below zero"),
    { 0 },
};

struct prelu_attrs {
    int64_t axis;
};
static const bt_attr prelu_attrs[] = {
    BT_ATTR(struct prelu_attrs, axis, INT, "1", "axis that a vector alpha lies along"),
    { 0 },
};

static bt_status relate_prelu(bt_solver *s, const bt_relation_call *r)
{
    const struct prelu_attrs *a = r->attrs;
    bt_tensor_parts data, alpha;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor(s, r, 1, &alpha));
    if (alpha.rank == 1 && data.rank > 1) {
        BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
        BT_TRY(bt_relation_unify(s, r, data.dims[axis], alpha.dims[0],
                                 "the axis of data and alpha"));
        return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
    }
    if (alpha.rank > data.rank)
        return bt_relation_fail(s, r, 1, "alpha has rank %u, more than data's %u",
                                alpha.rank, data.rank);
    for (uint32_t i = 0; i < alpha.rank; i++) {
        const bt_type *own = data.dims[data.rank - alpha.rank + i], *both;
        BT_TRY(bt_relation_broadcast_dim(s, r, own, alpha.dims[i], &both));
        BT_TRY(bt_relation_unify(s, r, own, both, "dims of data and of alpha"));
    }
    return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
}

static void write_prelu(bt_formula *f, const bt_formula_call *call)
{
    const struct prelu_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_item(f, "i", "..");
    bt_formula_item(f, "alpha", "..");
    if (bt_formula_rank(f, call->args[1]) == 1 && rank >= 2) {
        bt_formula_clear(f, "i");
        bt_formula_each(f, "i", 0, rank, "i#");
        bt_formula_set(f, "alpha", 0, "i%u", bt_formula_axis(f, a->axis, rank));
    }
    bt_formula_add(f,
                   "y: t[$i] = select(data[$i] > 0, data[$i], alpha[$alpha] * data[$i])");
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

// clang-format off
static const bt_op ops[] = {
    {
        .name = "nn.relu", .revision = 1, .doc = "Zero below zero.", .source = "Relay, nn.relu",
        .inputs = number_in, .relation = "Identity", .formula = "y: t[..] = max(data[..], 0)",
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3]\nint8[5]\nfloat16[3]\nfloat32[]\nfloat32[0, 2]"),
                                BT_ALGEBRA(BT_IDEMPOTENT), BT_SCALE(BT_SCALE_POSITIVE, NULL)),
    },
    {
        .name = "nn.leaky_relu", .revision = 1, .doc = "alpha times data below zero.", .source = "Relay, nn.leaky_relu",
        .inputs = float_in, .attrs = leaky_attrs, .attrs_nbytes = sizeof(struct leaky_attrs),
        .relation = "Identity", .formula = "y: t[..] = select(data[..] > 0, data[..], data[..] * alpha)",
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3]\nfloat32[4] | alpha=0.1\nfloat64[]"),
                                BT_SCALE(BT_SCALE_POSITIVE, NULL)),
    },
    {
        .name = "nn.prelu", .revision = 1, .doc = "alpha times data below zero, an alpha for each channel.",
        .source = "Relay, nn.prelu; ONNX PRelu-16",
        .inputs = prelu_in, .attrs = prelu_attrs, .attrs_nbytes = sizeof(struct prelu_attrs),
        .relate = relate_prelu, .write_formula = write_prelu,
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3, 4], float32[3]\nfloat32[2, 3], float32[2] | axis=0\n"
                                         "float32[2, 3], float32[1, 3]\nfloat32[4], float32[1]"),
                                BT_FACET("layout", layout)),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_nn_relu[] = { BT_OPS(ops), { 0 } };
