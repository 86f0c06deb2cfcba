/*
 * random.multinomial: which of several, each with its probability, drawn num_samples times.
 *     total[j] = sum(k <= j: probs[k] * scale)
 *     y = how many j there are with total[j] <= u * total[last]
 * along the last axis of probs, whose rows need not sum to 1: weights that are finite and not
 * below 0, one at least above; with others it fails, by reading at the number of the row in a stage
 * that has none and is called by what rows are to have. What has weight 0 is never drawn. Draws
 * are independent, with replacement.
 * scale is 1, or a power of two where the greatest weight is so great that the sum could overflow.
 * Relay's operator gives a new key, too.
 * source  Relay, random.multinomial; ONNX Multinomial-7; jax.random.categorical takes logarithms
 */
#include "draw.h"

struct attrs {
    const bt_type *num_samples, *dtype;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, num_samples, DIM, "1", "how many are drawn of each row"),
    BT_ATTR(struct attrs, dtype, DTYPE, "int32", "element type: int32 or int64"),
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    const bt_type *dims[BT_MAX_RANK];
    bt_tensor_parts probs;
    BT_TRY(key_relate(s, r));
    BT_TRY(bt_relation_tensor(s, r, 1, &probs));
    if (probs.rank == 0)
        return bt_relation_fail(s, r, 1,
                                "probs is a scalar; it needs an axis to choose along");
    if (a->dtype->kind == BT_TYPE_DTYPE) {
        const bt_dtype dtype = ((const bt_dtype_type *)(const void *)a->dtype)->dtype;
        if (dtype != BT_INT32 && dtype != BT_INT64)
            return bt_relation_fail(s, r, -1, "dtype must be int32 or int64");
    }
    const bt_type *one = bt_dim(bt_relation_store(s), 1), *classes;
    if (!one)
        return bt_no_memory();
    BT_TRY(bt_relation_dim(s, r, probs.dims[probs.rank - 1], &classes));
    BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, one, classes,
                               "1 and the last axis of probs"));
    for (uint32_t k = 0; k + 1 < probs.rank; k++)
        dims[k] = probs.dims[k];
    dims[probs.rank - 1] = a->num_samples;
    return bt_relation_result_tensor(s, r, probs.rank, dims, a->dtype);
}

/* Stage `number`: of a row, from 0 on. */
static void add_row_number(bt_formula *f, uint32_t last)
{
    bt_formula_add(f, "number: int64[$rows] = ");
    for (uint32_t k = 0; k < last; k++)
        bt_formula_add(f, "(");
    bt_formula_add(f, "0");
    for (uint32_t k = 0; k < last; k++)
        bt_formula_add(f, " * extent(probs, %u) + i%u)", k, k);
    bt_formula_add(f, ";\n");
}

static void write(bt_formula *f, const bt_formula_call *call)
{
    const bt_dtype dtype = bt_tensor_dtype(call->args[1]);
    const char *wide = draw_wide(dtype);
    const uint32_t last = bt_formula_rank(f, call->args[1]) - 1;
    bt_formula_each(f, "row", 0, last, "i#");
    bt_formula_each(f, "rows", 0, last, "i# in extent(probs, #)");
    add_row_number(f, last);
    bt_formula_add(
        f,
        "bad: int32[$rows] = max(j: select(probs[$row, j] >= 0 && probs[$row, j] < inf, "
        "0, 1));\n"
        "rows_of_finite_weights_from_0_on: t[k in 0] = 0;\n"
        "weights: t[$rows, j in extent(probs, -1)] = select(bad[$row] == 0, probs[$row, "
        "j], rows_of_finite_weights_from_0_on[wrap(number[$row], 0)]);\n"
        "greatest: %s[$rows] = max(j: %s(weights[$row, j]));\n"
        "scale: %s[$rows] = select(greatest[$row] > %s, 5.421010862427522e-20, 1);\n"
        "total: %s[$rows, j in extent(probs, -1)] = sum(k | k <= j: %s(weights[$row, k]) "
        "* scale[$row]);\n"
        "sum_of: %s[$rows] = total[$row, extent(probs, -1) - 1] else 1;\n"
        "rows_with_a_weight_above_0: %s[k in 0] = 0;\n"
        "sums: %s[$rows] = select(sum_of[$row] > 0, sum_of[$row], "
        "rows_with_a_weight_above_0[wrap(number[$row], 0)]);\n",
        wide, wide, wide, dtype == BT_FLOAT64 ? "1e300" : "1e30", wide, wide, wide, wide,
        wide);
    bt_formula_each(f, "axes", 0, last, "i# in extent(probs, #)");
    bt_formula_item(f, "axes", "i%u in num_samples", last);
    draw_write_words(f, call->result);
    draw_write_unit(f, dtype);
    bt_formula_add(
        f,
        "v: %s[$i] = u[$i] * sums[$row];\n"
        "y: dtype[$i] = dtype(min(sum[int64](j: int64(total[$row, j] <= v[$i])), "
        "extent(probs, -1) - 1) + int64(v[$i] < 0))", // of one weight, too, the sum is read
        wide);
}

static const bt_op_input inputs[] = {
    KEY_INPUT,
    { .name = "probs", .type = "t:float[..]", .doc = "weights along the last axis" },
    { 0 },
};

// clang-format off
static const bt_op ops[] = {
    {
        .name = "random.multinomial", .revision = 1, .source = "Relay, random.multinomial; ONNX Multinomial-7",
        .doc = "Positions along the last axis, each drawn with the probability that stands there.",
        .inputs = inputs, .attrs = attrs, .attrs_nbytes = sizeof(struct attrs),
        .effects = BT_EFFECT_FAILS, .relate = relate, .write_formula = write,
        .facets = BT_FACET_ROWS(BT_CASES(
            "uint32[2] = 0..4294967295, float32[1] = 0..2 | num_samples=5\n"
            "uint32[2] = 0..4294967295, float32[4] = 0..1 | num_samples=30\n"
            "uint32[2] = 0..4294967295, float64[3, 5] = 0..1 | num_samples=20, dtype=\"int64\"\n"
            "uint32[2] = 0..4294967295, float16[2, 2, 3] = 0..1 | num_samples=7\n"
            "uint32[2] = 0..4294967295, float32[0, 3] = 0..1")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_random_multinomial[] = { BT_OPS(ops), { 0 } };
