/*
 * Two loops as one: an index that runs over both.
 *
 *     for i0 in 3 { for i1 in 4 { y[4*i0 + i1] = ... } }   ->   for i0 in 12 { y[i0] = ...
 *
 * Wherever the two indices stand, it is in a sum in which the outer's coefficient is
 * that of the inner, times the number of the inner's iterations.
 */
#include "compute/loops/transform.h"

struct collapse {
    bt_loops *loops;
    uint32_t outer, inner;
    const bt_node *ninner, *joined;
    uint8_t *seen; /* by id */
};

static int allows_all(void *self, bt_stmt *stmt, const bt_node **slot);

/* An index, or one times what has none: i, i * n. */
static const bt_node *index_of_term(const bt_node *atom)
{
    if (atom->kind == BT_NODE_SCALAR && atom->which == BT_SCALAR_MUL &&
        !atom->args[1]->free && !atom->args[1]->reads)
        atom = atom->args[0];
    return atom->kind == BT_NODE_INDEX ? atom : NULL;
}

/* What a sum grows by from one of the index to the next, by its terms. */
static const bt_node *stride_of(bt_graph *g, const bt_linear *l, uint32_t number)
{
    const bt_node *stride = bt_node_int(g, 0), *one = bt_node_int(g, 1);
    for (uint32_t i = 0; i < l->n && stride; i++) {
        const bt_node *index = index_of_term(l->atoms[i]);
        if (!index || index->which != number)
            continue;
        const bt_node *by = index == l->atoms[i] ? one : l->atoms[i]->args[1];
        stride = bt_node_linear(g, 0, 2, (const bt_node *[]){ stride, by },
                                (int64_t[]){ 1, l->coefs[i] });
    }
    return stride;
}

static int allows(struct collapse *c, const bt_node *node)
{
    bt_graph *g = c->loops->graph;
    uint64_t both = bt_index_bit(c->outer) | bt_index_bit(c->inner);
    bt_linear l;
    if (!(node->free & both) || c->seen[node->id])
        return 1;
    c->seen[node->id] = 1;
    if (node->kind == BT_NODE_INDEX)
        return node->which == c->inner && !node->narg &&
               bt_node_number(c->ninner) == node->high + 1 &&
               c->joined->high == node->high;
    int is_sum = node->kind == BT_NODE_LINEAR || index_of_term(node);
    if (is_sum) {
        bt_node_as_linear(node, &l);
        const bt_node *of_outer = stride_of(g, &l, c->outer),
                      *of_inner = stride_of(g, &l, c->inner);
        if (!of_outer ||
            of_outer != bt_node_scalar(g, BT_SCALAR_MUL, of_inner, c->ninner))
            return 0;
    }
    for (uint32_t i = 0; i < node->narg; i++) {
        int is_term = is_sum && (index_of_term(node) || index_of_term(node->args[i]));
        if (!is_term && !allows(c, node->args[i]))
            return 0;
    }
    return 1;
}

static int allows_all(void *self, bt_stmt *stmt, const bt_node **slot)
{
    (void)stmt;
    return allows(self, *slot);
}

/* Both at once: with only one replaced, an expression would be simplified by bounds that
 * do not hold. */
static const bt_node *join_index(void *self, const bt_node *node)
{
    const struct collapse *c = self;
    if (node->kind != BT_NODE_INDEX)
        return node;
    return node->which == c->inner   ? c->joined
           : node->which == c->outer ? bt_node_int(c->loops->graph, 0)
                                     : node;
}

static const bt_node *join(void *self, const bt_stmt *stmt, const bt_node **slot)
{
    struct collapse *c = self;
    bt_by_node by = { c->loops, join_index, c };
    (void)stmt;
    return bt_node_change(&by, *slot);
}

bt_status bt_loops_collapse(bt_loops *loops, bt_stmt *outer)
{
    struct bt__place place;
    struct bt__edit edit;
    int64_t extent = 0;
    BT_TRY(bt__loops_find_loop(loops, outer, &place));
    if (outer->body.len != 1 || outer->body.at[0]->kind != BT_STMT_FOR)
        return bt__loops_refuse(loops, "the body of i%u is not one loop", outer->index);
    bt_stmt *inner = outer->body.at[0];
    if (inner->is_parallel != outer->is_parallel)
        return bt__loops_refuse(loops, "only one of i%u and i%u is parallel",
                                outer->index, inner->index);
    int64_t nouter = bt_node_number(outer->extent),
            ninner = bt_node_number(inner->extent);
    if (nouter == 0 || ninner == 0 ||
        (nouter > 0 && ninner > 0 && !bt_mul_int64(nouter, ninner, &extent)))
        return bt__loops_refuse(loops, "i%u and i%u have no iterations, or too many",
                                outer->index, inner->index);
    struct collapse c = { .loops = loops, .outer = outer->index, .inner = inner->index };
    const bt_node *both =
        bt_node_scalar(loops->graph, BT_SCALAR_MUL, outer->extent, inner->extent);
    c.ninner = inner->extent;
    c.joined = bt_node_index(loops->graph, outer->index, both);
    c.seen = BT_NEWS(loops->arena, uint8_t, loops->graph->nnode + 1);
    if (!c.joined || !c.seen)
        return bt_loops_why(loops);
    if (!bt_stmt_walk(inner, allows_all, &c))
        return bt__loops_refuse(loops,
                                "i%u and i%u do not stand in one sum wherever they "
                                "are used",
                                outer->index, inner->index);
    BT_TRY(bt__edit_make(loops, inner, join, &c, &edit));
    bt__edit_swap(inner, &edit);
    outer->extent = both;
    outer->body = inner->body;
    return NULL;
}

bt_status bt_loops_collapse_all(bt_loops *loops, bt_stmt *stmt)
{
    for (uint32_t i = 0; i < stmt->body.len; i++)
        BT_TRY(bt_loops_collapse_all(loops, stmt->body.at[i]));
    for (uint32_t i = 0; i < stmt->otherwise.len; i++)
        BT_TRY(bt_loops_collapse_all(loops, stmt->otherwise.at[i]));
    if (stmt->kind != BT_STMT_FOR || stmt->body.len != 1 ||
        stmt->body.at[0]->kind != BT_STMT_FOR)
        return NULL;
    const bt_status status = bt_loops_collapse(loops, stmt);
    return status && status->code != BT_ERR_UNSUPPORTED ? status : NULL;
}
