/*
 * qnn.softmax: normalised exponentials of what codes stand for, as codes.
 *     y = limited(round_even(e / sum(e) / output_scale) + output_zero_point)
 *     e = exp((data - max data) * scale)
 * The difference of codes is exact; what follows is computed in float64, the quotient is
 * rounded to float32 and so divided by output_scale.
 * source  Relay, qnn.softmax
 */
#include "codes.h"
#include "scale.h"

struct attrs {
    int64_t axis;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, axis, INT, "-1", "axis to normalise"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:" CODES "[..]", .doc = "codes; at least one axis" },
    { .name = "scale", .type = "float32[]", .doc = "their scale: " SCALE_DOC },
    { .name = "zero_point", .type = "integer[]", .doc = "their zero: of no effect" },
    { .name = "output_scale", .type = "float32[]", .doc = "of the result" },
    { .name = "output_zero_point", .type = "integer[]", .doc = "of the result" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    return bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_each(f, "of", 0, rank, "i#");
    bt_formula_set(f, "of", axis, "k");
    bt_formula_each(f, "line", 0, axis, "i# in extent(data, #)");
    bt_formula_each(f, "line", axis + 1, rank, "i# in extent(data, #)");
    bt_formula_each(f, "at", 0, axis, "i#");
    bt_formula_each(f, "at", axis + 1, rank, "i#");
    bt_formula_add(f,
                   "most: t[$line] = max(k in extent(data, %u): data[$of]);\n"
                   "e: float64[$i] = exp(float64(int64(data[$i]) - int64(most[$at])) * "
                   "float64(scale[]));\n"
                   "total: float64[$line] = sum(k in extent(data, %u): e[$of]);\n"
                   "v: float32[$i] = float32(e[$i] / total[$at]) / output_scale[];\n",
                   axis, axis);
    write_codes(f, "TOEVEN", "float32", "v[$i]", "int32(output_zero_point[])",
                bt_tensor_dtype(call->args[0]));
}

// clang-format off
static const bt_op ops[] = {
    {
        .name = "qnn.softmax", .revision = 1, .source = "Relay, qnn.softmax",
        .doc = "Normalised exponentials of what codes stand for, as codes.",
        .inputs = inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs),
        .relation = "Identity", .relate = relate, .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(
            "int8[2, 5], float32[] = 0.05, int32[] = 3, float32[] = 0.00390625, int32[] = -128\n"
            "uint8[3, 2, 4], float32[] = 0.02, uint8[] = 5, float32[] = 0.004, uint8[] = 0 | axis=1\n"
            "uint8[4], float32[] = 0.1, uint8[] = 128, float32[] = 0.004, uint8[] = 0 | axis=0")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_quant_softmax[] = { BT_OPS(ops), { 0 } };
