/*
 * Functions of the numbers that codes stand for, element by element, as codes: qnn.abs, exp,
 * erf, hardswish, leaky_relu, log, rsqrt, sigmoid, sqrt, tanh.
 *     y = limited(round_even(f((x - zero_point) * scale) / output_scale) + output_zero_point)
 * The product and the quotient are float32, f is computed in float64 and rounded to float32:
 * its error changes a code only where the quotient is within 1e-9 of halfway between two codes.
 * source  Relay's operators of the same names
 */
#include <string.h>

#include "codes.h"
#include "scale.h"

#define INPUTS(data_, scale_, zero_)                                                   \
    {                                                                                  \
        { .name = data_, .type = "t:" CODES "[..]", .doc = "codes, any shape" },       \
            { .name = scale_, .type = "float32[]", .doc = "their scale: " SCALE_DOC }, \
            { .name = zero_, .type = "integer[]", .doc = "their zero" },               \
            { .name = "output_scale", .type = "float32[]", .doc = "of the result" },   \
            { .name = "output_zero_point",                                             \
              .type = "integer[]",                                                     \
              .doc = "of the result" },                                                \
            { 0 },                                                                     \
    }
static const bt_op_input inputs[] = INPUTS("x", "scale", "zero_point");
static const bt_op_input leaky_inputs[] =
    INPUTS("data", "input_scale", "input_zero_point");

struct leaky_attrs {
    double alpha;
};
static const bt_attr leaky_attrs[] = {
    BT_ATTR(struct leaky_attrs, alpha, FLOAT, "0.25", "slope below zero"),
    { 0 },
};

/* Of r[..], a float64: a scalar operator of the name behind "qnn.", but for two. */
static void write_function(bt_formula *f, const char *name)
{
    if (strcmp(name, "hardswish") == 0)
        bt_formula_add(f, "r[..] * clamp(r[..] + 3, 0, 6) / 6");
    else if (strcmp(name, "leaky_relu") == 0)
        bt_formula_add(f, "select(r[..] > 0, r[..], r[..] * alpha)");
    else
        bt_formula_add(f, "%s(r[..])", name);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    const bt_op_input *in = call->op->inputs;
    const char *type = difference_type(bt_tensor_dtype(call->args[0]));
    bt_formula_item(f, "i", "..");
    bt_formula_add(f,
                   "r: float64[..] = float64(float32(float32(%s(%s[..]) - %s(%s[])) * "
                   "%s[]));\nv: float32[..] = float32(",
                   type, in[0].name, type, in[2].name, in[1].name);
    write_function(f, call->op->name + strlen("qnn."));
    bt_formula_add(f, ") / output_scale[];\n");
    write_codes(f, "TOEVEN", "float32", "v[..]", "int32(output_zero_point[])",
                bt_tensor_dtype(call->args[0]));
}

// clang-format off
#define CASES                                                                                                \
    "int8[2, 5], float32[] = 0.05, int32[] = -100, float32[] = 0.01, int32[] = 3\n"                          \
    "uint8[7], float32[] = 0.02, uint8[] = 5, float32[] = 0.004, uint8[] = 0\n"                              \
    "int16[3], float32[] = 0.0001, int16[] = -30000, float32[] = 0.0002, int16[] = 0"
#define UNARY(name_, doc_)                                                                                   \
    {                                                                                                        \
        .name = "qnn." name_, .revision = 1, .source = "Relay, qnn." name_, .doc = doc_,                     \
        .inputs = inputs, .relation = "Identity", .write_formula = write_formula,                            \
        .facets = BT_FACET_ROWS(BT_CASES(CASES)),                                                            \
    }
static const bt_op ops[] = {
    UNARY("abs", "The absolute value of what codes stand for, as codes."),
    UNARY("exp", "The exponential of what codes stand for, as codes."),
    UNARY("erf", "The error function of what codes stand for, as codes."),
    UNARY("hardswish", "x * clip(x + 3, 0, 6) / 6 of what codes stand for, as codes."),
    UNARY("log", "The natural logarithm of what codes stand for, as codes."),
    UNARY("rsqrt", "1 by the square root of what codes stand for, as codes."),
    UNARY("sigmoid", "1 / (1 + exp(-x)) of what codes stand for, as codes."),
    UNARY("sqrt", "The square root of what codes stand for, as codes."),
    UNARY("tanh", "The hyperbolic tangent of what codes stand for, as codes."),
    {
        .name = "qnn.leaky_relu", .revision = 1, .source = "Relay, qnn.leaky_relu",
        .doc = "alpha times what codes stand for below zero, as codes.",
        .inputs = leaky_inputs, .attrs = leaky_attrs, .attrs_nbytes = sizeof(struct leaky_attrs),
        .relation = "Identity", .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES(CASES "\nint8[9], float32[] = 0.1, int8[] = 3, float32[] = 0.1, int8[] = 3 | alpha=0.1")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_quant_unary[] = { BT_OPS(ops), { 0 } };
