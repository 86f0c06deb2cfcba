/*
 * tile, repeat: elements several times over.
 *     tile(x, reps=[2])              a b c  ->  a b c a b c
 *     repeat(x, repeats=2, axis=0)   a b c  ->  a a b b c c
 * source  Relay, operators of the same names; NumPy
 */
#include "formula.h"

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "any tensor" },
    { 0 },
};

struct tile_attrs {
    bt_ints reps;
};
static const bt_attr tile_attrs[] = {
    BT_ATTR_RANGE(
        struct tile_attrs, reps, INTS, NULL, 0, INT64_MAX,
        "how often along each axis, aligned at the right; 0 gives an extent of 0"),
    { 0 },
};

/* The copies along axis k of the result, and the axis of data there, -1 if none. */
static int64_t reps_at(const bt_ints *reps, uint32_t rank, uint32_t out_rank, uint32_t k,
                       int64_t *axis)
{
    int64_t at = (int64_t)k - (out_rank - reps->n);
    *axis = (int64_t)k - (out_rank - rank);
    return at < 0 ? 1 : reps->at[at];
}

static bt_status relate_tile(bt_solver *s, const bt_relation_call *r)
{
    const struct tile_attrs *a = r->attrs;
    bt_tensor_parts data;
    const bt_type *dims[BT_MAX_RANK];
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (a->reps.n > BT_MAX_RANK)
        return bt_relation_fail(s, r, -1, "reps has too many entries");
    uint32_t rank = a->reps.n > data.rank ? (uint32_t)a->reps.n : data.rank;
    for (uint32_t k = 0; k < rank; k++) {
        int64_t axis, reps = reps_at(&a->reps, data.rank, rank, k, &axis);
        const bt_type *dim = bt_dim(bt_relation_store(s), 1);
        if (axis >= 0)
            BT_TRY(bt_relation_dim(s, r, data.dims[axis], &dim));
        dims[k] = dim ? bt_dim_scale(bt_relation_store(s), dim, reps, 0) : NULL;
        if (!dims[k])
            return bt_relation_result(s, r, NULL);
    }
    return bt_relation_result_tensor(s, r, rank, dims, data.dtype);
}

static bt_status write_tile(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    const struct tile_attrs *a = call->attrs;
    uint32_t rank;
    BT_TRY(formula_rank(ctx, call, 0, &rank));
    uint32_t out_rank = a->reps.n > rank ? (uint32_t)a->reps.n : rank;
    int64_t axis;
    bt_text_addf(out, "y: t[");
    for (uint32_t k = 0; k < out_rank; k++) {
        long long reps = (long long)reps_at(&a->reps, rank, out_rank, k, &axis);
        formula_comma(out, k == 0);
        if (axis < 0)
            bt_text_addf(out, "i%u in %lld", k, reps);
        else
            bt_text_addf(out, "i%u in extent(data, %d) * %lld", k, (int)axis, reps);
    }
    bt_text_addf(out, "] = data[");
    for (uint32_t k = out_rank - rank; k < out_rank; k++) {
        int64_t reps = reps_at(&a->reps, rank, out_rank, k, &axis);
        formula_comma(out, axis == 0);
        if (reps == 1)
            bt_text_addf(out, "i%u", k);
        else
            bt_text_addf(out, "mod(i%u, extent(data, %d))", k, (int)axis);
    }
    bt_text_addf(out, "]");
    return formula_end(out);
}

struct repeat_attrs {
    int64_t repeats, axis;
};
static const bt_attr repeat_attrs[] = {
    BT_ATTR_RANGE(struct repeat_attrs, repeats, INT, NULL, 1, INT64_MAX,
                  "how often each slice stands"),
    BT_ATTR(struct repeat_attrs, axis, INT, NULL, "the axis of the slices"),
    { 0 },
};

static bt_status relate_repeat(bt_solver *s, const bt_relation_call *r)
{
    const struct repeat_attrs *a = r->attrs;
    bt_tensor_parts data;
    const bt_type *dims[BT_MAX_RANK], *dim;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    BT_TRY(bt_relation_dim(s, r, data.dims[axis], &dim));
    for (uint32_t k = 0; k < data.rank; k++)
        dims[k] = data.dims[k];
    dims[axis] = bt_dim_scale(bt_relation_store(s), dim, a->repeats, 0);
    if (!dims[axis])
        return bt_relation_result(s, r, NULL);
    return bt_relation_result_tensor(s, r, data.rank, dims, data.dtype);
}

static bt_status write_repeat(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    const struct repeat_attrs *a = call->attrs;
    uint32_t rank;
    BT_TRY(formula_rank(ctx, call, 0, &rank));
    uint32_t axis = formula_axis(a->axis, rank);
    bt_text_addf(out, "y: t[");
    int first = formula_axes(out, 1, "i", "data", 0, axis);
    formula_comma(out, first);
    bt_text_addf(out, "j in extent(data, %u) * repeats", axis);
    formula_axes(out, 0, "i", "data", axis + 1, rank);
    bt_text_addf(out, "] = data[");
    first = formula_indices(out, 1, "i", 0, axis);
    formula_comma(out, first);
    bt_text_addf(out, "floordiv(j, repeats)");
    formula_indices(out, 0, "i", axis + 1, rank);
    bt_text_addf(out, "]");
    return formula_end(out);
}

static const bt_op ops[] = {
    {
        .name = "tile",
        .revision = 1,
        .doc = "Lays copies of a tensor side by side.\n"
               "Extents are multiplied; axes that data lacks count as 1.",
        .source = "Relay, tile; NumPy tile",
        .inputs = inputs,
        .attrs = tile_attrs,
        .attrs_nbytes = sizeof(struct tile_attrs),
        .relate = relate_tile,
        .write_formula = write_tile,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3] | reps=[2, 2]\nint8[3] | reps=[2, 1, 2]\n"
            "float32[2, 3] | reps=[3]\nbool[] | reps=[2]\nfloat32[2] | reps=[0]\n"
            "float32[0, 2] | reps=[2, 1]\nfloat32[2] | reps=[]")),
    },
    {
        .name = "repeat",
        .revision = 1,
        .doc = "Repeats each slice along an axis.\nThe axis grows by that factor.",
        .source = "Relay, repeat; NumPy repeat",
        .inputs = inputs,
        .attrs = repeat_attrs,
        .attrs_nbytes = sizeof(struct repeat_attrs),
        .relate = relate_repeat,
        .write_formula = write_repeat,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3] | repeats=2, axis=0\nint8[2, 3] | repeats=3, axis=-1\n"
            "bool[0] | repeats=2, axis=0")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_tile[] = { BT_OPS(ops), { 0 } };
