/*
 * Instantiation: walks the formula's tree with every name's meaning known and builds the
 * graph. Checking is the same walk: what is wrong is found where it is met.
 *
 * `else` becomes a select on the bounds of the reads on its left. Those are gathered in
 * `guard` while the left side is walked.
 */
#include "compute/formula/instantiate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compute/formula/extents.h"
#include "compute/formula/names.h"
#include "compute/graph/conditions.h"

struct local {
    const char *name;
    const bt_node *node;
};

struct walk {
    bt_ctx *ctx;
    bt_graph *graph;
    struct bt__names names;
    bt_vec(struct local) locals; /* indices in scope, innermost last */
    uint32_t level;              /* number of the next index */
    struct bt__rest rest;        /* what `..` stands for in this stage */
    const bt_node *guard; /* conjunction of the bounds of reads; NULL: not needed */
    uint32_t lazy;        /* inside a side of else or select, or a condition */
};

static bt_status walk_expr(struct walk *, const bt__ast *, struct bt__value *out);

static BT_FAILURE bt_status fail_at(struct walk *w, uint32_t code, const bt__ast *at,
                                    const char *format, ...) BT_PRINTF(4, 5);
static BT_FAILURE bt_status fail_at(struct walk *w, uint32_t code, const bt__ast *at,
                                    const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return bt__formula_fail(w->ctx, w->names.in->formula, code, at->place, "%s", text);
}

/* The graph's failure, once a constructor gave NULL. */
static bt_status graph_status(struct walk *w)
{
    return w->graph->status ? w->graph->status : bt_no_memory();
}

static bt_status set(struct walk *w, struct bt__value *out, const bt_node *node,
                     uint32_t adapts)
{
    if (!node)
        return graph_status(w);
    *out = (struct bt__value){ .node = node, .adapts = adapts };
    return NULL;
}

/* ---- dtypes ---- */

static const char *dtype_name(bt_dtype dtype)
{
    static const struct {
        bt_dtype dtype;
        const char *name;
    } names[] = {
#define BT_STORED(UPPER, name, class_, bits, c_type)  { BT_##UPPER, #name },
#define BT_PACKED(UPPER, name, class_, bits, carrier) { BT_##UPPER, #name },
#define BT_MOVED(UPPER, name, class_, bits, part)     { BT_##UPPER, #name },
#include <baton/dtypes.def>
    };
    for (uint32_t i = 0; i < BT_COUNT(names); i++) {
        if (names[i].dtype == dtype)
            return names[i].name;
    }
    return "unknown";
}

/* Whether a constant keeps its value as the dtype; an infinity becomes an integer's
 * bound. */
static int fits(const bt_node *node, bt_dtype to)
{
    if (node->kind != BT_NODE_CONST || bt_dtype_is_float(to))
        return 1;
    if (bt_dtype_is_float(node->dtype))
        return isinf(node->value.f);
    return to == BT_UINT64 ? node->value.i >= 0
                           : bt__int_wrap(node->value.i, to) == node->value.i;
}

static bt_status adapt(struct walk *w, const bt__ast *at, struct bt__value *v,
                       bt_dtype to)
{
    if (v->node->dtype == to)
        return NULL;
    if (!v->adapts)
        return fail_at(w, BT_ERR_TYPE, at, "expected %s, found %s: convert it, %s(...)",
                       dtype_name(to), dtype_name(v->node->dtype), dtype_name(to));
    if (to == BT_BOOL)
        return fail_at(w, BT_ERR_TYPE, at, "expected bool, found a number");
    if (bt_dtype_is_float(v->node->dtype) && !bt_dtype_is_float(to) &&
        !(v->node->kind == BT_NODE_CONST && isinf(v->node->value.f)))
        return fail_at(w, BT_ERR_TYPE, at,
                       "expected %s, found a float: convert it, %s(...)", dtype_name(to),
                       dtype_name(to));
    if (v->is_literal && !fits(v->node, to))
        return fail_at(w, BT_ERR_TYPE, at, "the number does not fit %s", dtype_name(to));
    v->node = bt_node_cast(w->graph, to, v->node);
    v->adapts = v->is_literal = 0;
    return v->node ? NULL : graph_status(w);
}

/* Makes two operands one dtype. */
static bt_status join(struct walk *w, const bt__ast *at, struct bt__value *a,
                      struct bt__value *b)
{
    bt_dtype x = a->node->dtype, y = b->node->dtype;
    if (x == y)
        return NULL;
    if (a->adapts && b->adapts) {
        // an integer joins a float; both stay free to adapt
        struct bt__value *v = bt_dtype_is_float(x) ? b : a;
        v->node = bt_node_cast(w->graph, BT_FLOAT64, v->node);
        return v->node ? NULL : graph_status(w);
    }
    if (!a->adapts && !b->adapts)
        return fail_at(w, BT_ERR_TYPE, at, "operands are %s and %s: convert one",
                       dtype_name(x), dtype_name(y));
    return a->adapts ? adapt(w, at, a, y) : adapt(w, at, b, x);
}

static bt_status walk_condition(struct walk *w, const bt__ast *ast, const bt_node **out)
{
    struct bt__value v;
    BT_TRY(walk_expr(w, ast, &v));
    if (v.node->dtype != BT_BOOL)
        return fail_at(w, BT_ERR_TYPE, ast, "a condition is bool, found %s",
                       dtype_name(v.node->dtype));
    *out = v.node;
    return NULL;
}

/* ---- names ---- */

/* NULL: failure of the graph. */
static const bt_node *term_node(struct walk *w, const bt_type *term)
{
    bt_graph *g = w->graph;
    bt_graph_dim dim = { .name = "?", .term = term };
    uint32_t which;
    if (bt_dim_is_const(term, &dim.low))
        return bt_node_int(g, dim.low);
    for (uint32_t i = 0; i < g->ndim; i++) {
        if (g->dims[i]->term == term)
            return bt_node_dim(g, i);
    }
    bt_dim_bounds(term, &dim.low, &dim.high);
    return bt_graph_add_dim(g, &dim, &which) ? bt_node_dim(g, which)
                                             : bt__graph_no_memory(g);
}

static bt_status attr_value(struct walk *w, const bt__ast *ast,
                            const struct bt__attr_value *attr, int64_t at,
                            struct bt__value *out)
{
    if (attr->is_none)
        return fail_at(w, BT_ERR_TYPE, ast, "attribute %s is None", attr->name);
    if (attr->ints && attr->kind == BT_ATTR_BOOL)
        return set(w, out, bt_node_bool(w->graph, attr->ints[at] != 0), 0);
    if (attr->ints)
        return set(w, out, bt_node_int(w->graph, attr->ints[at]), 1);
    if (attr->floats)
        return set(
            w, out,
            bt__node_const(w->graph, BT_FLOAT64, (bt_cell){ .f = attr->floats[at] }), 1);
    if (attr->terms && w->names.in->takes_terms)
        return set(w, out, term_node(w, attr->terms[at]), 1);
    if (attr->kind == BT_ATTR_DIM || attr->kind == BT_ATTR_SHAPE)
        return fail_at(w, BT_ERR_UNSUPPORTED, ast,
                       "attribute %s is not a number before the call", attr->name);
    return fail_at(w, BT_ERR_TYPE, ast, "attribute %s is not a number", attr->name);
}

static int is_list(const struct bt__attr_value *attr)
{
    return attr->kind == BT_ATTR_INTS || attr->kind == BT_ATTR_FLOATS ||
           attr->kind == BT_ATTR_SHAPE || attr->kind == BT_ATTR_INT_OR_INTS;
}

static bt_status walk_name(struct walk *w, const bt__ast *ast, struct bt__value *out)
{
    for (uint32_t i = w->locals.len; i-- > 0;) {
        if (strcmp(w->locals.at[i].name, ast->name) == 0)
            return set(w, out, w->locals.at[i].node, 0);
    }
    const struct bt__value *scalar = bt_map_find(&w->names.scalars, ast->name);
    if (scalar) {
        *out = *scalar;
        return NULL;
    }
    const bt_node *dim = bt_map_find(&w->names.dims, ast->name);
    if (dim)
        return set(w, out, dim, 1);
    const struct bt__attr_value *attr = bt__names_attr(&w->names, ast->name);
    if (attr && is_list(attr))
        return fail_at(w, BT_ERR_TYPE, ast, "attribute %s is a list: write %s[0]",
                       ast->name, ast->name);
    if (attr)
        return attr_value(w, ast, attr, 0, out);
    if (bt__names_array(&w->names, ast->name) >= 0)
        return fail_at(w, BT_ERR_TYPE, ast, "%s is an array: write %s[...]", ast->name,
                       ast->name);
    return fail_at(w, BT_ERR_NAME, ast, "unknown name `%s`", ast->name);
}

static bt_status walk_list_attr(struct walk *w, const bt__ast *ast,
                                const struct bt__attr_value *attr, struct bt__value *out)
{
    struct bt__value at;
    int64_t index;
    if (ast->narg != 1 || ast->args[0]->kind == BT__AST_REST)
        return fail_at(w, BT_ERR_TYPE, ast, "attribute %s takes one index", ast->name);
    BT_TRY(walk_expr(w, ast->args[0], &at));
    if (attr->is_none)
        return fail_at(w, BT_ERR_TYPE, ast, "attribute %s is None", ast->name);
    if (!bt_node_is_const(at.node, &index))
        return fail_at(w, BT_ERR_TYPE, ast->args[0], "index of an attribute: a constant");
    if (index < 0 || index >= attr->n)
        return fail_at(w, BT_ERR_TYPE, ast, "%s has %u elements, no element %" PRId64,
                       ast->name, attr->n, index);
    return attr_value(w, ast, attr, index, out);
}

/* ---- reads ---- */

/* Adds the bounds of one index to the guard of the `else` around the read. */
static bt_status guard_read(struct walk *w, const bt_node *index, const bt_node *extent)
{
    bt_graph *g = w->graph;
    if (!w->guard)
        return NULL;
    const bt_node *low = bt_node_scalar(g, BT_SCALAR_LE, bt_node_int(g, 0), index);
    const bt_node *high = bt_node_scalar(g, BT_SCALAR_LT, index, extent);
    w->guard = bt_node_and(g, w->guard, bt_node_and(g, low, high));
    return w->guard ? NULL : graph_status(w);
}

static int is_confined(const bt__ast *ast)
{
    return ast->kind == BT__AST_CALL &&
           (strcmp(ast->name, "clamp") == 0 || strcmp(ast->name, "wrap") == 0);
}

/* An integer as a position: one of uint64 that int64 does not hold is its greatest number,
 * which lies outside of every axis, and does not count from behind. */
static const bt_node *as_position(bt_graph *g, const bt_node *node)
{
    if (node->dtype == BT_UINT64)
        node = bt_node_scalar(g, BT_SCALAR_MIN, node,
                              bt__node_const(g, BT_UINT64, (bt_cell){ .i = INT64_MAX }));
    return bt_node_cast(g, BT_INT64, node);
}

static bt_status walk_index(struct walk *w, const bt__ast *ast, const bt_node *extent,
                            const bt_node **out)
{
    struct bt__value v;
    BT_TRY(walk_expr(w, ast, &v));
    if (!bt__dtype_is_integer(v.node->dtype))
        return fail_at(w, BT_ERR_TYPE, ast, "an index is an integer, found %s",
                       dtype_name(v.node->dtype));
    *out = as_position(w->graph, v.node);
    if (!*out)
        return graph_status(w);
    if ((*out)->reads && !w->lazy && !is_confined(ast) && !w->names.in->is_checked)
        return fail_at(
            w, BT_ERR_TYPE, ast,
            "an index computed from elements needs clamp(i, lo, hi), wrap(i, n) "
            "or a guard (else, select, a condition)");
    return guard_read(w, *out, extent);
}

/* The index for one axis that `..` covers, `from_right` axes from the last of them. */
static const bt_node *rest_index(struct walk *w, const bt_array *array, uint32_t axis,
                                 uint32_t from_right)
{
    uint32_t at = w->rest.rank - 1 - from_right;
    if (bt_node_number(array->extents[axis]) == 1)
        return bt_node_int(w->graph, 0);
    return bt_node_index(w->graph, w->rest.first + at, w->rest.extents[at]);
}

static bt_status walk_read(struct walk *w, const bt__ast *ast, uint32_t number,
                           struct bt__value *out)
{
    const bt_array array = *w->graph->arrays[number];
    const bt_node *indices[BT_MAX_RANK];
    uint32_t nrest = 0, has_rest = 0, axis = 0;
    for (uint32_t i = 0; i < ast->narg; i++)
        has_rest += ast->args[i]->kind == BT__AST_REST;
    if (has_rest > 1)
        return fail_at(w, BT_ERR_TYPE, ast, "more than one `..` in a read of %s",
                       ast->name);
    if (has_rest ? ast->narg - 1 > array.rank : ast->narg != array.rank)
        return fail_at(w, BT_ERR_TYPE, ast, "%s has rank %u, the read has %u indices",
                       ast->name, array.rank, ast->narg - has_rest);
    nrest = has_rest ? array.rank - (ast->narg - 1) : 0;
    if (has_rest && !w->rest.is_known)
        return fail_at(w, BT_ERR_TYPE, ast,
                       "`..` in a read, but not among the stage's axes");
    for (uint32_t i = 0; i < ast->narg; i++) {
        if (ast->args[i]->kind != BT__AST_REST) {
            BT_TRY(walk_index(w, ast->args[i], array.extents[axis], &indices[axis]));
            axis++;
            continue;
        }
        for (uint32_t k = 0; k < nrest; k++, axis++) {
            indices[axis] = rest_index(w, &array, axis, nrest - 1 - k);
            if (!indices[axis])
                return graph_status(w);
        }
    }
    return set(w, out, bt_node_read(w->graph, number, array.dtype, array.rank, indices),
               0);
}

static bt_status walk_indexed(struct walk *w, const bt__ast *ast, struct bt__value *out)
{
    int array = bt__names_array(&w->names, ast->name);
    if (array >= 0)
        return walk_read(w, ast, (uint32_t)array, out);
    const struct bt__attr_value *attr = bt__names_attr(&w->names, ast->name);
    if (attr && is_list(attr))
        return walk_list_attr(w, ast, attr, out);
    return fail_at(w, BT_ERR_NAME, ast, "no array or list is called `%s`", ast->name);
}

/* ---- calls ---- */

static bt_status check_narg(struct walk *w, const bt__ast *ast, uint32_t narg)
{
    return ast->narg == narg
               ? NULL
               : fail_at(w, BT_ERR_TYPE, ast, "%s takes %u argument%s, found %u",
                         ast->name, narg, narg == 1 ? "" : "s", ast->narg);
}

/* extent(x, 0), rank(x) */
static bt_status walk_shape_call(struct walk *w, const bt__ast *ast,
                                 struct bt__value *out)
{
    int is_rank = strcmp(ast->name, "rank") == 0;
    BT_TRY(check_narg(w, ast, is_rank ? 1 : 2));
    int number = ast->args[0]->kind == BT__AST_NAME
                     ? bt__names_array(&w->names, ast->args[0]->name)
                     : -1;
    if (number < 0)
        return fail_at(w, BT_ERR_NAME, ast->args[0], "%s needs the name of an array",
                       ast->name);
    const bt_array array = *w->graph->arrays[number];
    struct bt__value axis;
    int64_t at;
    if (is_rank)
        return set(w, out, bt_node_int(w->graph, array.rank), 1);
    BT_TRY(walk_expr(w, ast->args[1], &axis));
    if (!bt_node_is_const(axis.node, &at))
        return fail_at(w, BT_ERR_TYPE, ast->args[1], "the axis must be a constant");
    at += at < 0 ? array.rank : 0;
    if (at < 0 || at >= array.rank)
        return fail_at(w, BT_ERR_TYPE, ast->args[1], "%s has rank %u, no axis %" PRId64,
                       ast->args[0]->name, array.rank, at);
    return set(w, out, array.extents[at], 1);
}

static bt_status walk_select(struct walk *w, const bt__ast *ast, struct bt__value *out)
{
    const bt_node *condition;
    struct bt__value a, b;
    BT_TRY(check_narg(w, ast, 3));
    BT_TRY(walk_condition(w, ast->args[0], &condition));
    const bt_node *guard = w->guard;
    w->guard = NULL;
    w->lazy++;
    BT_TRY(walk_expr(w, ast->args[1], &a));
    BT_TRY(walk_expr(w, ast->args[2], &b));
    w->lazy--;
    w->guard = guard;
    BT_TRY(join(w, ast, &a, &b));
    return set(w, out, bt_node_select(w->graph, condition, a.node, b.node),
               a.adapts && b.adapts);
}

static bt_status walk_else(struct walk *w, const bt__ast *ast, struct bt__value *out)
{
    const bt_node *outer = w->guard, *guard;
    struct bt__value a, b;
    w->guard = bt_node_bool(w->graph, 1);
    if (!w->guard)
        return graph_status(w);
    w->lazy++;
    BT_TRY(walk_expr(w, ast->args[0], &a));
    guard = w->guard;
    w->guard = NULL;
    BT_TRY(walk_expr(w, ast->args[1], &b));
    w->lazy--;
    w->guard = outer;
    BT_TRY(join(w, ast, &a, &b));
    if (w->level < BT_MAX_INDEX && guard->free >> w->level)
        return fail_at(w, BT_ERR_TYPE, ast,
                       "a read on the left of else depends on an index bound there: put "
                       "else inside the reduction");
    return set(w, out, bt_node_select(w->graph, guard, a.node, b.node),
               a.adapts && b.adapts);
}

/* The node as that dtype, whatever it has been computed in: floats of every width are
 * computed in float64, so that a narrow one is rounded by going through it. */
static const bt_node *rounded(bt_graph *g, bt_dtype to, const bt_node *node)
{
    int is_exact = node->kind != BT_NODE_SCALAR && node->kind != BT_NODE_REDUCE;
    if (node->dtype != to || !bt_dtype_is_float(to) || to == BT_FLOAT64 || is_exact)
        return bt_node_cast(g, to, node);
    return bt_node_cast(g, to, bt_node_cast(g, BT_FLOAT64, node));
}

/* A stage rounds what it stores: what rounds to its dtype itself need not. */
static const bt_node *unrounded(const bt_node *node)
{
    const bt_node *wide = node->kind == BT_NODE_CAST ? node->args[0] : NULL;
    return wide && wide->kind == BT_NODE_CAST && wide->dtype == BT_FLOAT64 &&
                   wide->args[0]->dtype == node->dtype && bt_dtype_is_float(node->dtype)
               ? wide->args[0]
               : node;
}

static bt_status walk_cast(struct walk *w, const bt__ast *ast, bt_dtype to,
                           struct bt__value *out)
{
    struct bt__value v;
    BT_TRY(check_narg(w, ast, 1));
    BT_TRY(walk_expr(w, ast->args[0], &v));
    return set(w, out, rounded(w->graph, to, v.node), 0);
}

/* What a stage of its dtype would hold. */
static bt_status walk_stored(struct walk *w, const bt__ast *ast, struct bt__value *out)
{
    struct bt__value v;
    BT_TRY(check_narg(w, ast, 1));
    BT_TRY(walk_expr(w, ast->args[0], &v));
    return set(w, out, bt_node_round(w->graph, v.node), 0);
}

static bt_status walk_position(struct walk *w, const bt__ast *ast, struct bt__value *out)
{
    struct bt__value v;
    BT_TRY(check_narg(w, ast, 1));
    BT_TRY(walk_expr(w, ast->args[0], &v));
    if (!bt__dtype_is_integer(v.node->dtype))
        return fail_at(w, BT_ERR_TYPE, ast, "index takes an integer, found %s",
                       dtype_name(v.node->dtype));
    return set(w, out, as_position(w->graph, v.node), 0);
}

/* clamp(i, lo, hi) is min(max(i, lo), hi). */
static bt_status walk_clamp(struct walk *w, const bt__ast *ast, struct bt__value *out)
{
    struct bt__value v[3];
    BT_TRY(check_narg(w, ast, 3));
    for (uint32_t i = 0; i < 3; i++)
        BT_TRY(walk_expr(w, ast->args[i], &v[i]));
    BT_TRY(join(w, ast, &v[0], &v[1]));
    BT_TRY(join(w, ast, &v[0], &v[2]));
    BT_TRY(join(w, ast, &v[0], &v[1]));
    if (v[0].node->dtype == BT_BOOL)
        return fail_at(w, BT_ERR_TYPE, ast, "clamp takes numbers, found bool");
    const bt_node *low = bt_node_scalar(w->graph, BT_SCALAR_MAX, v[0].node, v[1].node);
    return set(w, out, bt_node_scalar(w->graph, BT_SCALAR_MIN, low, v[2].node),
               v[0].adapts && v[1].adapts && v[2].adapts);
}

static bt_status walk_scalar(struct walk *w, const bt__ast *ast, uint32_t which,
                             struct bt__value *out)
{
    const struct bt__scalar *row = bt__scalar_get(which);
    struct bt__value v[2] = { 0 };
    BT_TRY(check_narg(w, ast, row->narg));
    for (uint32_t i = 0; i < row->narg; i++)
        BT_TRY(walk_expr(w, ast->args[i], &v[i]));
    if (row->narg == 2)
        BT_TRY(join(w, ast, &v[0], &v[1]));
    uint32_t adapts = v[0].adapts && (row->narg == 1 || v[1].adapts);
    uint32_t literal = v[0].is_literal && (row->narg == 1 || v[1].is_literal);
    // sqrt(n): an integer that adapts becomes the float that is asked for
    if (adapts && bt__dtype_is_integer(v[0].node->dtype) &&
        !(row->classes & BT_CLASS_BITS_INTEGER)) {
        for (uint32_t i = 0; i < row->narg; i++) {
            v[i].node = bt_node_cast(w->graph, BT_FLOAT64, v[i].node);
            if (!v[i].node)
                return graph_status(w);
        }
    }
    if (!(row->classes >> BT_DTYPE_CLASS(v[0].node->dtype) & 1))
        return fail_at(w, BT_ERR_TYPE, ast, "%s does not take %s", row->name,
                       dtype_name(v[0].node->dtype));
    BT_TRY(set(w, out, bt_node_scalar(w->graph, which, v[0].node, v[1].node),
               adapts && !row->is_test));
    out->is_literal = literal;
    return NULL;
}

static bt_status walk_call(struct walk *w, const bt__ast *ast, struct bt__value *out)
{
    if (strcmp(ast->name, "select") == 0)
        return walk_select(w, ast, out);
    if (strcmp(ast->name, "clamp") == 0)
        return walk_clamp(w, ast, out);
    if (strcmp(ast->name, "index") == 0)
        return walk_position(w, ast, out);
    if (strcmp(ast->name, "stored") == 0)
        return walk_stored(w, ast, out);
    if (strcmp(ast->name, "extent") == 0 || strcmp(ast->name, "rank") == 0)
        return walk_shape_call(w, ast, out);
    int which = bt__scalar_find(ast->name);
    if (which >= 0)
        return walk_scalar(w, ast, (uint32_t)which, out);
    bt_dtype to = bt__names_dtype(&w->names, ast->name);
    if (to)
        return walk_cast(w, ast, to, out);
    if (bt__reducer_find(ast->name) >= 0)
        return fail_at(w, BT_ERR_NAME, ast,
                       "%s is a reducer: write %s(i: ...) with its indices", ast->name,
                       ast->name);
    return fail_at(w, BT_ERR_NAME, ast, "no scalar operator or dtype is called `%s`",
                   ast->name);
}

/* ---- reductions ---- */

/* The extent of one index, at least 0. One that depends on outer indices gives its greatest
 * value and a condition. */
static bt_status walk_extent(struct walk *w, const bt__ast *at,
                             const struct bt__ast_var *var, const bt__ast *body,
                             const bt__ast *condition, const bt_node **out,
                             const bt_node **limit)
{
    const bt_node *extent = NULL;
    struct bt__value v;
    int64_t number;
    *limit = NULL;
    if (var->extent) {
        BT_TRY(walk_expr(w, var->extent, &v));
        BT_TRY(adapt(w, var->extent, &v, BT_INT64));
        extent = v.node;
    } else {
        BT_TRY(bt__extent_infer(&w->names, var, body, condition, &extent));
    }
    *out = extent;
    if (bt_node_is_const(extent, &number)) {
        *out = number < 0 ? bt_node_int(w->graph, 0) : extent;
    } else if (extent->reads) {
        return fail_at(w, BT_ERR_TYPE, at, "the extent of `%s` depends on elements",
                       var->name);
    } else if (extent->free) {
        const bt_node *most = bt__node_end(w->graph, extent, 1);
        *out = most && most->free
                   ? bt_node_int(w->graph, extent->high < 0 ? 0 : extent->high)
                   : most;
        *limit = extent;
        // without an end to it nothing can be run over the index
        if (*out && w->graph->ndim && bt_node_number(*out) >= BT_MAX_DIM / 2)
            return fail_at(w, BT_ERR_UNSUPPORTED, at, "no dim bounds the extent of `%s`",
                           var->name);
    }
    return *out ? NULL : graph_status(w);
}

static bt_status push_local(struct walk *w, const char *name, const bt_node *node)
{
    struct local local = { name, node };
    if (!node)
        return graph_status(w);
    return BT_PUSH(w->graph->arena, &w->locals, local) ? NULL : bt_no_memory();
}

/* Gives the reduction's indices numbers; *condition gets their bounds. */
static bt_status bind_vars(struct walk *w, const bt__ast *ast, const bt_node **extents,
                           const bt_node **condition)
{
    bt_graph *g = w->graph;
    if (w->level + ast->nvar > BT_MAX_INDEX)
        return fail_at(w, BT_ERR_LIMIT, ast, "more than %d indices at one place",
                       BT_MAX_INDEX);
    for (uint32_t i = 0; i < ast->nvar; i++) {
        const bt_node *limit;
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(ast->vars[k].name, ast->vars[i].name) == 0)
                return fail_at(w, BT_ERR_NAME, ast, "two indices are called `%s`",
                               ast->vars[i].name);
        }
        BT_TRY(walk_extent(w, ast, &ast->vars[i], ast->args[0], ast->condition,
                           &extents[i], &limit));
        const bt_node *index = bt_node_index(g, w->level + i, extents[i]);
        BT_TRY(push_local(w, ast->vars[i].name, index));
        if (limit) {
            *condition =
                bt_node_and(g, *condition, bt_node_scalar(g, BT_SCALAR_LT, index, limit));
            if (!*condition)
                return graph_status(w);
        }
    }
    return NULL;
}

static bt_status walk_reduced(struct walk *w, const bt__ast *ast, bt_dtype dtype,
                              const bt_node **out, uint32_t *adapts)
{
    struct bt__value v;
    BT_TRY(walk_expr(w, ast->args[0], &v));
    if (dtype && v.adapts)
        BT_TRY(adapt(w, ast->args[0], &v, dtype));
    *out = dtype ? bt_node_cast(w->graph, dtype, v.node) : v.node;
    *adapts = v.adapts && !dtype;
    return *out ? NULL : graph_status(w);
}

static bt_status walk_reduce(struct walk *w, const bt__ast *ast, struct bt__value *out)
{
    const bt_node *condition = bt_node_bool(w->graph, 1), *written, *body;
    const bt_node *node, *extents[BT_MAX_INDEX];
    uint32_t which = (uint32_t)bt__reducer_find(ast->name), first = w->level;
    uint32_t nlocal = w->locals.len, adapts;
    bt_dtype dtype = ast->dtype ? bt__names_dtype(&w->names, ast->dtype) : 0;
    if (!condition)
        return graph_status(w);
    if (ast->dtype && !dtype)
        return fail_at(w, BT_ERR_NAME, ast, "no dtype is called `%s`", ast->dtype);
    BT_TRY(bind_vars(w, ast, extents, &condition));
    w->level += ast->nvar;
    if (ast->condition) {
        BT_TRY(walk_condition(w, ast->condition, &written));
        condition = bt_node_and(w->graph, condition, written);
        if (!condition)
            return graph_status(w);
        w->lazy++;
    }
    BT_TRY(walk_reduced(w, ast, dtype, &body, &adapts));
    w->lazy -= ast->condition != NULL;
    w->level = first;
    w->locals.len = nlocal;
    if (!(bt__reducer_get(which)->classes >> BT_DTYPE_CLASS(body->dtype) & 1))
        return fail_at(w, BT_ERR_TYPE, ast, "%s does not take %s", ast->name,
                       dtype_name(body->dtype));
    node =
        bt__reduction_build(w->graph, which, first, ast->nvar, extents, condition, body);
    // a float written as the accumulator is what the result is rounded to
    if (node && dtype)
        node = rounded(w->graph, node->dtype, node);
    // a count, sum(k: 1), is a number as its elements are
    return set(w, out, node, adapts && bt__reducer_get(which)->result == BT__RESULT_SAME);
}

/* ---- expressions ---- */

static bt_status walk_expr(struct walk *w, const bt__ast *ast, struct bt__value *out)
{
    bt_status status = NULL;
    switch (ast->kind) {
    case BT__AST_INT: status = set(w, out, bt_node_int(w->graph, ast->integer), 1); break;
    case BT__AST_FLOAT:
        status =
            set(w, out,
                bt__node_const(w->graph, BT_FLOAT64, (bt_cell){ .f = ast->number }), 1);
        break;
    case BT__AST_NAME: return walk_name(w, ast, out);
    case BT__AST_INDEX: return walk_indexed(w, ast, out);
    case BT__AST_CALL: return walk_call(w, ast, out);
    case BT__AST_REDUCE: return walk_reduce(w, ast, out);
    case BT__AST_ELSE: return walk_else(w, ast, out);
    default: return fail_at(w, BT_ERR_TYPE, ast, "`..` is an index only");
    }
    out->is_literal = 1;
    return status;
}

/* ---- stages ---- */

static bt_status walk_scalar_stage(struct walk *w, const struct bt__ast_stage *stage)
{
    struct bt__value *value = BT_NEW(w->graph->arena, struct bt__value);
    if (!value)
        return bt_no_memory();
    BT_TRY(walk_expr(w, stage->expr, value));
    if (value->node->reads)
        return fail_at(w, BT_ERR_TYPE, stage->expr,
                       "%s is a scalar of dims and attributes, but reads elements",
                       stage->name);
    return bt_map_put(&w->names.scalars, stage->name, value) ? NULL : bt_no_memory();
}

/* Extents of the stage's axes, `..` expanded; its indices come into scope. */
static bt_status bind_axes(struct walk *w, const struct bt__ast_stage *stage,
                           const bt_node **extents, uint32_t *rank)
{
    bt_graph *g = w->graph;
    uint32_t n = 0;
    w->rest = (struct bt__rest){ 0 };
    for (uint32_t i = 0; i < stage->naxis; i++) {
        const struct bt__ast_var *axis = &stage->axes[i];
        const bt_node *limit;
        if (axis->is_rest) {
            if (w->rest.is_known)
                return fail_at(w, BT_ERR_TYPE, stage->expr, "more than one `..` in %s",
                               stage->name);
            BT_TRY(bt__rest_infer(&w->names, stage, &w->rest));
            w->rest.first = n;
            for (uint32_t k = 0; k < w->rest.rank && n < BT_MAX_RANK; k++)
                extents[n++] = w->rest.extents[k];
        }
        if (n + 1 > BT_MAX_RANK)
            return fail_at(w, BT_ERR_LIMIT, stage->expr, "rank above %d", BT_MAX_RANK);
        if (axis->is_rest)
            continue;
        BT_TRY(walk_extent(w, stage->expr, axis, stage->expr, NULL, &extents[n], &limit));
        if (limit)
            return fail_at(w, BT_ERR_TYPE, stage->expr,
                           "the extent of `%s` depends on an index", axis->name);
        BT_TRY(push_local(w, axis->name, bt_node_index(g, n, extents[n])));
        n++;
    }
    *rank = n;
    return NULL;
}

static bt_status walk_array_stage(struct walk *w, const struct bt__ast_stage *stage)
{
    const bt_node *extents[BT_MAX_RANK + 1], **copy;
    bt_array array = { .name = stage->name };
    struct bt__value v;
    w->locals.len = 0;
    array.dtype = bt__names_dtype(&w->names, stage->dtype);
    if (!array.dtype)
        return bt__formula_fail(w->ctx, w->names.in->formula, BT_ERR_NAME, stage->place,
                                "no dtype is called `%s`", stage->dtype);
    BT_TRY(bind_axes(w, stage, extents, &array.rank));
    w->level = array.rank;
    w->guard = NULL;
    w->lazy = 0;
    BT_TRY(walk_expr(w, stage->expr, &v));
    BT_TRY(adapt(w, stage->expr, &v, array.dtype));
    copy = BT_NEWS(w->graph->arena, const bt_node *, array.rank);
    if (!copy)
        return bt_no_memory();
    for (uint32_t i = 0; i < array.rank; i++)
        copy[i] = extents[i];
    array.extents = copy;
    array.body = unrounded(v.node);
    return bt__names_add_array(&w->names, &array) ? NULL : bt_no_memory();
}

static bt_status walk_formula(struct walk *w)
{
    const struct bt__formula *f = w->names.in->formula;
    uint32_t *results = BT_NEWS(w->graph->arena, uint32_t, f->nresult);
    if (!results)
        return bt_no_memory();
    for (uint32_t i = 0; i < f->nstage; i++) {
        const struct bt__ast_stage *stage = &f->stages[i];
        for (uint32_t k = 0; stage->dtype && k < f->nresult; k++)
            results[k] = f->results[k] == i ? w->graph->narray : results[k];
        w->locals.len = 0;
        w->level = 0;
        BT_TRY(stage->dtype ? walk_array_stage(w, stage) : walk_scalar_stage(w, stage));
    }
    w->graph->nresult = f->nresult;
    w->graph->results = results;
    return NULL;
}

bt_status bt__instantiate(bt_ctx *ctx, bt_arena *arena, const struct bt__instance *in,
                          bt_graph **out)
{
    struct walk w = { .ctx = ctx, .graph = bt_graph_create(ctx, arena) };
    if (!w.graph)
        return bt_no_memory();
    BT_TRY(bt__names_bind(&w.names, ctx, w.graph, in));
    BT_TRY(walk_formula(&w));
    if (w.graph->status)
        return w.graph->status;
    *out = w.graph;
    return NULL;
}
