/* Dims of types as expressions of a graph's dims. */
#include "compute/compose/dims.h"

#include "ir/dim.h"

void bt__dims_init(struct bt__dims *d, bt_graph *graph)
{
    *d = (struct bt__dims){ .graph = graph };
    bt_map_init(&d->nodes, graph->arena, 0);
    bt_map_init(&d->same, graph->arena, 0);
}

/* What stands for a dim. */
static const bt_type *find(const struct bt__dims *d, const bt_type *dim)
{
    for (const bt_type *next; (next = bt_map_find(&d->same, dim));)
        dim = next;
    return dim;
}

static int is_leaf(const bt_type *dim)
{
    return dim->kind == BT_TYPE_VAR || dim->kind == BT_TYPE_OPAQUE;
}

/* Whether what stands for a dim is computed from another one, or is it. */
static int has_in_it(const struct bt__dims *d, const bt_type *dim, const bt_type *other)
{
    dim = find(d, dim);
    const bt_list_type *list = bt_as_list_type(dim);
    int has = dim == other;
    if (dim->kind == BT_TYPE_LINEAR) {
        bt_dim_sum all;
        bt_dim_linear(dim, &all);
        for (uint32_t i = 0; i < all.n && !has; i++)
            has = has_in_it(d, all.terms[i].atom, other);
    }
    for (uint32_t i = 0; list && i < list->n && !has; i++)
        has = has_in_it(d, list->at[i], other);
    return has;
}

void bt__dims_join(struct bt__dims *d, const bt_type *a, const bt_type *b)
{
    int64_t number;
    a = find(d, a);
    b = find(d, b);
    // what is computed becomes a leaf, not the reverse, which it may have in it
    if (bt_dim_is_const(a, &number) ||
        (is_leaf(a) && !is_leaf(b) && !bt_dim_is_const(b, &number))) {
        const bt_type *swap = a;
        a = b;
        b = swap;
    }
    if (a != b && has_in_it(d, b, a)) {
        const bt_type *swap = a;
        a = b;
        b = swap;
    }
    if (!bt_dim_is_const(a, &number) && !has_in_it(d, b, a) &&
        !bt_map_put(&d->same, a, (void *)(uintptr_t)b))
        (void)bt__graph_no_memory(d->graph);
}

/* A multiple of 8 is 8 times the whole of its eighth: sums of it show what divides them. */
const bt_node *bt__dims_add(struct bt__dims *d, const bt_type *leaf,
                            const bt_type_param *param)
{
    bt_graph *g = d->graph;
    const bt__bounds bounds = bt__param_bounds(param);
    const bt_var_type *var = bt_as_var_type(leaf);
    const bt_graph_dim dim = { .name = var && var->name ? var->name : "?",
                               .low = bounds.low,
                               .high = bounds.high,
                               .term = leaf };
    uint32_t which;
    if (!bt_graph_add_dim(g, &dim, &which))
        return bt__graph_no_memory(g);
    const bt_node *step = bt_node_int(g, param->step), *node = bt_node_dim(g, which);
    node = bt_node_scalar(g, BT_SCALAR_MUL, step,
                          bt_node_scalar(g, BT_SCALAR_FLOORDIV, node, step));
    return node && bt_map_put(&d->nodes, leaf, (void *)(uintptr_t)node)
               ? node
               : bt__graph_no_memory(g);
}

static const bt_node *node_of_leaf(struct bt__dims *d, const bt_type *leaf)
{
    static const bt_type_param any = { .kind = BT_KIND_DIM,
                                       .high = INT64_MAX,
                                       .step = 1 };
    int64_t number;
    if (bt_dim_is_const(leaf, &number))
        return bt_node_int(d->graph, number);
    const bt_node *known = bt_map_find(&d->nodes, leaf);
    const bt_var_type *var = bt_as_var_type(leaf);
    return known ? known : bt__dims_add(d, leaf, var ? &var->param : &any);
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
    dim = find(d, dim);
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
