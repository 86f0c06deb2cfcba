/*
 * A loop split where its conditions change.
 *
 *     for i0 in 6 { if (0 <= i0 - 1) { A(i0) } }
 *  -> for i0 in 1 { if (0 <= -1) ... }   for i0 in 5 { if (0 <= i0) { A(i0 + 1) } }
 *
 * A condition 0 <= c*i + e, e in [low, high], is decided but for the turns where
 * -high <= c*i < -low: the loop is cut at both ends of these. Simplification then removes
 * what is decided.
 */
#include "compute/loops/transform.h"

enum { MOST_CUTS = 8 };

struct peel {
    bt_loops *loops;
    bt_stmt *loop;
    uint32_t ncut;
    int64_t cuts[MOST_CUTS + 2]; /* first turns of the parts; then the extent */
};

/* ---- where ---- */

static void add_cut(struct peel *p, int64_t turn)
{
    uint32_t at = p->ncut;
    if (turn <= 0 || turn >= p->loop->extent)
        return;
    for (uint32_t i = 0; i < p->ncut; i++) {
        if (p->cuts[i] == turn)
            return;
    }
    if (p->ncut == MOST_CUTS)
        return;
    for (; at > 0 && p->cuts[at - 1] > turn; at--)
        p->cuts[at] = p->cuts[at - 1];
    p->cuts[at] = turn;
    p->ncut++;
}

static int is_bounded(const bt_node *node)
{
    const int64_t far = INT64_MAX / 4;
    return node->low > -far && node->high < far;
}

/* 0 <= l */
static int meet_term(struct peel *p, const bt_node *l)
{
    bt_linear parts;
    bt_node_as_linear(l, &parts);
    int64_t coef = bt_linear_coef(&parts, p->loop->index);
    if (coef == 0 || coef == INT64_MIN)
        return 1;
    const bt_node *index =
        bt_node_index(p->loops->graph, p->loop->index, p->loop->extent);
    const bt_node *rest = bt_node_linear(
        p->loops->graph, 0, 2, (const bt_node *[]){ l, index }, (int64_t[]){ 1, -coef });
    if (!rest)
        return 0;
    if ((rest->free & bt_index_bit(p->loop->index)) || !is_bounded(rest))
        return 1;
    if (coef > 0) {
        add_cut(p, bt_ceildiv_int64(-rest->high, coef));
        add_cut(p, bt_ceildiv_int64(-rest->low, coef));
    } else {
        add_cut(p, bt_floordiv_int64(rest->low, -coef) + 1);
        add_cut(p, bt_floordiv_int64(rest->high, -coef) + 1);
    }
    return 1;
}

static int meet(void *self, bt_stmt *stmt, const bt_node **slot)
{
    struct peel *p = self;
    bt_nodes conjuncts = { .len = 0 };
    int64_t zero;
    if (stmt->kind != BT_STMT_IF || slot != &stmt->condition)
        return 1;
    if (!bt_node_conjuncts(p->loops->arena, *slot, &conjuncts))
        return 0;
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        const bt_node *c = conjuncts.at[i];
        if (c->kind == BT_NODE_SCALAR && c->which == BT_SCALAR_LE &&
            bt_node_is_const(c->args[0], &zero) && zero == 0 &&
            c->args[1]->dtype == BT_INT64 && !meet_term(p, c->args[1]))
            return 0;
    }
    return 1;
}

/* ---- parts ---- */

static bt_status make_edit(const struct peel *p, bt_stmt *loop, int64_t first,
                           int64_t extent, struct bt__edit *out)
{
    bt_graph *g = p->loops->graph;
    const bt_node *turn = bt_node_index(g, loop->index, extent);
    struct bt__by_index by = { g, loop->index,
                               bt_node_linear(g, first, 1, &turn, (int64_t[]){ 1 }) };
    return bt__edit_make(p->loops, loop, bt__change_index, &by, out);
}

static bt_status make_parts(struct peel *p, uint32_t longest, struct bt__edit *edit,
                            bt_stmts *out)
{
    int64_t first = 0;
    for (uint32_t i = 0; i <= p->ncut; first = p->cuts[i++]) {
        bt_stmt *part = p->loop;
        if (i == longest) {
            BT_TRY(make_edit(p, part, first, p->cuts[i] - first, edit));
        } else {
            struct bt__edit own;
            part = bt_stmt_copy(p->loops, p->loop);
            if (!part)
                return bt_no_memory();
            BT_TRY(make_edit(p, part, first, p->cuts[i] - first, &own));
            bt__edit_swap(part, &own);
            part->extent = p->cuts[i] - first;
        }
        if (!BT_PUSH(p->loops->arena, out, part))
            return bt_no_memory();
    }
    return NULL;
}

bt_status bt_loops_peel(bt_loops *loops, bt_stmt *loop)
{
    struct peel p = { .loops = loops, .loop = loop };
    bt_stmt_place place;
    struct bt__edit edit;
    bt_stmts parts = { .len = 0 };
    int64_t first = 0, most = 0;
    uint32_t longest = 0;
    BT_TRY(bt__loops_find_loop(loops, loop, &place));
    if (!bt_stmt_walk(loop, meet, &p))
        return bt_loops_why(loops);
    if (p.ncut == 0)
        return bt__loops_refuse(loops, "no condition changes as i%u runs", loop->index);
    p.cuts[p.ncut] = loop->extent;
    for (uint32_t i = 0; i <= p.ncut; first = p.cuts[i++]) {
        if (p.cuts[i] - first > most) {
            most = p.cuts[i] - first;
            longest = i;
        }
    }
    BT_TRY(make_parts(&p, longest, &edit, &parts));
    if (!bt_stmts_replace(loops, place.block, place.at, &parts))
        return bt_loops_why(loops);
    bt__edit_swap(loop, &edit);
    loop->extent = most;
    return NULL;
}
