/*
 * random.uniform: numbers of [low, high), all of them equally often.
 *     y = min(low + u * (high - low), the number below high)
 * u has as many random bits as the fraction of a float32 (23) or float64 (52), from 0 on, as
 * jax.random.uniform. Numbers of 16 bits are those of float32 rounded down to multiples of the
 * step between numbers near the bounds: rounded to nearest, many would be high; jax has
 * fewer bits.
 * Relay's operator takes low and high as tensors and gives a new key, too.
 * source  Relay, random.uniform; jax.random.uniform
 */
#include <math.h>

#include "draw.h"
#include "range.h"

struct attrs {
    const bt_type *shape, *dtype;
    double low, high;
};
static const bt_attr attrs[] = {
    DRAW_ATTRS(struct attrs),
    BT_ATTR(struct attrs, low, FLOAT, "0", "the least number"),
    BT_ATTR(struct attrs, high, FLOAT, "1", "the bound above, which is not among them"),
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_dtype dtype;
    BT_TRY(draw_dtype(s, r, a->dtype, &dtype));
    const double low = range_rounded(dtype, a->low), high = range_rounded(dtype, a->high);
    if (dtype && (!(low < high) || !isfinite(range_rounded(dtype, high - low))))
        return bt_relation_fail(
            s, r, -1,
            "low is %g and high is %g: low must be less than high in "
            "the element type, and what lies between them in its range",
            a->low, a->high);
    return key_relate_drawn(s, r, a->shape, a->dtype);
}

static void write(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const bt_dtype dtype = bt_tensor_dtype(call->result);
    const char *wide = draw_wide(dtype);
    const double low = range_rounded(dtype, a->low), high = range_rounded(dtype, a->high),
                 below = range_below(dtype, high);
    draw_write_shaped(f, call->result);
    draw_write_unit(f, dtype);
    bt_formula_add(f, "v: %s[$i] = %s(u[$i] * %.17g) + %.17g;\n", wide, wide, high - low,
                   low);
    if (BT_DTYPE_BITS(dtype) == 16) {
        const double step = range_step(dtype, fmax(fabs(low), fabs(below)));
        bt_formula_add(f,
                       "y: dtype[$i] = dtype(clamp(floor(v[$i] * %.17g) * %.17g, "
                       "%.17g, %.17g))",
                       1 / step, step, low, below);
    } else {
        bt_formula_add(f, "y: dtype[$i] = min(v[$i], %.17g)", below);
    }
}

static const bt_op_input inputs[] = { KEY_INPUT, { 0 } };

// clang-format off
static const bt_op ops[] = {
    {
        .name = "random.uniform", .revision = 1, .source = "Relay, random.uniform; jax.random.uniform",
        .doc = "Random numbers, at least low and less than high.",
        .inputs = inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write,
        .facets = BT_FACET_ROWS(BT_CASES(
            "uint32[2] = [0, 42] | shape=[4]\n"
            "uint32[2] = 0..4294967295 | shape=[2, 3], low=-3, high=5\n"
            "uint32[2] = 0..4294967295 | shape=[3, 4], dtype=\"float64\", high=0.25\n"
            "uint32[2] = 0..4294967295 | shape=[40], dtype=\"float16\", low=1000, high=1001\n"
            "uint32[2] = 0..4294967295 | shape=[9], dtype=\"bfloat16\", low=-0.1, high=0\n"
            "uint32[2] = 0..4294967295 | shape=[0, 2]\n"
            "uint32[2] = 0..4294967295 | shape=[], dtype=\"float64\"")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_random_uniform[] = { BT_OPS(ops), { 0 } };
