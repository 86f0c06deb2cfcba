/*
 * tile, repeat: elements several times over.
 *     tile(x, reps=[2])              a b c  ->  a b c a b c
 *     repeat(x, repeats=2, axis=0)   a b c  ->  a a b b c c
 * source  Relay, operators of the same names; NumPy
 */
#include "formula.h"

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t:any[..]", .doc = "any tensor" },
    { 0 },
};

struct tile_attrs {
    bt_ints reps;
};
static const bt_attr tile_attrs[] = {
    BT_ATTR_RANGE(
        struct tile_attrs, reps, INTS, NULL, 0, INT32_MAX,
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

static void write_tile(bt_formula *f, const bt_formula_call *call)
{
    const struct tile_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t out_rank = a->reps.n > rank ? (uint32_t)a->reps.n : rank;
    bt_formula_clear(f, "y");
    bt_formula_clear(f, "at");
    for (uint32_t k = 0; k < out_rank; k++) {
        int64_t axis;
        long long reps = (long long)reps_at(&a->reps, rank, out_rank, k, &axis);
        if (axis < 0)
            bt_formula_item(f, "y", "i%u in %lld", k, reps);
        else
            bt_formula_item(f, "y", "i%u in extent(data, %d) * %lld", k, (int)axis, reps);
        if (axis >= 0 && reps == 1)
            bt_formula_item(f, "at", "i%u", k);
        else if (axis >= 0)
            bt_formula_item(f, "at", "mod(i%u, extent(data, %d))", k, (int)axis);
    }
    bt_formula_add(f, "y: t[$y] = data[$at]");
}

struct repeat_attrs {
    int64_t repeats, axis;
};
static const bt_attr repeat_attrs[] = {
    BT_ATTR_RANGE(struct repeat_attrs, repeats, INT, NULL, 1, INT32_MAX,
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

static void write_repeat(bt_formula *f, const bt_formula_call *call)
{
    const struct repeat_attrs *a = call->attrs;
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "y", 0, rank, "i# in extent(data, #)");
    bt_formula_set(f, "y", axis, "j in extent(data, %u) * repeats", axis);
    bt_formula_each(f, "at", 0, rank, "i#");
    bt_formula_set(f, "at", axis, "floordiv(j, repeats)");
    bt_formula_add(f, "y: t[$y] = data[$at]");
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
