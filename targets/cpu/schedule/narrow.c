/*
 * Integers compared in the type that they are read in:
 *
 *     0 == 2*i1 + i2 - int64(p[i0])     ->     p[i0] == int32(2*i1 + i2)
 *
 * Expressions of indices are int64, and so is what an element is compared with; a strip of it has
 * half of the lanes, after a cast, a product and a sum.
 */
#include "narrow.h"

#include <baton/scalar.h>

/* An integer with a sign, of less bits, as int64. */
static int is_widened(const bt_node *node)
{
    return node->kind == BT_NODE_CAST && node->dtype == BT_INT64 &&
           BT_DTYPE_CLASS(node->args[0]->dtype) == BT_CLASS_INT &&
           BT_DTYPE_BITS(node->args[0]->dtype) < 64;
}

/* Whether the type holds all values that the node may have. */
static int holds(bt_dtype dtype, const bt_node *node)
{
    const int64_t most = (INT64_C(1) << (BT_DTYPE_BITS(dtype) - 1)) - 1;
    return node->low >= -most - 1 && node->high <= most;
}

static const bt_node *narrow(void *self, const bt_node *node)
{
    bt_graph *g = ((bt_loops *)self)->graph;
    const bt_node *wide = NULL;
    int64_t zero, coef = 0;
    bt_linear l;
    if (node->kind != BT_NODE_SCALAR ||
        (node->which != BT_SCALAR_EQ && node->which != BT_SCALAR_NE) ||
        !bt_node_is_const(node->args[0], &zero) || zero != 0 ||
        node->args[1]->dtype != BT_INT64)
        return node;
    bt_node_as_linear(node->args[1], &l);
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.atoms[i]->reads && (wide || !is_widened(l.atoms[i])))
            return node;
        if (l.atoms[i]->reads) {
            wide = l.atoms[i];
            coef = l.coefs[i];
        }
    }
    if (!wide || (coef != 1 && coef != -1))
        return node;
    const bt_dtype dtype = wide->args[0]->dtype;
    const bt_node *rest = bt_node_linear(
        g, 0, 2, (const bt_node *[]){ node->args[1], wide }, (int64_t[]){ -coef, 1 });
    if (!rest)
        return NULL;
    return holds(dtype, rest) ? bt_node_scalar(g, node->which, wide->args[0],
                                               bt_node_cast(g, dtype, rest))
                              : node;
}

static int put(void *self, bt_stmt *stmt, const bt_node **slot)
{
    const bt_by_node by = { self, narrow, self };
    (void)stmt;
    *slot = bt_node_change(&by, *slot);
    return *slot != NULL;
}

int cpu_narrow_compares(bt_loops *loops)
{
    for (uint32_t i = 0; i < loops->body.len; i++) {
        if (!bt_stmt_walk(loops->body.at[i], put, loops))
            return 0;
    }
    return 1;
}
