/*
 * R6. An axis of open extent n that broadcasts is read at k*s, s = int64(n != 1): by how many
 * places k moves there is known when the program runs.
 *
 *     k*s == E  ->  k = E + t, t in (n != 1 ? 1 : extent of k), where E*s == E
 *
 * With s = 1, k is E, and t is 0. With s = 0, E must be 0, and k is any of its values, which
 * are those of t. Where E is an index below n, E*s == E says nothing new: n is not 1, or E is 0.
 */
#include "compute/graph/interval.h"
#include "compute/graph/reduction.h"

/* The bool c of k*int64(c), or NULL; *k: the index, one that is reduced. */
static const bt_node *stride_of(const struct bt__reduction *r, const bt_node *atom,
                                uint32_t *k)
{
    if (atom->kind != BT_NODE_SCALAR || atom->which != BT_SCALAR_MUL || atom->reads)
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const bt_node *index = atom->args[i], *by = atom->args[1 - i];
        if (index->kind == BT_NODE_INDEX && index->which >= r->first &&
            index->which - r->first < r->nindex && by->kind == BT_NODE_CAST &&
            by->args[0]->dtype == BT_BOOL && !(by->free & bt__reduction_indices(r))) {
            *k = index->which - r->first;
            return by->args[0];
        }
    }
    return NULL;
}

/* E*s == E, which needs not be said of an index below the extent that s asks about. */
static const bt_node *is_moved(bt_graph *g, const bt_node *e, const bt_node *is_long)
{
    if (e->kind == BT_NODE_INDEX && e->narg &&
        is_long == bt_node_scalar(g, BT_SCALAR_NE, e->args[0], bt_node_int(g, 1)))
        return bt_node_bool(g, 1);
    const bt_node *s = bt_node_cast(g, BT_INT64, is_long);
    return bt_node_scalar(g, BT_SCALAR_EQ, bt_node_scalar(g, BT_SCALAR_MUL, e, s), e);
}

static int unstride(struct bt__reduction *r, uint32_t conjunct, uint32_t k,
                    const bt_node *is_long, const bt_node *e)
{
    bt_graph *g = r->graph;
    const bt_node *few = bt_node_select(g, is_long, bt_node_int(g, 1), r->extents[k]);
    const bt_node *t = few ? bt_node_index(g, r->first + k, few) : NULL;
    const bt_node *value =
        t ? bt_node_linear(g, 0, 2, (const bt_node *[]){ e, t }, (int64_t[]){ 1, 1 })
          : NULL;
    if (!value)
        return -1;
    if (!bt__is_bounded(value))
        return 0;
    const bt_node *where =
        bt_node_and(g, is_moved(g, e, is_long), bt__in_range(g, value, r->extents[k]));
    return bt__reduction_put(r, k, value, few, where, conjunct) ? 1 : -1;
}

int bt__reduction_unstride(struct bt__reduction *r)
{
    bt_graph *g = r->graph;
    for (uint32_t i = 0; i < r->conjuncts.len; i++) {
        const bt_node *term = bt__equal_term(r->conjuncts.at[i]);
        bt_linear l;
        uint32_t k;
        if (!term)
            continue;
        bt_node_as_linear(term, &l);
        for (uint32_t a = 0; a < l.n; a++) {
            const bt_node *is_long = stride_of(r, l.atoms[a], &k);
            if (!is_long || (l.coefs[a] != 1 && l.coefs[a] != -1))
                continue;
            const bt_node *e =
                bt_node_linear(g, 0, 2, (const bt_node *[]){ term, l.atoms[a] },
                               (int64_t[]){ -l.coefs[a], 1 });
            if (!e)
                return -1;
            const int done = e->free & bt_index_bit(r->first + k) || e->reads
                                 ? 0
                                 : unstride(r, i, k, is_long, e);
            if (done)
                return done;
        }
    }
    return 0;
}
