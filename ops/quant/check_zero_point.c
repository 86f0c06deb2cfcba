/*
 * qnn.check_zero_point: zero points as they are, where all are codes; else it fails.
 *     y = data
 * Operators on codes compute with zero points of longer types, which need not be codes: near the
 * ends of these types their differences wrap. Of constants that is seen when a program is
 * compiled; of zero points that it is given this makes an error, as qnn.check_scale does of
 * scales.
 * data      any shape
 * dtype     the type of the codes
 */
#include "codes.h"

struct attrs {
    const bt_type *dtype;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, dtype, DTYPE, "int8", "type of the codes"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:integer[..]", .doc = "zero points" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts data;
    BT_TRY(codes_check_type(s, r, "dtype", ((const struct attrs *)r->attrs)->dtype));
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
}

static void write(bt_formula *f, const bt_formula_call *call)
{
    const bt_type *dtype = ((const struct attrs *)call->attrs)->dtype;
    const uint32_t rank = bt_formula_rank(f, call->args[0]);
    int64_t low, high;
    bt_dtype_limits(((const bt_dtype_type *)(const void *)dtype)->dtype, &low, &high);
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_each(f, "all", 0, rank, "i# in extent(data, #)");
    bt_formula_add(f,
                   "at: int32[$all] = select(int64(data[$i]) >= %lld && "
                   "int64(data[$i]) <= %lld, 0, 1);\n"
                   "zero_points_that_are_codes: t[k in 1, $all] = data[$i];\n"
                   "y: t[$all] = zero_points_that_are_codes[wrap(at[$i], 1), $i]",
                   (long long)low, (long long)high);
}

static const bt_fuse_facet fuse = { BT_FUSE_OPAQUE };

// clang-format off
static const bt_op ops[] = {
    {
        .name = "qnn.check_zero_point", .revision = 1,
        .doc = "Zero points as they are; it fails where one is no code.",
        .inputs = inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs), .relate = relate,
        .effects = BT_EFFECT_FAILS, .write_formula = write,
        .facets = BT_FACET_ROWS(BT_FACET("fuse", fuse), BT_CASES(
            "int32[] = -128..127\n"
            "int32[3] = 0..255 | dtype=\"uint8\"\n"
            "int64[2, 3] = -8..7 | dtype=\"int4\"")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_quant_check_zero_point[] = { BT_OPS(ops), { 0 } };
