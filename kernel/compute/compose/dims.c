/* Dims of types as expressions of a graph's dims. */
#include "compute/compose/dims.h"

static const bt_node *node_of_leaf(struct bt__dims *d, const bt_type *leaf)
{
    bt_graph *g = d->graph;
    uint32_t which;
    bt_graph_dim dim = { .name = "?" };
    for (uint32_t i = 0; i < d->met.len; i++) {
        if (d->met.at[i] == leaf)
            return bt_node_dim(g, i);
    }
    bt_dim_bounds(leaf, &dim.low, &dim.high);
    if (leaf->kind == BT_TYPE_VAR && ((const bt_var_type *)(const void *)leaf)->name)
        dim.name = ((const bt_var_type *)(const void *)leaf)->name;
    return BT_PUSH(g->arena, &d->met, leaf) && bt_graph_add_dim(g, &dim, &which)
               ? bt_node_dim(g, which)
               : bt__graph_no_memory(g);
}

static const bt_node *node_of_sum(struct bt__dims *d, const bt_type *dim)
{
    bt_term single;
    const bt_term *terms;
    int64_t constant;
    uint32_t n;
    bt_dim_linear(dim, &single, &constant, &n, &terms);
    const bt_node *sum = bt_node_int(d->graph, constant);
    for (uint32_t i = 0; i < n && sum; i++) {
        const bt_node *both[] = { sum, bt__dims_node(d, terms[i].atom) };
        sum =
            bt_node_linear(d->graph, 0, 2, both, (int64_t[]){ 1, terms[i].coefficient });
    }
    return sum;
}

static const bt_node *node_of_list(struct bt__dims *d, const bt_type *dim, uint32_t which)
{
    const bt_list_type *list = bt_as_list_type(dim);
    const bt_node *all = bt__dims_node(d, list->at[0]);
    for (uint32_t i = 1; i < list->n; i++)
        all = bt_node_scalar(d->graph, which, all, bt__dims_node(d, list->at[i]));
    return all;
}

/* By recursion, which BT_TYPE_DEPTH bounds. */
const bt_node *bt__dims_node(struct bt__dims *d, const bt_type *dim)
{
    switch (dim->kind) {
    case BT_TYPE_LINEAR: return node_of_sum(d, dim);
    case BT_TYPE_PRODUCT: return node_of_list(d, dim, BT_SCALAR_MUL);
    case BT_TYPE_FLOORDIV: return node_of_list(d, dim, BT_SCALAR_FLOORDIV);
    case BT_TYPE_CEILDIV: return node_of_list(d, dim, BT_SCALAR_CEILDIV);
    case BT_TYPE_MOD: return node_of_list(d, dim, BT_SCALAR_MOD);
    case BT_TYPE_MIN: return node_of_list(d, dim, BT_SCALAR_MIN);
    case BT_TYPE_MAX: return node_of_list(d, dim, BT_SCALAR_MAX);
    default: return node_of_leaf(d, dim);
    }
}
