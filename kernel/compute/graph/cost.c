/* Work that a graph takes. */
#include "compute/graph/cost.h"

#include "compute/graph/scatter.h"

enum { OPEN_EXTENT = 64 }; /* where nothing says more */

struct counting {
    bt_graph *graph;
    const bt_array *stage;
    uint8_t *seen; /* by id: what is used twice is computed once */
    int any;       /* there is a reduction */
    int failed;    /* no memory */
};

static int64_t times(int64_t a, int64_t b)
{
    int64_t out;
    return bt_mul_int64(a, b, &out) ? out : INT64_MAX;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t out;
    return bt_add_int64(a, b, &out) ? out : INT64_MAX;
}

int64_t bt__node_guess(const bt_node *extent)
{
    int64_t known = bt_node_number(extent);
    if (known >= 0)
        return known;
    return extent->low > OPEN_EXTENT    ? extent->low
           : extent->high < OPEN_EXTENT ? extent->high
                                        : OPEN_EXTENT;
}

/* l of 0 <= l; NULL: another condition. */
static const bt_node *limit_term(const bt_node *conjunct)
{
    int64_t zero;
    return conjunct->kind == BT_NODE_SCALAR && conjunct->which == BT_SCALAR_LE &&
                   bt_node_is_const(conjunct->args[0], &zero) && zero == 0 &&
                   conjunct->args[1]->dtype == BT_INT64
               ? conjunct->args[1]
               : NULL;
}

/* Two limits that add up to a number leave an index with coefficient c that number / c of
 * its values; used for the index that loses most. */
static void narrow(struct counting *c, const bt_node *node, const bt_node *a,
                   const bt_node *b, int64_t *extents)
{
    const bt_node *sum =
        bt_node_linear(c->graph, 0, 2, (const bt_node *[]){ a, b }, (int64_t[]){ 1, 1 });
    int64_t range, best_bound = 0;
    uint32_t best = node->nindex;
    bt_linear l;
    if (!sum) {
        c->failed = 1;
        return;
    }
    if (!bt_node_is_const(sum, &range) || range < 0)
        return;
    bt_node_as_linear(a, &l);
    for (uint32_t i = 0; i < node->nindex; i++) {
        int64_t coef = bt_linear_coef(&l, node->first + i);
        if (coef == 0 || coef == INT64_MIN)
            continue;
        int64_t bound = plus(range / (coef < 0 ? -coef : coef), 1);
        if (bound < extents[i] &&
            (best == node->nindex ||
             times(extents[best], bound) < times(extents[i], best_bound))) {
            best = i;
            best_bound = bound;
        }
    }
    if (best < node->nindex)
        extents[best] = best_bound;
}

/* The extent of the stage's axis that an equality of elements gives: 1 where none. */
static int64_t addressed_extent(const struct counting *c, const bt_node *conjunct)
{
    bt_linear l;
    int64_t extent = 1;
    if (conjunct->kind != BT_NODE_SCALAR || conjunct->which != BT_SCALAR_EQ ||
        conjunct->args[0]->dtype != BT_INT64 || !conjunct->reads)
        return 1;
    bt_node_as_linear(conjunct->args[1], &l);
    for (uint32_t i = 0; i < c->stage->rank; i++) {
        int64_t coef = bt_linear_coef(&l, i);
        if ((coef == 1 || coef == -1) &&
            bt_node_is_const(c->stage->extents[i], &extent) && extent > 0)
            return extent;
    }
    return 1;
}

/* The extent of the stage's axis that a running reduction goes along: 1 of any other. */
static int64_t running_extent(struct counting *c, const bt_node *node)
{
    struct bt__scatter s = { .node = node, .rank = c->stage->rank };
    for (uint32_t i = 0; i < s.rank; i++)
        s.extents[i] = c->stage->extents[i];
    const int solved = bt__scatter_solve(c->graph, &s);
    c->failed |= solved < 0;
    if (solved <= 0 || s.scan < 0)
        return 1;
    const int64_t extent = bt__node_guess(s.extents[s.axes[s.scan]]);
    return extent > 0 ? extent : 1;
}

/* Points that a reduction visits for one point around it, in numerator / *divisor. */
static int64_t visited(struct counting *c, const bt_node *node, int64_t *divisor)
{
    int64_t extents[BT_MAX_INDEX], points = 1;
    bt_nodes conjuncts = { 0 };
    *divisor = running_extent(c, node);
    if (!bt_node_conjuncts(c->graph->arena, node->args[0], &conjuncts))
        c->failed = 1;
    for (uint32_t i = 0; i < node->nindex; i++)
        extents[i] = bt__node_guess(node->args[2 + i]);
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        const bt_node *a = limit_term(conjuncts.at[i]);
        *divisor = times(*divisor, addressed_extent(c, conjuncts.at[i]));
        for (uint32_t k = 0; a && k < i; k++) {
            const bt_node *b = limit_term(conjuncts.at[k]);
            if (b)
                narrow(c, node, a, b, extents);
        }
    }
    for (uint32_t i = 0; i < node->nindex; i++)
        points = times(points, extents[i]);
    return points;
}

/* Points of the reductions in an expression, for `each` points around it. */
static int64_t count(struct counting *c, const bt_node *node, int64_t each)
{
    int64_t sum = 0, divisor;
    if (!node->reduces || c->seen[node->id])
        return 0;
    c->seen[node->id] = 1;
    if (node->kind == BT_NODE_REDUCE) {
        int64_t points = visited(c, node, &divisor);
        c->any = 1;
        each = times(each, points) / divisor;
        sum = each;
    }
    for (uint32_t i = 0; i < node->narg; i++)
        sum = plus(sum, count(c, node->args[i], each));
    return sum;
}

bt_status bt__graph_cost(bt_graph *g, int64_t *out)
{
    int64_t total = 0;
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        const bt_array *array = g->arrays[i];
        struct counting c = { .graph = g, .stage = array };
        int64_t nelem = 1;
        c.seen = BT_NEWS(g->arena, uint8_t, g->nnode);
        if (!c.seen)
            return bt_no_memory();
        for (uint32_t a = 0; a < array->rank; a++)
            nelem = times(nelem, bt__node_guess(array->extents[a]));
        int64_t points = count(&c, array->body, nelem);
        if (c.failed)
            return g->status ? g->status : bt_no_memory();
        int is_move =
            array->body->kind == BT_NODE_READ || array->body->kind == BT_NODE_CONST;
        total = plus(total, c.any || is_move ? points : nelem);
    }
    *out = total;
    return NULL;
}
