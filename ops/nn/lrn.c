/*
 * nn.lrn: local response normalisation across channels.
 *     y[.., c, ..] = data / (bias + alpha / size * energy) ^ beta
 *     energy       = sum(k in window of c: data[.., k, ..]^2)
 * source  Relay, nn.lrn; Krizhevsky, Sutskever, Hinton 2012
 */
#include <baton/op.h>

struct attrs {
    int64_t size, axis;
    double bias, alpha, beta;
};
static const bt_attr attrs[] = {
    BT_ATTR_RANGE(struct attrs, size, INT, "5", 1, INT32_MAX, "width of the window"),
    BT_ATTR(struct attrs, axis, INT, "1", "axis of channels"),
    BT_ATTR(struct attrs, bias, FLOAT, "2", "added to the scaled sum"),
    BT_ATTR(struct attrs, alpha, FLOAT, "0.0001", "scale of the sum, divided by size"),
    BT_ATTR(struct attrs, beta, FLOAT, "0.75", "exponent"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "at least one axis" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
}

/* The window of c: floor((size - 1) / 2) channels before it, the rest from it on. The
 * energy is float64: squares leave the range of float16. */
static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "y", 0, rank, "i# in extent(data, #)");
    bt_formula_each(f, "at", 0, rank, "i#");
    bt_formula_set(f, "at", axis, "i%u + k - %lld", axis, (long long)(a->size - 1) / 2);
    bt_formula_add(f,
                   "s: float64[$y] = sum(k in %lld: float64(data[$at]) * "
                   "float64(data[$at]) else 0);\n"
                   "y: t[..] = t(float64(data[..]) / pow(bias + s[..] * (alpha / %lld), "
                   "beta))",
                   (long long)a->size, (long long)a->size);
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

static const bt_op ops[] = {
    {
        .name = "nn.lrn",
        .revision = 1,
        .doc = "Divides by the energy of neighbouring channels.",
        .source = "Relay, nn.lrn; Krizhevsky et al. 2012",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets =
            BT_FACET_ROWS(BT_CASES("float32[1, 7, 3, 2]\nfloat32[2, 5] | size=3, "
                                   "alpha=0.1, beta=0.5, bias=1\n"
                                   "float32[2, 3, 6] | axis=-1, size=2, alpha=0.01"),
                          BT_FACET("layout", layout)),
    },
    { 0 },
};
const bt_table bt_ops_nn_lrn[] = { BT_OPS(ops), { 0 } };
