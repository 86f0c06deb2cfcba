/* Whether a graph computes scalars from scalars. */
#include <baton/graph.h>

static int is_plain(const bt_node *node)
{
    return node->kind != BT_NODE_REDUCE && node->kind != BT_NODE_INDEX &&
           node->kind != BT_NODE_DIM && bt_dtype_is_stored(node->dtype);
}

bt_status bt_graph_is_scalar(bt_arena *scratch, const bt_graph *graph, int *out)
{
    bt_nodes queue = { 0 };
    bt_map seen;
    bt_map_init(&seen, scratch, 0);
    *out = 0;
    for (uint32_t i = 0; i < graph->narray; i++) {
        const bt_array *array = graph->arrays[i];
        if (array->rank)
            return NULL;
        if (array->body && !BT_PUSH(scratch, &queue, array->body))
            return bt_no_memory();
    }
    while (queue.len) {
        const bt_node *node = queue.at[--queue.len];
        if (bt_map_find(&seen, node))
            continue;
        if (!is_plain(node))
            return NULL;
        if (!bt_map_put(&seen, node, &queue))
            return bt_no_memory();
        for (uint32_t i = 0; i < node->narg; i++) {
            if (!BT_PUSH(scratch, &queue, node->args[i]))
                return bt_no_memory();
        }
    }
    *out = 1;
    return NULL;
}
