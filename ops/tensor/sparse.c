/*
 * dyn.sparse_to_dense: a tensor of one value, but for some elements; its shape is a value.
 *     y[sparse_indices[k, ..]] = sparse_values[k], default_value elsewhere
 * sparse_indices  rank 2: a position each; rank 1: of a result of rank 1; rank 0: one
 * Positions that are outside are errors; of equal ones the last counts.
 * source  Relay, dyn.sparse_to_dense
 */
#include "dyn.h"
#include "moved.h"
#include "plain.h"
#include "plain/sparse_to_dense.h"

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

static const char *const faults[] = {
    PLAIN_FAULT(SPARSE_FAULT_RANK,
                "a position has another number of indices than the result has axes"),
    PLAIN_FAULT(SPARSE_FAULT_VALUES, "there are not as many values as positions"),
    PLAIN_FAULT(SPARSE_FAULT_EXTENT, "an extent of output_shape is below 0"),
    PLAIN_FAULT(SPARSE_FAULT_INDEX, "an index is outside of its axis"),
    NULL,
};
static const bt_plain_facet plain = PLAIN(plain_sparse_to_dense, faults, 0, NULL);

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
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("int32[4, 2] = 0..2, int64[2] = 3..5, float32[4], float32[]\n"
                     "int64[3] = 0..4, int32[1] = 5..6, int8[]\n"
                     "int64[0, 2], int64[2] = 0..3, float16[0], float16[]"),
            BT_FACET("plain", plain), BT_FACET("gradient", moved_2_3)),
    },
    { 0 },
};
const bt_table bt_ops_tensor_sparse[] = { BT_OPS(ops), { 0 } };
