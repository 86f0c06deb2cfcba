/*
 * random.glorot_uniform, glorot_normal, he_uniform, he_normal, lecun_uniform, lecun_normal:
 * weights to begin with, of mean 0 and a variance by which layers keep that of their data.
 *     glorot   2 / (fan_in + fan_out)     also called Xavier
 *     he       2 / fan_in                 for relu; also called Kaiming
 *     lecun    1 / fan_in
 *     uniform  between -l and l, l = sqrt(3 * variance)
 *     normal   cut at two deviations, with the deviation that gives this variance, as in
 *              jax.nn.initializers and Keras; PyTorch's are not cut
 * fan_in is the extent of in_axis times those of the window, fan_out that of out_axis likewise,
 * which are those of nn.dense and nn.conv2d (OIHW) where nothing is said.
 * Biases begin as zeros, factors of normalisations as ones; an orthogonal matrix is made by
 * @orthogonal of the library `random`.
 * source  Glorot, Bengio 2010; He, Zhang, Ren, Sun 2015; LeCun et al. 1998; jax.nn.initializers
 */
#include <math.h>
#include <string.h>

#include "draw.h"

/* The deviation of the normal distribution that is cut at -2 and 2. */
#define CUT_DEVIATION 0.87962566103423978

struct attrs {
    const bt_type *shape, *dtype;
    int64_t in_axis, out_axis;
};
static const bt_attr attrs[] = {
    DRAW_ATTRS(struct attrs),
    BT_ATTR(struct attrs, in_axis, INT, "1", "axis of what a layer reads"),
    BT_ATTR(struct attrs, out_axis, INT, "0", "axis of what it gives"),
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_dtype dtype;
    uint32_t in, out;
    BT_TRY(draw_dtype(s, r, a->dtype, &dtype));
    BT_TRY(key_relate_drawn(s, r, a->shape, a->dtype));
    const bt_shape_type *shape =
        bt_tensor_shape(bt_relation_arg(s, r, 1)); // the result's
    if (!shape || shape->rest)
        return bt_relation_wait(s); // a function's parameter, which a call knows
    if (shape->n < 2)
        return bt_relation_fail(
            s, r, -1, "shape must have two axes or more, what a layer gives and reads");
    BT_TRY(bt_relation_axis(s, r, "in_axis", a->in_axis, shape->n, &in));
    BT_TRY(bt_relation_axis(s, r, "out_axis", a->out_axis, shape->n, &out));
    return in != out ? NULL
                     : bt_relation_fail(s, r, -1, "in_axis and out_axis are both %u", in);
}

/* Stage `variance`: "2 / (fan_in + fan_out)". */
static void write_variance(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const uint32_t rank = bt_formula_rank(f, call->result),
                   in = bt_formula_axis(f, a->in_axis, rank),
                   out = bt_formula_axis(f, a->out_axis, rank);
    for (uint32_t k = 0; k < rank; k++) {
        if (k != out)
            bt_formula_item(f, "fan_in", "float64(shape[%u])", k);
        if (k != in)
            bt_formula_item(f, "fan_out", "float64(shape[%u])", k);
    }
    bt_formula_add(f, "variance: float64[] = %s / ($[ * ]fan_in%s);\n",
                   strstr(call->op->name, "lecun") ? "1.0" : "2.0",
                   strstr(call->op->name, "glorot") ? " + $[ * ]fan_out" : "");
}

static void write(bt_formula *f, const bt_formula_call *call)
{
    const bt_dtype dtype = bt_tensor_dtype(call->result);
    const char *type = draw_wide(dtype);
    write_variance(f, call);
    if (strstr(call->op->name, "uniform")) {
        draw_write_shaped(f, call->result);
        draw_write_unit(f, dtype);
        bt_formula_add(f,
                       "l: %s[] = %s(sqrt(variance[] * 3));\n"
                       "y: dtype[$i] = dtype((u[$i] * 2 - 1) * l[])",
                       type, type);
    } else {
        draw_write_normal(f, call->result, -2, 2);
        bt_formula_add(f,
                       "l: %s[] = %s(sqrt(variance[]) / %.17g);\n"
                       "y: dtype[$i] = dtype(z[$i] * l[])",
                       type, type, CUT_DEVIATION);
    }
}

static const bt_op_input inputs[] = { KEY_INPUT, { 0 } };

// clang-format off
#define INITIALISER(name_, doc_, source_)                                                        \
    {                                                                                            \
        .name = name_, .revision = 1, .doc = doc_, .source = source_ "; jax.nn.initializers",    \
        .inputs = inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs),                  \
        .relate = relate, .write_formula = write,                                                \
        .facets = BT_FACET_ROWS(BT_CASES(                                                        \
            "uint32[2] = 0..4294967295 | shape=[20, 30]\n"                                       \
            "uint32[2] = 0..4294967295 | shape=[4, 3, 2, 5], dtype=\"float64\"\n"                \
            "uint32[2] = 0..4294967295 | shape=[3, 3, 4, 5], dtype=\"float16\", in_axis=2, out_axis=-1")), \
    }

static const bt_op ops[] = {
    INITIALISER("random.glorot_uniform", "Weights of variance 2 / (fan_in + fan_out), uniform.", "Glorot, Bengio 2010"),
    INITIALISER("random.glorot_normal", "Weights of variance 2 / (fan_in + fan_out), normal.", "Glorot, Bengio 2010"),
    INITIALISER("random.he_uniform", "Weights of variance 2 / fan_in, uniform.", "He, Zhang, Ren, Sun 2015"),
    INITIALISER("random.he_normal", "Weights of variance 2 / fan_in, normal.", "He, Zhang, Ren, Sun 2015"),
    INITIALISER("random.lecun_uniform", "Weights of variance 1 / fan_in, uniform.", "LeCun et al. 1998"),
    INITIALISER("random.lecun_normal", "Weights of variance 1 / fan_in, normal.", "LeCun et al. 1998"),
    { 0 },
};
// clang-format on
const bt_table bt_ops_random_initialise[] = { BT_OPS(ops), { 0 } };
