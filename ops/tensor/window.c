/*
 * sliding_window, adv_index, strided_set: windows, joint positions, parts replaced.
 *     sliding_window(x, axis=0, window_shape=[2], strides=[1])    y[o, w] = x[o + w]
 *     adv_index((x, a, b))      y[j, x2] = x[a[j], b[j], x2]
 *     strided_set(x, v, begin, end, strides)    x with v at those positions
 * source  Relay, operators of the same names
 */
#include "formula.h"
#include "moved.h"
#include "plain.h"
#include "plain/strided_set.h"

/* ---- sliding_window ---- */

struct window_attrs {
    int64_t axis;
    bt_ints window_shape, strides;
};
static const bt_attr window_attrs[] = {
    BT_ATTR(struct window_attrs, axis, INT, NULL, "the first axis that windows span"),
    BT_ATTR_RANGE(struct window_attrs, window_shape, INTS, NULL, 1, INT64_MAX,
                  "extents of a window, one for each axis from `axis` on"),
    BT_ATTR_RANGE(struct window_attrs, strides, INTS, NULL, 1, INT64_MAX,
                  "steps from window to window along these axes"),
    { 0 },
};

static bt_status relate_window(bt_solver *s, const bt_relation_call *r)
{
    const struct window_attrs *a = r->attrs;
    bt_store *store = bt_relation_store(s);
    bt_tensor_parts data;
    uint32_t axis, n = (uint32_t)a->window_shape.n;
    const bt_type *dims[2 * BT_MAX_RANK];
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    if (a->window_shape.n != data.rank - axis || a->strides.n != a->window_shape.n)
        return bt_relation_fail(
            s, r, -1, "window_shape has %lld entries and strides %lld, expected %u",
            (long long)a->window_shape.n, (long long)a->strides.n, data.rank - axis);
    for (uint32_t k = 0; k < data.rank; k++) {
        const bt_type *extent, *width, *stride, *steps;
        dims[k] = data.dims[k];
        if (k < axis)
            continue;
        BT_TRY(bt_relation_dim(s, r, data.dims[k], &extent));
        width = bt_dim(store, a->window_shape.at[k - axis]);
        stride = bt_dim(store, a->strides.at[k - axis]);
        if (!width || !stride)
            return bt_relation_result(s, r, NULL);
        BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, width, extent,
                                   "window_shape and the dims of data"));
        steps = bt_dim_sub(store, extent, width);
        steps = steps ? bt_dim_floordiv(store, steps, stride) : NULL;
        dims[k] = steps ? bt_dim_scale(store, steps, 1, 1) : NULL;
        dims[data.rank + k - axis] = width;
        if (!dims[k])
            return bt_relation_result(s, r, NULL);
    }
    if (data.rank + n > BT_MAX_RANK)
        return bt_relation_fail(s, r, -1, "the result would have too many dims");
    return bt_relation_result_tensor(s, r, data.rank + n, dims, data.dtype);
}

static void write_window(bt_formula *f, const bt_formula_call *call)
{
    const struct window_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "y", 0, axis, "i# in extent(data, #)");
    bt_formula_each(f, "at", 0, axis, "i#");
    for (uint32_t k = axis; k < rank; k++) {
        long long size = (long long)a->window_shape.at[k - axis];
        long long stride = (long long)a->strides.at[k - axis];
        bt_formula_item(f, "y", "i%u in floordiv(extent(data, %u) - %lld, %lld) + 1", k,
                        k, size, stride);
        bt_formula_item(f, "window", "w%u in %lld", k, size);
        bt_formula_item(f, "at", "i%u * %lld + w%u", k, stride, k);
    }
    bt_formula_add(f, "y: t[$y, $window] = data[$at]");
}

/* ---- adv_index ---- */

/* The first field is data, the others are positions along its first axes. */
static bt_status relate_index(bt_solver *s, const bt_relation_call *r)
{
    const bt_tensor_parts *fields;
    bt_store *store = bt_relation_store(s);
    const bt_type *shape = NULL, *dims[2 * BT_MAX_RANK];
    uint32_t n, rank = 0;
    BT_TRY(bt_relation_tensors(s, r, 0, &n, &fields));
    if (n < 2 || n - 1 > fields[0].rank)
        return bt_relation_fail(
            s, r, 0,
            "expects data and positions along at most as many axes as "
            "it has, found %u fields",
            n);
    for (uint32_t i = 1; i < n; i++) {
        const bt_type *one = bt_type_shape(store, fields[i].rank, fields[i].dims);
        if (!one)
            return bt_relation_result(s, r, NULL);
        if (!fields[i].known)
            return bt_relation_wait(s);
        if (!(1u << BT_DTYPE_CLASS(fields[i].known) & BT_CLASS_BITS_INTEGER))
            return bt_relation_fail(s, r, 0, "field %u must have integers", i);
        if (shape)
            BT_TRY(bt_relation_broadcast(s, r, shape, one, &shape));
        else
            shape = one;
    }
    const bt_shape_type *positions = bt_as_shape_type(shape);
    for (uint32_t k = 0; k < positions->n; k++)
        dims[rank++] = positions->dims[k];
    for (uint32_t k = n - 1; k < fields[0].rank; k++)
        dims[rank++] = fields[0].dims[k];
    if (rank > BT_MAX_RANK)
        return bt_relation_fail(s, r, 0, "the result would have too many dims");
    return bt_relation_result_tensor(s, r, rank, dims, fields[0].dtype);
}

/* Positions are stages of their own: each broadcasts to their common shape, p. */
static void write_index(bt_formula *f, const bt_formula_call *call)
{
    const bt_list_type *fields = bt_as_tuple_type(call->args[0]);
    uint32_t n = fields->n, rank = bt_formula_rank(f, fields->at[0]);
    uint32_t result = bt_formula_rank(f, call->result) - (rank - (n - 1));
    char dtype[BT_DTYPE_NAME_SIZE]; // a pattern of "?" gives it no name
    bt_formula_item(f, "p", "index(data.1[..])");
    bt_formula_each(f, "p", 2, n, "index(data.#[..]) * 0");
    bt_formula_add(f, "p1: int64[..] = $[ + ]p; ");
    for (uint32_t i = 2; i < n; i++)
        bt_formula_add(f, "p%u: int64[..] = index(data.%u[..]) + p1[..] * 0; ", i, i);
    bt_formula_each(f, "y", 0, result, "j# in extent(p1, #)");
    bt_formula_each(f, "y", n - 1, rank, "i# in extent(data.0, #)");
    bt_formula_each(f, "j", 0, result, "j#");
    for (uint32_t i = 1; i < n; i++)
        bt_formula_item(f, "at", "wrap(p%u[$j], extent(data.0, %u))", i, i - 1);
    bt_formula_each(f, "at", n - 1, rank, "i#");
    bt_formula_add(f, "y: %s[$y] = data.0[$at]",
                   bt_dtype_name(bt_tensor_dtype(call->result), dtype, sizeof dtype));
}

/* ---- strided_set ---- */

static bt_status relate_set(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts data, value;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, data.rank, &value));
    return bt_relation_result_tensor(s, r, data.rank, data.dims, data.dtype);
}

static const char *const set_faults[] = {
    PLAIN_FAULT(
        WALK_FAULT_COUNT,
        "begin, end and strides have other numbers of entries than data has axes"),
    PLAIN_FAULT(WALK_FAULT_STEP, "strides has a step of 0"),
    PLAIN_FAULT(WALK_FAULT_SHAPE, "v has another shape than the part"),
    NULL,
};
static const bt_plain_facet set = PLAIN(plain_strided_set, set_faults, 0, NULL);

/* ---- rows ---- */

static const bt_op_input window_in[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any tensor with an axis" },
    { 0 },
};
static const bt_op_input index_in[] = {
    { .name = "data",
      .type = "?",
      .doc = "a tuple: data, then integer tensors that broadcast, one for each axis" },
    { 0 },
};
static const bt_op_input set_in[] = {
    { .name = "data", .type = "t[..]", .doc = "any tensor" },
    { .name = "v", .type = "t[..]", .doc = "the new elements, the shape of the part" },
    { .name = "begin", .type = "u:integer[n]", .doc = "first position along each axis" },
    { .name = "end", .type = "u[n]", .doc = "position to stop before" },
    { .name = "strides", .type = "u[..]", .doc = "steps, 1 where there are fewer" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "sliding_window",
        .revision = 1,
        .doc = "Cuts overlapping windows out of the last axes.\n"
               "Axes of the windows' positions, then those of a window.",
        .source = "Relay, sliding_window",
        .inputs = window_in,
        .attrs = window_attrs,
        .attrs_nbytes = sizeof(struct window_attrs),
        .relate = relate_window,
        .write_formula = write_window,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[5] | axis=0, window_shape=[2], strides=[1]\n"
                     "int8[2, 5, 4] | axis=1, window_shape=[3, 2], strides=[2, 2]\n"
                     "float32[2, 3] | axis=-1, window_shape=[3], strides=[1]")),
    },
    {
        .name = "adv_index",
        .revision = 1,
        .doc = "Takes elements at joint positions along the first axes.\n"
               "The axes of the positions, broadcast, then the axes left over. Negative "
               "positions count from the end, others outside fail.",
        .source = "Relay, adv_index; NumPy's integer array indexing",
        .inputs = index_in,
        .effects = BT_EFFECT_FAILS,
        .relate = relate_index,
        .write_formula = write_index,
        .facets = BT_FACET_ROWS(
            BT_CASES("(float32[3, 4], int32[2] = 0..2, int64[2] = -4..3)\n"
                     "(int8[3, 4, 2], int32[2, 1] = 0..2, int32[3] = 0..3)\n"
                     "(float32[3, 4], int64[2, 2] = -3..2)\n(bool[2], int32[0])")),
    },
    {
        .name = "strided_set",
        .revision = 1,
        .doc = "Replaces every n-th slice between two positions.\n"
               "The type of data stays.",
        .source = "Relay, strided_set",
        .inputs = set_in,
        .effects = BT_EFFECT_FAILS,
        .relate = relate_set,
        .eval = plain_eval,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[5], float32[2], int32[1] = 1..1, int32[1] = 3..3, int32[1] "
                     "= 1..1\n"
                     "int8[4, 2], int8[2, 2], int64[1] = -1..-1, int64[1] = -9..-9, "
                     "int64[1] = "
                     "-2..-2\n"
                     "bool[3], bool[0], int32[1] = 2..2, int32[1] = 1..1, int32[0]"),
            BT_FACET("plain", set), BT_FACET("gradient", moved_0_1)),
    },
    { 0 },
};
const bt_table bt_ops_tensor_window[] = { BT_OPS(ops), { 0 } };
