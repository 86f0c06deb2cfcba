/*
 * What derivatives begin with.
 *
 *     x, w | s = ..; y = f(x, s)                the graph of the primal
 *  -> x, w, y, dy | s = ..; y' = f(x, s)        the one in which its adjoints are made
 *
 * y is read as it was stored, never computed again; y' is there for its expression.
 */
#include "compute/derivative/derivative.h"

const bt_node *const *bt__own_axes(bt_graph *g, const bt_array *array)
{
    const bt_node **axes = BT_NEWS(g->arena, const bt_node *, array->rank);
    if (!axes) {
        bt__graph_no_memory(g);
        return NULL;
    }
    for (uint32_t i = 0; i < array->rank; i++) {
        axes[i] = bt_node_index(g, i, array->extents[i]);
        if (!axes[i])
            return NULL;
    }
    return axes;
}

const bt_node *bt__own_read(bt_graph *g, uint32_t number)
{
    const bt_array *array = g->arrays[number];
    const bt_node *const *axes = bt__own_axes(g, array);
    return axes ? bt_node_read(g, number, array->dtype, array->rank, axes) : NULL;
}

static bt_array *input_like(bt_graph *g, uint32_t like)
{
    bt_array *array = BT_NEW(g->arena, bt_array);
    if (array) {
        *array = *g->arrays[like];
        array->body = NULL;
    }
    return array;
}

/* Arrays as they will be. now: what reads of them become; *stages: where they stand. */
static bt_array **arrange(bt_graph *g, uint32_t nseed, const uint32_t *like,
                          uint32_t *now)
{
    const uint32_t nmore = g->nresult + nseed;
    bt_array **arrays = BT_NEWS(g->arena, bt_array *, g->narray + nmore);
    for (uint32_t i = 0; arrays && i < g->narray; i++) {
        now[i] = i < g->ninput ? i : i + nmore;
        arrays[now[i]] = g->arrays[i];
    }
    for (uint32_t i = nmore; arrays && i-- > 0;) {
        const uint32_t of = i < g->nresult ? g->results[i] : like[i - g->nresult];
        if (!(arrays[g->ninput + i] = input_like(g, of)))
            return NULL;
        if (i < g->nresult && of >= g->ninput)
            now[of] = g->ninput + i;
    }
    return arrays;
}

bt_status bt__derive_begin(bt_graph *g, uint32_t nseed, const uint32_t *like,
                           const uint32_t **stages)
{
    const uint32_t nmore = g->nresult + nseed;
    uint32_t *now = BT_NEWS(g->arena, uint32_t, g->narray);
    uint32_t *results = BT_NEWS(g->arena, uint32_t, g->nresult);
    bt_array **arrays = now ? arrange(g, nseed, like, now) : NULL;
    if (!arrays || !results)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->nresult; i++)
        results[i] = g->results[i] < g->ninput ? g->results[i] : g->results[i] + nmore;
    if (!bt__graph_set_arrays(g, g->narray + nmore, arrays))
        return bt_no_memory();
    g->ninput += nmore;
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        g->arrays[i]->body = bt__node_rename_arrays(g, g->arrays[i]->body, now);
        if (!g->arrays[i]->body)
            return bt__derive_why(g);
    }
    *stages = results;
    return NULL;
}
