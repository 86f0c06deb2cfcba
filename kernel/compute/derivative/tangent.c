/*
 * Forward: the tangent of a stage beside it, by the same derivatives.
 *
 *     y[i] = sum(k | condition: f(x[i, k]))
 *  -> ty[i] = sum(k | condition && ..: factor * f'(x[i, k]) * tx[i, k])
 */
#include "compute/derivative/derivative.h"
#include "compute/graph/conditions.h"

struct forward {
    bt_graph *graph;
    uint32_t *tangents;      /* of each array that there was */
    const bt_node *root, *y; /* of the stage, and its value as it was stored */
    const bt_node **memo;    /* by id; a node that is not there: 0 */
    uint8_t *done;
};

static const bt_node *tangent(struct forward *, const bt_node *);

static const bt_node *zero_like(bt_graph *g, const bt_node *node)
{
    return bt_node_float(g, node->dtype, 0);
}

/* NULL without a failure of the graph: zero. */
static const bt_node *tangent_new(struct forward *f, const bt_node *node)
{
    bt_graph *g = f->graph;
    const bt_node *sum = NULL, *parts[3] = { 0 };
    if (node->kind == BT_NODE_READ) {
        const uint32_t array = f->tangents[node->which];
        return array == BT__NO_ARRAY
                   ? NULL
                   : bt_node_read(g, array, node->dtype, node->narg, node->args);
    }
    for (uint32_t i = 0; i < node->narg && i < 3; i++) {
        if (bt__node_passes(node, i) && !(parts[i] = tangent(f, node->args[i])) &&
            g->status)
            return NULL;
    }
    if (!parts[0] && !parts[1] && !parts[2])
        return NULL;
    if (node->kind == BT_NODE_CAST)
        return bt_node_cast(g, node->dtype, parts[0]);
    if (node->kind == BT_NODE_SELECT)
        return bt_node_select(g, node->args[0], parts[1] ? parts[1] : zero_like(g, node),
                              parts[2] ? parts[2] : zero_like(g, node));
    for (uint32_t i = 0; i < node->narg; i++) {
        if (parts[i] && !(sum = bt__derive_plus(
                              g, sum,
                              bt__scalar_derive(g, node, node == f->root ? f->y : node, i,
                                                parts[i]))))
            return NULL;
    }
    return sum;
}

static const bt_node *tangent(struct forward *f, const bt_node *node)
{
    if (!node->reads)
        return NULL;
    if (!f->done[node->id]) {
        f->memo[node->id] = tangent_new(f, node);
        f->done[node->id] = 1;
    }
    return f->memo[node->id];
}

static const bt_node *tangent_of_reduction(struct forward *f, uint32_t stage,
                                           const bt_node *root, bt_status *status)
{
    bt_graph *g = f->graph;
    struct bt__reduce_derivative by;
    const bt_node *body = tangent(f, root->args[1]), *condition;
    if (!body || (*status = bt__reduce_derive(g, stage, f->y, &by)))
        return NULL;
    condition = bt_node_and(g, root->args[0], by.condition);
    if (by.factor)
        body = bt_node_scalar(g, BT_SCALAR_MUL, body, by.factor);
    return bt__reduction_build(g, BT_REDUCER_SUM, root->first, root->nindex,
                               root->args + 2, condition, body);
}

/* `y`: the array that holds the stage's value. */
static bt_status add_tangent(struct forward *f, uint32_t stage, uint32_t y)
{
    bt_graph *g = f->graph;
    bt_array array = *g->arrays[stage];
    bt_status status = NULL;
    f->y = bt__own_read(g, y);
    f->root = array.body;
    f->memo = BT_NEWS(g->arena, const bt_node *, g->nnode);
    f->done = BT_NEWS(g->arena, uint8_t, g->nnode);
    if (!f->y || !f->memo || !f->done)
        return bt__derive_why(g);
    array.body = f->root->kind == BT_NODE_REDUCE && bt__node_passes(f->root, 1)
                     ? tangent_of_reduction(f, stage, f->root, &status)
                 : bt_dtype_is_float(array.dtype) ? tangent(f, f->root)
                                                  : NULL;
    if (status || g->status)
        return status ? status : g->status;
    if (array.body && !bt_graph_add_array(g, &array, &f->tangents[stage]))
        return bt_no_memory();
    f->tangents[y] = f->tangents[stage];
    return NULL;
}

static uint32_t value_of(uint32_t stage, uint32_t nin, uint32_t nresult,
                         const uint32_t *stages)
{
    for (uint32_t k = 0; k < nresult; k++) {
        if (stages[k] == stage)
            return nin + k;
    }
    return stage;
}

bt_status bt__graph_tangent(bt_graph *g, const uint8_t *seeds, uint32_t *to)
{
    struct forward f = { .graph = g };
    uint32_t *like = BT_NEWS(g->arena, uint32_t, g->ninput), nout = 0;
    uint32_t *results = BT_NEWS(g->arena, uint32_t, g->nresult);
    const uint32_t nin = g->ninput, nresult = g->nresult, *stages;
    if (!like || !results)
        return bt_no_memory();
    for (uint32_t i = 0; i < nin; i++)
        like[i] = i;
    BT_TRY(bt__graph_split(g));
    BT_TRY(bt__derive_begin(g, nin, like, &stages));
    const uint32_t nprimal = g->narray;
    f.tangents = BT_NEWS(g->arena, uint32_t, nprimal);
    if (!f.tangents)
        return bt_no_memory();
    for (uint32_t i = 0; i < nprimal; i++)
        f.tangents[i] = i < nin && seeds[i] && bt_dtype_is_float(g->arrays[i]->dtype)
                            ? nin + nresult + i
                            : BT__NO_ARRAY;
    for (uint32_t i = g->ninput; i < nprimal; i++)
        BT_TRY(add_tangent(&f, i, value_of(i, nin, nresult, stages)));
    for (uint32_t k = 0; k < nresult; k++) {
        const uint32_t array = f.tangents[stages[k]];
        to[k] = array == BT__NO_ARRAY ? BT__NO_ARRAY : nout;
        if (array != BT__NO_ARRAY)
            results[nout++] = array;
    }
    g->nresult = nout;
    g->results = results;
    return bt__graph_inline(g);
}
