/*
 * fixed_point_multiply: an int32 tensor times a real number, in integers.
 *     y = round(data * multiplier * 2^(shift - 31)), halves up
 * multiplier    the number's leading 31 bits, 2^30 .. 2^31 - 1 for a normal one
 * shift         its exponent
 * source  Relay, fixed_point_multiply; gemmlowp's quantization guide
 */
#include "formula.h"

struct attrs {
    int64_t multiplier, shift;
};
static const bt_attr attrs[] = {
    BT_ATTR_RANGE(struct attrs, multiplier, INT, NULL, INT32_MIN, INT32_MAX,
                  "the mantissa, times 2^31"),
    BT_ATTR_RANGE(struct attrs, shift, INT, NULL, -31, 30, "the exponent"),
    { 0 },
};

/* A positive exponent is applied before the multiplication, as Relay does: its low bits
 * then take part in rounding. */
static void write(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    long long left = a->shift > 0 ? (long long)a->shift : 0;
    long long right = 31 + (a->shift < 0 ? -(long long)a->shift : 0);
    bt_formula_add(f,
                   "y: t[..] = t(shift_right(shift_left(int64(data[..]), %lld) * %lld + "
                   "%lld, %lld))",
                   left, (long long)a->multiplier, 1ll << (right - 1), right);
}

static const bt_layout_facet layout = { .choose = bt_layout_follow };

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:int32[..]", .doc = "integers" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "fixed_point_multiply",
        .revision = 1,
        .doc = "Multiplies integers by a number given as mantissa and exponent.\n"
               "The type stays.",
        .source = "Relay, fixed_point_multiply",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relation = "Identity",
        .write_formula = write,
        .facets = BT_FACET_ROWS(
            BT_FACET("layout", layout),
            BT_CASES("int32[4] = -100..100 | multiplier=1073741824, shift=0\n"
                     "int32[2, 3] = -1000..1000 | multiplier=1518500250, shift=-3\n"
                     "int32[] = -9..9 | multiplier=1610612736, shift=2\n"
                     "int32[0] | multiplier=1073741824, shift=1")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_fixed_point[] = { BT_OPS(ops), { 0 } };
