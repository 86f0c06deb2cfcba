/*
 * nn.l2_normalize: divide by the length along axes.
 *     y = data / sqrt(max(sum over axis of data^2, eps))
 * source  Relay, nn.l2_normalize
 */
#include "axis.h"

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

/* The indices of axes that are summed over, or of those that are not. */
static void write_some(bt_text *out, uint32_t rank, uint32_t summed, int is_summed)
{
    const char *comma = "";
    for (uint32_t i = 0; i < rank; i++) {
        if ((int)(summed >> i & 1) == is_summed) {
            bt_text_addf(out, "%si%u", comma, i);
            comma = ", ";
        }
    }
}

static bt_status write_formula(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = axis_rank(call, 0), summed = 0;
    (void)ctx;
    for (uint32_t i = 0; i < rank && a->axis.n == BT_NONE_LIST; i++)
        summed |= 1u << i;
    for (int64_t i = 0; i < a->axis.n; i++)
        summed |= 1u << axis_front(a->axis.at[i], rank);
    bt_text_addf(out, "s: float64[");
    write_some(out, rank, summed, 0);
    bt_text_addf(out, summed ? "] = sum(" : "] = ");
    write_some(out, rank, summed, 1);
    for (int i = 0; i < 2; i++) {
        bt_text_addf(out, i        ? " * float64(data["
                          : summed ? ": float64(data["
                                   : "float64(data[");
        axis_indices(out, rank);
        bt_text_addf(out, "])");
    }
    bt_text_addf(out, summed ? ");\ny: t[" : ";\ny: t[");
    axis_indices(out, rank);
    bt_text_addf(out, "] = t(float64(data[");
    axis_indices(out, rank);
    bt_text_addf(out, "]) / sqrt(max(s[");
    write_some(out, rank, summed, 0);
    bt_text_addf(out, "], eps)))");
    return out->failed ? bt_no_memory() : NULL;
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
