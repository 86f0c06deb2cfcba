/*
 * dyn.sparse_to_dense: a tensor of one value, but for some elements; its shape is a value.
 *     y[sparse_indices[k, ..]] = sparse_values[k], default_value elsewhere
 * sparse_indices  rank 2: a position each; rank 1: of a result of rank 1; rank 0: one
 * Positions that are outside are errors; of equal ones the last counts.
 * source  Relay, dyn.sparse_to_dense
 */
#include "dyn.h"

#include <string.h>

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const bt_type *dims[BT_MAX_RANK], *known;
    bt_tensor_parts indices, values;
    uint32_t n;
    int64_t axes = 1;
    BT_TRY(bt_relation_tensor(s, r, 0, &indices));
    BT_TRY(dyn_shape(s, r, 1, &n, dims));
    BT_TRY(bt_relation_tensor(s, r, 2, &values));
    if (indices.rank > 2 || values.rank > 1)
        return bt_relation_fail(s, r, 0,
                                "sparse_indices has rank %u, of at most 2, sparse_values "
                                "%u, of at most 1",
                                indices.rank, values.rank);
    if (indices.rank == 2) {
        BT_TRY(bt_relation_dim(s, r, indices.dims[1], &known));
        axes = bt_dim_is_const(known, &axes) ? axes : n;
    }
    if (axes != n)
        return bt_relation_fail(s, r, 0,
                                "a position has %lld indices; the result rank %u",
                                (long long)axes, n);
    return bt_relation_result_tensor(s, r, n, dims, values.dtype);
}

/* Where a position lies, counted in elements. */
static bt_status place_of(bt_ctx *ctx, const bt_eval_call *call, int64_t first,
                          int64_t *out)
{
    const bt_tensor *y = call->out[0];
    *out = 0;
    for (uint32_t k = 0; k < y->rank; k++) {
        const int64_t at = bt_tensor_get_int(call->in[0], first + k);
        if (at < 0 || at >= y->dims[k])
            return bt_eval_fail(ctx, call, "index %lld is outside axis %u of extent %lld",
                                (long long)at, k, (long long)y->dims[k]);
        *out += at * y->strides[k];
    }
    return NULL;
}

static bt_status eval(bt_ctx *ctx, const bt_eval_call *call)
{
    const bt_tensor *indices = call->in[0], *shape = call->in[1], *values = call->in[2];
    const size_t nbytes = bt_dtype_nbytes(values->dtype);
    int64_t dims[BT_MAX_RANK] = { 0 };
    bt_tensor *y;
    const int64_t rank = shape->nelem, n = indices->rank ? indices->dims[0] : 1;
    if (rank > BT_MAX_RANK || indices->nelem != n * rank)
        return bt_eval_fail(ctx, call,
                            "a position has %lld indices; the result rank %lld",
                            (long long)(n ? indices->nelem / n : 0), (long long)rank);
    if (values->rank && values->nelem != n)
        return bt_eval_fail(ctx, call, "there are %lld positions and %lld values",
                            (long long)n, (long long)values->nelem);
    for (int64_t k = 0; k < rank; k++) {
        dims[k] = bt_tensor_get_int(shape, k);
        if (dims[k] < 0)
            return bt_eval_fail(ctx, call, "output_shape: extent %lld is %lld, below 0",
                                (long long)k, (long long)dims[k]);
    }
    BT_TRY(bt_tensor_create(ctx, values->dtype, (uint32_t)rank, dims, &call->out[0]));
    y = call->out[0];
    for (int64_t i = 0; call->nin > 3 && i < y->nelem; i++)
        memcpy((char *)y->data + (size_t)i * nbytes, call->in[3]->data, nbytes);
    for (int64_t i = 0; i < n; i++) {
        int64_t at;
        BT_TRY(place_of(ctx, call, i * rank, &at));
        memcpy((char *)y->data + (size_t)at * nbytes,
               (const char *)values->data + (values->rank ? (size_t)i * nbytes : 0),
               nbytes);
    }
    return NULL;
}

static const bt_op_input inputs[] = {
    { .name = "sparse_indices", .type = "i:integer[..]", .doc = "positions" },
    { .name = "output_shape", .type = "s:integer[n]", .doc = "extents of the result" },
    { .name = "sparse_values",
      .type = "t[..]",
      .doc = "an element each, or one for all" },
    { .name = "default_value",
      .type = "t[]",
      .doc = "the other elements; 0 when left out",
      .is_optional = 1 },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "dyn.sparse_to_dense",
        .revision = 1,
        .doc = "A tensor of one value but for some elements; its shape is a value.",
        .source = "Relay, dyn.sparse_to_dense",
        .inputs = inputs,
        .effects = BT_EFFECT_FAILS,
        .relate = relate,
        .eval = eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("int32[4, 2] = 0..2, int64[2] = 3..5, float32[4], float32[]\n"
                     "int64[3] = 0..4, int32[1] = 5..6, int8[]\n"
                     "int64[0, 2], int64[2] = 0..3, float16[0], float16[]")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_sparse[] = { BT_OPS(ops), { 0 } };
