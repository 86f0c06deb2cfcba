/*
 * Terms of which an element has one at most, as those of parts that lie side by side:
 *
 *     select(i < 20, a[i], 0) + select(20 <= i && i < 40, b[i - 20], 0) + ..
 *  -> select(i < 20, a[i], select(i < 40, b[i - 20], ..))
 *
 * Each condition is one comparison, by what those before it leave, so that a range of elements is cut
 * once for each.
 */
#include "compute/derivative/derivative.h"

static int is_zero(const bt_node *node)
{
    return node->kind == BT_NODE_CONST && bt_dtype_is_float(node->dtype) &&
           node->value.f == 0;
}

/* l of 0 <= l, or of 0 == l; NULL: it is another condition. */
static const bt_node *term_of(const bt_node *conjunct)
{
    int64_t zero;
    return conjunct->kind == BT_NODE_SCALAR && conjunct->narg == 2 &&
                   (conjunct->which == BT_SCALAR_LE || conjunct->which == BT_SCALAR_EQ) &&
                   bt_node_is_const(conjunct->args[0], &zero) && zero == 0
               ? conjunct->args[1]
               : NULL;
}

/* Whether 0 <= x and 0 <= y cannot both be: their sum is below 0. */
static int excludes(bt_graph *g, const bt_node *x, int64_t sign_x, const bt_node *y,
                    int64_t sign_y)
{
    const bt_node *sum = bt_node_linear(g, 0, 2, (const bt_node *[]){ x, y },
                                        (int64_t[]){ sign_x, sign_y });
    return sum && sum->high < 0;
}

static int are_opposed(bt_graph *g, const bt_node *a, const bt_node *b)
{
    const bt_node *x = term_of(a), *y = term_of(b);
    if (!x || !y)
        return 0;
    const int64_t least_a = a->which == BT_SCALAR_EQ ? -1 : 1,
                  least_b = b->which == BT_SCALAR_EQ ? -1 : 1;
    for (int64_t sign_x = least_a; sign_x <= 1; sign_x += 2) {
        for (int64_t sign_y = least_b; sign_y <= 1; sign_y += 2) {
            if (excludes(g, x, sign_x, y, sign_y))
                return 1;
        }
    }
    return 0;
}

/* Whether one comparison holds where another one does not: 0 <= y where 0 <= -x - 1. */
static int is_left(const bt_node *tested, bt_graph *g, const bt_node *conjunct)
{
    const bt_node *x = term_of(tested), *y = term_of(conjunct);
    if (!x || !y || tested->which != BT_SCALAR_LE || conjunct->which != BT_SCALAR_LE)
        return 0;
    const bt_node *sum =
        bt_node_linear(g, 1, 2, (const bt_node *[]){ x, y }, (int64_t[]){ 1, 1 });
    return sum && sum->low >= 0;
}

enum { MAX_TERMS = 128 };

/* The chain of choices that a sum is. 0: it is none that can be longer. */
static uint32_t find_chain(const bt_node *sum, const bt_node *chain[MAX_TERMS])
{
    uint32_t n = 0;
    for (; n < MAX_TERMS && sum->kind == BT_NODE_SELECT; sum = sum->args[2]) {
        if (!term_of(sum->args[0]))
            return 0;
        chain[n++] = sum;
    }
    return is_zero(sum) && n < MAX_TERMS ? n : 0;
}

/* What is left to be tested behind a chain that tests other elements: true, or one comparison. NULL:
 * more, or elements of the chain are among them; or no memory, which the graph says. */
static const bt_node *condition_behind(bt_graph *g, uint32_t n,
                                       const bt_node *const *chain,
                                       const bt_node *condition)
{
    bt_nodes all = { 0 };
    const bt_node *left = bt_node_bool(g, 1);
    if (!bt_node_conjuncts(g->arena, condition, &all))
        return bt__graph_no_memory(g);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < all.len && !are_opposed(g, chain[i]->args[0], all.at[k]))
            k++;
        if (k == all.len)
            return NULL;
    }
    for (uint32_t k = 0; k < all.len && left; k++) {
        uint32_t i = 0;
        while (i < n && !is_left(chain[i]->args[0], g, all.at[k]))
            i++;
        left = i < n ? left : bt_node_and(g, left, all.at[k]);
    }
    return left && (bt_node_is_true(left) || term_of(left)) ? left : NULL;
}

const bt_node *bt__derive_join(bt_graph *g, const bt_node *sum, const bt_node *term)
{
    const bt_node *chain[MAX_TERMS], *condition;
    if (!sum || !term || term->kind != BT_NODE_SELECT || !is_zero(term->args[2]))
        return bt__derive_plus(g, sum, term);
    uint32_t n = find_chain(sum, chain);
    condition = n ? condition_behind(g, n, chain, term->args[0]) : NULL;
    if (!condition)
        return g->status ? NULL : bt__derive_plus(g, sum, term);
    for (term = bt_node_select(g, condition, term->args[1], term->args[2]); n-- > 0;)
        term = bt_node_select(g, chain[n]->args[0], chain[n]->args[1], term);
    return term;
}
