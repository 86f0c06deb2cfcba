/*
 * @name@: rewriting rules, a line of text each, for passes that go by rules; rules.md says what a rule may say.
 * The two sides must be equal for all values of all types that the rule applies to, NaN, infinities and the ends of the types too; what rounds
 * otherwise says how far (.ulp), what holds in a range says which (.from, .to), and both are for pass fast-math. baton plugin check evaluates both sides.
 */
#include <baton/pass.h>

static const bt_rule rules[] = {
    {
        .name = "@name@",
        .doc = "Twice a half is a quarter.",
        .pass = "simplify-expr",
        .text = "multiply(multiply(x, 0.5), 0.5) => multiply(x, scalar(0.25, x)) if float(x)",
        .ulp = 0, /* how far floats may differ; 0: not at all */
    },
    { 0 },
};

const bt_table bt_@plugin@_@ident@[] = { BT_RULES(rules), { 0 } };
