/*
 * qnn.requantize: codes of one scale, or sums of products of codes, as codes of another.
 *     y = limited(round((data - input_zero_point) * factor) + output_zero_point)
 *     factor = input_scale / output_scale, for all or along axis
 * The arithmetic is part of the program, attribute compute_dtype:
 *     float32    factor and product are rounded to float32 each: ONNX Runtime's, where
 *                input_scale is the product of the operands' scales
 *     float64    the same in float64
 *     int64      factor is m * 2^-n, m a whole number of 31 bits rounded once; the product
 *                with m is exact, but of codes of 64 bits, where it may wrap, and rounded
 *                once: Relay's ("None": this one)
 *     gemmlowp   the same m and n; the high half of twice the product, halves up, then
 *                shifted right, halves away from zero: TensorFlow Lite's
 * rounding   "None" is UPWARD, as in Relay; gemmlowp states its own
 * result     as data, of out_dtype
 * source     Relay, qnn.requantize; Jacob et al. 2018, section 2.2; gemmlowp's guide to
 *            its output pipeline
 */
#include <string.h>

#include "codes.h"
#include "scale.h"

struct attrs {
    int64_t axis;
    const char *rounding, *compute_dtype;
    const bt_type *out_dtype;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, axis, INT, "-1", "axis of vectors of scales"),
    BT_ATTR_CHOICE(struct attrs, rounding, "None", "None|" ROUNDINGS,
                   ROUNDING_DOC "; None: UPWARD"),
    BT_ATTR_CHOICE(struct attrs, compute_dtype, "None",
                   "None|float32|float64|int64|gemmlowp", "the arithmetic; None: int64"),
    BT_ATTR(struct attrs, out_dtype, DTYPE, "int8", "type of the result"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:integer[..]", .doc = "codes or sums, any shape" },
    { .name = "input_scale", .type = "float32[..]", .doc = "scale of data: " SCALE_DOC },
    { .name = "input_zero_point",
      .type = "integer[..]",
      .doc = "zero point of data: the code of 0" },
    { .name = "output_scale", .type = "float32[..]", .doc = "of the result" },
    { .name = "output_zero_point", .type = "integer[..]", .doc = "of the result" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const struct along along = { "axis", a->axis, 0 };
    bt_tensor_parts data;
    BT_TRY(codes_check_type(s, r, "out_dtype", a->out_dtype));
    if (strcmp(a->compute_dtype, "gemmlowp") == 0 && strcmp(a->rounding, "None") != 0)
        return bt_relation_fail(s, r, -1, "rounding is %s; gemmlowp states its own: None",
                                a->rounding);
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    for (uint32_t i = 1; i < 5; i++)
        BT_TRY(scale_relate(s, r, i, &data, &along));
    return bt_relation_result_laid(s, r, data.rank, data.dims, a->out_dtype);
}

/* ---- formula ---- */

/* The factor is m * 2^-n: m of 31 bits, fewer only where n would be beyond 62. n follows
 * from log2, whatever the error of that is: m tells where it was one off. */
static void write_multiplier(bt_formula *f)
{
    bt_formula_add(
        f, "guess: int64[$c] = clamp(30 - int64(floor(log2(factor[$at]))), 0, 62);\n"
           "first: float64[$c] = round(factor[$at] * "
           "float64(shift_left(int64(1), guess[$at])));\n"
           "n: int64[$c] = clamp(select(first[$at] >= 2147483648, guess[$at] - 1, "
           "select(first[$at] < 1073741824, guess[$at] + 1, guess[$at])), 0, 62);\n"
           "m: int64[$c] = int64(min(round(factor[$at] * "
           "float64(shift_left(int64(1), n[$at]))), 2147483647));\n");
}

/* The stage x: the product, not rounded yet: x * 2^-n. */
static const char *whole_of(const char *rounding)
{
    if (strcmp(rounding, "FLOOR") == 0)
        return "shift_right(x[$i], n[$at])";
    if (strcmp(rounding, "CEIL") == 0)
        return "-shift_right(-x[$i], n[$at])";
    if (strcmp(rounding, "TONEAREST") == 0)
        return "select(x[$i] < 0, -shift_right(half[$at] - x[$i], n[$at]), "
               "shift_right(x[$i] + half[$at], n[$at]))";
    if (strcmp(rounding, "TOEVEN") ==
        0) // one less than half, and the last bit that stays
        return "shift_right(x[$i] + max(half[$at] - 1, 0) + select(n[$at] > 0, "
               "bit_and(shift_right(x[$i], n[$at]), 1), 0), n[$at])";
    return "shift_right(x[$i] + half[$at], n[$at])";
}

static void write_fixed(bt_formula *f, const struct attrs *a, const char *zero,
                        bt_dtype dtype)
{
    write_multiplier(f);
    bt_formula_add(f, "half: int64[$c] = shift_right(shift_left(int64(1), n[$at]), 1);\n"
                      "x: int64[$i] = int64($difference) * m[$at];\n");
    write_saturated(f, whole_of(a->rounding), zero, dtype);
}

/* With an exponent above 0 data is shifted first, as far as an int32 goes. */
static void write_gemmlowp(bt_formula *f, const char *zero, bt_dtype dtype)
{
    write_multiplier(f);
    bt_formula_add(
        f, "left: int64[$c] = max(31 - n[$at], 0);\n"
           "right: int64[$c] = max(n[$at] - 31, 0);\n"
           "half: int64[$c] = shift_right(shift_left(int64(1), right[$at]), 1);\n"
           "x: int64[$i] = shift_right(clamp(shift_left(int64($difference), left[$at]), "
           "-2147483648, 2147483647) * m[$at] + 1073741824, 31);\n");
    write_saturated(f,
                    "select(x[$i] < 0, -shift_right(half[$at] - x[$i], right[$at]), "
                    "shift_right(x[$i] + half[$at], right[$at]))",
                    zero, dtype);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const struct along along = { "axis", a->axis, 0 };
    const char *zero = "int32(output_zero_point[$oz])";
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axes = scale_axes(f, call->args[1], rank, &along) |
                    scale_axes(f, call->args[3], rank, &along);
    bt_dtype dtype = bt_tensor_dtype(call->result);
    int is_float = strncmp(a->compute_dtype, "float", 5) == 0;
    bt_formula_each(f, "i", 0, rank, "i#");
    scale_lists(f, "c", "at", "data", axes, rank);
    scale_at(f, "is", call->args[1], rank, &along);
    scale_at(f, "iz", call->args[2], rank, &along);
    scale_at(f, "os", call->args[3], rank, &along);
    scale_at(f, "oz", call->args[4], rank, &along);
    bt_formula_item(f, "type", "%s", is_float ? a->compute_dtype : "float64");
    bt_formula_item(f, "wide", "%s", difference_type(bt_tensor_dtype(call->args[0])));
    bt_formula_item(f, "difference", "($wide(data[$i]) - $wide(input_zero_point[$iz]))");
    bt_formula_add(f, "factor: $type[$c] = $type(input_scale[$is]) / "
                      "$type(output_scale[$os]);\n");
    if (is_float) {
        bt_formula_add(f, "x: $type[$i] = $type($difference) * factor[$at];\n");
        write_codes(f, strcmp(a->rounding, "None") == 0 ? "UPWARD" : a->rounding,
                    a->compute_dtype, "x[$i]", zero, dtype);
    } else if (strcmp(a->compute_dtype, "gemmlowp") == 0) {
        write_gemmlowp(f, zero, dtype);
    } else {
        write_fixed(f, a, zero, dtype);
    }
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

// clang-format off
#define FOURTHS "int32[5] = -99..99, float32[] = 0.25, int32[] = 0, float32[] = 1, int32[] = 0"
static const bt_op ops[] = {
    {
        .name = "qnn.requantize", .revision = 1, .source = "Relay, qnn.requantize; Jacob et al. 2018",
        .doc = "Codes of one scale as codes of another.\n"
               "How products are rounded is part of the program.",
        .inputs = inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_FACET("layout", layout), BT_CASES(
            FOURTHS "\n"
            FOURTHS " | rounding=\"TOEVEN\"\n"
            FOURTHS " | rounding=\"TONEAREST\"\n"
            FOURTHS " | rounding=\"FLOOR\"\n"
            FOURTHS " | rounding=\"CEIL\"\n"
            FOURTHS " | compute_dtype=\"float32\", rounding=\"TOEVEN\"\n"
            FOURTHS " | compute_dtype=\"float32\"\n"
            FOURTHS " | compute_dtype=\"float64\", rounding=\"TONEAREST\"\n"
            FOURTHS " | compute_dtype=\"gemmlowp\"\n"
            "int32[2, 3, 4] = -9999..9999, float32[3] = 0.01..0.1, int32[] = 0, float32[] = 1, int32[] = 3 | axis=1\n"
            "int32[2, 3] = -9999..9999, float32[3] = 0.01..0.1, int32[] = 0, float32[] = 1, uint8[] = 128 | compute_dtype=\"float32\", rounding=\"TOEVEN\", out_dtype=\"uint8\"\n"
            "int32[2, 3] = -9999..9999, float32[2, 3] = 0.01..0.1, int32[] = 7, float32[3] = 1..2, int8[3] = -9..9 | compute_dtype=\"float64\"\n"
            "int8[4], float32[] = 0.1, int8[] = 3, float32[] = 0.0001, int8[] = 0 | out_dtype=\"int32\"\n"
            "int8[4], float32[] = 0.1, int8[] = 3, float32[] = 0.0001, int8[] = 0 | out_dtype=\"int32\", compute_dtype=\"gemmlowp\"\n"
            "int32[4] = -2147483648..2147483647, float32[] = 1, int32[] = 0, float32[] = 1, int32[] = 0 | out_dtype=\"int32\"\n"
            "int32[4] = -2147483648..2147483647, float32[] = 0.7, int32[] = 0, float32[] = 3, int32[] = 0 | out_dtype=\"int32\", compute_dtype=\"float32\", rounding=\"TOEVEN\"\n"
            "int32[4] = -2147483648..2147483647, float32[] = 0.7, int32[] = 99, float32[] = 3, int32[] = 0 | out_dtype=\"int32\"\n"
            "uint8[3], float32[] = 0.3, uint8[] = 128, float32[] = 0.2, int16[] = 100 | out_dtype=\"int16\", rounding=\"TONEAREST\"")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_quant_requantize[] = { BT_OPS(ops), { 0 } };
