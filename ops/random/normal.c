/*
 * random.normal, random.truncated_normal: numbers of the normal distribution.
 *     normal            y = mean + scale * sqrt(2) * erfinv(x), x of (-1, 1)
 *     truncated_normal  x of [erf(low / sqrt(2)), erf(high / sqrt(2))): no number is farther
 *                       from the mean than low and high times scale
 * x is as random.uniform of these bounds, in float32 or float64; numbers of 16 bits are rounded
 * at the end. As jax.random.normal and truncated_normal, up to the rounding of logarithms,
 * which targets compute within bounds. Relay's operator takes mean and scale as tensors.
 * source  Relay, random.normal; jax.random.normal, truncated_normal
 */
#include <math.h>

#include "draw.h"

/* That of random.normal is the same without low and high. */
struct attrs {
    const bt_type *shape, *dtype;
    double mean, scale, low, high;
};
struct normal_attrs {
    const bt_type *shape, *dtype;
    double mean, scale;
};
#define NORMAL_ROWS(type)                                          \
    DRAW_ATTRS(type), BT_ATTR(type, mean, FLOAT, "0", "the mean"), \
        BT_ATTR(type, scale, FLOAT, "1", "the standard deviation")
static const bt_attr normal_attrs[] = { NORMAL_ROWS(struct normal_attrs), { 0 } };
static const bt_attr truncated_attrs[] = {
    NORMAL_ROWS(struct attrs),
    BT_ATTR(struct attrs, low, FLOAT, "-2",
            "the least number, in deviations from the mean"),
    BT_ATTR(struct attrs, high, FLOAT, "2", "the greatest one"),
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_dtype dtype;
    BT_TRY(draw_dtype(s, r, a->dtype, &dtype));
    if (!isfinite(a->mean) || !isfinite(a->scale) || a->scale < 0)
        return bt_relation_fail(s, r, -1,
                                "mean is %g and scale %g: numbers, scale not below 0",
                                a->mean, a->scale);
    return key_relate_drawn(s, r, a->shape, a->dtype);
}

static bt_status relate_truncated(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    // so far out x would be 1 or -1 in float32
    if (!(a->low < a->high && a->low > -5 && a->high < 5))
        return bt_relation_fail(s, r, -1,
                                "low is %g and high %g: low must be less than high, both "
                                "between -5 and 5",
                                a->low, a->high);
    return relate(s, r);
}

static void write_normal(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    draw_write_normal(f, call->result, -(double)INFINITY, (double)INFINITY);
    bt_formula_add(f, "y: dtype[$i] = dtype(z[$i] * %.17g + %.17g)", a->scale, a->mean);
}

static void write_truncated(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    draw_write_normal(f, call->result, a->low, a->high);
    bt_formula_add(f, "y: dtype[$i] = dtype(z[$i] * %.17g + %.17g)", a->scale, a->mean);
}

static const bt_op_input inputs[] = { KEY_INPUT, { 0 } };

// clang-format off
static const bt_op ops[] = {
    {
        .name = "random.normal", .revision = 1, .source = "Relay, random.normal; jax.random.normal",
        .doc = "Random numbers of the normal distribution.",
        .inputs = inputs, .attrs = normal_attrs, .attrs_nbytes = sizeof(struct normal_attrs),
        .relate = relate, .write_formula = write_normal,
        .facets = BT_FACET_ROWS(BT_CASES(
            "uint32[2] = [0, 42] | shape=[4]\n"
            "uint32[2] = 0..4294967295 | shape=[2, 300], mean=-3, scale=0.5\n"
            "uint32[2] = 0..4294967295 | shape=[300], dtype=\"float64\"\n"
            "uint32[2] = 0..4294967295 | shape=[40], dtype=\"float16\", scale=100\n"
            "uint32[2] = 0..4294967295 | shape=[9], dtype=\"bfloat16\"\n"
            "uint32[2] = 0..4294967295 | shape=[2, 0]\n"
            "uint32[2] = 0..4294967295 | shape=[], mean=5, scale=0 -> 5")),
    },
    {
        .name = "random.truncated_normal", .revision = 1, .source = "jax.random.truncated_normal",
        .doc = "Random numbers of the normal distribution between two bounds.",
        .inputs = inputs, .attrs = truncated_attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_truncated, .write_formula = write_truncated,
        .facets = BT_FACET_ROWS(BT_CASES(
            "uint32[2] = 0..4294967295 | shape=[4, 50]\n"
            "uint32[2] = 0..4294967295 | shape=[40], low=0, high=0.25, mean=1, scale=4\n"
            "uint32[2] = 0..4294967295 | shape=[200], dtype=\"float64\", low=-4.5, high=4.5\n"
            "uint32[2] = 0..4294967295 | shape=[5, 7], dtype=\"float16\"")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_random_normal[] = { BT_OPS(ops), { 0 } };
