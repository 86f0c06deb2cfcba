/*
 * Reshapes and fills by a shape that is a value: dyn.reshape, dyn.broadcast_to, dyn.full,
 * dyn.zeros, dyn.ones, dyn.squeeze, dyn.expand_dims.
 * The type has the shape's contents where inference knows them, opaque dims elsewhere.
 * source  Relay, operators of the same names; ONNX Reshape-14, Expand-13, ConstantOfShape
 */
#include "contents.h"
#include "dyn.h"
#include "moved.h"
#include "plain.h"
#include "plain/axes.h"
#include "plain/broadcast_to.h"
#include "plain/fill.h"
#include "plain/reshape.h"
#include "shape_codes.h"
#include "shape_relate.h"

#include <string.h>

/* ---- dyn.reshape ---- */

struct reshape_attrs {
    int64_t allowzero;
};
static const bt_attr reshape_attrs[] = {
    BT_ATTR(struct reshape_attrs, allowzero, BOOL, "False", "0 is an extent, not a code"),
    { 0 },
};

static bt_status relate_reshape(bt_solver *s, const bt_relation_call *r)
{
    const struct reshape_attrs *a = r->attrs;
    const bt_type *target[BT_MAX_RANK], *dims[BT_MAX_RANK];
    bt_tensor_parts data;
    uint32_t n, nknown = 0;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(dyn_list(s, r, 1, &n, target));
    for (uint32_t i = 0; i < n; i++) {
        int64_t number, low = 0, high;
        if (target[i] && !bt_dim_is_const(target[i], &number))
            bt_dim_bounds(target[i], &low, &high);
        nknown += target[i] && low >= 0;
    }
    if (nknown == n) {
        BT_TRY(shape_relate(s, r, n, target, a->allowzero != 0));
        return contents_copy(s, r, 0);
    }
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(bt_relation_opaque(s, r, i, &dims[i]));
    return bt_relation_result_tensor(s, r, n, dims, data.dtype);
}

static bt_status plain_of_reshape(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    const struct reshape_attrs *a = call->attrs;
    (void)ctx;
    out[0] = a->allowzero;
    return NULL;
}
static const bt_plain_facet reshape =
    PLAIN(plain_reshape, shape_faults, 0, plain_of_reshape);

/* ---- dyn.broadcast_to ---- */

static bt_status relate_broadcast(bt_solver *s, const bt_relation_call *r)
{
    const bt_type *dims[BT_MAX_RANK], *target, *both;
    bt_tensor_parts data;
    uint32_t n;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(dyn_shape(s, r, 1, &n, dims));
    target = bt_type_shape(bt_relation_store(s), n, dims);
    if (!target)
        return bt_relation_result(s, r, NULL);
    BT_TRY(bt_relation_result_tensor(s, r, n, dims, data.dtype));
    for (uint32_t k = 0; k < n; k++) {
        if (dims[k]->has & BT_HAS_OPAQUE)
            return NULL; // the run checks it
    }
    const bt_type *shape = bt_as_tensor_type(bt_relation_arg(s, r, 0))->shape;
    BT_TRY(bt_relation_broadcast(s, r, shape, target, &both));
    return bt_relation_unify(s, r, both, target,
                             "data, broadcast, and the shape asked for");
}

static const char *const broadcast_faults[] = {
    PLAIN_FAULT(BROADCAST_FAULT_RANK, "data has more axes than the shape"),
    PLAIN_FAULT(BROADCAST_FAULT_EXTENT, "an extent of the shape is below 0"),
    PLAIN_FAULT(BROADCAST_FAULT_SHAPE, "data does not broadcast to the shape"),
    NULL,
};
static const bt_plain_facet broadcast =
    PLAIN(plain_broadcast_to, broadcast_faults, 0, NULL);

/* ---- dyn.full, dyn.zeros, dyn.ones ---- */

struct fill_attrs {
    const bt_type *dtype;
};
static const bt_attr full_attrs[] = {
    BT_ATTR(struct fill_attrs, dtype, DTYPE, "None", "element type; None: of fill_value"),
    { 0 },
};
static const bt_attr fill_attrs[] = {
    BT_ATTR(struct fill_attrs, dtype, DTYPE, "float32", "element type"),
    { 0 },
};

/* The shape is the last argument. */
static bt_status relate_fill(bt_solver *s, const bt_relation_call *r)
{
    const struct fill_attrs *a = r->attrs;
    const bt_type *dims[BT_MAX_RANK], *dtype = a->dtype;
    bt_tensor_parts fill;
    uint32_t n;
    if (r->narg == 2) {
        BT_TRY(bt_relation_tensor_rank(s, r, 0, 0, &fill));
        dtype = dtype ? dtype : fill.dtype;
    }
    if (!dtype)
        return bt_relation_fail(s, r, -1, "dtype must be given");
    BT_TRY(dyn_shape(s, r, r->narg - 1, &n, dims));
    return bt_relation_result_tensor(s, r, n, dims, dtype);
}

static const char *const fill_faults[] = {
    PLAIN_FAULT(FILL_FAULT_EXTENT, "an extent of the shape is below 0"),
    NULL,
};

static bt_status plain_of_fill(bt_ctx *ctx, const bt_formula_call *call, int64_t *out)
{
    (void)ctx;
    out[0] = strcmp(call->op->name, "dyn.ones") == 0;
    return NULL;
}
static const bt_plain_facet fill = PLAIN(plain_fill, fill_faults, 0, plain_of_fill);

/* ---- dyn.squeeze, dyn.expand_dims ---- */

static bt_status relate_squeeze(bt_solver *s, const bt_relation_call *r)
{
    const bt_type *axes[BT_MAX_RANK], *dims[BT_MAX_RANK];
    const bt_type *one = bt_dim(bt_relation_store(s), 1);
    uint8_t is_dropped[BT_MAX_RANK] = { 0 };
    bt_tensor_parts data;
    uint32_t n, rank = 0;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(dyn_list(s, r, 1, &n, axes));
    if (n > data.rank)
        return bt_relation_fail(s, r, 1, "drops %u axes of rank %u", n, data.rank);
    for (uint32_t i = 0; i < n; i++) {
        int64_t number;
        uint32_t axis;
        if (!axes[i] || !bt_dim_is_const(axes[i], &number)) {
            // which axes stay is open, only their number is known
            for (uint32_t k = 0; k < data.rank - n; k++)
                BT_TRY(bt_relation_opaque(s, r, k, &dims[k]));
            return bt_relation_result_tensor(s, r, data.rank - n, dims, data.dtype);
        }
        BT_TRY(bt_relation_axis(s, r, "axis", number, data.rank, &axis));
        if (!one)
            return bt_relation_result(s, r, NULL);
        BT_TRY(bt_relation_unify(s, r, data.dims[axis], one, "an axis to drop and 1"));
        is_dropped[axis] = 1;
    }
    for (uint32_t k = 0; k < data.rank; k++) {
        if (!is_dropped[k])
            dims[rank++] = data.dims[k];
    }
    return bt_relation_result_tensor(s, r, rank, dims, data.dtype);
}

static const char *const squeeze_faults[] = {
    PLAIN_FAULT(SQUEEZE_FAULT_AXIS, "an axis of data to drop has no extent of 1"),
    PLAIN_FAULT(SQUEEZE_FAULT_TWICE, "an axis to drop is named twice"),
    NULL,
};
static const bt_plain_facet squeeze = PLAIN(plain_squeeze, squeeze_faults, 0, NULL);

struct expand_attrs {
    int64_t num_newaxis;
};
static const bt_attr expand_attrs[] = {
    BT_ATTR_RANGE(struct expand_attrs, num_newaxis, INT, "1", 0, BT_MAX_RANK,
                  "how many to add"),
    { 0 },
};

static bt_status relate_expand(bt_solver *s, const bt_relation_call *r)
{
    const struct expand_attrs *a = r->attrs;
    const bt_type *where[BT_MAX_RANK], *dims[2 * BT_MAX_RANK];
    const bt_type *one = bt_dim(bt_relation_store(s), 1);
    bt_tensor_parts data;
    uint32_t n, axis, nnew = (uint32_t)a->num_newaxis;
    int64_t number;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(dyn_list(s, r, 1, &n, where));
    uint32_t rank = data.rank + nnew;
    if (n != 1 || rank > BT_MAX_RANK)
        return bt_relation_fail(s, r, 1, "expected one axis and at most %d dims",
                                BT_MAX_RANK);
    if (!where[0] || !bt_dim_is_const(where[0], &number)) {
        for (uint32_t k = 0; k < rank; k++)
            BT_TRY(bt_relation_opaque(s, r, k, &dims[k]));
        return bt_relation_result_tensor(s, r, rank, dims, data.dtype);
    }
    BT_TRY(bt_relation_axis(s, r, "axis", number, data.rank + 1, &axis));
    if (!one)
        return bt_relation_result(s, r, NULL);
    for (uint32_t k = 0; k < rank; k++)
        dims[k] = k < axis ? data.dims[k] : k < axis + nnew ? one : data.dims[k - nnew];
    return bt_relation_result_tensor(s, r, rank, dims, data.dtype);
}

static const char *const expand_faults[] = {
    PLAIN_FAULT(EXPAND_FAULT_AXIS, "the axis is outside the rank of data"),
    NULL,
};
static const bt_plain_facet expand = PLAIN(plain_expand_dims, expand_faults, 0, NULL);

/* ---- rows ---- */

#define DATA                                                 \
    {                                                        \
        .name = "data", .type = "t[..]", .doc = "any tensor" \
    }
static const bt_op_input reshape_in[] = {
    DATA,
    { .name = "newshape",
      .type = "u:integer[n]",
      .doc = "extents and codes, as reshape's" },
    { 0 },
};
static const bt_op_input broadcast_in[] = {
    DATA,
    { .name = "shape", .type = "u:integer[n]", .doc = "the shape of the result" },
    { 0 },
};
static const bt_op_input full_in[] = {
    { .name = "fill_value", .type = "t[]", .doc = "the value of every element" },
    { .name = "shape", .type = "u:integer[n]", .doc = "the shape of the result" },
    { 0 },
};
static const bt_op_input fill_in[] = {
    { .name = "shape", .type = "u:integer[n]", .doc = "the shape of the result" },
    { 0 },
};
static const bt_op_input squeeze_in[] = {
    DATA,
    { .name = "axis", .type = "u:integer[..]", .doc = "axes of extent 1 to drop" },
    { 0 },
};
static const bt_op_input expand_in[] = {
    DATA,
    { .name = "axis", .type = "u:integer[..]", .doc = "where the first new axis stands" },
    { 0 },
};

#define DYN(name_, inputs_, relate_, plain_, gradient_, cases_, doc_)                \
    .name = name_, .revision = 1, .doc = doc_, .source = "Relay, " name_, \
    .inputs = inputs_, .effects = BT_EFFECT_FAILS, .relate = relate_,     \
    .eval = plain_eval,                                                   \
    .facets = BT_FACET_ROWS(BT_CASES(cases_), BT_FACET("plain", plain_), \
                             BT_FACET("gradient", gradient_))
#define SHAPE_CASES "int32[2] = 1..4\nint64[0]\nint32[1] = 0..3"

static const bt_gradient_facet constant = { .none = "its elements are constants" };

static const bt_op ops[] = {
    { DYN("dyn.reshape", reshape_in, relate_reshape, reshape, moved_as_they_are,
          "float32[2, 3], int32[1] = -1..-1\nbool[1], int64[0]\nint8[4, 1], int32[2] = "
          "0..0",
          "Puts the elements in a shape that is a value.\nCodes as in reshape."),
      .attrs = reshape_attrs, .attrs_nbytes = sizeof(struct reshape_attrs) },
    { DYN("dyn.broadcast_to", broadcast_in, relate_broadcast, broadcast, moved_0,
          "float32[], int32[2] = 1..4\nint8[1], int64[3] = 0..3",
          "Repeats axes of extent 1 until the tensor has a shape that is a value.\n"
          "As broadcast_to.") },
    { DYN("dyn.full", full_in, relate_fill, fill, moved_0,
          "float32[], int32[2] = 1..4\nint8[], int64[0]\n"
          "int64[] = 3..9, int32[1] = 2..5 | dtype=\"float16\"\n"
          "float32[] = -3..300, int32[1] = 2..5 | dtype=\"uint8\"",
          "A tensor with the same value everywhere; its shape is a value.\nAs full."),
      .attrs = full_attrs, .attrs_nbytes = sizeof(struct fill_attrs) },
    { DYN("dyn.zeros", fill_in, relate_fill, fill, constant, SHAPE_CASES,
          "A tensor of zeros; its shape is a value.\nAs zeros."),
      .attrs = fill_attrs, .attrs_nbytes = sizeof(struct fill_attrs) },
    { DYN("dyn.ones", fill_in, relate_fill, fill, constant, SHAPE_CASES,
          "A tensor of ones; its shape is a value.\nAs ones."),
      .attrs = fill_attrs, .attrs_nbytes = sizeof(struct fill_attrs) },
    { DYN("dyn.squeeze", squeeze_in, relate_squeeze, squeeze, moved_as_they_are,
          "float32[1, 3, 1], int32[1] = 0..0\nint8[3, 1], int64[] = -1..-1",
          "Drops axes of extent 1; which ones is a value.\nAs squeeze.") },
    { DYN("dyn.expand_dims", expand_in, relate_expand, expand, moved_as_they_are,
          "float32[2, 3], int32[] = -3..2\nint8[], int64[1] = 0..0 | num_newaxis=2",
          "Adds axes of extent 1; where is a value.\nAs expand_dims."),
      .attrs = expand_attrs, .attrs_nbytes = sizeof(struct expand_attrs) },
    { 0 },
};
const bt_table bt_ops_tensor_dyn_shape[] = { BT_OPS(ops), { 0 } };
