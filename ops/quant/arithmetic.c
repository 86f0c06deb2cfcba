/*
 * qnn.add, qnn.subtract, qnn.mul: of the numbers that codes stand for.
 *     qnn.add    y = limited(round(l + r) + zero)    l = (lhs - lhs_zero_point) * lhs_scale /
 *                                                    output_scale, r likewise
 *     qnn.mul    y = limited(round((lhs - lhs_zero_point) * (rhs - rhs_zero_point) *
 *                                  factor) + zero)   factor = lhs_scale * rhs_scale /
 *                                                    output_scale
 * lhs, rhs  broadcast; scales for all, or, of operands of one shape, along lhs_axis and
 *           rhs_axis
 * Each scale is divided by output_scale, then multiplied, in float32, halves to even. The product
 * of two codes of at most 16 bits is exact before it is a float32, that of longer ones a float64.
 * source    Relay's operators of the same names
 */
#include <string.h>

#include "codes.h"
#include "scale.h"

struct attrs {
    int64_t lhs_axis, rhs_axis;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, lhs_axis, INT, "-1", "axis of a vector of scales of lhs"),
    BT_ATTR(struct attrs, rhs_axis, INT, "-1", "axis of a vector of scales of rhs"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "lhs", .type = "t:" CODES "[..]", .doc = "codes; broadcasts with rhs" },
    { .name = "rhs", .type = "t[..]", .doc = "codes; broadcasts with lhs" },
    { .name = "lhs_scale", .type = "float32[..]", .doc = "scale of lhs: " SCALE_DOC },
    { .name = "lhs_zero_point",
      .type = "integer[..]",
      .doc = "zero point of lhs: the code of 0" },
    { .name = "rhs_scale", .type = "float32[..]", .doc = "scale of rhs: " SCALE_DOC },
    { .name = "rhs_zero_point",
      .type = "integer[..]",
      .doc = "zero point of rhs: the code of 0" },
    { .name = "output_scale", .type = "float32[]", .doc = "of the result" },
    { .name = "output_zero_point", .type = "integer[]", .doc = "of the result" },
    { 0 },
};

static int has_axes(const bt_type *scale)
{
    const bt_shape_type *shape = bt_tensor_shape(scale);
    return shape && shape->n > 0;
}

/* What broadcasts has one scale: places of a vector would be those of either operand. */
static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const struct along along[2] = { { "lhs_axis", a->lhs_axis, 0 },
                                    { "rhs_axis", a->rhs_axis, 0 } };
    bt_tensor_parts data[2];
    int is_along = 0;
    for (uint32_t k = 0; k < 2; k++) {
        BT_TRY(bt_relation_tensor(s, r, k, &data[k]));
        for (uint32_t i = 2 + 2 * k; i < 4 + 2 * k; i++) {
            BT_TRY(scale_relate(s, r, i, &data[k], &along[k]));
            is_along |= has_axes(bt_relation_arg(s, r, i));
        }
    }
    if (!is_along)
        return NULL;
    if (data[0].rank != data[1].rank)
        return bt_relation_fail(s, r, 1,
                                "rhs has rank %u, lhs %u; with scales along an axis both "
                                "are of one shape",
                                data[1].rank, data[0].rank);
    for (uint32_t k = 0; k < data[0].rank; k++)
        BT_TRY(bt_relation_unify(s, r, data[0].dims[k], data[1].dims[k],
                                 "dims of lhs and rhs, with scales along an axis"));
    return NULL;
}

/* List `i`: how both operands are read. */
static void write_lists(bt_formula *f, const bt_formula_call *call)
{
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    int is_along = 0;
    for (uint32_t i = 2; i < 6; i++)
        is_along |= has_axes(call->args[i]);
    if (is_along)
        bt_formula_each(f, "i", 0, rank, "i#");
    else
        bt_formula_item(f, "i", "..");
}

/* For operand k the lists `c` and `at` of the axes along which its scales lie, `s` and `z` of where
 * its scale and zero point are read, and in list `codes` its elements without the zero point. */
static void write_operand(bt_formula *f, const bt_formula_call *call, uint32_t k)
{
    const struct attrs *a = call->attrs;
    const struct along along = { "", k ? a->rhs_axis : a->lhs_axis, 0 };
    const char *name = k ? "rhs" : "lhs";
    const bt_type *scale = call->args[2 + 2 * k];
    uint32_t rank = bt_formula_rank(f, call->args[k]);
    scale_lists(f, "c", "at", name, scale_axes(f, scale, rank, &along), rank);
    scale_at(f, "s", scale, rank, &along);
    scale_at(f, "z", call->args[3 + 2 * k], rank, &along);
    bt_formula_item(f, "type", "%s", difference_type(bt_tensor_dtype(call->args[k])));
    bt_formula_item(f, "codes", "($type(%s[$i]) - $type(%s_zero_point[$z]))", name, name);
    bt_formula_clear(f, "type");
}

/* A sum is written as l - (-r): then no target contracts product and sum into an FMA, which would
 * round once where this rounds twice. */
static void write_sum(bt_formula *f, const bt_formula_call *call)
{
    int is_sum = strcmp(call->op->name, "qnn.add") == 0;
    write_lists(f, call);
    for (uint32_t k = 0; k < 2; k++) {
        write_operand(f, call, k);
        bt_formula_add(f, "factor%u: float32[$c] = %s%s_scale[$s] / output_scale[];\n", k,
                       k && is_sum ? "-" : "", k ? "rhs" : "lhs");
        bt_formula_item(f, "parts", "float32(float32($codes) * factor%u[$at])", k);
        bt_formula_clear(f, "codes");
    }
    bt_formula_add(f, "x: float32[$i] = $[ - ]parts;\n");
    write_codes(f, "TOEVEN", "float32", "x[$i]", "int32(output_zero_point[])",
                bt_tensor_dtype(call->args[0]));
}

static void write_product(bt_formula *f, const bt_formula_call *call)
{
    const int is_short = BT_DTYPE_BITS(bt_tensor_dtype(call->args[0])) <= 8;
    write_lists(f, call);
    for (uint32_t k = 0; k < 2; k++) {
        write_operand(f, call, k);
        bt_formula_item(f, "factors", is_short ? "$codes" : "float64($codes)");
        bt_formula_clear(f, "codes");
        bt_formula_item(f, "scales", k ? "rhs_scale[$s]" : "lhs_scale[$s]");
    }
    bt_formula_add(f, "x: float32[$i] = float32($[ * ]factors) * "
                      "float32(float32($[ * ]scales) / output_scale[]);\n");
    write_codes(f, "TOEVEN", "float32", "x[$i]", "int32(output_zero_point[])",
                bt_tensor_dtype(call->args[0]));
}

static int has_result_shape(const bt_call *call, uint32_t k)
{
    int64_t dims[2][BT_MAX_RANK];
    uint32_t ranks[2];
    return bt_tensor_static(call->args[k]->type, &ranks[0], dims[0]) &&
           bt_tensor_static(call->base.type, &ranks[1], dims[1]) &&
           ranks[0] == ranks[1] &&
           memcmp(dims[0], dims[1], ranks[0] * sizeof(dims[0][0])) == 0;
}

/* All that has the result's shape lies as lhs does. */
static bt_status choose(bt_ctx *ctx, bt_store *store, const bt_call *call,
                        const bt_layout *const *wanted, const bt_layout **in,
                        const bt_layout **out)
{
    (void)ctx, (void)store;
    for (uint32_t i = 0; i < call->narg; i++)
        in[i] = i < 2 && has_result_shape(call, i) ? wanted[0] : NULL;
    *out = in[0] ? in[0] : in[1];
    return NULL;
}

static const bt_layout_facet layout = { .choose = choose };

// clang-format off
#define SCALES "float32[] = 0.02, uint8[] = 128, float32[] = 0.05, uint8[] = 3, float32[] = 0.07, uint8[] = 100"
#define CASES                                                                                                      \
    "uint8[2, 3], uint8[2, 3], " SCALES "\n"                                                                         \
    "uint8[2, 3, 1], uint8[4], " SCALES "\n"                                                                         \
    "int8[2, 3, 4], int8[2, 3, 4], float32[3] = 0.01..0.1, int32[] = 3, float32[4] = 0.01..0.1, int32[4] = -9..9, float32[] = 0.1, int32[] = -5 | lhs_axis=1\n" \
    "int16[5], int16[1], float32[] = 0.5, int16[] = 0, float32[] = 0.25, int16[] = 0, float32[] = 1, int16[] = 7\n" \
    "uint16[5], uint16[5], float32[] = 0.5, int32[] = 9, float32[] = 0.25, int32[] = 0, float32[] = 9000, int32[] = 7\n" \
    "int32[5] = -2147483648..2147483647, int32[5] = -2147483648..2147483647, float32[] = 0.5, int32[] = 99, float32[] = 0.25, int32[] = -99, float32[] = 9, int32[] = 7\n" \
    "int32[2], int32[2], float32[] = 0.5, int32[] = 0, float32[] = 0.25, int32[] = 0, float32[] = 1, int32[] = 7"
#define ARITHMETIC(name_, doc_, write_)                                                             \
    {                                                                                               \
        .name = "qnn." name_, .revision = 1, .source = "Relay, qnn." name_, .doc = doc_,            \
        .inputs = inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs),                     \
        .relation = "Broadcast", .relate = relate, .write_formula = write_,                         \
        .facets = BT_FACET_ROWS(BT_FACET("layout", layout), BT_CASES(CASES)),                       \
    }
static const bt_op ops[] = {
    ARITHMETIC("add", "Sums of the numbers that codes stand for, as codes.", write_sum),
    ARITHMETIC("subtract", "Differences of the numbers that codes stand for, as codes.", write_sum),
    ARITHMETIC("mul", "Products of the numbers that codes stand for, as codes.", write_product),
    { 0 },
};
// clang-format on
const bt_table bt_ops_quant_arithmetic[] = { BT_OPS(ops), { 0 } };
