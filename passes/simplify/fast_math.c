/*
 * fast-math: identities of real numbers that floats round otherwise, or that NaN and
 * infinities do not have.
 * By rules (rules.md); plugins may add some. Each states how many units of the last place
 * both sides may differ, and between which numbers. What floats have exactly is
 * simplify-expr's.
 * keeps    no invariant
 * option   rule    go by this rule alone, default all
 * source   DLVM, section 3.1.2 (algebra simplification)
 */
#include "simplify/rule.h"

// clang-format off
#define RULE(name_, claim, doc_, text_) { .name = name_, .doc = doc_, .pass = "fast-math", .text = text_, claim }
#define ULP(n, from_, to_) .ulp = n, .from = from_, .to = to_
#define FINITE ULP(0, -3e38, 3e38)
static const bt_rule rules[] = {
    /* ---- the same operand twice, zero ---- */
    RULE("fast-multiply-zero",              FINITE,                "A factor of zero.",
         "multiply(x, 0) => zeros_like(x) if float(x)"),
    RULE("fast-zero-divide",                ULP(0, 1e-30, 1e30),   "Zero in parts.",
         "divide(0, x) => zeros_like(x) if float(x)"),
    RULE("fast-subtract-itself",            FINITE,                "A difference of equals.",
         "subtract(x, x) => zeros_like(x) if float(x)"),
    RULE("fast-divide-itself",              ULP(0, 1e-30, 1e30),   "A quotient of equals.",
         "divide(x, x) => ones_like(x) if float(x)"),
    RULE("fast-multiply-divisor",           ULP(4, 1e-4, 1e4),     "A divisor undone.",
         "multiply(divide(x, y), y) => x if float(x)"),
    RULE("fast-divide-factor",              ULP(4, 1e-4, 1e4),     "A factor undone.",
         "divide(multiply(x, y), y) => x if float(x)"),
    /* ---- constants ---- */
    RULE("fast-add-constants",              ULP(4, -1e4, 1e4),     "Two constant summands are one.",
         "add(add(x, const c), const d) => add(x, add(c, d)) if float(x)"),
    RULE("fast-add-subtract-constants",     ULP(4, -1e4, 1e4),     "Two constant summands are one.",
         "add(subtract(x, const c), const d) => add(x, subtract(d, c)) if float(x)"),
    RULE("fast-subtract-add-constants",     ULP(4, -1e4, 1e4),     "Two constant summands are one.",
         "subtract(add(x, const c), const d) => add(x, subtract(c, d)) if float(x)"),
    RULE("fast-subtract-constants",         ULP(4, -1e4, 1e4),     "Two constant subtrahends are one.",
         "subtract(subtract(x, const c), const d) => subtract(x, add(c, d)) if float(x)"),
    RULE("fast-multiply-constants",         ULP(4, -1e4, 1e4),     "Two constant factors are one.",
         "multiply(multiply(x, const c), const d) => multiply(x, multiply(c, d)) if float(x)"),
    RULE("fast-multiply-divide-constants",  ULP(4, -1e4, 1e4),     "A constant factor and divisor are one factor.",
         "multiply(divide(x, const c), const d) => multiply(x, divide(d, c)) if float(x)"),
    RULE("fast-divide-multiply-constants",  ULP(4, -1e4, 1e4),     "A constant factor and divisor are one factor.",
         "divide(multiply(x, const c), const d) => multiply(x, divide(c, d)) if float(x)"),
    RULE("fast-divide-constant",            ULP(2, -1e4, 1e4),     "A product in place of a quotient.",
         "divide(x, const c) => multiply(x, power(c, scalar(-1, c))) if float(x)"),
    RULE("fast-multiply-add",               ULP(8, -1e4, 1e4),     "A scale and shift takes a factor.",
         "multiply(add(multiply(x, const a), const b), const c) => add(multiply(x, multiply(a, c)), multiply(b, c)) if float(x)"),
    /* ---- powers and roots ---- */
    RULE("fast-cube",                       ULP(4, -1e4, 1e4),     "Products in place of a cube.",
         "power(x, 3) => multiply(multiply(x, x), x) if float(x)"),
    RULE("fast-power-four",                 ULP(4, -1e4, 1e4),     "Two squares in place of a power.",
         "power(x, 4) => multiply(s, s) where s = multiply(x, x) if float(x)"),
    RULE("fast-reciprocal",                 ULP(2, 1e-30, 1e30),   "A quotient in place of a power.",
         "power(x, -1) => divide(ones_like(x), x) if float(x) and not constant(x)"),
    RULE("fast-power-half",                 ULP(2, 0, 1e30),       "A root in place of a power.",
         "power(x, 0.5) => sqrt(x)"),
    RULE("fast-power-minus-half",           ULP(4, 1e-30, 1e30),   "A root in place of a power.",
         "power(x, -0.5) => rsqrt(x)"),
    RULE("fast-square-of-root",             ULP(4, 0, 1e30),       "The square of a root.",
         "multiply(sqrt(x), sqrt(x)) => x"),
    RULE("fast-root-of-square",             ULP(4, -1e15, 1e15),   "The root of a square.",
         "sqrt(multiply(x, x)) => abs(x)"),
    RULE("fast-one-by-root",                ULP(4, 1e-30, 1e30),   "A root that divides.",
         "divide(1, sqrt(x)) => rsqrt(x)"),
    RULE("fast-divide-root",                ULP(4, 1e-30, 1e30),   "A value by its root.",
         "divide(x, sqrt(x)) => sqrt(x)"),
    RULE("fast-multiply-rsqrt",             ULP(4, 1e-30, 1e30),   "A value by its root.",
         "multiply(x, rsqrt(x)) => sqrt(x)"),
    /* ---- exponentials and logarithms ---- */
    RULE("fast-exp-log",                    ULP(128, 1e-30, 1e30), "The exponential of a logarithm.",
         "exp(log(x)) => x"),
    RULE("fast-log-exp",                    ULP(4, -80, 80),       "The logarithm of an exponential.",
         "log(exp(x)) => x"),
    RULE("fast-log-of-product",             ULP(8, 1e-4, 40),      "The logarithm of a product with an exponential.",
         "log(multiply(exp(x), y)) => add(x, log(y))"),
    RULE("fast-log-of-quotient",            ULP(8, 1e-4, 40),      "The logarithm of an exponential's quotient.",
         "log(divide(exp(x), y)) => subtract(x, log(y))"),
    RULE("fast-log-by-exp",                 ULP(8, 1e-4, 40),      "The logarithm of a quotient by an exponential.",
         "log(divide(x, exp(y))) => subtract(log(x), y)"),
    RULE("fast-exp-of-sum",                 ULP(128, 1e-4, 40),    "The exponential of a sum with a logarithm.",
         "exp(add(x, log(y))) => multiply(exp(x), y)"),
    RULE("fast-exp-of-difference",          ULP(128, 1e-4, 40),    "The exponential of a difference with a logarithm.",
         "exp(subtract(x, log(y))) => divide(exp(x), y)"),
    RULE("fast-log-of-root",                ULP(4, 1e-30, 1e30),   "The logarithm of a root.",
         "log(sqrt(x)) => multiply(log(x), scalar(0.5, x))"),
    RULE("fast-log-of-power",               ULP(8, 1e-4, 1e4),     "The logarithm of a power.",
         "log(power(x, const c)) => multiply(log(abs(x)), c)"),
    RULE("fast-log-of-softmax",             ULP(16, -40, 40),      "The logarithm of shares.",
         "log(nn.softmax(x, axis=a)) => nn.log_softmax(x, axis=a)"),
    /* ---- trigonometry ---- */
    RULE("fast-sin-and-cos",                ULP(4, -1e4, 1e4),     "Pythagoras.",
         "add(multiply(sin(x), sin(x)), multiply(cos(x), cos(x))) => ones_like(x)"),
    RULE("fast-tan",                        ULP(16, -1.5, 1.5),    "The tangent is a quotient.",
         "divide(sin(x), cos(x)) => tan(x)"),
    RULE("fast-tanh",                       ULP(16, -40, 40),      "The hyperbolic tangent is a quotient.",
         "divide(sinh(x), cosh(x)) => tanh(x)"),
    RULE("fast-tanh-of-exp",                ULP(16, -40, 40),      "The hyperbolic tangent by exponentials.",
         "divide(subtract(exp(x), exp(negative(x))), add(exp(x), exp(negative(x)))) => tanh(x)"),
    RULE("fast-tanh-of-double",             ULP(16, -40, 40),      "The hyperbolic tangent by one exponential.",
         "divide(subtract(exp(multiply(x, 2)), 1), add(exp(multiply(x, 2)), 1)) => tanh(x)"),
    RULE("fast-sinh-of-exp",                ULP(16, -40, 40),      "The hyperbolic sine by exponentials.",
         "multiply(subtract(exp(x), exp(negative(x))), 0.5) => sinh(x)"),
    RULE("fast-cosh-of-exp",                ULP(16, -40, 40),      "The hyperbolic cosine by exponentials.",
         "multiply(add(exp(x), exp(negative(x))), 0.5) => cosh(x)"),
    RULE("fast-sigmoid",                    ULP(8, -80, 80),       "The logistic function by an exponential.",
         "divide(1, add(exp(negative(x)), 1)) => sigmoid(x)"),
    RULE("fast-sigmoid-of-exp",             ULP(8, -80, 80),       "The logistic function by an exponential.",
         "divide(exp(x), add(exp(x), 1)) => sigmoid(x)"),
    { 0 },
};
// clang-format on

static const bt_attr options[] = { RULES_OPTION, { 0 } };

static const bt_pass passes[] = {
    {
        .name = "fast-math",
        .doc = "Identities of real numbers, which floats round otherwise.\n"
               "before\n"
               "    def @main(%x: Tensor[(2, 3), float32]) {\n"
               "        %0 = exp(negative(%x));\n"
               "        divide(1f, add(%0, 1f))\n"
               "    }\n"
               "after, with dead-code\n"
               "    def @main(%x: Tensor[(2, 3), float32]) {\n"
               "        sigmoid(%x)\n"
               "    }",
        .level = 4,
        .options = options,
        .options_nbytes = sizeof(struct rules_options),
        .run = rules_run,
        .reads_rules = 1,
    },
    { 0 },
};

const bt_table bt_passes_simplify_fast_math[] = { BT_PASSES(passes),
                                                  BT_RULES(rules),
                                                  { 0 } };
