/* Dims of types as expressions of a graph's dims. */
#include "compute/compose/dims.h"

void bt__dims_init(struct bt__dims *d, bt_graph *graph)
{
    *d = (struct bt__dims){ .graph = graph };
    bt_map_init(&d->same, graph->arena, 0);
}

/* What stands for a leaf. */
static const bt_type *find(const struct bt__dims *d, const bt_type *leaf)
{
    for (const bt_type *next; (next = bt_map_find(&d->same, leaf));)
        leaf = next;
    return leaf;
}

void bt__dims_join(struct bt__dims *d, const bt_type *a, const bt_type *b)
{
    a = find(d, a);
    b = find(d, b);
    if (a->kind != BT_TYPE_VAR) {
        const bt_type *swap = a;
        a = b;
        b = swap;
    }
    if (a != b && a->kind == BT_TYPE_VAR &&
        (b->kind == BT_TYPE_VAR || bt_dim_is_const(b, &(int64_t){ 0 })) &&
        !bt_map_put(&d->same, a, (void *)(uintptr_t)b))
        (void)bt__graph_no_memory(d->graph);
}

static const bt_node *node_of_leaf(struct bt__dims *d, const bt_type *leaf)
{
    bt_graph *g = d->graph;
    uint32_t which;
    bt_graph_dim dim = { .name = "?" };
    leaf = find(d, leaf);
    if (bt_dim_is_const(leaf, &dim.low))
        return bt_node_int(g, dim.low);
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
    bt_dim_sum all;
    bt_dim_linear(dim, &all);
    const bt_node *sum = bt_node_int(d->graph, all.constant);
    for (uint32_t i = 0; i < all.n && sum; i++) {
        const bt_node *both[] = { sum, bt__dims_node(d, all.terms[i].atom) };
        sum = bt_node_linear(d->graph, 0, 2, both,
                             (int64_t[]){ 1, all.terms[i].coefficient });
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
