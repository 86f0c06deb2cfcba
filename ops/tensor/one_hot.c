/*
 * one_hot: a class number as a vector that is on in one place.
 *     y[i, d] = indices[i] == d ? on_value : off_value
 * source  Relay, one_hot; ONNX OneHot-11. A number outside 0..depth-1 is off everywhere.
 */
#include "formula.h"

struct attrs {
    const bt_type *depth;
    int64_t axis;
    const bt_type *dtype;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, depth, DIM, NULL, "the extent of the new axis"),
    BT_ATTR(struct attrs, axis, INT, "-1", "where the new axis stands in the result"),
    BT_ATTR(struct attrs, dtype, DTYPE, "None", "element type; None: that of on_value"),
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts indices, on;
    const bt_type *dims[BT_MAX_RANK + 1];
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &indices));
    BT_TRY(bt_relation_tensor(s, r, 1, &on));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, indices.rank + 1, &axis));
    if (indices.rank == BT_MAX_RANK)
        return bt_relation_fail(s, r, 0, "the result would have too many dims");
    for (uint32_t k = 0; k < indices.rank; k++)
        dims[k + (k >= axis)] = indices.dims[k];
    dims[axis] = a->depth;
    return bt_relation_result_tensor(s, r, indices.rank + 1, dims,
                                     a->dtype ? a->dtype : on.dtype);
}

static void write(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const char *dtype = a->dtype ? "dtype" : "t";
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank + 1);
    bt_formula_each(f, "y", 0, axis, "i# in extent(indices, #)");
    bt_formula_item(f, "y", "d in depth");
    bt_formula_each(f, "y", axis, rank, "i# in extent(indices, #)");
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_add(f,
                   "y: %s[$y] = select(index(indices[$i]) == d, %s(on_value[]), "
                   "%s(off_value[]))",
                   dtype, dtype, dtype);
}

static const bt_op_input inputs[] = {
    { .name = "indices", .type = "u:integer[..]", .doc = "class numbers" },
    { .name = "on_value", .type = "t[]", .doc = "the element at the class number" },
    { .name = "off_value", .type = "t[]", .doc = "the other elements" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "one_hot",
        .revision = 1,
        .doc = "Turns class numbers into vectors that are on in one place.\n"
               "A new axis of extent depth; a number outside of it is off everywhere.",
        .source = "Relay, one_hot; ONNX OneHot-11",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write,
        .facets = BT_FACET_ROWS(
            BT_CASES("int32[2, 3] = 0..4, float32[], float32[] | depth=5\n"
                     "int64[4] = -1..3, int8[], int8[] | depth=3, axis=0\n"
                     "uint8[] = 0..3, float32[], float32[] | depth=4, dtype=\"float16\"\n"
                     "int32[2, 3] = 0..2, bool[], bool[] | depth=3, axis=-2\n"
                     "int32[0], float32[], float32[] | depth=2")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_one_hot[] = { BT_OPS(ops), { 0 } };
