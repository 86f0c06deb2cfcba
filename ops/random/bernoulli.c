/*
 * random.bernoulli: truth by a probability for each element.
 *     y = u < p, u as random.uniform of [0, 1)
 * Where p is 0 it is never true, where 1 always, where NaN never. A u of float32 has 2^23
 * values, so that it is true with the next multiple of 2^-23 not below p; of float64, 2^-52.
 * source  jax.random.bernoulli; ONNX Bernoulli-15
 */
#include "draw.h"

struct attrs {
    const bt_type *shape;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, shape, SHAPE, "None",
            "the shape of the result; None: that of p"),
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts p;
    BT_TRY(key_relate(s, r));
    BT_TRY(bt_relation_tensor(s, r, 1, &p));
    const bt_type *dtype = bt_type_dtype(store, BT_BOOL), *shape, *both;
    shape = bt_type_shape(store, p.rank, p.dims);
    if (!dtype || !shape)
        return bt_no_memory();
    if (a->shape) {
        BT_TRY(bt_relation_broadcast(s, r, shape, a->shape, &both));
        BT_TRY(bt_relation_unify(s, r, both, a->shape, "p as it broadcasts, and shape"));
        shape = a->shape;
    }
    return bt_relation_result(s, r, bt_type_tensor(store, shape, dtype));
}

static void write(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const bt_dtype dtype = bt_tensor_dtype(call->args[1]);
    const uint32_t rank = bt_formula_rank(f, call->result),
                   nskip = rank - bt_formula_rank(f, call->args[1]);
    bt_formula_each(f, "axes", 0, rank,
                    a->shape ? "i# in shape[#]" : "i# in extent(p, #)");
    draw_write_words(f, call->result);
    draw_write_unit(f, dtype);
    bt_formula_clear(f, "of_p");
    for (uint32_t k = nskip; k < rank; k++) // an extent of 1 is read for all
        bt_formula_item(f, "of_p", "select(extent(p, %u) == 1, 0, i%u)", k - nskip, k);
    bt_formula_add(f, "y: bool[$i] = u[$i] < %s(p[$of_p])", draw_wide(dtype));
}

static const bt_op_input inputs[] = {
    KEY_INPUT,
    { .name = "p",
      .type = "t:float[..]",
      .doc = "probabilities; broadcasts to the shape" },
    { 0 },
};

// clang-format off
static const bt_op ops[] = {
    {
        .name = "random.bernoulli", .revision = 1, .source = "jax.random.bernoulli; ONNX Bernoulli-15",
        .doc = "True with a probability, for each element by itself.",
        .inputs = inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs),
        .relate = relate, .write_formula = write,
        .facets = BT_FACET_ROWS(BT_CASES(
            "uint32[2] = 0..4294967295, float32[] = 0..0 | shape=[3] -> [False, False, False]\n"
            "uint32[2] = 0..4294967295, float32[] = 1..1 | shape=[3] -> [True, True, True]\n"
            "uint32[2] = 0..4294967295, float32[50] = 0..1\n"
            "uint32[2] = 0..4294967295, float64[4, 5] = 0..1\n"
            "uint32[2] = 0..4294967295, float16[] = 0.5..0.5 | shape=[60]\n"
            "uint32[2] = 0..4294967295, float32[3, 1] = 0..1 | shape=[2, 3, 9]\n"
            "uint32[2] = 0..4294967295, bfloat16[0] = 0..1")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_random_bernoulli[] = { BT_OPS(ops), { 0 } };
