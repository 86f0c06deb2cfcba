/* Whether a graph that others have changed is one: what constructors take on trust. */
#include "compute/graph/graph.h"

#include <inttypes.h>

struct verifier {
    bt_ctx *ctx;
    const bt_graph *graph;
    const char *stage;
    uint32_t *least; /* by node, the least number of a reduction's index in it, + 1;
                          0: it was not looked at */
    uint32_t *seen;  /* by node, the last walk that met it */
    uint32_t nwalk;
};

#define WRONG(v, ...) bt_fail((v)->ctx, BT_ERR_ARGUMENT, __VA_ARGS__)

static int is_size(const bt_node *node)
{
    return node->dtype == BT_INT64 && !node->reads && !node->reduces && !node->free &&
           !(node->kind == BT_NODE_CONST && node->value.i < 0);
}

static int accepts(uint32_t classes, bt_dtype dtype)
{
    return BT_DTYPE_CLASS(dtype) < 32 && (classes >> BT_DTYPE_CLASS(dtype) & 1);
}

static int are_int64(const bt_node *node, uint32_t from)
{
    for (uint32_t i = from; i < node->narg; i++) {
        if (node->args[i]->dtype != BT_INT64)
            return 0;
    }
    return 1;
}

/* ---- a node ---- */

static bt_status verify_read(struct verifier *v, const bt_node *node)
{
    const bt_graph *g = v->graph;
    char is[32], of[32];
    if (node->which >= g->narray)
        return WRONG(
            v, "stage %s reads array %" PRIu32 ", and there are no more than %" PRIu32,
            v->stage, node->which, g->narray);
    const bt_array *array = g->arrays[node->which];
    if (node->narg != array->rank)
        return WRONG(
            v, "stage %s reads %s, which has rank %" PRIu32 ", at %" PRIu32 " indices",
            v->stage, array->name, array->rank, node->narg);
    if (node->dtype != array->dtype)
        return WRONG(v, "stage %s reads %s of %s, which is of %s", v->stage, array->name,
                     bt_dtype_name(node->dtype, is, sizeof(is)),
                     bt_dtype_name(array->dtype, of, sizeof(of)));
    return are_int64(node, 0)
               ? NULL
               : WRONG(v, "stage %s reads %s at what is no int64", v->stage, array->name);
}

/* Whether the indices of `mask` in the expression go through the extents from `extents` on, the
 * first of which has number `first`. A read's bounds are proved from the index. */
static bt_status verify_indices(struct verifier *v, const bt_node *node, uint64_t mask,
                                uint32_t first, const bt_node *const *extents)
{
    if (!(node->free & mask) || v->seen[node->id] == v->nwalk)
        return NULL;
    v->seen[node->id] = v->nwalk;
    for (uint32_t i = 0; i < node->narg; i++)
        BT_TRY(verify_indices(v, node->args[i], mask, first, extents));
    if (node->kind != BT_NODE_INDEX)
        return NULL;
    const bt_node *extent = extents[node->which - first];
    const int64_t number = bt_node_number(extent);
    if (node->narg ? node->args[0] == extent : number >= 0 && node->high >= number - 1)
        return NULL;
    return WRONG(v,
                 "stage %s has an index %" PRIu32 " of another extent than its axis or "
                 "reduction",
                 v->stage, node->which);
}

static bt_status verify_scope(struct verifier *v, const bt_node *node, uint32_t first,
                              uint32_t n, const bt_node *const *extents)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < n; i++)
        mask |= bt_index_bit(first + i);
    v->nwalk++;
    return verify_indices(v, node, mask, first, extents);
}

static bt_status verify_reduction(struct verifier *v, const bt_node *node)
{
    const char *name = bt_reducer_name(node->which);
    char of[32];
    if (node->args[0]->dtype != BT_BOOL)
        return WRONG(v, "stage %s has a %s whose condition is no bool", v->stage, name);
    if (!accepts(bt__reducer_get(node->which)->classes, node->args[1]->dtype))
        return WRONG(v, "stage %s has a %s of %s", v->stage, name,
                     bt_dtype_name(node->args[1]->dtype, of, sizeof(of)));
    for (uint32_t i = 0; i < node->nindex; i++) {
        if (!is_size(node->args[2 + i]))
            return WRONG(v, "stage %s has a %s over an extent that is no size", v->stage,
                         name);
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (v->least[node->args[i]->id] < node->first + node->nindex + 1)
            return WRONG(v,
                         "stage %s has a %s inside another that has the same numbers of "
                         "indices",
                         v->stage, name);
        BT_TRY(verify_scope(v, node->args[i], node->first, node->nindex, node->args + 2));
    }
    return NULL;
}

static bt_status verify_scalar(struct verifier *v, const bt_node *node)
{
    const bt_dtype dtype = node->args[0]->dtype;
    char is[32], of[32];
    if (!accepts(bt__scalar_get(node->which)->classes, dtype))
        return WRONG(v, "stage %s has %s of %s", v->stage, bt_scalar_name(node->which),
                     bt_dtype_name(dtype, of, sizeof(of)));
    if (node->narg > 1 && node->args[1]->dtype != dtype)
        return WRONG(v, "stage %s has %s of %s and %s", v->stage,
                     bt_scalar_name(node->which), bt_dtype_name(dtype, of, sizeof(of)),
                     bt_dtype_name(node->args[1]->dtype, is, sizeof(is)));
    return NULL;
}

static bt_status verify_kind(struct verifier *v, const bt_node *node)
{
    switch (node->kind) {
    case BT_NODE_INDEX:
        return !node->narg || is_size(node->args[0])
                   ? NULL
                   : WRONG(v, "stage %s has an index %" PRIu32 " below what is no size",
                           v->stage, node->which);
    case BT_NODE_LINEAR:
        return are_int64(node, 0)
                   ? NULL
                   : WRONG(v, "stage %s has a sum of indices that are no int64",
                           v->stage);
    case BT_NODE_CAST:
        return bt_dtype_is_stored(node->dtype)
                   ? NULL
                   : WRONG(v, "stage %s has a cast to what is no dtype", v->stage);
    case BT_NODE_SELECT:
        return node->args[0]->dtype == BT_BOOL &&
                       node->args[1]->dtype == node->args[2]->dtype
                   ? NULL
                   : WRONG(v,
                           "stage %s has a choice by what is no bool, or from two dtypes",
                           v->stage);
    case BT_NODE_SCALAR: return verify_scalar(v, node);
    case BT_NODE_READ: return verify_read(v, node);
    case BT_NODE_REDUCE: return verify_reduction(v, node);
    default: return NULL;
    }
}

static bt_status verify_node(struct verifier *v, const bt_node *node)
{
    if (!bt__graph_has(v->graph, node))
        return WRONG(v, "stage %s has a node that is not of its graph", v->stage);
    if (v->least[node->id])
        return NULL;
    uint32_t least = node->kind == BT_NODE_REDUCE ? node->first + 1 : UINT32_MAX;
    for (uint32_t i = 0; i < node->narg; i++) {
        BT_TRY(verify_node(v, node->args[i]));
        const uint32_t of = v->least[node->args[i]->id];
        least = of < least ? of : least;
    }
    BT_TRY(verify_kind(v, node));
    v->least[node->id] = least;
    return NULL;
}

/* ---- arrays ---- */

static bt_status verify_array(struct verifier *v, const bt_array *array)
{
    if (!array || !array->name)
        return WRONG(v, "an array has no name");
    v->stage = array->name;
    if (!bt_dtype_is_stored(array->dtype))
        return WRONG(v, "%s has no dtype", v->stage);
    if (array->rank > BT_MAX_RANK || (array->rank && !array->extents))
        return WRONG(v, "%s has rank %" PRIu32 " and no extents for it", v->stage,
                     array->rank);
    for (uint32_t i = 0; i < array->rank; i++) {
        const bt_node *extent = array->extents[i];
        if (!extent || !bt__graph_has(v->graph, extent) || !is_size(extent))
            return WRONG(v, "extent %" PRIu32 " of %s is no size", i, v->stage);
    }
    return NULL;
}

static bt_status verify_stage(struct verifier *v, const bt_array *stage)
{
    char is[32], of[32];
    v->stage = stage->name;
    if (!stage->body)
        return WRONG(v, "stage %s has no body", stage->name);
    BT_TRY(verify_node(v, stage->body));
    const bt_node *body = stage->body;
    if (body->dtype != stage->dtype)
        return WRONG(v, "stage %s is of %s, its body of %s", stage->name,
                     bt_dtype_name(stage->dtype, of, sizeof(of)),
                     bt_dtype_name(body->dtype, is, sizeof(is)));
    if (v->least[body->id] <= stage->rank)
        return WRONG(v, "stage %s has a reduction over a number of its axes",
                     stage->name);
    if (body->free >> stage->rank)
        return WRONG(v, "stage %s has an index that is of no axis and no reduction",
                     stage->name);
    return verify_scope(v, body, 0, stage->rank, stage->extents);
}

bt_status bt_graph_verify(bt_ctx *ctx, bt_arena *scratch, const bt_graph *g)
{
    const size_t nnode = (size_t)g->nnode + 1;
    struct verifier v = { .ctx = ctx,
                          .graph = g,
                          .least = BT_NEWS(scratch, uint32_t, nnode),
                          .seen = BT_NEWS(scratch, uint32_t, nnode) };
    if (!v.least || !v.seen)
        return bt_no_memory();
    if (g->status)
        return g->status;
    if (g->ninput > g->narray)
        return WRONG(&v, "there are fewer arrays than inputs");
    for (uint32_t i = 0; i < g->narray; i++)
        BT_TRY(verify_array(&v, g->arrays[i]));
    for (uint32_t i = 0; i < g->ninput; i++) {
        if (g->arrays[i]->body)
            return WRONG(&v, "input %s has a body", g->arrays[i]->name);
    }
    for (uint32_t i = g->ninput; i < g->narray; i++)
        BT_TRY(verify_stage(&v, g->arrays[i]));
    for (uint32_t i = 0; i < g->nresult; i++) {
        if (g->results[i] >= g->narray)
            return WRONG(&v,
                         "a result is array %" PRIu32 ", and there are no more than "
                         "%" PRIu32,
                         g->results[i], g->narray);
    }
    return NULL;
}
