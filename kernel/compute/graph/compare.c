/* Comparisons of integers by the sign of a difference, and logic. */
#include "compute/graph/fold.h"
#include "compute/graph/interval.h"

/* l divided by what all coefficients share, rounded down: where bounds are known nothing
 * overflows. */
static const bt_node *divide_shared(bt_graph *g, const bt_node *l, int64_t *rest)
{
    bt_linear parts;
    int64_t shared = 0, coefs[BT__MAX_TERMS];
    bt_node_as_linear(l, &parts);
    for (uint32_t i = 0; i < parts.n; i++)
        shared = bt_gcd_int64(shared, parts.coefs[i]);
    *rest = 0;
    if (shared <= 1 || !bt__is_bounded(l))
        return l;
    *rest = bt_mod_int64(parts.constant, shared);
    for (uint32_t i = 0; i < parts.n; i++)
        coefs[i] = parts.coefs[i] / shared;
    return bt_node_linear(g, bt_floordiv_int64(parts.constant, shared), parts.n,
                          parts.atoms, coefs);
}

static const bt_node *with_zero(bt_graph *g, uint32_t which, const bt_node *l)
{
    const bt_node *zero = bt_node_int(g, 0);
    if (!zero)
        return NULL;
    return bt__node_intern(g, &(bt_node){ .kind = BT_NODE_SCALAR,
                                          .which = which,
                                          .dtype = BT_BOOL,
                                          .narg = 2,
                                          .args = (const bt_node *[]){ zero, l } });
}

/* 0 <= l, whose bounds are known. */
static const bt_node *at_least_zero(bt_graph *g, const bt_node *l)
{
    int64_t rest;
    l = l ? divide_shared(g, l, &rest) : NULL;
    if (!l)
        return NULL;
    // with dims, what their numbers would show: 0 <= n - 1 - i for i in n
    const bt_node *least = g->ndim ? bt__node_end(g, l, 0) : l,
                  *most = g->ndim ? bt__node_end(g, l, 1) : l;
    if (!least || !most)
        return NULL;
    if (least->low >= 0 || most->high < 0)
        return bt_node_bool(g, least->low >= 0);
    return with_zero(g, BT_SCALAR_LE, l);
}

/* 0 == l or 0 != l: exact even where l wraps. */
static const bt_node *equals_zero(bt_graph *g, uint32_t which, const bt_node *l)
{
    int64_t rest;
    bt_linear parts;
    l = l ? divide_shared(g, l, &rest) : NULL;
    if (!l)
        return NULL;
    if (rest || (bt__is_bounded(l) && (l->low > 0 || l->high < 0)))
        return bt_node_bool(g, which == BT_SCALAR_NE);
    if (l->low == 0 && l->high == 0)
        return bt_node_bool(g, which == BT_SCALAR_EQ);
    bt_node_as_linear(l, &parts);
    // of the two signs, one form
    if (parts.n && parts.coefs[0] < 0)
        l = bt_node_linear(g, 0, 1, &l, (int64_t[]){ -1 });
    return l ? with_zero(g, which, l) : NULL;
}

/* Comparisons of int64 by the sign of a difference, where that cannot overflow. */
const bt_node *bt__node_comparison(bt_graph *g, uint32_t which, const bt_node *a,
                                   const bt_node *b)
{
    int64_t low, high;
    if (which == BT_SCALAR_EQ || which == BT_SCALAR_NE)
        return equals_zero(
            g, which,
            bt_node_linear(g, 0, 2, (const bt_node *[]){ b, a }, (int64_t[]){ 1, -1 }));
    if ((which != BT_SCALAR_LT && which != BT_SCALAR_LE) ||
        !bt__interval_difference(b, a, &low, &high))
        return NULL;
    const bt_node *l = bt_node_linear(g, which == BT_SCALAR_LT ? -1 : 0, 2,
                                      (const bt_node *[]){ a, b }, (int64_t[]){ -1, 1 });
    // what comes out must be bounded itself: its terms may be others
    return l && bt__is_bounded(l) ? at_least_zero(g, l) : NULL;
}

/* The opposite of a comparison is one too. */
static const bt_node *simplify_not(bt_graph *g, const bt_node *a)
{
    if (a->kind != BT_NODE_SCALAR)
        return NULL;
    if (a->which == BT_SCALAR_NOT)
        return a->args[0];
    if (a->args[0]->dtype != BT_INT64)
        return NULL;
    if (a->which == BT_SCALAR_EQ || a->which == BT_SCALAR_NE)
        return equals_zero(g, a->which == BT_SCALAR_EQ ? BT_SCALAR_NE : BT_SCALAR_EQ,
                           a->args[1]);
    int64_t zero;
    if (a->which == BT_SCALAR_LE && bt_node_is_const(a->args[0], &zero) && zero == 0 &&
        bt__is_bounded(a->args[1]))
        return at_least_zero(g, bt_node_linear(g, -1, 1, &a->args[1], (int64_t[]){ -1 }));
    if (a->which == BT_SCALAR_LE || a->which == BT_SCALAR_LT)
        return bt_node_scalar(g, a->which == BT_SCALAR_LE ? BT_SCALAR_LT : BT_SCALAR_LE,
                              a->args[1], a->args[0]);
    return NULL;
}

const bt_node *bt__node_logic(bt_graph *g, uint32_t which, const bt_node *a,
                              const bt_node *b)
{
    switch (which) {
    case BT_SCALAR_AND:
        return bt_node_is_false(a) || bt_node_is_true(b) || a == b ? a
               : bt_node_is_true(a) || bt_node_is_false(b)         ? b
                                                                   : NULL;
    case BT_SCALAR_OR:
        return bt_node_is_true(a) || bt_node_is_false(b) || a == b ? a
               : bt_node_is_false(a) || bt_node_is_true(b)         ? b
                                                                   : NULL;
    case BT_SCALAR_NOT: return simplify_not(g, a);
    default: return bt__interval_simplify(g, which, a, b);
    }
}
