/*
 * canonicalize: one form for what has several.
 * By rules (rules.md): a bias is a summand that lies along the channels; constants stand
 * at the right of commutative operators; a field of a tuple that is in sight is the field.
 * What is checked at run time stays as it is.
 * keeps    no invariant
 * option   rule    go by this rule alone, default all
 * source   Relay's CanonicalizeOps
 */
#include "rule.h"

static const bt_rule rules[] = {
    {
        .name = "bias-add",
        .doc = "A bias is a summand that lies along the channels.",
        .pass = "canonicalize",
        .text = "nn.bias_add(x, b, axis=a) => add(x, along(b, x, a))",
    },
    {
        .name = "constant-right",
        .doc = "Constants stand at the right.",
        .pass = "canonicalize",
        .text = "F(const c, x) => F(x, c) if commutative(F) and not constant(x)",
    },
    { 0 },
};

static const bt_attr options[] = { RULES_OPTION, { 0 } };

static const bt_pass passes[] = {
    {
        .name = "canonicalize",
        .doc = "One form for what has several.\n"
               "before\n"
               "    def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3), "
               "float32]) {\n"
               "        nn.bias_add(%x, %b)\n"
               "    }\n"
               "after\n"
               "    def @main(%x: Tensor[(1, 3, 4, 4), float32], %b: Tensor[(3), "
               "float32]) {\n"
               "        add(%x, expand_dims(%b, axis=1, num_newaxis=2))\n"
               "    }",
        .level = 1,
        .options = options,
        .options_nbytes = sizeof(struct rules_options),
        .run = rules_run,
        .reads_rules = 1,
    },
    { 0 },
};

const bt_table bt_passes_canonicalize[] = { BT_PASSES(passes), BT_RULES(rules), { 0 } };
