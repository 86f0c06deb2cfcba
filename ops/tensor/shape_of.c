/*
 * shape_of, ndarray_size: the shape, and the number of elements, as values.
 * Their contents are the dims themselves: what is computed from them stays symbolic.
 * source  Relay, operators of the same names
 */
#include "contents.h"
#include "first_axis.h"
#include "formula.h"

struct attrs {
    const bt_type *dtype;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, dtype, DTYPE, "int32", "element type of the result"),
    { 0 },
};

static bt_status relate_shape(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data;
    const bt_type *dims[BT_MAX_RANK], *rank;
    bt_shape_type open;
    if (first_axis_shape(bt_relation_arg(s, r, 0), &open)) {
        BT_TRY(bt_relation_opaque(s, r, 0, &rank));
        return bt_relation_result_tensor(s, r, 1, &rank, a->dtype);
    }
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    rank = bt_dim(bt_relation_store(s), data.rank);
    if (!rank)
        return bt_relation_result(s, r, NULL);
    BT_TRY(bt_relation_result_tensor(s, r, 1, &rank, a->dtype));
    if (!contents_possible(s, r, r->narg))
        return NULL;
    for (uint32_t k = 0; k < data.rank; k++)
        BT_TRY(bt_relation_dim(s, r, data.dims[k], &dims[k]));
    return bt_relation_set_contents(s, r, data.rank, dims);
}

static bt_status relate_size(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data;
    const bt_type *product = bt_dim(bt_relation_store(s), 1);
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_result_tensor(s, r, 0, NULL, a->dtype));
    if (!contents_possible(s, r, r->narg))
        return NULL;
    for (uint32_t k = 0; product && k < data.rank; k++) {
        const bt_type *dim;
        BT_TRY(bt_relation_dim(s, r, data.dims[k], &dim));
        product = bt_dim_mul(bt_relation_store(s), product, dim);
    }
    return product ? bt_relation_set_contents(s, r, 1, &product) : NULL;
}

static void write_shape(bt_formula *f, const bt_formula_call *call)
{
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    if (rank)
        bt_formula_item(f, "extent", "extent(data, %u)", rank - 1);
    else
        bt_formula_item(f, "extent", "0");
    for (uint32_t k = rank ? rank - 1 : 0; k-- > 0;)
        bt_formula_set(f, "extent", 0, "select(k == %u, extent(data, %u), $extent)", k,
                       k);
    bt_formula_add(f, "y: dtype[k in %u] = dtype($extent)", rank);
}

static void write_size(bt_formula *f, const bt_formula_call *call)
{
    formula_extents(f, "n", "data", 0, bt_formula_rank(f, call->args[0]));
    bt_formula_add(f, "y: dtype[] = dtype($[ * ]n)");
}

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "only its shape is used" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "shape_of",
        .revision = 1,
        .doc =
            "The shape of a tensor, as a tensor of rank 1.\nOne element for each axis.",
        .source = "Relay, shape_of; ONNX Shape-15",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_shape,
        .write_formula = write_shape,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3, 4]\nint8[]\nbool[0, 5] | dtype=\"int64\"\nfloat16[7]")),
    },
    {
        .name = "ndarray_size",
        .revision = 1,
        .doc = "The number of elements of a tensor, as a scalar.\n"
               "The product of its extents.",
        .source = "Relay, ndarray_size; ONNX Size-13",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_size,
        .write_formula = write_size,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 3, 4]\nint8[]\nbool[0, 5] | dtype=\"int64\"")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_shape_of[] = { BT_OPS(ops), { 0 } };
