/*
 * One more index in the graph of what a call computes.
 *
 *     y[i] = sum(k: x[i, k] * w[k])    x[n, ..], w     y[b, i] = sum(k: x[b, i, k] * w[k])
 */
#include "batches/batching_op.h"

struct raising {
    bt_graph *graph;
    const uint8_t *raised; /* of each array: it has the examples as axis 0 */
    const bt_node *index;
    const bt_node **memo; /* by id */
    uint32_t nmemo;
};

static const bt_node *raise(struct raising *, const bt_node *);

static const bt_node *raise_new(struct raising *r, const bt_node *node)
{
    bt_graph *g = r->graph;
    if (node->kind == BT_NODE_INDEX)
        return bt_node_index(g, node->which + 1,
                             node->narg ? node->args[0] : bt_node_int(g, node->high + 1));
    const int more = node->kind == BT_NODE_READ && r->raised[node->which];
    const bt_node **args =
        BT_NEWS(g->arena, const bt_node *, node->narg + (uint32_t)more);
    if (!args)
        return NULL;
    if (more)
        args[0] = r->index;
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!(args[i + (uint32_t)more] = raise(r, node->args[i])))
            return NULL;
    }
    if (more)
        return bt_node_read(g, node->which, node->dtype, node->narg + 1, args);
    return node->narg ? bt_node_again(g, node, node->first + 1, args) : node;
}

/* Nodes nest to a multiple of limits.depth. */
static const bt_node *raise(struct raising *r, const bt_node *node)
{
    if (node->id >= r->nmemo)
        return raise_new(r, node);
    if (!r->memo[node->id])
        r->memo[node->id] = raise_new(r, node);
    return r->memo[node->id];
}

static int reads_raised(const bt_node *node, const uint8_t *raised, uint8_t *seen)
{
    if (!node->reads || seen[node->id])
        return 0;
    seen[node->id] = 1;
    int any = node->kind == BT_NODE_READ && raised[node->which];
    for (uint32_t i = 0; i < node->narg; i++)
        any |= reads_raised(node->args[i], raised, seen);
    return any;
}

static bt_status why(const bt_graph *g)
{
    return g->status ? g->status : bt_no_memory();
}

static bt_status size_node(bt_graph *g, const bt_type *size, const bt_node **out)
{
    int64_t number;
    bt_graph_dim dim = { .name = "batch", .term = size };
    uint32_t which;
    if (bt_dim_is_const(size, &number)) {
        *out = bt_node_int(g, number);
        return *out ? NULL : why(g);
    }
    for (which = 0; which < g->ndim && g->dims[which]->term != size; which++)
        ;
    bt_dim_bounds(size, &dim.low, &dim.high);
    if (which == g->ndim && !bt_graph_add_dim(g, &dim, &which))
        return bt_no_memory();
    *out = bt_node_dim(g, which);
    return *out ? NULL : why(g);
}

static bt_status add_axis(bt_graph *g, bt_array *array, const bt_node *size)
{
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, array->rank + 1);
    if (!extents)
        return bt_no_memory();
    extents[0] = size;
    for (uint32_t i = 0; i < array->rank; i++)
        extents[i + 1] = array->extents[i];
    array->extents = extents;
    array->rank++;
    return NULL;
}

/* A stage is raised where it reads what is, and where it is a result: all of them are. */
static bt_status raise_stage(bt_graph *g, uint32_t at, uint8_t *raised,
                             const bt_node *size)
{
    struct raising r = { .graph = g, .raised = raised, .nmemo = g->nnode };
    bt_array *stage = g->arrays[at];
    uint8_t *seen = BT_NEWS(g->arena, uint8_t, g->nnode);
    if (!seen)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->nresult; i++)
        raised[at] |= g->results[i] == at;
    if (!raised[at] && !(raised[at] = (uint8_t)reads_raised(stage->body, raised, seen)))
        return NULL;
    r.memo = BT_NEWS(g->arena, const bt_node *, g->nnode);
    r.index = bt_node_index(g, 0, size);
    if (!r.memo || !r.index)
        return why(g);
    stage->body = raise(&r, stage->body);
    return stage->body ? add_axis(g, stage, size) : why(g);
}

bt_status batching_op_raise(struct site *s, bt_graph *g, uint8_t *raised)
{
    const bt_node *size;
    BT_TRY(size_node(g, s->batch->size, &size));
    for (uint32_t i = 0; i < g->ninput; i++) {
        if (raised[i])
            BT_TRY(add_axis(g, g->arrays[i], size));
    }
    for (uint32_t i = g->ninput; i < g->narray; i++)
        BT_TRY(raise_stage(g, i, raised, size));
    return bt_graph_verify(s->lone.ctx, g->arena, g);
}
