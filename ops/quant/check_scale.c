/*
 * qnn.check_scale: scales as they are, where all are above 0 and finite; else it fails.
 *     y = data
 * Operators on codes take any scale: of 0, infinity or NaN they give the codes that the
 * quotient by it has. Of scales that a program is given, and nobody has looked at, this makes
 * an error. A formula can fail in one way only: an index out of bounds. So a scale is read at
 * index 0 of an axis of extent 1 where it is valid, and at index 1 where it is not; the array's
 * name is what the error shows.
 * data      any shape
 */
#include <baton/op.h>

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "scales" },
    { 0 },
};

static void write(bt_formula *f, const bt_formula_call *call)
{
    const uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_each(f, "all", 0, rank, "i# in extent(data, #)");
    bt_formula_add(f, "at: int32[$all] = select(data[$i] > 0 && data[$i] < inf, 0, 1);\n"
                      "scales_above_0_and_finite: t[k in 1, $all] = data[$i];\n"
                      "y: t[$all] = scales_above_0_and_finite[wrap(at[$i], 1), $i]");
}

static const bt_fuse_facet fuse = { BT_FUSE_OPAQUE };

// clang-format off
static const bt_op ops[] = {
    {
        .name = "qnn.check_scale", .revision = 1,
        .doc = "Scales as they are; it fails where one is 0, below 0, infinite or NaN.",
        .inputs = inputs, .relation = "Identity", .effects = BT_EFFECT_FAILS, .write_formula = write,
        .facets = BT_FACET_ROWS(BT_FACET("fuse", fuse), BT_CASES(
            "float32[] = 0.01..2\n"
            "float32[3] = 0.01..2\n"
            "float16[2, 3] = 0.01..2")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_quant_check_scale[] = { BT_OPS(ops), { 0 } };
