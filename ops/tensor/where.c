/*
 * where, clip: elements chosen, or limited.
 *     where(c, x, y)               y[..] = c[..] ? x[..] : y[..]
 *     clip(x, a_min=0, a_max=6)    y[..] = x[..] limited to 0..6
 * source  Relay, operators of the same names
 */
#include "formula.h"

/* ---- where ---- */

static void write_where(bt_formula *f, const bt_formula_call *call)
{
    bt_formula_add(f, bt_tensor_dtype(call->args[0]) == BT_BOOL
                          ? "r: t[..] = select(condition[..], x[..], y[..])"
                          : "r: t[..] = select(condition[..] != c(0), x[..], y[..])");
}

static const bt_op_input where_in[] = {
    { .name = "condition", .type = "c[..]", .doc = "truth values, or numbers: not 0" },
    { .name = "x", .type = "t:any[..]", .doc = "elements where condition holds" },
    { .name = "y", .type = "t[..]", .doc = "elements elsewhere; the dtype of x" },
    { 0 },
};

/* ---- clip ---- */

struct clip_attrs {
    double a_min, a_max;
};
static const bt_attr clip_attrs[] = {
    BT_ATTR(struct clip_attrs, a_min, FLOAT, NULL, "least value of the result"),
    BT_ATTR(struct clip_attrs, a_max, FLOAT, NULL, "greatest value of the result"),
    { 0 },
};
static const bt_op_input clip_in[] = {
    { .name = "data", .type = "t:number[..]", .doc = "numbers" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "where",
        .revision = 1,
        .doc = "Chooses between two tensors, element by element.\n"
               "The three shapes broadcast.",
        .source = "Relay, where; ONNX Where-16",
        .inputs = where_in,
        .relation = "Where",
        .write_formula = write_where,
        .facets = BT_FACET_ROWS(
            BT_CASES("bool[2, 3], float32[2, 3], float32[2, 3]\nbool[3], float32[2, 1], "
                     "float32[]\n"
                     "int32[2, 3] = 0..1, int8[2, 3], int8[3]\nbool[], bool[], bool[]\n"
                     "bool[0], float64[0], float64[1]")),
    },
    {
        .name = "clip",
        .revision = 1,
        .doc = "Limits elements to a range.\nBounds are cast to the dtype of data; NaN "
               "stays.",
        .source = "Relay, clip",
        .inputs = clip_in,
        .attrs = clip_attrs,
        .attrs_nbytes = sizeof(struct clip_attrs),
        .relation = "Identity",
        .formula = "y: t[..] = clamp(data[..], t(a_min), t(a_max))",
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3] | a_min=-0.5f, a_max=0.5f\nint8[4] | a_min=-3, a_max=100\n"
            "uint8[4] | a_min=-3, a_max=6\nfloat64[] | a_min=0, a_max=6\n"
            "float16[0] | a_min=0, a_max=1")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_where[] = { BT_OPS(ops), { 0 } };
