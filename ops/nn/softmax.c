/*
 * nn.softmax, nn.log_softmax: normalise exponentials along one axis.
 *     nn.softmax       y[i] = exp(x[i] - max x) / sum_j exp(x[j] - max x)
 *     nn.log_softmax   y[i] = x[i] - max x - log(sum_j exp(x[j] - max x))
 * source  ONNX Softmax-13; shifted form: Blanchard, Higham, Higham 2021
 */
#include <string.h>

#include "axis.h"

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
    return dtype == BT_FLOAT32 || dtype == BT_FLOAT16 || dtype == BT_BFLOAT16 ? "float32"
                                                                              : "float64";
}

/* "s: float64[i0, i2] = sum(k: float64(e[i0, k, i2]));" and the like. */
static void write_reduction(bt_text *out, const char *name, const char *of,
                            const char *reducer, uint32_t rank, uint32_t axis,
                            const char *array)
{
    bt_text_addf(out, "%s: %s[", name, of);
    axis_indices_but(out, rank, axis, NULL);
    bt_text_addf(out, "] = %s(k: %s(%s[", reducer, of, array);
    axis_indices_but(out, rank, axis, "k");
    bt_text_addf(out, "]));\n");
}

static void write_read(bt_text *out, const char *array, uint32_t rank, uint32_t left_out)
{
    bt_text_addf(out, "%s[", array);
    axis_indices_but(out, rank, left_out, NULL);
    bt_text_addf(out, "]");
}

/* "float32(data[i0, i1, i2]) - m[i0, i2]" */
static void write_shifted(bt_text *out, const char *element, uint32_t rank, uint32_t axis)
{
    bt_text_addf(out, "%s(", element);
    write_read(out, "data", rank, rank);
    bt_text_addf(out, ") - ");
    write_read(out, "m", rank, axis);
}

static bt_status write_formula(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    const struct attrs *a = call->attrs;
    const char *element = element_name(call);
    uint32_t rank = axis_rank(call, 0), axis = axis_front(a->axis, rank);
    int is_log = strcmp(call->op->name, "nn.log_softmax") == 0;
    (void)ctx;
    write_reduction(out, "m", element, "max", rank, axis, "data");
    bt_text_addf(out, "e: %s[", element);
    axis_indices(out, rank);
    bt_text_addf(out, "] = exp(");
    write_shifted(out, element, rank, axis);
    bt_text_addf(out, ");\n");
    write_reduction(out, "s", "float64", "sum", rank, axis, "e");
    bt_text_addf(out, "y: t[");
    axis_indices(out, rank);
    bt_text_addf(out, "] = t(");
    if (is_log)
        write_shifted(out, element, rank, axis);
    else
        write_read(out, "e", rank, rank);
    bt_text_addf(out, is_log ? " - %s(log(" : " / %s(", element);
    write_read(out, "s", rank, axis);
    bt_text_addf(out, is_log ? ")))" : "))");
    return out->failed ? bt_no_memory() : NULL;
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
