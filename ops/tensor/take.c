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
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_tensor(s, r, 1, &indices));
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
static void write_position(bt_text *out, const char *mode, const char *element)
{
    if (strcmp(mode, "wrap") == 0)
        bt_text_addf(out, "clamp(mod(int64(%s), bound), 0, bound - 1)", element);
    else if (strcmp(mode, "clip") == 0)
        bt_text_addf(out, "clamp(int64(%s), 0, bound - 1)", element);
    else
        bt_text_addf(out, "wrap(int64(%s), bound)", element);
}

static bt_status write_take(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    const struct attrs *a = call->attrs;
    uint32_t rank, indices_rank, axis = 0, batch = 0;
    int is_flat = a->axis == BT_NONE;
    BT_TRY(formula_rank(ctx, call, 0, &rank));
    BT_TRY(formula_rank(ctx, call, 1, &indices_rank));
    if (!is_flat) {
        axis = formula_axis(a->axis, rank);
        batch = formula_axis(a->batch_dims, indices_rank);
    }
    bt_text element, at;
    bt_text_init(&element, out->arena);
    bt_text_init(&at, out->arena);
    bt_text_addf(&element, "indices[");
    int first = formula_indices(&element, 1, "i", 0, batch);
    formula_indices(&element, first, "j", batch, indices_rank);
    bt_text_addf(&element, "]");
    if (!bt_text_get(&element))
        return bt_no_memory();
    write_position(&at, a->mode, bt_text_get(&element));
    if (!bt_text_get(&at))
        return bt_no_memory();

    bt_text_addf(out, "bound = ");
    formula_product(out, "data", is_flat ? 0 : axis, is_flat ? rank : axis + 1);
    if (is_flat) {
        bt_text_addf(out, "; flat: t[f in bound] = ");
        formula_read_flat(out, "data", rank, 0, rank, "f");
    }
    bt_text_addf(out, "; y: t[");
    first = formula_axes(out, 1, "i", "data", 0, axis);
    first = formula_axes(out, first, "j", "indices", batch, indices_rank);
    if (!is_flat)
        formula_axes(out, first, "i", "data", axis + 1, rank);
    bt_text_addf(out, "] = ");
    if (is_flat)
        bt_text_addf(out, "flat[%s]", bt_text_get(&at));
    else
        formula_read_flat(out, "data", rank, axis, axis + 1, bt_text_get(&at));
    return formula_end(out);
}

/* ---- row ---- */

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "what to take from" },
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
