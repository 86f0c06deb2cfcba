/*
 * scatter_elements, scatter_nd: updates put at, or combined with, positions of a tensor.
 *     scatter_elements(x, indices, u, axis=0, reduction="add")
 *         y[i] = x[i] + sum(k | indices[k] == i: u[k])
 *     along other axes than `axis` indices may have less than x: what is beyond them stays
 *     scatter_nd(x, indices, u)    y[indices[0, j], indices[1, j], x2] = u[j, x2]
 * Negative positions count from the end. Updates outside are dropped. Where several meet,
 * "update" keeps the last one in row-major order.
 * source  Relay, operators of the same names; ONNX ScatterElements-18. In scatter_nd the
 *         first axis of indices runs over the axes of data, as in MXNet.
 */
#include "along_axis.h"
#include "formula.h"

#include <string.h>

struct attrs {
    int64_t axis;
    const char *reduction;
};
static const bt_attr attrs[] = {
    BT_ATTR(struct attrs, axis, INT, "0", "the axis that indices point into"),
    BT_ATTR_CHOICE(struct attrs, reduction, "update", "update|add|mul|mean|min|max",
                   "how updates combine with data"),
    { 0 },
};
struct nd_attrs {
    const char *mode;
};
static const bt_attr nd_attrs[] = {
    BT_ATTR_CHOICE(struct nd_attrs, mode, "update", "update|add|mul|min|max",
                   "how updates combine with data"),
    { 0 },
};

/* ---- types ---- */

static bt_status relate_elements(bt_solver *s, const bt_relation_call *r)
{
    const struct attrs *a = r->attrs;
    bt_tensor_parts data, indices, updates;
    uint32_t axis;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (strcmp(a->reduction, "update") != 0)
        BT_TRY(bt_relation_class(s, r, 0, BT_CLASS_BITS_NUMBER));
    BT_TRY(bt_relation_tensor_rank(s, r, 1, data.rank, &indices));
    BT_TRY(bt_relation_tensor_rank(s, r, 2, data.rank, &updates));
    BT_TRY(bt_relation_axis(s, r, "axis", a->axis, data.rank, &axis));
    for (uint32_t k = 0; k < data.rank; k++) {
        BT_TRY(bt_relation_unify(s, r, indices.dims[k], updates.dims[k],
                                 "dims of indices and of updates"));
    }
    BT_TRY(bt_relation_result_tensor(s, r, data.rank, data.dims, data.dtype));
    return along_axis_relate(s, r, axis, &indices, &data);
}

static bt_status relate_nd(bt_solver *s, const bt_relation_call *r)
{
    const struct nd_attrs *a = r->attrs;
    bt_tensor_parts data, indices, updates;
    const bt_type *dim;
    int64_t m;
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    if (strcmp(a->mode, "update") != 0)
        BT_TRY(bt_relation_class(s, r, 0, BT_CLASS_BITS_NUMBER));
    BT_TRY(bt_relation_tensor(s, r, 1, &indices));
    if (indices.rank < 1)
        return bt_relation_fail(s, r, 1, "indices needs an axis");
    BT_TRY(bt_relation_dim(s, r, indices.dims[0], &dim));
    if (!bt_dim_is_const(dim, &m) || m > data.rank)
        return bt_relation_fail(
            s, r, 1,
            "axis 0 of indices must be a number up to %u, the rank of "
            "data",
            data.rank);
    uint32_t npoint = (uint32_t)m, nouter = indices.rank - 1;
    BT_TRY(bt_relation_tensor_rank(s, r, 2, nouter + data.rank - npoint, &updates));
    for (uint32_t k = 0; k < updates.rank; k++)
        BT_TRY(bt_relation_unify(s, r, updates.dims[k],
                                 k < nouter ? indices.dims[k + 1]
                                            : data.dims[k - nouter + npoint],
                                 k < nouter ? "dims of updates and of indices"
                                            : "dims of updates and of data"));
    return bt_relation_result_tensor(s, r, data.rank, data.dims, data.dtype);
}

/* ---- formulas ---- */

/* A combination: the reducer over updates that meet, and the text that joins its value
 * with the old element. */
static const struct combine {
    const char *name, *reducer, *before, *between, *after;
} combines[] = {
    { "add", "sum", "", " + ", "" },
    { "mul", "prod", "", " * ", "" },
    { "min", "min", "min(", ", ", ")" },
    { "max", "max", "max(", ", ", ")" },
};

/* NULL: "update" or "mean". */
static const struct combine *combine_find(const char *name)
{
    for (uint32_t i = 0; i < BT_COUNT(combines); i++) {
        if (strcmp(combines[i].name, name) == 0)
            return &combines[i];
    }
    return NULL;
}

/* The lists `meet`, over the updates that meet an element, `k`, the place of one, and `last`,
 * the place of the last one. Along an axis that may have less updates than elements those are
 * counted by an index of their own. */
static void write_meeting(bt_formula *f, const bt_formula_call *call, uint32_t axis)
{
    const bt_shape_type *data = bt_tensor_shape(call->args[0]),
                        *indices = bt_tensor_shape(call->args[1]);
    bt_formula_each(f, "k", 0, data->n, "i#");
    bt_formula_each(f, "last", 0, data->n, "i#");
    bt_formula_set(f, "k", axis, "k");
    bt_formula_set(f, "last", axis, "clamp(last[$i], 0, extent(indices, %u) - 1)", axis);
    bt_formula_item(f, "over", "k in extent(indices, %u)", axis);
    for (uint32_t i = 0; i < data->n; i++) {
        if (i == axis || indices->dims[i] == data->dims[i])
            continue;
        bt_formula_set(f, "k", i, "j%u", i);
        bt_formula_set(f, "last", i, "clamp(i%u, 0, extent(indices, %u) - 1)", i, i);
        bt_formula_item(f, "over", "j%u in extent(indices, %u)", i, i);
        bt_formula_item(f, "where", "j%u == i%u", i, i);
    }
    bt_formula_item(f, "where", "p[$k] == i%u", axis);
    bt_formula_item(f, "meet", "$over | $[ && ]where");
}

/* p: positions counted from the front. */
static void write_elements(bt_formula *f, const bt_formula_call *call)
{
    const struct attrs *a = call->attrs;
    const struct combine *c = combine_find(a->reduction);
    const char *wide = bt_formula_wide(call->args[0]);
    uint32_t rank = bt_formula_rank(f, call->args[0]);
    uint32_t axis = bt_formula_axis(f, a->axis, rank);
    bt_formula_each(f, "p", 0, rank, "i# in extent(indices, #)");
    bt_formula_each(f, "y", 0, rank, "i# in extent(data, #)");
    bt_formula_each(f, "i", 0, rank, "i#");
    write_meeting(f, call, axis);
    bt_formula_add(f,
                   "p: int64[$p] = select(index(indices[$i]) < 0, index(indices[$i]) + "
                   "extent(data, %u), index(indices[$i])); ",
                   axis);
    if (c) {
        bt_formula_add(f, "y: t[$y] = %sdata[$i]%s%s($meet: updates[$k])%s", c->before,
                       c->between, c->reducer, c->after);
    } else if (strcmp(a->reduction, "mean") == 0) {
        // of the old element and the updates
        bt_formula_add(f,
                       "y: t[$y] = t((%s(data[$i]) + sum($meet: %s(updates[$k]))) / "
                       "%s(1 + sum($meet: int64(1))))",
                       wide, wide, wide);
    } else {
        // max over nothing is the least integer: no update fell here
        bt_formula_add(f, "last: int64[$y] = max($meet: k); "
                          "y: t[$y] = select(last[$i] < 0, data[$i], updates[$last])");
    }
}

/* ---- scatter_nd ---- */

typedef struct nd {
    uint32_t rank, npoint,
        nouter; /* axes of data; those pointed into; those of positions */
} nd;

/* p[j1, ...]: where an update goes, row-major within the axes pointed into; -1
 * outside. */
static void write_targets(bt_formula *f, const nd *x)
{
    for (uint32_t k = 0; k < x->npoint; k++) {
        bt_formula_add(f, "p%u: int64[$axes] = index(indices[%u, $j]); ", k, k);
        formula_extents(f, "inner", "data", k + 1, x->npoint);
        bt_formula_item(f, "inside",
                        "p%u[$j] >= -extent(data, %u) && p%u[$j] < "
                        "extent(data, %u)",
                        k, k, k, k);
        bt_formula_item(f, "place", "mod(p%u[$j], extent(data, %u)) * ($[ * ]inner)", k,
                        k);
    }
    if (x->npoint == 0)
        bt_formula_add(f, "p: int64[$axes] = int64(0); ");
    else
        bt_formula_add(f,
                       "p: int64[$axes] = select($[ && ]inside, int64(0) + $[ + ]place, "
                       "int64(-1)); ");
}

/* s[f, i..]: the updates that fall on position f, combined; last[f]: the row-major number
 * of the last one among all. */
static void write_fallen(bt_formula *f, const nd *x, const struct combine *c)
{
    uint32_t end = x->nouter + 1;
    bt_formula_each(f, "over", 1, end, "j# in extent(indices, #)");
    if (x->nouter == 0)
        bt_formula_item(f, "over", "j in 1");
    formula_extents(f, "npoint", "data", 0, x->npoint);
    bt_formula_each(f, "rest", x->npoint, x->rank, "i# in extent(data, #)");
    bt_formula_each(f, "update", 1, end, "j#");
    bt_formula_each(f, "update", x->npoint, x->rank, "i#");
    bt_formula_item(f, "number", "int64(0)");
    for (uint32_t k = 1; k < end; k++) {
        formula_extents(f, "inner", "indices", k + 1, end);
        bt_formula_item(f, "number", "j%u * ($[ * ]inner)", k);
    }
    if (c)
        bt_formula_add(f,
                       "s: t[f in $[ * ]npoint, $rest] = %s($over | p[$j] == f: "
                       "updates[$update]); ",
                       c->reducer);
    else
        bt_formula_add(f, "last: int64[f in $[ * ]npoint] = max($over | p[$j] == f: "
                          "$[ + ]number); ");
}

/* The list `at`: the row-major position of an element within the axes pointed into. */
static void write_place(bt_formula *f, const nd *x)
{
    bt_formula_item(f, "at", "0");
    for (uint32_t k = 0; k < x->npoint; k++) {
        formula_extents(f, "inner", "data", k + 1, x->npoint);
        bt_formula_item(f, "at", "i%u * ($[ * ]inner)", k);
    }
}

/* The list `last`: the place of the update numbered last[at], its number taken apart. */
static void write_last(bt_formula *f, const nd *x)
{
    for (uint32_t k = 1; k <= x->nouter; k++) {
        formula_extents(f, "inner", "indices", k + 1, x->nouter + 1);
        bt_formula_item(
            f, "last",
            "clamp(mod(floordiv(last[$[ + ]at], $[ * ]inner), extent(indices, "
            "%u)), 0, extent(indices, %u) - 1)",
            k, k);
    }
    bt_formula_each(f, "last", x->npoint, x->rank, "i#");
}

/* One position alone: a loop that fills a tensor slice by slice does so, and it is to be
 * seen that all but the slice stays. */
static void write_single(bt_formula *f, const struct combine *c)
{
    bt_formula_add(
        f, "y: t[$y] = select(p[$first] == $[ + ]at, %s%s%supdates[$others]%s, data[$i])",
        c ? c->before : "", c ? "data[$i]" : "", c ? c->between : "", c ? c->after : "");
}

static int has_one_position(const bt_type *indices)
{
    const bt_shape_type *shape = bt_tensor_shape(indices);
    int64_t n = 1;
    for (uint32_t i = 1; i < shape->n && n == 1; i++)
        n = bt_dim_is_const(shape->dims[i], &n) ? n : -1;
    return n == 1;
}

static void write_scatter_nd(bt_formula *f, const bt_formula_call *call)
{
    const struct nd_attrs *a = call->attrs;
    const struct combine *c = combine_find(a->mode);
    int64_t m = 0;
    uint32_t indices_rank = bt_formula_rank(f, call->args[1]);
    nd x = { .rank = bt_formula_rank(f, call->args[0]) };
    bt_dim_is_const(bt_tensor_shape(call->args[1])->dims[0], &m);
    x.npoint = (uint32_t)m;
    x.nouter = indices_rank - 1;
    bt_formula_each(f, "axes", 1, indices_rank, "j# in extent(indices, #)");
    bt_formula_each(f, "j", 1, indices_rank, "j#");
    bt_formula_each(f, "y", 0, x.rank, "i# in extent(data, #)");
    bt_formula_each(f, "i", 0, x.rank, "i#");
    const int is_single = has_one_position(call->args[1]);
    bt_formula_each(f, "first", 0, 0, "0"); // which may be empty
    for (uint32_t k = 0; is_single && k < x.nouter; k++) {
        bt_formula_item(f, "first", "0");
        bt_formula_item(f, "others", "0");
    }
    bt_formula_each(f, "others", x.npoint, x.rank, "i#");
    write_targets(f, &x);
    write_place(f, &x);
    if (is_single) {
        write_single(f, c);
        return;
    }
    write_fallen(f, &x, c);
    write_last(f, &x);
    if (c)
        bt_formula_add(f, "y: t[$y] = %sdata[$i]%ss[$[ + ]at, $others]%s", c->before,
                       c->between, c->after);
    else
        bt_formula_add(f,
                       "y: t[$y] = select(last[$[ + ]at] < 0, data[$i], updates[$last])");
}

/* ---- rows ---- */

static const bt_op_input inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "what to update" },
    { .name = "indices", .type = "u:integer[..]", .doc = "positions; the rank of data" },
    { .name = "updates", .type = "t[..]", .doc = "the shape of indices" },
    { 0 },
};
static const bt_op_input nd_inputs[] = {
    { .name = "data", .type = "t[..]", .doc = "what to update" },
    { .name = "indices",
      .type = "u:integer[..]",
      .doc = "positions: axis 0 runs over the axes of data that they point into" },
    { .name = "updates",
      .type = "t[..]",
      .doc = "axes 1.. of indices, then the axes of data not pointed into" },
    { 0 },
};

static const bt_op ops[] = {
    {
        .name = "scatter_elements",
        .revision = 1,
        .doc = "Puts elements at positions along an axis.\n"
               "Positions below 0 count from the end; updates at others outside are dropped.\n"
               "Along other axes indices may have less than data: what is beyond stays.\n"
               "The type of data stays. Combining needs numbers.",
        .source = "Relay, scatter_elements; ONNX ScatterElements-18",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_elements,
        .write_formula = write_elements,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[4, 2], int32[3, 2] = 0..3, float32[3, 2]\n"
            "float32[4, 2], int64[4, 5] = -2..1, float32[4, 5] | axis=-1, "
            "reduction=\"add\"\n"
            "float32[4], int32[6] = 0..3, float32[6] | reduction=\"mul\"\n"
            "float32[4], int32[6] = 0..3, float32[6] | reduction=\"mean\"\n"
            "int8[4], int32[6] = 0..3, int8[6] | reduction=\"min\"\n"
            "float32[4], int32[6] = 0..3, float32[6] | reduction=\"max\"\n"
            "bool[4], int32[0], bool[0]\n"
            "float32[3, 4], int32[2, 3] = 0..2, float32[2, 3]\n"
            "float32[3, 4], int32[2, 3] = -3..2, float32[2, 3] | reduction=\"add\"\n"
            "float32[3, 4, 2], int64[1, 6, 1] = 0..3, float32[1, 6, 1] | axis=1, "
            "reduction=\"mean\"\n"
            "float32[3, 2], int32[0, 2], float32[0, 2] | axis=1")),
    },
    {
        .name = "scatter_nd",
        .revision = 1,
        .doc = "Puts slices at positions along several leading axes.\n"
               "Positions below 0 count from the end; updates at others outside are dropped.\n"
               "The type of data stays. Combining needs numbers.",
        .source = "Relay, scatter_nd; MXNet",
        .inputs = nd_inputs,
        .attrs = nd_attrs,
        .attrs_nbytes = sizeof(struct nd_attrs),
        .relate = relate_nd,
        .write_formula = write_scatter_nd,
        .facets = BT_FACET_ROWS(BT_CASES(
            "float32[2, 3], int32[2, 4] = 0..1, float32[4]\n"
            "float32[3, 2], int64[1, 2, 2] = -3..2, float32[2, 2, 2] | mode=\"add\"\n"
            "float32[3], int32[1, 5] = 0..2, float32[5] | mode=\"mul\"\n"
            "int8[3], int32[1, 5] = 0..2, int8[5] | mode=\"min\"\n"
            "float32[3], int32[1, 5] = 0..2, float32[5] | mode=\"max\"\n"
            "float32[2, 2], int32[2] = 0..1, float32[]\nbool[2], int32[1, 0], bool[0]\n"
            "float32[4, 3], int64[1] = -4..3, float32[3]\n"
            "float32[4, 3], int32[1, 1] = -4..3, float32[1, 3]\n"
            "float32[4, 3], int64[2, 1, 1] = -3..4, float32[1, 1] | mode=\"add\"\n"
            "int8[4, 3], int64[1] = 3..9, int8[3] | mode=\"max\"")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_scatter[] = { BT_OPS(ops), { 0 } };
