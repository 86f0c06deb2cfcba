/*
 * simplify-inference: write normalisations by arithmetic; drop what only training needs.
 * By rules (rules.md), for nn.batch_norm, nn.layer_norm and nn.instance_norm; nn.dropout
 * becomes its input and a mask of ones. What is checked at run time stays as it is.
 * keeps    no invariant
 * option   rule    go by this rule alone, default all
 * source   Relay's SimplifyInference; Ioffe, Szegedy 2015; Ba, Kiros, Hinton 2016
 */
#include "simplify/rule.h"

/* With the moments m and v of x: (x - m) / sqrt(v + epsilon) * gamma + beta. */
#define NORM(op, own_axes)                                             \
    op "(x, gamma, beta, axis=a, epsilon=e, center=c, scale=s) => "    \
       "pick(c, add(scaled, along(beta, x, a)), scaled) "              \
       "where scaled = pick(s, multiply(y, along(gamma, x, a)), y), "  \
       "y = multiply(d, rsqrt(add(mean(multiply(d, d), axis=" own_axes \
       ", keepdims=True), scalar(e, x)))), "                           \
       "d = subtract(x, mean(x, axis=" own_axes ", keepdims=True))"

static const bt_rule rules[] = {
    {
        .name = "batch-norm",
        .doc = "With moments that are given, a factor and a summand for each channel.",
        .pass = "simplify-inference",
        .text =
            "nn.batch_norm(x, gamma, beta, m, v, axis=a, epsilon=e, center=c, scale=s, "
            "..) "
            "=> (add(multiply(x, along(factor, x, a)), along(summand, x, a)), m, v) "
            "where factor = pick(s, multiply(gamma, inverse), inverse), "
            "inverse = rsqrt(add(v, scalar(e, x))), "
            "summand = pick(c, add(shift, beta), shift), "
            "shift = negative(multiply(m, factor))",
        .ulp = 64,
        .from = 0.01, /* v too: where it is near 0 the difference of x and m cancels */
        .to = 8,
    },
    {
        .name = "layer-norm",
        .doc = "Moments over one axis.",
        .pass = "simplify-inference",
        .text = NORM("nn.layer_norm", "axis(a, x)"),
        .ulp = 64,
        .from = -1e4,
        .to = 1e4,
    },
    {
        .name = "instance-norm",
        .doc = "Moments over all axes but the first and the channels'.",
        .pass = "simplify-inference",
        .text = NORM("nn.instance_norm", "others(a, x)"),
        .ulp = 64,
        .from = -1e4,
        .to = 1e4,
    },
    {
        .name = "dropout-mask",
        .doc = "Drops nothing, and says so.",
        .pass = "simplify-inference",
        .text = "nn.dropout(x, ..) => (x, ones_like(x))",
    },
    { 0 },
};

static const bt_attr options[] = { RULES_OPTION, { 0 } };

static const bt_pass passes[] = {
    {
        .name = "simplify-inference",
        .doc = "Write normalisations by arithmetic, and drop what only training needs.\n"
               "before\n"
               "    def @main(%x: Tensor[(2, 3), float32], %g: Tensor[(3), float32],\n"
               "              %v: Tensor[(3), float32]) {\n"
               "        %0 = nn.batch_norm(%x, %g, %g, %g, %v);\n"
               "        %0.0\n"
               "    }\n"
               "after, with dead-code\n"
               "    def @main(%x: Tensor[(2, 3), float32], %g: Tensor[(3), float32],\n"
               "              %v: Tensor[(3), float32]) {\n"
               "        %0 = multiply(%g, rsqrt(add(%v, 1e-05f)));\n"
               "        %1 = multiply(%x, %0);\n"
               "        add(%1, add(negative(multiply(%g, %0)), %g))\n"
               "    }",
        .level = 0,
        .options = options,
        .options_nbytes = sizeof(struct rules_options),
        .run = rules_run,
        .reads_rules = 1,
    },
    { 0 },
};

const bt_table bt_passes_simplify_simplify_inference[] = { BT_PASSES(passes),
                                                           BT_RULES(rules),
                                                           { 0 } };
