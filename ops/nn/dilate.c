/*
 * nn.dilate: put strides - 1 elements between neighbours.
 *     [a b c], strides=[2]    [a v b v c] with v = dilation_value
 * source  Relay, nn.dilate
 */
#include <baton/op.h>

struct attrs {
    bt_ints strides;
    double dilation_value;
};
static const bt_attr attrs[] = {
    BT_ATTR_RANGE(struct attrs, strides, INTS, NULL, 1, INT32_MAX,
                  "distance of neighbours along each axis"),
    BT_ATTR(struct attrs, dilation_value, FLOAT, "0", "what is put between"),
    { 0 },
};
static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:number[..]", .doc = "any shape" },
    { 0 },
};

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data;
    const bt_type *dims[BT_MAX_RANK], *known, *one = bt_dim(store, 1);
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (a->strides.n != data.rank)
        return bt_relation_fail(s, r, -1, "strides has length %lld, but data has rank %u",
                                (long long)a->strides.n, data.rank);
    for (uint32_t i = 0; i < data.rank; i++) {
        dims[i] = data.dims[i];
        if (a->strides.at[i] == 1)
            continue;
        BT_TRY(bt_relation_dim(s, r, data.dims[i], &known));
        dims[i] = bt_dim_scale(store, known, a->strides.at[i], 1 - a->strides.at[i]);
        if (!dims[i] || !one)
            return bt_no_memory();
        BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, one, known,
                                   "one element and an axis that is dilated"));
    }
    return bt_relation_result_tensor(s, r, data.rank, dims, data.dtype);
}

static void write_formula(bt_formula *f, const bt_formula_call *call)
{
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_each(f, "y", 0, rank, "i# in (extent(data, #) - 1)*strides[#] + 1");
    bt_formula_item(f, "hit", "0 == 0");
    bt_formula_each(f, "hit", 0, rank, "mod(i#, strides[#]) == 0");
    bt_formula_each(f, "at", 0, rank, "floordiv(i#, strides[#])");
    bt_formula_add(f, "y: t[$y] = select($[ && ]hit, data[$at], t(dilation_value))");
}

static const bt_op ops[] = {
    {
        .name = "nn.dilate",
        .revision = 1,
        .doc = "Puts elements between neighbours.",
        .source = "Relay, nn.dilate",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate,
        .write_formula = write_formula,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 3] | strides=[1, 3]\nint8[4] | strides=[2], "
                     "dilation_value=5\nfloat64[2, 3, 1] | strides=[2, 1, 4]\n"
                     "float32[] | strides=[]\nfloat32[0, 2] | strides=[1, 2]")),
    },
    { 0 },
};
const bt_table bt_ops_nn_dilate[] = { BT_OPS(ops), { 0 } };
