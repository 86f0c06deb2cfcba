/*
 * quant.range, quant.moments, quant.bins: what numbers there are, for the choice of scales.
 *     quant.range    (least, greatest, how many are NaN or infinite), along axis or of all
 *     quant.moments  (mean, mean of the squares), along axis or of all
 *     quant.bins     how many lie in each part of low..high, all as wide; what is beyond
 *                    counts for the part at the end
 * NaN and infinities are in no range and no part; as moments they are 0.
 */
#include <baton/op.h>

struct range_attrs {
    int64_t axis;
};
static const bt_attr range_attrs[] = {
    BT_ATTR(struct range_attrs, axis, INT, "None",
            "of each of its elements; None: of all"),
    { 0 },
};
static const bt_op_input range_inputs[] = {
    { .name = "data", .type = "t:float[..]", .doc = "any shape" },
    { 0 },
};

/* A tuple of vectors along the axis, of so many types. */
static bt_status relate_along(bt_solver *s, const bt_relation_call *r, uint32_t nfield,
                              const bt_dtype *dtypes)
{
    const struct range_attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data;
    uint32_t axis = 0;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (a->axis != BT_NONE)
        BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    const bt_type *n = a->axis == BT_NONE ? bt_dim(store, 1) : data.dims[axis],
                  *shape = n ? bt_type_shape(store, 1, &n) : NULL, *fields[3], *dtype;
    for (uint32_t i = 0; i < nfield; i++) {
        dtype = bt_type_dtype(store, dtypes[i]);
        fields[i] = shape && dtype ? bt_type_tensor(store, shape, dtype) : NULL;
        if (!fields[i])
            return bt_no_memory();
    }
    return bt_relation_result(s, r, bt_type_tuple(store, nfield, fields));
}

static bt_status relate_range(bt_solver *s, const bt_relation_call *r)
{
    static const bt_dtype dtypes[] = { BT_FLOAT32, BT_FLOAT32, BT_INT64 };
    return relate_along(s, r, 3, dtypes);
}

static bt_status relate_moments(bt_solver *s, const bt_relation_call *r)
{
    static const bt_dtype dtypes[] = { BT_FLOAT64, BT_FLOAT64 };
    return relate_along(s, r, 2, dtypes);
}

/* Lists: `k` and `at` are the axis of the results, `r` those that are gone through, `i` the
 * indices of data, `n` their extents. */
static void write_along(bt_formula *f, const bt_formula_call *call)
{
    const struct range_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]),
             axis = a->axis == BT_NONE ? rank : bt_formula_axis(f, a->axis, rank);
    bt_formula_clear(f, "r");
    bt_formula_item(f, "n", "1");
    for (uint32_t i = 0; i < rank; i++) {
        if (i == axis)
            continue;
        bt_formula_item(f, "r", "i%u in extent(data, %u)", i, i);
        bt_formula_item(f, "n", "extent(data, %u)", i);
    }
    if (axis == rank || rank == 1)
        bt_formula_item(f, "r", "j in 1");
    bt_formula_each(f, "i", 0, rank, "i#");
    if (axis == rank)
        bt_formula_item(f, "k", "k in 1");
    else
        bt_formula_item(f, "k", "i%u in extent(data, %u)", axis, axis);
}

static void write_range(bt_formula *f, const bt_formula_call *call)
{
    write_along(f, call);
    bt_formula_add(f, "low: float32[$k] = min($r: select(isfinite(data[$i]), "
                      "float32(data[$i]), inf));\n"
                      "high: float32[$k] = max($r: select(isfinite(data[$i]), "
                      "float32(data[$i]), -inf));\n"
                      "bad: int64[$k] = sum($r: select(isfinite(data[$i]), int64(0), "
                      "int64(1))) -> low, high, bad");
}

/* In float64, so that the order of sums hardly counts. */
static void write_moments(bt_formula *f, const bt_formula_call *call)
{
    write_along(f, call);
    bt_formula_add(f, "mean: float64[$k] = sum($r: select(isfinite(data[$i]), "
                      "float64(data[$i]), 0)) / float64($[ * ]n);\n"
                      "squares: float64[$k] = sum($r: select(isfinite(data[$i]), "
                      "float64(data[$i]) * float64(data[$i]), 0)) / float64($[ * ]n) "
                      "-> mean, squares");
}

struct bins_attrs {
    int64_t nbin;
};
static const bt_attr bins_attrs[] = {
    BT_ATTR_RANGE(struct bins_attrs, nbin, INT, "2048", 1, 1 << 20, "parts"),
    { 0 },
};
static const bt_op_input bins_inputs[] = {
    { .name = "data", .type = "t:float[n]", .doc = "numbers" },
    { .name = "low", .type = "float32[]", .doc = "where the first part begins" },
    { .name = "high", .type = "float32[]", .doc = "where the last one ends" },
    { 0 },
};

/* Rounded as it goes, so that all executors count alike. */
#define BINS_FORMULA                                                                   \
    "at: int64[i in n] = select(isfinite(data[i]), clamp(int64(float32(float32("       \
    "float32(float32(data[i]) - low[]) / float32(high[] - low[])) * float32(nbin))), " \
    "0, "                                                                              \
    "nbin - 1), -1);\n"                                                                \
    "y: int64[j in nbin] = sum(i | at[i] == j: int64(1))"

// clang-format off
static const bt_op ops[] = {
    {
        .name = "quant.range", .revision = 1,
        .doc = "Gives (least, greatest, NaN and infinities) of numbers.\n"
               "Along an axis, or of all. Of nothing: infinity, and minus infinity.",
        .inputs = range_inputs, .attrs = range_attrs, .attrs_nbytes = sizeof(struct range_attrs),
        .relate = relate_range, .write_formula = write_range,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3, 4] | axis=1\nfloat16[2, 3]\nfloat32[5] | axis=0\nfloat64[0, 2] | axis=-1\nfloat32[]")),
    },
    {
        .name = "quant.moments", .revision = 1,
        .doc = "Gives (mean, mean of the squares) of numbers, of which NaN and infinities count as 0.\n"
               "Along an axis, or of all.",
        .inputs = range_inputs, .attrs = range_attrs, .attrs_nbytes = sizeof(struct range_attrs),
        .relate = relate_moments, .write_formula = write_moments,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3, 4] | axis=1\nfloat16[2, 3]\nfloat32[5] | axis=0\nfloat32[]")),
    },
    {
        .name = "quant.bins", .revision = 1,
        .doc = "Counts the numbers in each part of a range.\nWhat is beyond it counts at its end.",
        .inputs = bins_inputs, .attrs = bins_attrs, .attrs_nbytes = sizeof(struct bins_attrs),
        .formula = BINS_FORMULA,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[60] = -1..5, float32[] = 0, float32[] = 4 | nbin=4\n"
            "float32[3] = 1..4, float32[] = 2, float32[] = 3 | nbin=2\n"
            "float16[50], float32[] = -0.5, float32[] = 0.5 | nbin=8\nfloat32[0], float32[] = 0, float32[] = 1 | nbin=3")),
    },
    { 0 },
};
// clang-format on
const bt_table bt_ops_quant_observe[] = { BT_OPS(ops), { 0 } };
