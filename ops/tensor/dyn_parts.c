/*
 * Parts and copies of a tensor by values: dyn.tile, dyn.strided_slice, dyn.one_hot.
 * source  Relay, operators of the same names; ONNX Tile-13, Slice-13
 */
#include "dyn.h"
#include "moved.h"
#include "plain.h"
#include "plain/one_hot.h"
#include "plain/parts.h"
#include "slice_dims.h"

#include <string.h>

/* ---- dyn.tile ---- */

static bt_status relate_tile(bt_solver *s, const bt_relation_call *r)
{
    const bt_type *reps[BT_MAX_RANK], *dims[BT_MAX_RANK], *dim;
    bt_tensor_parts data;
    uint32_t n;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(dyn_list(s, r, 1, &n, reps));
    uint32_t rank = n > data.rank ? n : data.rank;
    for (uint32_t k = 0; k < rank; k++) {
        int64_t axis = (int64_t)k - (rank - data.rank), at = (int64_t)k - (rank - n);
        int64_t number;
        if (at >= 0 && reps[at] && bt_dim_is_const(reps[at], &number) && number < 0)
            return bt_relation_fail(s, r, 1, "reps has %lld", (long long)number);
        dims[k] = axis < 0 ? bt_dim(bt_relation_store(s), 1) : data.dims[axis];
        if (dims[k] && at >= 0 && reps[at]) {
            BT_TRY(bt_relation_dim(s, r, dims[k], &dim));
            dims[k] = bt_dim_mul(bt_relation_store(s), dim, reps[at]);
        } else if (at >= 0) {
            BT_TRY(bt_relation_opaque(s, r, k, &dims[k]));
        }
        if (!dims[k])
            return bt_relation_result(s, r, NULL);
    }
    return bt_relation_result_tensor(s, r, rank, dims, data.dtype);
}

static const char *const tile_faults[] = {
    PLAIN_FAULT(TILE_FAULT_COUNT, "reps has a number below 0"),
    PLAIN_FAULT(TILE_FAULT_OVERFLOW, "the result has more elements than can be counted"),
    NULL,
};
static const bt_plain_facet tile = PLAIN(plain_tile, tile_faults, 0, NULL);

/* ---- dyn.strided_slice ---- */

struct slice_attrs {
    const char *slice_mode;
};
static const bt_attr slice_attrs[] = {
    BT_ATTR_CHOICE(struct slice_attrs, slice_mode, "end", "end|size", "what `end` means"),
    { 0 },
};

/* The extent of axis k from the contents of begin, end and strides; NULL where these do
 * not tell. */
static const bt_type *cut(bt_store *store, const struct slice_attrs *a,
                          const bt_type *const *parts, const bt_type *extent)
{
    int64_t stride = 1;
    const bt_type *begin = parts[0], *end = parts[1];
    if (!begin || !end)
        return NULL;
    if (strcmp(a->slice_mode, "size") == 0) {
        begin = slice_position(store, begin, extent, 1);
        return begin ? slice_size(store, begin, end, extent) : NULL;
    }
    if (!parts[2] || !bt_dim_is_const(parts[2], &stride) || stride == 0 ||
        stride == INT64_MIN)
        return NULL;
    return slice_length(store, begin, end, extent, stride);
}

static bt_status relate_slice(bt_solver *s, const bt_relation_call *r)
{
    const struct slice_attrs *a = r->attrs;
    const bt_type *lists[3][BT_MAX_RANK], *dims[BT_MAX_RANK];
    bt_tensor_parts data;
    uint32_t n[3];
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    for (uint32_t i = 0; i < 3; i++)
        BT_TRY(dyn_list(s, r, i + 1, &n[i], lists[i]));
    if (n[0] > data.rank || n[1] != n[0] || n[2] > n[0])
        return bt_relation_fail(s, r, 1,
                                "begin, end and strides have %u, %u and %u entries, data "
                                "has rank %u",
                                n[0], n[1], n[2], data.rank);
    for (uint32_t k = 0; k < data.rank; k++) {
        dims[k] = data.dims[k];
        if (k >= n[0])
            continue;
        const bt_type *one = bt_dim(bt_relation_store(s), 1);
        const bt_type *parts[3] = { lists[0][k], lists[1][k],
                                    k < n[2] ? lists[2][k] : one };
        BT_TRY(bt_relation_dim(s, r, data.dims[k], &dims[k]));
        dims[k] = cut(bt_relation_store(s), a, parts, dims[k]);
        if (!dims[k])
            BT_TRY(bt_relation_opaque(s, r, k, &dims[k]));
    }
    return bt_relation_result_tensor(s, r, data.rank, dims, data.dtype);
}

static const char *const slice_faults[] = {
    PLAIN_FAULT(
        WALK_FAULT_COUNT,
        "begin, end and strides have other numbers of entries than data has axes"),
    PLAIN_FAULT(WALK_FAULT_STEP, "strides has a step of 0"),
    NULL,
};

static bt_status plain_of_slice(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    const struct slice_attrs *a = call->attrs;
    (void)ctx;
    out[0] = strcmp(a->slice_mode, "size") == 0;
    return NULL;
}
static const bt_plain_facet slice =
    PLAIN(plain_strided_slice, slice_faults, 0, plain_of_slice);

/* ---- dyn.one_hot ---- */

struct hot_attrs {
    int64_t axis;
    const bt_type *dtype;
};
static const bt_attr hot_attrs[] = {
    BT_ATTR(struct hot_attrs, axis, INT, "-1", "where the new axis stands in the result"),
    BT_ATTR(struct hot_attrs, dtype, DTYPE, "None",
            "element type; None: that of on_value"),
    { 0 },
};

static bt_status relate_hot(bt_solver *s, const bt_relation_call *r)
{
    const struct hot_attrs *a = r->attrs;
    bt_tensor_parts indices, on;
    const bt_type *dims[BT_MAX_RANK + 1], *depth[BT_MAX_RANK];
    uint32_t axis, n;
    BT_TRY(bt_relation_tensor(s, r, 0, &indices));
    BT_TRY(bt_relation_tensor(s, r, 1, &on));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, indices.rank + 1, &axis));
    BT_TRY(dyn_shape(s, r, 3, &n, depth));
    if (n != 1 || indices.rank == BT_MAX_RANK)
        return bt_relation_fail(s, r, 3, "expected one depth and a rank below %d",
                                BT_MAX_RANK);
    for (uint32_t k = 0; k < indices.rank; k++)
        dims[k + (k >= axis)] = indices.dims[k];
    dims[axis] = depth[0];
    return bt_relation_result_tensor(s, r, indices.rank + 1, dims,
                                     a->dtype ? a->dtype : on.dtype);
}

static const char *const hot_faults[] = {
    PLAIN_FAULT(ONE_HOT_FAULT_DEPTH, "the depth is below 0"),
    NULL,
};

static bt_status plain_of_hot(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    const struct hot_attrs *a = call->attrs;
    (void)ctx;
    out[0] = bt_axis_front(a->axis, bt_tensor_shape(call->args[0])->n + 1);
    return NULL;
}
static const bt_plain_facet one_hot = PLAIN(plain_one_hot, hot_faults, 0, plain_of_hot);

/* ---- rows ---- */

static const bt_op_input tile_in[] = {
    { .name = "data", .type = "t[..]", .doc = "any tensor" },
    { .name = "reps", .type = "u:integer[n]", .doc = "how often along each axis" },
    { 0 },
};
static const bt_op_input slice_in[] = {
    { .name = "data", .type = "t[..]", .doc = "any tensor" },
    { .name = "begin", .type = "u:integer[n]", .doc = "first positions" },
    { .name = "end", .type = "u[n]", .doc = "positions to stop before, or how many" },
    { .name = "strides", .type = "u[..]", .doc = "steps, 1 where there are fewer" },
    { 0 },
};
static const bt_op_input hot_in[] = {
    { .name = "indices", .type = "u:integer[..]", .doc = "class numbers" },
    { .name = "on_value", .type = "t[]", .doc = "the element at the class number" },
    { .name = "off_value", .type = "t[]", .doc = "the other elements" },
    { .name = "depth", .type = "d:integer[..]", .doc = "the extent of the new axis" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "dyn.tile",
        .revision = 1,
        .doc = "Lays copies of a tensor side by side; how many is a value.\nAs tile.",
        .source = "Relay, dyn.tile; ONNX Tile-13",
        .inputs = tile_in,
        .effects = BT_EFFECT_FAILS,
        .relate = relate_tile,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3], int32[2] = 0..3\n"
                                         "int8[3], int64[2] = 1..2\nbool[2, 2], int32[1]"
                                         " = 2..2\nfloat32[], int32[0]"),
                                BT_FACET("plain", tile), BT_FACET("gradient", moved_0)),
    },
    {
        .name = "dyn.strided_slice",
        .revision = 1,
        .doc = "Takes every n-th slice between positions that are values.\n"
               "As strided_slice along the first axes.",
        .source = "Relay, dyn.strided_slice; ONNX Slice-13",
        .inputs = slice_in,
        .attrs = slice_attrs,
        .attrs_nbytes = sizeof(struct slice_attrs),
        .effects = BT_EFFECT_FAILS,
        .relate = relate_slice,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[5, 4], int32[2] = 0..2, int32[2] = 1..9, int32[2] = 1..2\n"
                     "int8[5], int64[1] = -1..9, int64[1] = -9..0, int64[1] = -2..-1\n"
                     "float32[5, 4], int32[1] = 1..1, int32[1] = -1..9, int32[0] | "
                     "slice_mode=\"size\""),
            BT_FACET("plain", slice), BT_FACET("gradient", moved_0)),
    },
    {
        .name = "dyn.one_hot",
        .revision = 1,
        .doc = "Turns class numbers into vectors; their length is a value.\nAs one_hot.",
        .source = "Relay, dyn.one_hot; ONNX OneHot-11",
        .inputs = hot_in,
        .attrs = hot_attrs,
        .attrs_nbytes = sizeof(struct hot_attrs),
        .effects = BT_EFFECT_FAILS,
        .relate = relate_hot,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("int32[2, 3] = 0..4, float32[], float32[], int32[] = 1..5\n"
                     "int64[4] = 0..2, int8[], int8[], int64[1] = 3..3 | axis=0, "
                     "dtype=\"float16\""),
            BT_FACET("plain", one_hot), BT_FACET("gradient", moved_1_2)),
    },
    { 0 },
};
const bt_table bt_ops_tensor_dyn_parts[] = { BT_OPS(ops), { 0 } };
