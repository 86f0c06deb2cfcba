/*
 * gather, gather_nd: elements at positions given by tensors.
 *     gather(x, indices, axis=1)    y[j0, j1] = x[j0, indices[j0, j1]]
 *     gather_nd(x, indices)         y[j, x2] = x[indices[0, j], indices[1, j], x2]
 * Negative positions count from the end; others outside fail.
 * source  Relay, operators of the same names; ONNX GatherElements-13. In gather_nd the
 *         first axis of indices runs over the axes of data, as in MXNet.
 */
#include "along_axis.h"
#include "formula.h"

/* ---- gather ---- */

struct attrs {
    int64_t axis;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, axis, INT, NULL, "the axis that indices point into"),
    { 0 },
};

static bt_status relate_gather(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data, indices;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, data.rank, &indices));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    BT_TRY(bt_relation_result_tensor(s, r, data.rank, indices.dims, data.dtype));
    return along_axis_relate(s, r, axis, &indices, &data);
}

static void write_gather(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "y", 0, rank, "i# in extent(indices, #)");
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_each(f, "at", 0, rank, "i#");
    bt_formula_set(f, "at", axis, "wrap(index(indices[$i]), extent(data, %u))", axis);
    bt_formula_add(f, "y: t[$y] = data[$at]");
}

/* ---- gather_nd ---- */

struct nd_attrs {
    int64_t batch_dims, index_rank;
};
static const bt_attr nd_attrs[] = {
    BT_ATTR_RANGE(struct nd_attrs, batch_dims, INT, "0", 0, BT_MAX_RANK,
                  "leading axes that data and the positions share"),
    BT_ATTR_RANGE(struct nd_attrs, index_rank, INT, "None", 0, BT_MAX_RANK,
                  "the extent of axis 0 of indices, where its type leaves it open"),
    { 0 },
};

static bt_status relate_nd(bt_solver *s, const bt_relation_call *r)
{
    const struct nd_attrs *a = r->attrs;
    bt_tensor_parts data, indices;
    int64_t m, batch = a->batch_dims;
    const bt_type *dims[2 * BT_MAX_RANK], *dim;
    uint32_t n = 0;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor(s, r, 1, &indices));
    if (indices.rank < 1 + batch || data.rank < batch)
        return bt_relation_fail(s, r, 1,
                                "data has rank %u, indices rank %u, batch_dims is %lld",
                                data.rank, indices.rank, (long long)batch);
    BT_TRY(bt_relation_dim(s, r, indices.dims[0], &dim));
    if (!bt_dim_is_const(dim, &m)) {
        m = a->index_rank;
        const bt_type *number = m == BT_NONE ? NULL : bt_dim(bt_relation_store(s), m);
        if (!number)
            return bt_relation_fail(s, r, 1,
                                    "the extent of axis 0 of indices must be a number: "
                                    "state it in index_rank");
        BT_TRY(bt_relation_unify(s, r, dim, number, "axis 0 of indices and index_rank"));
    }
    if (m < 0 || m + batch > data.rank)
        return bt_relation_fail(s, r, 1, "%lld positions point into data of rank %u",
                                (long long)m, data.rank);
    for (int64_t k = 0; k < batch; k++)
        BT_TRY(bt_relation_unify(s, r, data.dims[k], indices.dims[k + 1],
                                 "the axes that data and indices share"));
    for (uint32_t k = 1; k < indices.rank; k++)
        dims[n++] = indices.dims[k];
    for (int64_t k = m + batch; k < data.rank; k++)
        dims[n++] = data.dims[k];
    if (n > BT_MAX_RANK)
        return bt_relation_fail(s, r, -1, "the result would have too many dims");
    return bt_relation_result_tensor(s, r, n, dims, data.dtype);
}

static void write_nd(bt_formula *f, const bt_formula_call *call)
{
    const struct nd_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t indices_rank = bt_formula_rank(f, call->args[1]);
    uint32_t batch = (uint32_t)a->batch_dims;
    int64_t m = a->index_rank;
    bt_dim_is_const(bt_tensor_shape(call->args[1])->dims[0], &m);
    uint32_t npoint = (uint32_t)m;
    bt_formula_each(f, "y", 1, indices_rank, "j# in extent(indices, #)");
    bt_formula_each(f, "y", batch + npoint, rank, "i# in extent(data, #)");
    bt_formula_each(f, "j", 1, indices_rank, "j#");
    bt_formula_each(f, "at", 1, 1 + batch, "j#");
    for (uint32_t k = 0; k < npoint; k++)
        bt_formula_item(f, "at", "wrap(index(indices[%u, $j]), extent(data, %u))", k,
                        batch + k);
    bt_formula_each(f, "at", batch + npoint, rank, "i#");
    bt_formula_add(f, "y: t[$y] = data[$at]");
}

/* ---- rows ---- */

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "what to take from" },
    { .name = "indices", .type = "u:integer[..]", .doc = "positions; the rank of data" },
    { 0 },
};
static const bt_op_input nd_inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "what to take from" },
    { .name = "indices",
      .type = "u:integer[..]",
      .doc = "positions: axis 0 runs over the axes of data that they point into" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "gather",
        .revision = 1,
        .doc = "Takes elements at positions along an axis.\n"
               "The result has the shape of indices. Positions below 0 count from the end;\n"
               "others outside are an error when it runs.",
        .source = "Relay, gather; ONNX GatherElements-13",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .effects = BT_EFFECT_FAILS,
        .relate = relate_gather,
        .write_formula = write_gather,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 5], int32[2, 3] = 0..4 | axis=1\n"
            "int8[4, 2], int64[3, 2] = -4..3 | axis=-2\n"
            "float32[4, 3], int32[2, 1] = 0..3 | axis=0\nbool[3], uint8[0] | axis=0")),
    },
    {
        .name = "gather_nd",
        .revision = 1,
        .doc =
            "Takes slices at positions along several leading axes.\n"
            "The result has axes 1.. of indices, then the axes of data not pointed into.\n"
            "Positions below 0 count from the end; others outside are an error when it runs.",
        .source = "Relay, gather_nd; MXNet",
        .inputs = nd_inputs,
        .attrs = nd_attrs,
        .attrs_nbytes = sizeof(struct nd_attrs),
        .effects = BT_EFFECT_FAILS,
        .relate = relate_nd,
        .write_formula = write_nd,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3], int32[2, 4] = 0..1\nfloat32[2, 3], int64[1, 4] = -2..1\n"
            "float32[2, 3, 4], int32[1, 2, 5] = 0..2 | batch_dims=1\n"
            "int8[3], int32[1] = 0..2\nbool[2, 2], int32[2, 0]")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_gather[] = { BT_OPS(ops), { 0 } };
