/*
 * Axes permuted, added, dropped, reversed: transpose, expand_dims, squeeze, reverse.
 *     transpose(axes=[1, 0])    y[i1, i0] = data[i0, i1]
 *     expand_dims(axis=1)       y[i0, 0, i1] = data[i0, i1]
 *     squeeze(axis=[1])         y[i0, i2] = data[i0, 0, i2]
 *     reverse(axis=0)           y[i0] = data[n - 1 - i0]
 * source  Relay, operators of the same names
 */
#include "contents.h"
#include "first_axis.h"
#include "formula.h"

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any tensor" },
    { 0 },
};

/* ---- transpose ---- */

struct transpose_attrs {
    bt_ints axes;
};
static const bt_attr transpose_attrs[] = {
    BT_ATTR(struct transpose_attrs, axes, INTS, "None",
            "axis of data for each axis of the result; None: all in reverse"),
    { 0 },
};

static bt_status relate_transpose(bt_solver *s, const bt_relation_call *r)
{
    const struct transpose_attrs *a = r->attrs;
    bt_tensor_parts data;
    uint8_t is_taken[BT_MAX_RANK] = { 0 };
    const bt_type *dims[BT_MAX_RANK];
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (a->axes.n != BT_NONE_LIST && a->axes.n != data.rank)
        return bt_relation_fail(s, r, -1, "axes has length %lld, but data has rank %u",
                                (long long)a->axes.n, data.rank);
    for (uint32_t k = 0; k < data.rank; k++) {
        uint32_t axis = data.rank - 1 - k;
        if (a->axes.n != BT_NONE_LIST)
            BT_TRY(bt_relation_axis(s, r, "axes", a->axes.at[k], data.rank, &axis));
        if (is_taken[axis]++)
            return bt_relation_fail(s, r, -1, "axes lists axis %u twice", axis);
        dims[k] = data.dims[axis];
    }
    BT_TRY(bt_relation_result_tensor(s, r, data.rank, dims, data.dtype));
    return contents_copy(s, r, 0);
}

static void write_transpose(bt_formula *f, const bt_formula_call *call)
{
    const struct transpose_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    bt_formula_clear(f, "y");
    for (uint32_t k = 0; k < rank; k++) {
        int64_t from = a->axes.n == BT_NONE_LIST ? rank - 1 - k : a->axes.at[k];
        uint32_t axis = bt_formula_axis(f, from, rank);
        bt_formula_item(f, "y", "i%u in extent(data, %u)", axis, axis);
    }
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_add(f, "y: t[$y] = data[$i]");
}

/* ---- expand_dims ---- */

struct expand_attrs {
    int64_t axis, num_newaxis;
};
static const bt_attr expand_attrs[] = {
    BT_ATTR(struct expand_attrs, axis, INT, NULL, "where the first new axis stands"),
    BT_ATTR_RANGE(struct expand_attrs, num_newaxis, INT, "1", 0, BT_MAX_RANK,
                  "how many to add"),
    { 0 },
};

static bt_status relate_expand(bt_solver *s, const bt_relation_call *r)
{
    const struct expand_attrs *a = r->attrs;
    bt_tensor_parts data;
    uint32_t axis, rank, nnew = (uint32_t)a->num_newaxis;
    const bt_type *dims[2 * BT_MAX_RANK], *one = bt_dim(bt_relation_store(s), 1);
    const bt_type *type = bt_relation_arg(s, r, 0);
    bt_shape_type open;
    if (first_axis_shape(type, &open) && one && a->axis == 0 && nnew == 1)
        return first_axis_result(s, r, 1, &one, &open, 0, bt_as_tensor_type(type)->dtype);
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank + 1, &axis));
    if (!one)
        return bt_relation_result(s, r, NULL);
    rank = data.rank + nnew;
    for (uint32_t k = 0; k < rank; k++)
        dims[k] = k < axis ? data.dims[k] : k < axis + nnew ? one : data.dims[k - nnew];
    if (rank > BT_MAX_RANK)
        return bt_relation_fail(s, r, -1, "the result would have too many dims");
    BT_TRY(bt_relation_result_tensor(s, r, rank, dims, data.dtype));
    return contents_copy(s, r, 0);
}

static void write_expand(bt_formula *f, const bt_formula_call *call)
{
    const struct expand_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank + 1);
    bt_formula_each(f, "y", 0, axis, "i# in extent(data, #)");
    bt_formula_each(f, "y", 0, (uint32_t)a->num_newaxis, "k# in 1");
    bt_formula_each(f, "y", axis, rank, "i# in extent(data, #)");
    bt_formula_each(f, "i", 0, rank, "i#");
    bt_formula_add(f, "y: t[$y] = data[$i]");
}

/* ---- squeeze ---- */

struct squeeze_attrs {
    bt_ints axis;
};
static const bt_attr squeeze_attrs[] = {
    BT_ATTR(struct squeeze_attrs, axis, INTS, "None",
            "axes of extent 1 to drop; None: all whose extent is the number 1"),
    { 0 },
};

static int is_one(const bt_type *dim)
{
    int64_t extent;
    return bt_dim_is_const(dim, &extent) && extent == 1;
}

static bt_status relate_squeeze(bt_solver *s, const bt_relation_call *r)
{
    const struct squeeze_attrs *a = r->attrs;
    bt_tensor_parts data;
    uint8_t is_dropped[BT_MAX_RANK] = { 0 };
    const bt_type *dims[BT_MAX_RANK], *one = bt_dim(bt_relation_store(s), 1), *dim;
    uint32_t rank = 0;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (!one)
        return bt_relation_result(s, r, NULL);
    for (int64_t i = 0; i < a->axis.n; i++) {
        uint32_t axis;
        BT_TRY(bt_relation_axis(s, r, "axis", a->axis.at[i], data.rank, &axis));
        BT_TRY(bt_relation_unify(s, r, data.dims[axis], one, "an axis to drop and 1"));
        is_dropped[axis] = 1;
    }
    for (uint32_t k = 0; k < data.rank; k++) {
        if (a->axis.n == BT_NONE_LIST) {
            BT_TRY(bt_relation_dim(s, r, data.dims[k], &dim));
            is_dropped[k] = (uint8_t)is_one(dim);
        }
        if (!is_dropped[k])
            dims[rank++] = data.dims[k];
    }
    BT_TRY(bt_relation_result_tensor(s, r, rank, dims, data.dtype));
    return contents_copy(s, r, 0);
}

/* A dim that was open when types were inferred may be 1 by now: the result keeps its axis,
 * or that of another 1, which is the same. */
static void write_squeeze(bt_formula *f, const bt_formula_call *call)
{
    const struct squeeze_attrs *a = call->attrs;
    const bt_shape_type *shape = bt_tensor_shape(call->args[0]),
                        *result = bt_tensor_shape(call->result);
    uint8_t is_dropped[BT_MAX_RANK] = { 0 };
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t ndrop = result && result->n <= rank ? rank - result->n : rank;
    for (int64_t i = 0; i < a->axis.n; i++)
        is_dropped[bt_formula_axis(f, a->axis.at[i], rank)] = 1;
    for (uint32_t k = 0, kept = 0; a->axis.n == BT_NONE_LIST && k < rank && ndrop; k++) {
        const int stays = result && kept < result->n && is_one(result->dims[kept]);
        is_dropped[k] = (uint8_t)(is_one(shape->dims[k]) && !stays);
        ndrop -= is_dropped[k];
        kept += !is_dropped[k];
    }
    bt_formula_clear(f, "y");
    bt_formula_each(f, "at", 0, rank, "i#");
    for (uint32_t k = 0; k < rank; k++) {
        if (is_dropped[k])
            bt_formula_set(f, "at", k, "0");
        else
            bt_formula_item(f, "y", "i%u in extent(data, %u)", k, k);
    }
    bt_formula_add(f, "y: t[$y] = data[$at]");
}

/* ---- reverse ---- */

struct reverse_attrs {
    int64_t axis;
};
static const bt_attr reverse_attrs[] = {
    BT_ATTR(struct reverse_attrs, axis, INT, NULL, "the axis to reverse"),
    { 0 },
};

static bt_status relate_reverse(bt_solver *s, const bt_relation_call *r)
{
    const struct reverse_attrs *a = r->attrs;
    bt_tensor_parts data;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    return bt_relation_result_tensor(s, r, data.rank, data.dims, data.dtype);
}

static void write_reverse(bt_formula *f, const bt_formula_call *call)
{
    const struct reverse_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "y", 0, rank, "i# in extent(data, #)");
    bt_formula_each(f, "at", 0, rank, "i#");
    bt_formula_set(f, "at", axis, "extent(data, %u) - 1 - i%u", axis, axis);
    bt_formula_add(f, "y: t[$y] = data[$at]");
}

/* ---- rows ---- */

static const bt_op ops[] = {
    {
        .name = "transpose",
        .revision = 1,
        .doc = "Permutes the axes.\nAxis k of the result is axis axes[k] of data.",
        .source = "Relay, transpose",
        .inputs = inputs,
        .attrs = transpose_attrs,
        .attrs_nbytes = sizeof(struct transpose_attrs),
        .relate = relate_transpose,
        .write_formula = write_transpose,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[2, 3]\nfloat32[2, 3, 4] | axes=[1, 2, 0]\n"
                     "int8[2, 3, 4] | axes=[0, -1, -2]\nbool[]\nfloat16[0, 2]")),
    },
    {
        .name = "expand_dims",
        .revision = 1,
        .doc = "Adds axes of extent 1.\nThey stand from `axis` on in the result.",
        .source = "Relay, expand_dims",
        .inputs = inputs,
        .attrs = expand_attrs,
        .attrs_nbytes = sizeof(struct expand_attrs),
        .relate = relate_expand,
        .write_formula = write_expand,
        .facets =
            BT_FACET_ROWS(BT_CASES("float32[2, 3] | axis=1\nfloat32[2, 3] | axis=-1\n"
                                   "int8[2] | axis=0, num_newaxis=2\nbool[] | axis=0\n"
                                   "float32[0] | axis=1, num_newaxis=0")),
    },
    {
        .name = "squeeze",
        .revision = 1,
        .doc = "Drops axes of extent 1.\nWithout `axis`, all of them.",
        .source = "Relay, squeeze",
        .inputs = inputs,
        .attrs = squeeze_attrs,
        .attrs_nbytes = sizeof(struct squeeze_attrs),
        .relate = relate_squeeze,
        .write_formula = write_squeeze,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[1, 3, 1]\nfloat32[1, 3, 1] | axis=[0]\nint8[1, 3, 1] | axis=[-1]\n"
            "bool[]\nfloat32[2, 3] | axis=[]\nfloat32[1, 0]")),
    },
    {
        .name = "reverse",
        .revision = 1,
        .doc = "Reverses the order along an axis.\nThe type stays.",
        .source = "Relay, reverse",
        .inputs = inputs,
        .attrs = reverse_attrs,
        .attrs_nbytes = sizeof(struct reverse_attrs),
        .relate = relate_reverse,
        .write_formula = write_reverse,
        .facets = BT_FACET_ROWS(BT_CASES("float32[2, 3] | axis=0\nint8[2, 3] | axis=-1\n"
                                         "bool[4] | axis=0\nfloat32[2, 0] | axis=1")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_transpose[] = { BT_OPS(ops), { 0 } };
