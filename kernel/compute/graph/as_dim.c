/* Sizes of a graph as dims of the function that it was composed of. */
#include <baton/graph.h>

static const bt_type *dim_of(const bt_func *, const bt_node *);

static const bt_type *dim_of_sum(const bt_func *func, const bt_node *node)
{
    bt_store *store = func->result->store;
    bt_linear sum;
    bt_node_as_linear(node, &sum);
    const bt_type *all = bt_dim(store, sum.constant);
    for (uint32_t i = 0; i < sum.n && all; i++) {
        const bt_type *term = dim_of(func, sum.atoms[i]);
        term = term ? bt_dim_scale(store, term, sum.coefs[i], 0) : NULL;
        all = term ? bt_dim_add(store, all, term) : NULL;
    }
    return all;
}

typedef const bt_type *dim_maker(bt_store *, const bt_type *, const bt_type *);

/* What dims have of the operators of a graph's sizes. */
static dim_maker *maker_of(const bt_node *node)
{
    if (node->kind != BT_NODE_SCALAR || node->narg != 2)
        return NULL;
    switch (node->which) {
    case BT_SCALAR_MUL: return bt_dim_mul;
    case BT_SCALAR_FLOORDIV: return bt_dim_floordiv;
    case BT_SCALAR_CEILDIV: return bt_dim_ceildiv;
    case BT_SCALAR_MOD: return bt_dim_mod;
    case BT_SCALAR_MIN: return bt_dim_min;
    case BT_SCALAR_MAX: return bt_dim_max;
    default: return NULL;
    }
}

/* Whether dims of the function express the size. */
static int is_dim(const bt_func *func, const bt_node *node)
{
    int is = node->kind == BT_NODE_CONST || node->kind == BT_NODE_LINEAR ||
             (node->kind == BT_NODE_DIM && node->which < func->nvar) || maker_of(node);
    for (uint32_t i = 0; is && i < node->narg; i++)
        is = is_dim(func, node->args[i]);
    return is;
}

/* The size as a dim of the function. NULL: the store says why. */
static const bt_type *dim_of(const bt_func *func, const bt_node *node)
{
    bt_store *store = func->result->store;
    if (node->kind == BT_NODE_CONST)
        return bt_dim(store, node->value.i);
    if (node->kind == BT_NODE_DIM)
        return func->vars[node->which];
    if (node->kind == BT_NODE_LINEAR)
        return dim_of_sum(func, node);
    const bt_type *a = dim_of(func, node->args[0]),
                  *b = a ? dim_of(func, node->args[1]) : NULL;
    return b ? maker_of(node)(store, a, b) : NULL;
}

bt_status bt_node_as_dim(bt_ctx *ctx, const bt_func *func, const bt_node *size,
                         const bt_type **out)
{
    if (!is_dim(func, size))
        return bt_fail(
            ctx, BT_ERR_UNSUPPORTED,
            "%s: what one stage leaves to the next has a size that dims of the "
            "function do not express",
            func->name ? func->name : "primitive");
    *out = dim_of(func, size);
    return *out ? NULL : bt_store_why(ctx, func->result->store);
}
