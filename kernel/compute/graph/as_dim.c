/* Sizes of a graph as dims of types. */
#include "compute/graph/graph.h"

static const bt_type *dim_of(bt_store *, const bt_node *, const bt_type *const *terms);

static const bt_type *dim_of_sum(bt_store *store, const bt_node *node,
                                 const bt_type *const *terms)
{
    bt_linear sum;
    bt_node_as_linear(node, &sum);
    const bt_type *all = bt_dim(store, sum.constant);
    for (uint32_t i = 0; i < sum.n && all; i++) {
        const bt_type *term = dim_of(store, sum.atoms[i], terms);
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

static int is_dim(const bt_node *node, uint32_t nterm, const bt_type *const *terms)
{
    int is = node->kind == BT_NODE_CONST || node->kind == BT_NODE_LINEAR ||
             (node->kind == BT_NODE_DIM && node->which < nterm && terms[node->which]) ||
             maker_of(node);
    for (uint32_t i = 0; is && i < node->narg; i++)
        is = is_dim(node->args[i], nterm, terms);
    return is;
}

/* Of a size that is one. NULL: the store says why. */
static const bt_type *dim_of(bt_store *store, const bt_node *node,
                             const bt_type *const *terms)
{
    if (node->kind == BT_NODE_CONST)
        return bt_dim(store, node->value.i);
    if (node->kind == BT_NODE_DIM)
        return terms[node->which];
    if (node->kind == BT_NODE_LINEAR)
        return dim_of_sum(store, node, terms);
    const bt_type *a = dim_of(store, node->args[0], terms),
                  *b = a ? dim_of(store, node->args[1], terms) : NULL;
    return b ? maker_of(node)(store, a, b) : NULL;
}

bt_status bt__node_dim(bt_ctx *ctx, bt_store *store, const bt_node *size, uint32_t nterm,
                       const bt_type *const *terms, const bt_type **out)
{
    *out = NULL;
    if (!is_dim(size, nterm, terms))
        return NULL;
    *out = dim_of(store, size, terms);
    return *out ? NULL : bt_store_why(ctx, store);
}

bt_status bt_node_as_dim(bt_ctx *ctx, const bt_func *func, const bt_node *size,
                         const bt_type **out)
{
    BT_TRY(bt__node_dim(ctx, func->result->store, size, func->nvar, func->vars, out));
    return *out ? NULL
                : bt_fail(ctx, BT_ERR_UNSUPPORTED,
                          "%s: what one stage leaves to the next has a size that dims of "
                          "the function do not express",
                          func->name ? func->name : "primitive");
}
