/*
 * Proofs of bounds. To show 0 <= l: bounds of l itself; of l where each index stands at
 * that end of its range which makes l least, an expression of dims; or of l - c*f where
 * 0 <= f is a known fact and c a positive number that cancels an atom; two facts are tried
 * in turn.
 * Guards of `else` are the very conditions to be shown, so most proofs are a comparison
 * of pointers.
 */
#include "compute/graph/bounds.h"
#include "compute/graph/interval.h"

enum { FACTS_TOGETHER = 2 };

/* l of the conjunct 0 <= l (sign 1), or of 0 == l (either sign); NULL: none. */
static const bt_node *fact_term(const bt_node *conjunct, int *is_equal)
{
    int64_t zero;
    *is_equal = conjunct->which == BT_SCALAR_EQ;
    if (conjunct->kind != BT_NODE_SCALAR || conjunct->narg != 2 ||
        (conjunct->which != BT_SCALAR_LE && conjunct->which != BT_SCALAR_EQ) ||
        conjunct->args[0]->dtype != BT_INT64 ||
        !bt_node_is_const(conjunct->args[0], &zero) || zero != 0 ||
        !bt__is_bounded(conjunct->args[1]))
        return NULL;
    return conjunct->args[1];
}

/* The factor with which f's first atom cancels l's; 0: none. */
static int64_t cancelling(const bt_node *l, const bt_node *f, int sign)
{
    bt_linear in_l, in_f;
    bt_node_as_linear(l, &in_l);
    bt_node_as_linear(f, &in_f);
    for (uint32_t i = 0; i < in_l.n; i++) {
        for (uint32_t k = 0; k < in_f.n; k++) {
            int64_t by = sign * in_f.coefs[k];
            if (in_l.atoms[i] == in_f.atoms[k] && by && in_l.coefs[i] != INT64_MIN &&
                in_l.coefs[i] % by == 0 && in_l.coefs[i] / by > 0)
                return sign * (in_l.coefs[i] / by);
        }
    }
    return 0;
}

static const bt_node *end_of_sum(bt_graph *g, const bt_node *sum, int is_greatest)
{
    bt_linear parts;
    bt_node_as_linear(sum, &parts);
    const bt_node *end = bt_node_int(g, parts.constant);
    for (uint32_t i = 0; i < parts.n && end; i++) {
        const bt_node *with[] = {
            end, bt__node_end(g, parts.atoms[i], (parts.coefs[i] > 0) == is_greatest)
        };
        end = bt_node_linear(g, 0, 2, with, (int64_t[]){ 1, parts.coefs[i] });
    }
    return end;
}

static const bt_node *end_of_scalar(bt_graph *g, const bt_node *node, int is_greatest)
{
    const bt_node *a = node->args[0], *b = node->narg > 1 ? node->args[1] : NULL;
    switch (node->which) {
    case BT_SCALAR_MUL: // an index stands before what has none
        if (b->free || b->reads || b->low < 0)
            return node;
        return bt_node_scalar(g, node->which, bt__node_end(g, a, is_greatest), b);
    case BT_SCALAR_FLOORDIV:
    case BT_SCALAR_CEILDIV:
        if (b->free || b->reads || b->low < 1)
            return node;
        return bt_node_scalar(g, node->which, bt__node_end(g, a, is_greatest), b);
    case BT_SCALAR_MOD:
        if (b->free || b->reads || b->low < 1)
            return node;
        return is_greatest ? bt_node_linear(g, -1, 1, &b, (int64_t[]){ 1 })
                           : bt_node_int(g, 0);
    case BT_SCALAR_MIN:
    case BT_SCALAR_MAX:
        return bt_node_scalar(g, node->which, bt__node_end(g, a, is_greatest),
                              bt__node_end(g, b, is_greatest));
    default: return node;
    }
}

const bt_node *bt__node_end(bt_graph *g, const bt_node *node, int is_greatest)
{
    if (!node || !node->free || node->reads || node->dtype != BT_INT64)
        return node;
    switch (node->kind) {
    case BT_NODE_INDEX:
        return !is_greatest ? bt_node_int(g, 0)
               : node->narg ? bt_node_linear(g, -1, 1, node->args, (int64_t[]){ 1 })
                            : bt_node_int(g, node->high);
    case BT_NODE_LINEAR: return end_of_sum(g, node, is_greatest);
    case BT_NODE_SCALAR: return end_of_scalar(g, node, is_greatest);
    default: return node;
    }
}

/* 0 <= l by one of what the graph knows. */
static int follows(bt_graph *g, const bt_node *l)
{
    const bt_nodes *known = bt__graph_naturals(g);
    for (uint32_t i = 0; l && i < known->len; i++) {
        const bt_node *more = bt_node_scalar(g, BT_SCALAR_SUB, l, known->at[i]);
        if (more && more->low >= 0)
            return 1;
    }
    return 0;
}

static int natural(bt_graph *g, const struct bt__facts *facts, const bt_node *l,
                   uint32_t together)
{
    if (!l || !bt__is_bounded(l))
        return 0;
    if (l->low >= 0)
        return 1;
    if (l->high < 0)
        return 0;
    const bt_node *least = g->ndim ? bt__node_end(g, l, 0) : l;
    if (!least || least->low >= 0 || follows(g, least))
        return least != NULL;
    if (!together)
        return 0;
    for (const struct bt__facts *f = facts; f; f = f->outer) {
        for (uint32_t i = 0; i < f->conjuncts.len; i++) {
            int is_equal;
            const bt_node *term = fact_term(f->conjuncts.at[i], &is_equal);
            for (int sign = 1; term && sign >= (is_equal ? -1 : 1); sign -= 2) {
                int64_t by = cancelling(l, term, sign);
                if (by && natural(g, facts,
                                  bt_node_linear(g, 0, 2, (const bt_node *[]){ l, term },
                                                 (int64_t[]){ 1, -by }),
                                  together - 1))
                    return 1;
            }
        }
    }
    return 0;
}

static int stands(const struct bt__facts *facts, const bt_node *condition)
{
    for (; facts; facts = facts->outer) {
        for (uint32_t i = 0; i < facts->conjuncts.len; i++) {
            if (facts->conjuncts.at[i] == condition)
                return 1;
        }
    }
    return 0;
}

int bt__facts_imply(bt_graph *g, const struct bt__facts *facts, const bt_node *condition)
{
    int is_equal;
    if (!condition)
        return 0;
    if (bt_node_is_true(condition) || stands(facts, condition))
        return 1;
    const bt_node *l = fact_term(condition, &is_equal);
    return l && !is_equal && natural(g, facts, l, FACTS_TOGETHER);
}

int bt__facts_bound(bt_graph *g, const struct bt__facts *facts, const bt_node *index,
                    const bt_node *extent)
{
    const bt_node *zero = bt_node_int(g, 0);
    // the ends of a product of dims are not known
    if (index->kind == BT_NODE_INDEX && index->narg && index->args[0] == extent)
        return 1;
    return bt__facts_imply(g, facts, bt_node_scalar(g, BT_SCALAR_LE, zero, index)) &&
           bt__facts_imply(g, facts, bt_node_scalar(g, BT_SCALAR_LT, index, extent));
}

/* A search for reads that are not seen to be in bounds. Nodes are shared: under the same
 * facts each is looked at once. */
struct search {
    bt_graph *graph;
    const struct bt__facts *facts;
    uint8_t *seen; /* by id */
    uint8_t *open; /* by array: marked; NULL: the first ends the search */
};

static int search(struct search *s, const bt_node *node);
static int search_all(struct search *s, const bt_node *node);

/* Not the same as what is not seen: the graph fails. */
static int no_memory(bt_graph *g)
{
    g->status = g->status ? g->status : bt_no_memory();
    return 0;
}

static int search_under(const struct search *s, const bt_node *condition,
                        const bt_node *node)
{
    struct bt__facts facts = { .outer = s->facts };
    struct search inner = { .graph = s->graph, .facts = &facts, .open = s->open };
    if (!node->reads)
        return 1;
    if (!condition || !bt_node_conjuncts(s->graph->arena, condition, &facts.conjuncts))
        return no_memory(s->graph);
    return search_all(&inner, node);
}

static int search_args(struct search *s, const bt_node *node)
{
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!search(s, node->args[i]))
            return 0;
        if (node->kind != BT_NODE_READ ||
            bt__facts_bound(s->graph, s->facts, node->args[i],
                            s->graph->arrays[node->which]->extents[i]))
            continue;
        if (!s->open)
            return 0;
        s->open[node->which] = 1;
    }
    return 1;
}

/* 0: found, or no memory. */
static int search(struct search *s, const bt_node *node)
{
    const bt_node *condition = node->narg ? node->args[0] : NULL;
    if (!node->reads || s->seen[node->id])
        return 1;
    s->seen[node->id] = 1;
    if (node->kind == BT_NODE_SELECT)
        return search(s, condition) && search_under(s, condition, node->args[1]) &&
               search_under(s, bt_node_scalar(s->graph, BT_SCALAR_NOT, condition, NULL),
                            node->args[2]);
    if (node->kind == BT_NODE_REDUCE)
        return search(s, condition) && search_under(s, condition, node->args[1]);
    return search_args(s, node);
}

static int search_all(struct search *s, const bt_node *node)
{
    const struct bt__look look = bt__look_begin(s->graph);
    s->seen = BT_NEWS(look.arena, uint8_t, s->graph->nnode);
    const int found = s->seen ? search(s, node) : no_memory(s->graph);
    bt__look_end(s->graph, &look);
    return found;
}

int bt__facts_cover(bt_graph *g, const struct bt__facts *facts, const bt_node *node)
{
    struct search s = { .graph = g, .facts = facts };
    return !node->reads || search_all(&s, node);
}

int bt__reads_open(bt_graph *g, const bt_node *node, uint8_t *open)
{
    struct search s = { .graph = g, .open = open };
    return search_all(&s, node);
}
