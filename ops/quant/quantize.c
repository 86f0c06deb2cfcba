/*
 * qnn.quantize, qnn.dequantize: between numbers and the codes that stand for them.
 *     qnn.quantize     y = limited(round(data / scale) + zero)
 *     qnn.dequantize   y = (data - zero) * scale
 * data      any shape; scale and zero point: one, a vector along axis, or of the shape of
 *           data, in axis one for each block of block_size elements
 * rounding  of the quotient, a float32 as its operands, to integers; NaN gives the zero
 *           point. Codes may be floats of few bits, too, which have a rounding of their own.
 *           STOCHASTIC: by `key` and the element's place, the same bits everywhere
 * result    as data, of out_dtype; the difference of codes is exact, the product a float32
 * source    Relay's operators of the same names; ONNX QuantizeLinear-21, DequantizeLinear-21
 */
#include <string.h>

#include "codes.h"
#include "scale.h"
#include "stochastic.h"

struct quantize_attrs {
    int64_t axis, block_size;
    const bt_type *out_dtype;
    const char *rounding;
    int64_t key;
};
static const bt_attr quantize_attrs[] = {
    BT_ATTR(struct quantize_attrs, axis, INT, "-1", "axis of a vector of scales"),
    BT_ATTR_RANGE(struct quantize_attrs, block_size, INT, "0", 0, INT32_MAX,
                  "elements of axis with one scale; 0: there are no blocks"),
    BT_ATTR(struct quantize_attrs, out_dtype, DTYPE, "int8", "type of the codes"),
    BT_ATTR_CHOICE(struct quantize_attrs, rounding, "TOEVEN", ROUNDINGS "|STOCHASTIC",
                   ROUNDING_DOC STOCHASTIC_DOC),
    BT_ATTR_RANGE(struct quantize_attrs, key, INT, "0", 0, INT64_MAX, "of STOCHASTIC"),
    { 0 },
};
static const bt_op_input quantize_inputs[] = {
    { .name = "data", .type = "t:number[..]", .doc = "any shape" },
    { .name = "output_scale", .type = "float[..]", .doc = "scale: " SCALE_DOC },
    { .name = "output_zero_point",
      .type = "number[..]",
      .doc = "the code of zero, as output_scale" },
    { 0 },
};

struct dequantize_attrs {
    int64_t axis, block_size;
    const bt_type *out_dtype;
};
static const bt_attr dequantize_attrs[] = {
    BT_ATTR(struct dequantize_attrs, axis, INT, "-1", "axis of a vector of scales"),
    BT_ATTR_RANGE(struct dequantize_attrs, block_size, INT, "0", 0, INT32_MAX,
                  "elements of axis with one scale; 0: there are no blocks"),
    BT_ATTR(struct dequantize_attrs, out_dtype, DTYPE, "float32", "type of the result"),
    { 0 },
};
static const bt_op_input dequantize_inputs[] = {
    { .name = "data", .type = "t:number[..]", .doc = "codes, any shape" },
    { .name = "input_scale", .type = "float[..]", .doc = "scale: " SCALE_DOC },
    { .name = "input_zero_point",
      .type = "number[..]",
      .doc = "the code of zero, as input_scale" },
    { 0 },
};

/* Both operators: scales and zero points lie on data. */
static bt_status relate(bt_solver *s, const bt_relation_call *r,
                        const struct along *along, const bt_type *dtype)
{
    bt_tensor_parts data;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(scale_relate(s, r, 1, &data, along));
    BT_TRY(scale_relate(s, r, 2, &data, along));
    return bt_relation_result_laid(s, r, data.rank, data.dims, dtype);
}

static int is_float(const bt_type *dtype)
{
    return dtype->kind == BT_TYPE_DTYPE &&
           bt_dtype_is_float(((const bt_dtype_type *)(const void *)dtype)->dtype);
}

static bt_status relate_quantize(bt_solver *s, const bt_relation_call *r)
{
    const struct quantize_attrs *a = r->attrs;
    if (!is_float(a->out_dtype))
        BT_TRY(codes_check_type(s, r, "out_dtype", a->out_dtype));
    return relate(s, r, &(struct along){ "axis", a->axis, a->block_size }, a->out_dtype);
}

static bt_status relate_dequantize(bt_solver *s, const bt_relation_call *r)
{
    const struct dequantize_attrs *a = r->attrs;
    return relate(s, r, &(struct along){ "axis", a->axis, a->block_size }, a->out_dtype);
}

static void write_lists(bt_formula *f, const bt_formula_call *call,
                        const struct along *along)
{
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_each(f, "i", 0, rank, "i#");
    scale_at(f, "s", call->args[1], rank, along);
    scale_at(f, "z", call->args[2], rank, along);
}

static void write_quantize(bt_formula *f, const bt_formula_call *call)
{
    const struct quantize_attrs *a = call->attrs;
    const bt_dtype dtype = bt_tensor_dtype(call->result);
    const int is_stochastic = strcmp(a->rounding, "STOCHASTIC") == 0;
    char name[BT_DTYPE_NAME_SIZE];
    write_lists(f, call, &(struct along){ "axis", a->axis, a->block_size });
    bt_formula_add(f,
                   "q: float32[$i] = float32(data[$i]) / float32(output_scale[$s]);\n");
    if (bt_dtype_is_float(dtype))
        bt_formula_add(f, "y: %s[$i] = %s(q[$i] + float32(output_zero_point[$z]))",
                       bt_dtype_name(dtype, name, sizeof(name)), name);
    else if (is_stochastic)
        write_stochastic(f, call->args[0], a->key);
    if (!bt_dtype_is_float(dtype))
        write_codes(f, is_stochastic ? "FLOOR" : a->rounding, "float32",
                    is_stochastic ? "v[$i]" : "q[$i]", "int32(output_zero_point[$z])",
                    dtype);
}

static void write_dequantize(bt_formula *f, const bt_formula_call *call)
{
    const struct dequantize_attrs *a = call->attrs;
    char dtype[BT_DTYPE_NAME_SIZE];
    write_lists(f, call, &(struct along){ "axis", a->axis, a->block_size });
    bt_dtype_name(bt_tensor_dtype(call->result), dtype, sizeof(dtype));
    bt_formula_item(f, "type", "%s",
                    bt_dtype_is_float(bt_tensor_dtype(call->args[0])) ||
                            bt_dtype_is_float(bt_tensor_dtype(call->args[2]))
                        ? "float32"
                        : difference_type(bt_tensor_dtype(call->args[0])));
    bt_formula_add(f,
                   "y: %s[$i] = %s(float32(float32($type(data[$i]) - "
                   "$type(input_zero_point[$z])) * float32(input_scale[$s])))",
                   dtype, dtype);
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

// clang-format off
static const bt_op ops[] = {
    {
        .name = "qnn.quantize", .revision = 1, .source = "Relay, qnn.quantize; ONNX QuantizeLinear-21",
        .doc = "Numbers to codes: data divided by a scale, rounded, plus a zero point.\n"
               "What is beyond the type is its nearest code.",
        .inputs = quantize_inputs, .attrs = quantize_attrs, .attrs_nbytes = sizeof(struct quantize_attrs),
        .relate = relate_quantize, .write_formula = write_quantize,
        .facets = BT_FACET_ROWS(BT_FACET("layout", layout), BT_CASES(
            "float32[9] = -50..50, float32[] = 0.5, int32[] = 3\n"
            "float32[5] = -9..9, float32[] = 0.5, int8[] = 0 | rounding=\"UPWARD\"\n"
            "float32[5] = -9..9, float32[] = 0.5, uint8[] = 128 | rounding=\"TONEAREST\", out_dtype=\"uint8\"\n"
            "float32[4] = -9..9, float32[] = 0.5, int32[] = 0 | rounding=\"FLOOR\"\n"
            "float32[4] = -9..9, float32[] = 0.5, int32[] = 0 | rounding=\"CEIL\"\n"
            "float32[2, 3, 5] = -9..9, float32[] = 0.5, int32[] = 3 | rounding=\"STOCHASTIC\", key=77\n"
            "float32[2, 3, 4] = -9..9, float32[3] = 0.01..0.1, int8[3] = -9..9 | axis=1\n"
            "float16[2, 5] = -9..9, float16[2, 3] = 0.01..0.1, int8[2, 3] = 0..3 | axis=1, block_size=2\n"
            "float32[3, 2] = -9..9, float32[3, 2] = 0.01..0.1, uint8[] = 7 | out_dtype=\"uint8\"\n"
            "float32[4] = -70000..70000, float32[] = 0.5, int32[] = -9 | out_dtype=\"int32\"\n"
            "int32[4] = -99..99, float32[] = 3, uint16[] = 32000 | out_dtype=\"uint16\"\n"
            "float32[2, 3] = -9..9, float32[3] = 0.5..2, float8_e4m3fn[3] = 0..0 | out_dtype=\"float8_e4m3fn\"")),
    },
    {
        .name = "qnn.dequantize", .revision = 1, .source = "Relay, qnn.dequantize; ONNX DequantizeLinear-21",
        .doc = "Codes to the numbers that they stand for: minus a zero point, times a scale.",
        .inputs = dequantize_inputs, .attrs = dequantize_attrs, .attrs_nbytes = sizeof(struct dequantize_attrs),
        .relate = relate_dequantize, .write_formula = write_dequantize,
        .facets = BT_FACET_ROWS(BT_FACET("layout", layout), BT_CASES(
            "int8[4], float32[] = 0.5, int32[] = 3\n"
            "uint8[2, 3, 4], float32[3] = 0.01..0.1, uint8[3] = 0..255 | axis=1\n"
            "int8[2, 5], float32[2, 3] = 0.01..0.1, int8[2, 3] = 0..3 | axis=1, block_size=2\n"
            "int32[3] = -99..99, float32[] = 0.25, int32[] = 0\n"
            "int16[2, 2], float16[] = 0.01..0.1, int16[] = 5 | out_dtype=\"float16\"\n"
            "float8_e5m2[2, 3], float32[3] = 0.5..2, float8_e5m2[3] = 0..0")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_quant_quantize[] = { BT_OPS(ops), { 0 } };
