/*
 * Sums whose places divide a shifted index, as those of a transposed convolution with a
 * stride do, and make no full blocks of it:
 *
 *     y[p] = sum(t: x[floordiv(p + 1, 2) - 1 + t] * w[mod(p + 1, 2) + 2 - 2*t])
 *  -> z[p] = sum(t: x[floordiv(p, 2) - 1 + t] * w[mod(p, 2) + 2 - 2*t]);  y[p] = z[p + 1]
 *
 * where z has full blocks of 2: its index is then two dims of a contraction, the block and
 * the place in it.
 */
#include "contract.h"

struct shift {
    uint32_t number; /* the index */
    int64_t by, at;  /* divided is index + at; by 0: nothing is, below 0: in two ways */
    uint8_t *seen;   /* by id */
};

static void find_shift(struct shift *s, const bt_node *node)
{
    int64_t by;
    bt_linear l;
    if (s->seen[node->id] || !(node->free & bt_index_bit(s->number)))
        return;
    s->seen[node->id] = 1;
    if (node->kind == BT_NODE_SCALAR &&
        (node->which == BT_SCALAR_FLOORDIV || node->which == BT_SCALAR_MOD) &&
        bt_node_is_const(node->args[1], &by)) {
        bt_node_as_linear(node->args[0], &l);
        int is_one = by > 1 && l.n == 1 && l.coefs[0] == 1 &&
                     l.atoms[0]->kind == BT_NODE_INDEX && l.constant >= 0 &&
                     (s->by == 0 || (s->by == by && s->at == l.constant));
        s->by = is_one ? by : -1;
        s->at = l.constant;
    }
    for (uint32_t i = 0; i < node->narg; i++)
        find_shift(s, node->args[i]);
}

/* The stage's `reduce` over full blocks, as an array of its own, and the read of it in its
 * place. *out NULL: no index is divided so. */
bt_status cpu_contract_shift(bt_graph *g, const bt_array *stage, const bt_node *reduce,
                             const bt_node **out)
{
    bt_array array = *stage;
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, stage->rank);
    const bt_node **places = BT_NEWS(g->arena, const bt_node *, stage->rank);
    uint32_t nshift = 0;
    *out = NULL;
    if (!extents || !places)
        return bt_no_memory();
    array.extents = extents;
    array.body = reduce;
    for (uint32_t i = 0; i < stage->rank; i++) {
        struct shift s = { .number = i };
        int64_t extent = bt_node_number(stage->extents[i]), whole;
        extents[i] = stage->extents[i];
        places[i] = bt_node_index(g, i, extents[i]);
        s.seen = BT_NEWS(g->arena, uint8_t, g->nnode + 1);
        if (!s.seen)
            return bt_no_memory();
        find_shift(&s, reduce);
        if (s.by <= 0 || extent < 0 || !places[i] || (s.at == 0 && extent % s.by == 0))
            continue;
        if (!bt_add_int64(extent, s.at, &whole) ||
            !bt_add_int64(whole, (s.by - whole % s.by) % s.by, &whole))
            continue;
        extents[i] = bt_node_int(g, whole);
        const bt_node *index = bt_node_index(g, i, extents[i]);
        array.body = bt_node_substitute(
            g, array.body, i, bt_node_linear(g, -s.at, 1, &index, (int64_t[]){ 1 }));
        places[i] = bt_node_linear(g, s.at, 1, &places[i], (int64_t[]){ 1 });
        if (!extents[i] || !array.body)
            break;
        nshift++;
    }
    uint32_t number;
    if (g->status || !nshift)
        return g->status;
    array.dtype = cpu_computed_in(reduce->dtype);
    array.body = array.body ? bt_node_cast(g, array.dtype, array.body) : NULL;
    if (!array.body || !bt_graph_add_array(g, &array, &number))
        return g->status ? g->status : bt_no_memory();
    *out = bt_node_cast(g, reduce->dtype,
                        bt_node_read(g, number, array.dtype, array.rank, places));
    return *out ? NULL : g->status ? g->status : bt_no_memory();
}
