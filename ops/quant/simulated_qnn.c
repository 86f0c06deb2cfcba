/*
 * qnn.simulated_quantize, qnn.simulated_dequantize: floats that codes could stand for, where
 * the type of the codes is a value: 0 leaves data as it is, 1 is int8, 2 uint8, 3 int32.
 *     qnn.simulated_quantize     y = limited(round_even(data / output_scale) +
 *                                            output_zero_point), a float
 *     qnn.simulated_dequantize   y = (data - input_zero_point) * input_scale
 * source  Relay's operators of the same names
 */
#include <string.h>

#include "scale.h"
#include "straight.h"

struct attrs {
    int64_t axis;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, axis, INT, "-1", "axis of vectors of scales and zero points"),
    { 0 },
};
static const bt_op_input quantize_inputs[] = {
    { .name = "data", .type = "t:float32[..]", .doc = "any shape" },
    { .name = "in_dtype", .type = "int32[]", .doc = "which type: 0, 1, 2 or 3" },
    { .name = "output_scale", .type = "float32[..]", .doc = "scale: " SCALE_DOC },
    { .name = "output_zero_point",
      .type = "int32[..]",
      .doc = "zero point: the code of 0" },
    { 0 },
};
static const bt_op_input dequantize_inputs[] = {
    { .name = "data", .type = "t:float32[..]", .doc = "codes as floats, any shape" },
    { .name = "in_dtype", .type = "int32[]", .doc = "which type: 0, 1, 2 or 3" },
    { .name = "input_scale", .type = "float32[..]", .doc = "scale: " SCALE_DOC },
    { .name = "input_zero_point",
      .type = "int32[..]",
      .doc = "zero point: the code of 0" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const struct along along = { "axis", a->axis, 0 };
    bt_tensor_parts data;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(scale_relate(s, r, 2, &data, &along));
    BT_TRY(scale_relate(s, r, 3, &data, &along));
    return bt_relation_result_laid(s, r, data.rank, data.dims, data.dtype);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const struct along along = { "axis", a->axis, 0 };
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_each(f, "i", 0, rank, "i#");
    scale_at(f, "s", call->args[2], rank, &along);
    scale_at(f, "z", call->args[3], rank, &along);
    if (strcmp(call->op->name, "qnn.simulated_quantize") == 0)
        bt_formula_add(
            f,
            "low: float64[] = select(in_dtype[] == 1, -128.0, select(in_dtype[] == 2, "
            "0.0, "
            "-2147483648.0));\n"
            "high: float64[] = select(in_dtype[] == 1, 127.0, select(in_dtype[] == 2, "
            "255.0, 2147483647.0));\n"
            "q: float32[$i] = data[$i] / output_scale[$s];\n"
            "y: t[$i] = select(in_dtype[] == 0, data[$i], "
            "t(clamp(float64(round_even(q[$i])) + float64(output_zero_point[$z]), low[], "
            "high[])))");
    else
        bt_formula_add(f, "d: float32[$i] = data[$i] - float32(input_zero_point[$z]);\n"
                          "y: t[$i] = select(in_dtype[] == 0, data[$i], d[$i] * "
                          "input_scale[$s])");
}

/* ---- derivatives of qnn.simulated_quantize ---- */

static bt_status pass(bt_builder *b, const bt_adjoint_call *c, const bt_value *d,
                      const bt_value **out)
{
    const struct attrs *a = c->call->attrs;
    const struct straight s = {
        .data = c->in[0], .scale = c->in[2], .zero = c->in[3], .axis = a->axis, .kind = c->in[1]
    };
    bt_text text;
    bt_text_init(&text, bt_ctx_scratch(bt_builder_ctx(b)));
    straight_head(&s, &text);
    bt_text_addf(&text, "select(k[] == 0, ");
    straight_item(&s, &text);
    bt_text_addf(&text, ", select(select(k[] == 1, -128.0, select(k[] == 2, 0.0, "
                        "-2147483648.0)) <= float64(");
    straight_code(&s, &text);
    bt_text_addf(&text, ") && float64(");
    straight_code(&s, &text);
    bt_text_addf(&text, ") <= select(k[] == 1, 127.0, select(k[] == 2, 255.0, "
                        "2147483647.0)), ");
    straight_item(&s, &text);
    bt_text_addf(&text, " / ");
    straight_scale(&s, &text);
    bt_text_addf(&text, ", 0))");
    return straight_build(b, &s, d, &text, out);
}

static bt_status vjp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return pass(b, c, c->seeds[0], &to[0]);
}

static bt_status jvp(bt_builder *b, const bt_adjoint_call *c, const bt_value **to)
{
    return c->seeds[0] ? pass(b, c, c->seeds[0], &to[0]) : NULL;
}

static const bt_gradient_facet gradient = { .vjp = vjp,
                                            .jvp = jvp,
                                            .blocked = 1u << 2,
                                            .instead = STRAIGHT_THROUGH };

static const bt_layout_facet layout = { .choose = bt_layout_follow };

// clang-format off
#define CASES(by_)                                                                           \
    "float32[2, 3] = -9..9, int32[] = " by_ ", float32[] = 0.05, int32[] = 3\n"              \
    "float32[2, 3] = -9..9, int32[] = " by_ ", float32[3] = 0.01..0.1, int32[3] = -9..9\n"   \
    "float32[2, 3] = -9..9, int32[] = 0, float32[2] = 0.01..0.1, int32[2] = -9..9 | axis=0"
static const bt_op ops[] = {
    {
        .name = "qnn.simulated_quantize", .revision = 1, .source = "Relay, qnn.simulated_quantize",
        .doc = "Codes as floats, whose type is a value: 0 none, 1 int8, 2 uint8, 3 int32.",
        .inputs = quantize_inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_FACET("layout", layout), BT_FACET("gradient", gradient),
                                BT_CASES(CASES("1") "\n" CASES("2") "\n" CASES("3"))),
    },
    {
        .name = "qnn.simulated_dequantize", .revision = 1, .source = "Relay, qnn.simulated_dequantize",
        .doc = "What codes that are floats stand for; their type is a value, of which 0 leaves data as it is.",
        .inputs = dequantize_inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_FACET("layout", layout), BT_CASES(CASES("1"))),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_quant_simulated_qnn[] = { BT_OPS(ops), { 0 } };
