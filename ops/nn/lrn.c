/*
 * nn.lrn: local response normalisation across channels.
 *     y[.., c, ..] = data / (bias + alpha / size * energy) ^ beta
 *     energy       = sum(k in window of c: data[.., k, ..]^2)
 * source  Relay, nn.lrn; Krizhevsky, Sutskever, Hinton 2012
 */
#include "axis.h"

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

/* The window of c: floor((size - 1) / 2) channels before it, the rest from it on. */
static void write_read(bt_text *out, const struct attrs *a, uint32_t rank, uint32_t axis)
{
    bt_text_addf(out, "float64(data[");
    for (uint32_t i = 0; i < rank; i++) {
        if (i == axis)
            bt_text_addf(out, "%si%u + k - %lld", i ? ", " : "", i,
                         (long long)(a->size - 1) / 2);
        else
            bt_text_addf(out, "%si%u", i ? ", " : "", i);
    }
    bt_text_addf(out, "])");
}

/* The energy is float64: squares leave the range of float16. */
static bt_status write_formula(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = axis_rank(call, 0), axis = axis_front(a->axis, rank);
    (void)ctx;
    bt_text_addf(out, "s: float64[");
    for (uint32_t i = 0; i < rank; i++)
        bt_text_addf(out, "%si%u in extent(data, %u)", i ? ", " : "", i, i);
    bt_text_addf(out, "] = sum(k in %lld: ", (long long)a->size);
    write_read(out, a, rank, axis);
    bt_text_addf(out, " * ");
    write_read(out, a, rank, axis);
    bt_text_addf(
        out,
        " else 0);\ny: t[..] = t(float64(data[..]) / pow(bias + s[..] * (alpha / "
        "%lld), beta))",
        (long long)a->size);
    return out->failed ? bt_no_memory() : NULL;
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
