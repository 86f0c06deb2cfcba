/*
 * Pointwise functions of one tensor: exp, log, tanh, negative, isnan, ...
 *     y[..] = f(data[..])
 * data    any shape; floats for what only floats have, all numbers for the rest
 * result  type of data; bool for isnan, isinf and isfinite
 * source  Relay's operators of the same names; the scalar operators state NaN, overflow
 *         and accuracy
 */
#include <baton/op.h>

static const bt_op_input bool_in[] = {
    { .name = "data", .type = "t:bool[..]", .doc = "truth values" },
    { 0 },
};
static const bt_op_input integer_in[] = {
    { .name = "data", .type = "t:integer[..]", .doc = "integers" },
    { 0 },
};
static const bt_op_input number_in[] = {
    { .name = "data", .type = "t:number[..]", .doc = "numbers" },
    { 0 },
};
static const bt_op_input float_in[] = {
    { .name = "data", .type = "t:float[..]", .doc = "floats" },
    { 0 },
};

#define UNARY(name_, inputs_, formula_, cases_, doc_, ...)                    \
    {                                                                         \
        .name = name_, .revision = 1, .doc = doc_ "\nThe type stays.",        \
        .source = "Relay, " name_, .inputs = inputs_, .relation = "Identity", \
        .formula = "y: t[..] = " formula_,                                    \
        .facets = BT_FACET_ROWS(BT_CASES(cases_) __VA_ARGS__),                \
    }
#define TEST(name_, doc_)                                                              \
    {                                                                                  \
        .name = name_, .revision = 1, .doc = doc_ "\nThe shape of data, bool.",        \
        .source = "Relay, " name_, .inputs = number_in, .relation = "IdentityComp",    \
        .formula = "y: bool[..] = " name_ "(data[..])",                                \
        .facets =                                                                      \
            BT_FACET_ROWS(BT_CASES("float32[2, 3]\nfloat64[]\nfloat16[0]\nint32[4]")), \
    }

#define FLOATS  "float32[2, 3]\nfloat64[]\nfloat16[0, 2]\nbfloat16[4]"
#define WITHIN  "float32[2, 3] = -1..1\nfloat64[] = -1..1\nfloat16[0, 2]"
#define ABOVE   "float32[2, 3] = 0.1..9\nfloat64[] = 0.1..9\nfloat16[0, 2]"
#define NUMBERS "float32[2, 3]\nint8[4]\nuint8[4]\nint64[]\nfloat16[0, 2]"

// clang-format off
static const bt_op ops[] = {
    UNARY("abs", number_in, "abs(data[..])", NUMBERS, "Absolute value; that of the least integer is itself.", , BT_ALGEBRA(BT_IDEMPOTENT)),
    UNARY("acos", float_in, "acos(data[..])", WITHIN, "Arc cosine, in 0..pi.", ),
    UNARY("acosh", float_in, "acosh(data[..])", "float32[2, 3] = 1..9\nfloat64[] = 1..9", "Inverse hyperbolic cosine; NaN below 1.", ),
    UNARY("asin", float_in, "asin(data[..])", WITHIN, "Arc sine, in -pi/2..pi/2.", ),
    UNARY("asinh", float_in, "asinh(data[..])", FLOATS, "Inverse hyperbolic sine.", ),
    UNARY("atan", float_in, "atan(data[..])", FLOATS, "Arc tangent, in -pi/2..pi/2.", ),
    UNARY("atanh", float_in, "atanh(data[..])", "float32[2, 3] = -0.9..0.9\nfloat64[] = -0.9..0.9", "Inverse hyperbolic tangent; NaN outside -1..1.", ),
    UNARY("bitwise_not", integer_in, "bit_not(data[..])", "int32[2, 3]\nuint8[]\nint64[0]", "Every bit inverted.", , BT_ALGEBRA(BT_INVOLUTION)),
    UNARY("ceil", number_in, "ceil(data[..])", NUMBERS, "The least whole number not below; integers stay.", , BT_ALGEBRA(BT_IDEMPOTENT)),
    UNARY("cos", float_in, "cos(data[..])", FLOATS, "Cosine of radians.", ),
    UNARY("cosh", float_in, "cosh(data[..])", FLOATS, "Hyperbolic cosine.", ),
    UNARY("erf", float_in, "erf(data[..])", FLOATS, "The error function.", ),
    UNARY("exp", float_in, "exp(data[..])", FLOATS, "e to the power of data.", ),
    UNARY("fast_erf", float_in, "erf(data[..])", FLOATS, "erf, where a target may trade accuracy for speed.", ),
    UNARY("fast_exp", float_in, "exp(data[..])", FLOATS, "exp, where a target may trade accuracy for speed.", ),
    UNARY("fast_tanh", float_in, "tanh(data[..])", FLOATS, "tanh, where a target may trade accuracy for speed.", ),
    UNARY("floor", number_in, "floor(data[..])", NUMBERS, "The greatest whole number not above; integers stay.", , BT_ALGEBRA(BT_IDEMPOTENT)),
    UNARY("log", float_in, "log(data[..])", ABOVE, "Natural logarithm; -inf at 0, NaN below.", ),
    UNARY("log10", float_in, "log10(data[..])", ABOVE, "Logarithm to base 10; -inf at 0, NaN below.", ),
    UNARY("log1p", float_in, "log1p(data[..])", ABOVE, "log(1 + data), exact near 0; -inf at -1, NaN below.", ),
    UNARY("log2", float_in, "log2(data[..])", ABOVE, "Logarithm to base 2; -inf at 0, NaN below.", ),
    UNARY("logical_not", bool_in, "!data[..]", "bool[2, 3]\nbool[]\nbool[0]", "True where data is False.", , BT_ALGEBRA(BT_INVOLUTION)),
    UNARY("negative", number_in, "-data[..]", NUMBERS, "The number with the other sign; integers wrap.", , BT_ALGEBRA(BT_INVOLUTION), BT_SCALE(BT_SCALE_ANY, NULL)),
    UNARY("round", number_in, "round(data[..])", NUMBERS, "The nearest whole number, halves away from zero; integers stay.", , BT_ALGEBRA(BT_IDEMPOTENT)),
    UNARY("round_even", number_in, "round_even(data[..])", NUMBERS, "The nearest whole number, halves to the even one; integers stay.", , BT_ALGEBRA(BT_IDEMPOTENT)),
    UNARY("rsqrt", float_in, "rsqrt(data[..])", ABOVE, "One over the square root; inf at 0, NaN below.", ),
    UNARY("sigmoid", float_in, "sigmoid(data[..])", FLOATS, "1 / (1 + exp(-data)).", ),
    UNARY("sign", number_in, "sign(data[..])", NUMBERS, "-1, 0 or 1.", , BT_ALGEBRA(BT_IDEMPOTENT)),
    UNARY("sin", float_in, "sin(data[..])", FLOATS, "Sine of radians.", ),
    UNARY("sinh", float_in, "sinh(data[..])", FLOATS, "Hyperbolic sine.", ),
    UNARY("sqrt", float_in, "sqrt(data[..])", ABOVE, "Square root; NaN below 0.", ),
    UNARY("tan", float_in, "tan(data[..])", FLOATS, "Tangent of radians.", ),
    UNARY("tanh", float_in, "tanh(data[..])", FLOATS, "Hyperbolic tangent.", ),
    UNARY("trunc", number_in, "trunc(data[..])", NUMBERS, "The whole part, rounded toward zero; integers stay.", , BT_ALGEBRA(BT_IDEMPOTENT)),
    TEST("isfinite", "True where data is neither infinite nor NaN."),
    TEST("isinf", "True where data is infinite."),
    TEST("isnan", "True where data is NaN."),
    { 0 },
};
// clang-format on
const bt_table bt_ops_tensor_unary[] = { BT_OPS(ops), { 0 } };
