/*
 * take: elements, or slices, of a tensor at given positions along an axis; also the
 * look-up of an embedding.
 *     take(data, indices, axis=1)    y[i0, j0, j1, i2] = data[i0, indices[j0, j1], i2]
 *     take(data, indices)            y[j0, j1] = data at that position, row major
 * mode    clip: an index outside is moved to the nearest end
 *         wrap: counts modulo the extent
 *         fast: negative counts from the end, anything else outside fails
 * source  Relay, take; ONNX Gather-13 is mode fast
 */
#include "contents.h"
#include "first_axis.h"
#include "formula.h"

#include <string.h>

struct attrs {
    int64_t batch_dims;
    int64_t axis;
    const char *mode;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, batch_dims, INT, "0",
            "leading axes that data and indices share; negative from the end of indices"),
    BT_ATTR(struct attrs, axis, INT, "None",
            "the axis to index; None: data is flattened"),
    BT_ATTR_CHOICE(struct attrs, mode, "clip", "clip|wrap|fast",
                   "what an index outside does"),
    { 0 },
};

/* ---- type ---- */

/* The number of shared axes, or an error. */
static bt_status batch_of(bt_solver *s, const bt_relation_call *r, uint32_t indices_rank,
                          uint32_t axis, uint32_t *out)
{
    const struct attrs *a = r->attrs;
    int64_t batch = a->batch_dims + (a->batch_dims < 0 ? indices_rank : 0);
    if (batch < 0 || batch > indices_rank || batch > axis)
        return bt_relation_fail(s, r, 1,
                                "batch_dims=%lld needs as many axes in indices (rank %u) "
                                "and before axis %u",
                                (long long)a->batch_dims, indices_rank, axis);
    *out = (uint32_t)batch;
    return NULL;
}

/* Elements of a shape picked by constant positions. */
static bt_status pick_contents(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    contents data, indices;
    const bt_type *picked[CONTENTS_MAX];
    if (!contents_possible(s, r, r->narg) || !contents_possible(s, r, 0))
        return NULL;
    BT_TRY(contents_get(s, r, 0, &data));
    BT_TRY(contents_get(s, r, 1, &indices));
    if (data.n < 1)
        return NULL;
    for (int64_t i = 0; i < indices.n; i++) {
        int64_t at;
        if (!contents_number(&indices, i, &at))
            return NULL;
        if (strcmp(a->mode, "wrap") == 0)
            at = bt_mod_int64(at, data.n);
        else if (strcmp(a->mode, "clip") == 0)
            at = at < 0 ? 0 : at >= data.n ? data.n - 1 : at;
        else if (at < 0)
            at += data.n;
        if (at < 0 || at >= data.n)
            return NULL; // fails when it runs
        picked[i] = data.at[at];
    }
    return indices.n < 0 ? NULL
                         : bt_relation_set_contents(s, r, (uint32_t)indices.n, picked);
}

static bt_status relate(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data, indices;
    const bt_type *dims[2 * BT_MAX_RANK];
    uint32_t axis, batch, n = 0;
    const bt_type *type = bt_relation_arg(s, r, 0);
    bt_shape_type open;
    BT_TRY(bt_relation_tensor(s, r, 1, &indices));
    if (first_axis_shape(type, &open) && a->axis == 0 && a->batch_dims == 0)
        return first_axis_result(s, r, indices.rank, indices.dims, &open, 1,
                                 bt_as_tensor_type(type)->dtype);
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (a->axis == BT_NONE) {
        if (a->batch_dims != 0)
            return bt_relation_fail(s, r, -1, "batch_dims needs an axis");
        BT_TRY(bt_relation_result_tensor(s, r, indices.rank, indices.dims, data.dtype));
        return data.rank == 1 ? pick_contents(s, r) : NULL;
    }
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    BT_TRY(batch_of(s, r, indices.rank, axis, &batch));
    for (uint32_t k = 0; k < batch; k++)
        BT_TRY(bt_relation_unify(s, r, data.dims[k], indices.dims[k],
                                 "the axes that data and indices share"));
    for (uint32_t k = 0; k < axis; k++)
        dims[n++] = data.dims[k];
    for (uint32_t k = batch; k < indices.rank; k++)
        dims[n++] = indices.dims[k];
    for (uint32_t k = axis + 1; k < data.rank; k++)
        dims[n++] = data.dims[k];
    if (n > BT_MAX_RANK)
        return bt_relation_fail(s, r, -1, "the result would have too many dims");
    BT_TRY(bt_relation_result_tensor(s, r, n, dims, data.dtype));
    return data.rank == 1 ? pick_contents(s, r) : NULL;
}

/* ---- formula ---- */

/* The scalar `bound` limits the position that indices[...] gives. */
static void write_take(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]), axis = 0, batch = 0;
    uint32_t indices_rank = bt_formula_rank(f, call->args[1]);
    int is_flat = a->axis == BT_NONE;
    if (!is_flat) {
        axis = bt_formula_axis(f, a->axis, rank);
        batch = a->batch_dims ? bt_formula_axis(f, a->batch_dims, indices_rank) : 0;
    }
    bt_formula_each(f, "j", 0, batch, "i#");
    bt_formula_each(f, "j", batch, indices_rank, "j#");
    // the remainder of a uint64 is that of what it is, not of a position
    const int is_u64 = bt_tensor_dtype(call->args[1]) == BT_UINT64;
    bt_formula_item(
        f, "place",
        strcmp(a->mode, "wrap") == 0
            ? is_u64 ? "clamp(int64(mod(indices[$j], uint64(bound))), 0, bound - 1)"
                     : "clamp(mod(int64(indices[$j]), bound), 0, bound - 1)"
        : strcmp(a->mode, "clip") == 0 ? "clamp(index(indices[$j]), 0, bound - 1)"
                                       : "wrap(index(indices[$j]), bound)");
    if (is_flat) {
        formula_extents(f, "n", "data", 0, rank);
        formula_flat(f, "f", "data", rank, 0, rank, "f");
        bt_formula_each(f, "y", 0, indices_rank, "j# in extent(indices, #)");
        bt_formula_add(f, "bound = $[ * ]n; flat: t[f in bound] = data[$f]; "
                          "y: t[$y] = flat[$place]");
        return;
    }
    bt_formula_each(f, "y", 0, axis, "i# in extent(data, #)");
    bt_formula_each(f, "y", batch, indices_rank, "j# in extent(indices, #)");
    bt_formula_each(f, "y", axis + 1, rank, "i# in extent(data, #)");
    bt_formula_each(f, "at", 0, rank, "i#");
    bt_formula_set(f, "at", axis, "$place");
    bt_formula_add(f, "bound = extent(data, %u); y: t[$y] = data[$at]", axis);
}

/* ---- row ---- */

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "what to take from" },
    { .name = "indices", .type = "u:integer[..]", .doc = "positions" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "take",
        .revision = 1,
        .doc = "Takes slices of a tensor at positions along an axis.\n"
               "The axis of data is replaced by the axes of indices.",
        .source = "Relay, take; ONNX Gather-13",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .effects = BT_EFFECT_FAILS, // in mode fast
        .relate = relate,
        .write_formula = write_take,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[5, 3], int32[2, 2] = -2..7 | axis=0\n"
            "float32[5, 3], int64[4] = -7..9 | axis=-1, mode=\"wrap\"\n"
            "float32[5, 3], int64[] = -5..4 | axis=0, mode=\"fast\"\n"
            "float32[5, 3], int32[2] = 0..14\n"
            "float32[2, 5, 3], int32[2, 4] = 0..4 | axis=1, batch_dims=1\n"
            "int8[2, 4, 5], uint8[2, 4, 3] = 0..4 | axis=2, batch_dims=-1\n"
            "float32[5, 3], int32[0] | axis=1\nbool[4], int64[3] = 0..3 | axis=0")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_take[] = { BT_OPS(ops), { 0 } };
