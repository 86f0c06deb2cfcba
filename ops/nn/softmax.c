/*
 * nn.softmax, nn.log_softmax: normalise exponentials along one axis.
 *     nn.softmax       y[i] = exp(x[i] - max x) / sum_j exp(x[j] - max x)
 *     nn.log_softmax   y[i] = x[i] - max x - log(sum_j exp(x[j] - max x))
 * source  ONNX Softmax-13; shifted form: Blanchard, Higham, Higham 2021
 */
#include <string.h>

#include <baton/op.h>

struct attrs {
    int64_t axis;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, axis, INT, "-1", "axis to normalise along"),
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

/* What elements are computed in: as float32 where that has the digits of the result. Sums
 * and their logarithms are float64 always, for 1 + exp(-20) is not 1. */
static const char *element_name(const bt_formula_call *call)
{
    bt_dtype dtype = bt_tensor_dtype(call->args[0]);
    return dtype == BT_FLOAT64 ? "float64" : "float32";
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const char *element = element_name(call);
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_each(f, "k", 0, rank, "i#");
    bt_formula_set(f, "k", axis, "k");
    bt_formula_each(f, "line", 0, axis, "i#");
    bt_formula_each(f, "line", axis + 1, rank, "i#");
    bt_formula_item(f, "shifted", "%s(data[$i]) - m[$line]", element);
    bt_formula_add(f,
                   "m: %s[$line] = max(k: %s(data[$k]));\n"
                   "e: %s[$i] = exp($shifted);\n"
                   "s: float64[$line] = sum(k: float64(e[$k]));\n",
                   element, element, element);
    bt_formula_add(f,
                   strcmp(call->op->name, "nn.log_softmax") == 0
                       ? "y: t[$i] = t($shifted - %s(log(s[$line])))"
                       : "y: t[$i] = t(e[$i] / %s(s[$line]))",
                   element);
}

#define CASES                                                                \
    "float32[2, 3]\nfloat32[1, 5, 7] | axis=1\nfloat16[4]\nfloat64[2, 3] | " \
    "axis=0\nfloat32[0, 3]"

static const bt_layout_facet layout = { .choose = bt_layout_follow };

static const bt_op ops[] = {
    {
        .name = "nn.softmax",
        .revision = 1,
        .doc = "Exponentials along an axis, normalised to sum 1.",
        .source = "Relay, nn.softmax; ONNX Softmax-13",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(CASES), BT_FACET("layout", layout)),
    },
    {
        .name = "nn.fast_softmax",
        .revision = 1,
        .doc = "nn.softmax, where a target may trade accuracy for speed.",
        .source = "Relay, nn.fast_softmax",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(CASES), BT_FACET("layout", layout)),
    },
    {
        .name = "nn.log_softmax",
        .revision = 1,
        .doc = "The logarithm of nn.softmax, without overflow or loss.",
        .source = "Relay, nn.log_softmax; ONNX LogSoftmax-13",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(CASES), BT_FACET("layout", layout)),
    },
    { 0 },
};
const bt_table bt_ops_nn_softmax[] = { BT_OPS(ops), { 0 } };
