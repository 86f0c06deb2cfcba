/*
 * scatter_elements, scatter_nd: updates put at, or combined with, positions of a tensor.
 *     scatter_elements(x, indices, u, axis=0, reduction="add")
 *         y[i] = x[i] + sum(k | indices[k] == i: u[k])
 *     scatter_nd(x, indices, u)    y[indices[0, j], indices[1, j], x2] = u[j, x2]
 * Negative positions count from the end. Updates outside are dropped. Where several meet,
 * "update" keeps the last one in row-major order.
 * source  Relay, operators of the same names; ONNX ScatterElements-18. In scatter_nd the
 *         first axis of indices runs over the axes of data, as in MXNet.
 */
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
        if (k != axis)
            BT_TRY(bt_relation_unify(s, r, data.dims[k], indices.dims[k],
                                     "dims of data and of indices"));
    }
    return bt_relation_result_tensor(s, r, data.rank, data.dims, data.dtype);
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

/* updates[...] with `at` in the place of the axis. */
static void write_along(bt_text *out, const char *array, uint32_t rank, uint32_t axis,
                        const char *at)
{
    bt_text_addf(out, "%s[", array);
    int first = formula_indices(out, 1, "i", 0, axis);
    formula_comma(out, first);
    bt_text_addf(out, "%s", at);
    formula_indices(out, 0, "i", axis + 1, rank);
    bt_text_addf(out, "]");
}

/* Positions counted from the front: p. */
static void write_positions(bt_text *out, uint32_t rank, uint32_t axis)
{
    bt_text_addf(out, "p: int64[");
    formula_axes(out, 1, "i", "indices", 0, rank);
    bt_text_addf(out, "] = select(int64(indices[");
    formula_indices(out, 1, "i", 0, rank);
    bt_text_addf(out, "]) < 0, int64(indices[");
    formula_indices(out, 1, "i", 0, rank);
    bt_text_addf(out, "]) + extent(data, %u), int64(indices[", axis);
    formula_indices(out, 1, "i", 0, rank);
    bt_text_addf(out, "])); ");
}

/* "REDUCER(k in n | p[i0, k] == i1: BODY)" */
static void write_meeting(bt_text *out, const char *reducer, uint32_t rank, uint32_t axis,
                          const char *body)
{
    bt_text_addf(out, "%s(k in extent(indices, %u) | ", reducer, axis);
    write_along(out, "p", rank, axis, "k");
    bt_text_addf(out, " == i%u: ", axis);
    if (body)
        bt_text_addf(out, "%s", body);
    else
        write_along(out, "updates", rank, axis, "k");
    bt_text_addf(out, ")");
}

static void write_old(bt_text *out, uint32_t rank)
{
    bt_text_addf(out, "data[");
    formula_indices(out, 1, "i", 0, rank);
    bt_text_addf(out, "]");
}

/* The mean of the old element and the updates that meet. */
static void write_mean(const bt_formula_call *call, bt_text *out, uint32_t rank,
                       uint32_t axis)
{
    const char *wide = formula_wide(call, 0);
    bt_text update;
    bt_text_init(&update, out->arena);
    bt_text_addf(&update, "%s(", wide);
    write_along(&update, "updates", rank, axis, "k");
    bt_text_addf(&update, ")");
    if (!bt_text_get(&update)) {
        out->failed = 1;
        return;
    }
    bt_text_addf(out, "t((%s(", wide);
    write_old(out, rank);
    bt_text_addf(out, ") + ");
    write_meeting(out, "sum", rank, axis, update.at);
    bt_text_addf(out, ") / %s(1 + ", wide);
    write_meeting(out, "sum", rank, axis, "int64(1)");
    bt_text_addf(out, "))");
}

static bt_status write_elements(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    const struct attrs *a = call->attrs;
    const struct combine *c = combine_find(a->reduction);
    uint32_t rank;
    BT_TRY(formula_rank(ctx, call, 0, &rank));
    uint32_t axis = formula_axis(a->axis, rank);
    int is_mean = strcmp(a->reduction, "mean") == 0;
    write_positions(out, rank, axis);
    if (!c && !is_mean) {
        bt_text_addf(out, "last: int64[");
        formula_axes(out, 1, "i", "data", 0, rank);
        bt_text_addf(out, "] = ");
        write_meeting(out, "max", rank, axis, "k");
        bt_text_addf(out, "; ");
    }
    bt_text_addf(out, "y: t[");
    formula_axes(out, 1, "i", "data", 0, rank);
    bt_text_addf(out, "] = ");
    if (is_mean) {
        write_mean(call, out, rank, axis);
        return formula_end(out);
    }
    if (c) {
        bt_text_addf(out, "%s", c->before);
        write_old(out, rank);
        bt_text_addf(out, "%s", c->between);
        write_meeting(out, c->reducer, rank, axis, NULL);
        bt_text_addf(out, "%s", c->after);
        return formula_end(out);
    }
    // max over nothing is the least integer: no update fell here
    bt_text at;
    bt_text_init(&at, out->arena);
    bt_text_addf(&at, "clamp(last[");
    formula_indices(&at, 1, "i", 0, rank);
    bt_text_addf(&at, "], 0, extent(indices, %u) - 1)", axis);
    if (!bt_text_get(&at))
        return bt_no_memory();
    bt_text_addf(out, "select(last[");
    formula_indices(out, 1, "i", 0, rank);
    bt_text_addf(out, "] < 0, ");
    write_old(out, rank);
    bt_text_addf(out, ", ");
    write_along(out, "updates", rank, axis, bt_text_get(&at));
    bt_text_addf(out, ")");
    return formula_end(out);
}

/* ---- scatter_nd ---- */

typedef struct nd {
    uint32_t rank, npoint,
        nouter; /* axes of data; those pointed into; those of positions */
} nd;

/* p[j1, ...]: where an update goes, row-major within the axes pointed into; -1
 * outside. */
static void write_targets(bt_text *out, const nd *x)
{
    for (uint32_t k = 0; k < x->npoint; k++) {
        bt_text_addf(out, "p%u: int64[", k);
        formula_axes(out, 1, "j", "indices", 1, x->nouter + 1);
        bt_text_addf(out, "] = int64(indices[%u", k);
        formula_indices(out, 0, "j", 1, x->nouter + 1);
        bt_text_addf(out, "]); ");
    }
    bt_text_addf(out, "p: int64[");
    formula_axes(out, 1, "j", "indices", 1, x->nouter + 1);
    bt_text_addf(out, x->npoint ? "] = select(" : "] = int64(0); ");
    if (x->npoint == 0)
        return;
    for (uint32_t k = 0; k < x->npoint; k++) {
        for (int side = 0; side < 2; side++) {
            bt_text_addf(out, "%sp%u[", k == 0 && side == 0 ? "" : " && ", k);
            formula_indices(out, 1, "j", 1, x->nouter + 1);
            if (side)
                bt_text_addf(out, "] < extent(data, %u)", k);
            else
                bt_text_addf(out, "] >= -extent(data, %u)", k);
        }
    }
    bt_text_addf(out, ", int64(0)");
    for (uint32_t k = 0; k < x->npoint; k++) {
        bt_text_addf(out, " + mod(p%u[", k);
        formula_indices(out, 1, "j", 1, x->nouter + 1);
        bt_text_addf(out, "], extent(data, %u)) * (", k);
        formula_product(out, "data", k + 1, x->npoint);
        bt_text_addf(out, ")");
    }
    bt_text_addf(out, ", int64(-1)); ");
}

/* "REDUCER(j1 in ... | p[j1] == f: BODY)" over the updates that fall on f. */
static void write_fall(bt_text *out, const nd *x, const char *reducer)
{
    bt_text_addf(out, "%s(", reducer);
    int first = formula_axes(out, 1, "j", "indices", 1, x->nouter + 1);
    bt_text_addf(out, "%s | p[", first ? "j in 1" : "");
    formula_indices(out, 1, "j", 1, x->nouter + 1);
    bt_text_addf(out, "] == f: ");
}

/* The row-major number of an update among all. */
static void write_number(bt_text *out, const nd *x)
{
    bt_text_addf(out, "int64(0)");
    for (uint32_t k = 1; k <= x->nouter; k++) {
        bt_text_addf(out, " + j%u * (", k);
        formula_product(out, "indices", k + 1, x->nouter + 1);
        bt_text_addf(out, ")");
    }
}

/* s[f, i..]: the updates that fall on position f, combined; last[f]: the number of the
 * last one. */
static void write_fallen(bt_text *out, const nd *x, const struct combine *c)
{
    bt_text_addf(out, c ? "s: t[f in " : "last: int64[f in ");
    formula_product(out, "data", 0, x->npoint);
    if (c)
        formula_axes(out, 0, "i", "data", x->npoint, x->rank);
    bt_text_addf(out, "] = ");
    write_fall(out, x, c ? c->reducer : "max");
    if (c) {
        bt_text_addf(out, "updates[");
        int first = formula_indices(out, 1, "j", 1, x->nouter + 1);
        formula_indices(out, first, "i", x->npoint, x->rank);
        bt_text_addf(out, "]");
    } else {
        write_number(out, x);
    }
    bt_text_addf(out, "); ");
}

/* Row-major position of an element within the axes pointed into. */
static void write_place(bt_text *out, const nd *x)
{
    bt_text_addf(out, "0");
    for (uint32_t k = 0; k < x->npoint; k++) {
        bt_text_addf(out, " + i%u * (", k);
        formula_product(out, "data", k + 1, x->npoint);
        bt_text_addf(out, ")");
    }
}

/* The update numbered last[place], its number taken apart again. */
static void write_last_update(bt_text *out, const nd *x)
{
    bt_text_addf(out, "updates[");
    for (uint32_t k = 1; k <= x->nouter; k++) {
        formula_comma(out, k == 1);
        bt_text_addf(out, "clamp(mod(floordiv(last[");
        write_place(out, x);
        bt_text_addf(out, "], ");
        formula_product(out, "indices", k + 1, x->nouter + 1);
        bt_text_addf(out, "), extent(indices, %u)), 0, extent(indices, %u) - 1)", k, k);
    }
    formula_indices(out, x->nouter == 0, "i", x->npoint, x->rank);
    bt_text_addf(out, "]");
}

static bt_status write_scatter_nd(bt_ctx *ctx, const bt_formula_call *call, bt_text *out)
{
    const struct nd_attrs *a = call->attrs;
    const struct combine *c = combine_find(a->mode);
    nd x = { 0 };
    int64_t m = 0;
    uint32_t indices_rank;
    BT_TRY(formula_rank(ctx, call, 0, &x.rank));
    BT_TRY(formula_rank(ctx, call, 1, &indices_rank));
    bt_dim_is_const(bt_tensor_shape(call->args[1])->dims[0], &m);
    x.npoint = (uint32_t)m;
    x.nouter = indices_rank - 1;
    write_targets(out, &x);
    write_fallen(out, &x, c);
    bt_text_addf(out, "y: t[");
    formula_axes(out, 1, "i", "data", 0, x.rank);
    bt_text_addf(out, "] = ");
    if (c) {
        bt_text_addf(out, "%s", c->before);
        write_old(out, x.rank);
        bt_text_addf(out, "%ss[", c->between);
        write_place(out, &x);
        formula_indices(out, 0, "i", x.npoint, x.rank);
        bt_text_addf(out, "]%s", c->after);
    } else {
        bt_text_addf(out, "select(last[");
        write_place(out, &x);
        bt_text_addf(out, "] < 0, ");
        write_old(out, x.rank);
        bt_text_addf(out, ", ");
        write_last_update(out, &x);
        bt_text_addf(out, ")");
    }
    return formula_end(out);
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
               "The type of data stays. Combining needs numbers.",
        .source = "Relay, scatter_elements; ONNX ScatterElements-18",
        .inputs = inputs,
        .attrs = attrs,
        .attrs_nbytes = sizeof(struct attrs),
        .relate = relate_elements,
        .write_formula = write_elements,
        .facets = BT_FACET_ROWS(
            BT_CASES("float32[4, 2], int32[3, 2] = 0..3, float32[3, 2]\n"
                     "float32[4, 2], int64[4, 5] = -2..1, float32[4, 5] | axis=-1, "
                     "reduction=\"add\"\n"
                     "float32[4], int32[6] = 0..3, float32[6] | reduction=\"mul\"\n"
                     "float32[4], int32[6] = 0..3, float32[6] | reduction=\"mean\"\n"
                     "int8[4], int32[6] = 0..3, int8[6] | reduction=\"min\"\n"
                     "float32[4], int32[6] = 0..3, float32[6] | reduction=\"max\"\n"
                     "bool[4], int32[0], bool[0]")),
    },
    {
        .name = "scatter_nd",
        .revision = 1,
        .doc = "Puts slices at positions along several leading axes.\n"
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
            "float32[2, 2], int32[2] = 0..1, float32[]\nbool[2], int32[1, 0], bool[0]")),
    },
    { 0 },
};
const bt_table bt_ops_tensor_scatter[] = { BT_OPS(ops), { 0 } };
