/*
 * cumsum, cumprod: running sums and products along an axis.
 *     y[i] = sum(k | k <= i: data[k])        exclusive: k < i
 * Without an axis data is flattened first.
 * source  Relay, operators of the same names; ONNX CumSum-14
 */
#include "formula.h"
#include "shape_relate.h"

#include <string.h>

struct attrs {
    int64_t axis;
    const bt_type *dtype;
    int64_t exclusive;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, axis, INT, "None",
            "the axis to run along; None: all, flattened"),
    BT_ATTR(struct attrs, dtype, DTYPE, "None", "element type; None: that of data"),
    BT_ATTR(struct attrs, exclusive, BOOL, "False", "leave out the element itself"),
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data;
    uint32_t axis;
    const bt_type *dtype, *total;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    dtype = a->dtype ? a->dtype : data.dtype;
    if (!a->dtype)
        BT_TRY(bt_relation_class(s, r, 0, BT_CLASS_BITS_NUMBER));
    else if (dtype == bt_type_dtype(bt_relation_store(s), BT_BOOL))
        return bt_relation_fail(s, r, -1, "dtype is bool; sums and products are numbers");
    if (a->axis != BT_NONE) {
        BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
        return bt_relation_result_tensor(s, r, data.rank, data.dims, dtype);
    }
    BT_TRY(shape_product(s, r, data.rank, data.dims, &total));
    return bt_relation_result_tensor(s, r, 1, &total, dtype);
}

static void write(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const char *dtype = a->dtype ? "dtype" : "t", *below = a->exclusive ? "<" : "<=";
    const char *reducer = strcmp(call->op->name, "cumsum") == 0 ? "sum" : "prod";
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    if (a->axis == BT_NONE) {
        formula_extents(f, "n", "data", 0, rank);
        formula_flat(f, "at", "data", rank, 0, rank, "k");
        bt_formula_add(f,
                       "n = $[ * ]n; y: %s[j in n] = %s(k in n | k %s j: %s(data[$at]))",
                       dtype, reducer, below, dtype);
        return;
    }
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "y", 0, rank, "i# in extent(data, #)");
    bt_formula_each(f, "at", 0, rank, "i#");
    bt_formula_set(f, "at", axis, "k");
    bt_formula_add(f, "y: %s[$y] = %s(k in extent(data, %u) | k %s i%u: %s(data[$at]))",
                   dtype, reducer, axis, below, axis, dtype);
}

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "numbers, or truth values with a dtype" },
    { 0 },
};

#define SCAN(name_, doc_)                                                               \
    {                                                                                   \
        .name = name_, .revision = 1, .doc = doc_ "\nThe shape of data, or flat.",      \
        .source = "Relay, " name_, .inputs = inputs, .attrs = attrs,                    \
        .attrs_nbytes = sizeof(struct attrs), .relate = relate, .write_formula = write, \
        .facets = BT_FACET_ROWS(BT_CASES(                                               \
            "float32[2, 3] | axis=0\nfloat32[2, 3]\nint8[2, 5] | axis=-1\n"             \
            "float64[4] | axis=0, exclusive=True\nbool[5] | axis=0, dtype=\"int32\"\n"  \
            "float32[0]\nfloat32[]\nint32[2, 2] | dtype=\"int64\"")),                   \
    }
static const bt_op ops[] = {
    SCAN("cumsum", "Running sums along an axis."),
    SCAN("cumprod", "Running products along an axis."),
    { 0 },
};
const bt_table bt_ops_tensor_scan[] = { BT_OPS(ops), { 0 } };
