/*
 * nn.batch_flatten: all axes but the first become one.
 *     (n, c, h, w)    (n, c*h*w)
 * source  Relay, nn.batch_flatten
 */
#include <baton/op.h>

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "at least one axis" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data;
    const bt_type *dims[2], *dim;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (data.rank == 0)
        return bt_relation_fail(s, r, 0, "data is a scalar; it needs an axis of samples");
    dims[0] = data.dims[0];
    dims[1] = bt_dim(store, 1);
    for (uint32_t i = 1; dims[1] && i < data.rank; i++) {
        BT_TRY(bt_relation_dim(s, r, data.dims[i], &dim));
        dims[1] = bt_dim_mul(store, dims[1], dim);
    }
    return dims[1] ? bt_relation_result_tensor(s, r, 2, dims, data.dtype)
                   : bt_no_memory();
}

/* Axis i of data at column j: (j / product of the axes behind it) mod its extent. */
static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_item(f, "size", "1");
    for (uint32_t i = rank; i-- > 1;) {
        bt_formula_set(f, "at", i, "mod(floordiv(j, $[ * ]size), extent(data, %u))", i);
        bt_formula_item(f, "size", "extent(data, %u)", i);
    }
    bt_formula_set(f, "at", 0, "n");
    bt_formula_add(f, "y: t[n in extent(data, 0), j in $[ * ]size] = data[$at]");
}

static const bt_op ops[] = {
    {
        .name = "nn.batch_flatten",
        .revision = 1,
        .doc = "Makes all axes but the first one.",
        .source = "Relay, nn.batch_flatten",
        .inputs = inputs,
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3, 4]\nint8[2]\nfloat32[2, "
                                         "3]\nbool[0, 2, 2]\nfloat32[1, 2, 3, 4]")),
    },
    { 0 },
};
const bt_table bt_ops_nn_batch_flatten[] = { BT_OPS(ops), { 0 } };
