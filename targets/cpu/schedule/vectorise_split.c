/*
 * Conditions of lanes: what is one for all stays a condition, what holds for a range of
 * lanes narrows them, and only what depends on data is a mask.
 */
#include "lanes.h"

/* l of 0 <= l and 0 == l, where it changes by a number from lane to lane. */
static const bt_node *range_term(struct cpu_part *p, const bt_node *conjunct)
{
    int64_t zero;
    bt_linear in;
    if (conjunct->kind != BT_NODE_SCALAR || conjunct->narg != 2 ||
        (conjunct->which != BT_SCALAR_LE && conjunct->which != BT_SCALAR_EQ) ||
        conjunct->args[0]->dtype != BT_INT64 ||
        !bt_node_is_const(conjunct->args[0], &zero) || zero != 0)
        return NULL;
    const bt_node *term = conjunct->args[1];
    if (term->low == INT64_MIN || term->high == INT64_MAX || !cpu_is_integer(term))
        return NULL;
    bt_node_as_linear(term, &in);
    if (!bt_linear_coef(&in, (uint32_t)p->lanes->index))
        return NULL;
    for (uint32_t i = 0; i < in.n; i++) {
        int is_index = in.atoms[i]->kind == BT_NODE_INDEX &&
                       (int64_t)in.atoms[i]->which == p->lanes->index;
        if (!is_index && cpu_is_varying(p->lanes, in.atoms[i]))
            return NULL;
    }
    return term;
}

int cpu_split(struct cpu_part *p, const bt_node *condition, struct cpu_split *out)
{
    bt_arena *arena = p->lanes->v->scratch;
    bt_nodes all = { 0 };
    *out = (struct cpu_split){ 0 };
    if (!bt_node_conjuncts(arena, condition, &all))
        return 0;
    for (uint32_t i = 0; i < all.len; i++) {
        bt_nodes *to = !cpu_is_varying(p->lanes, all.at[i]) ? &out->same
                       : range_term(p, all.at[i])           ? &out->ranges
                                                            : &out->others;
        if (!BT_PUSH(arena, to, all.at[i]))
            return 0;
    }
    return 1;
}

const bt_node *cpu_split_same(struct cpu_part *p, const struct cpu_split *split)
{
    bt_graph *g = p->lanes->v->graph;
    const bt_node *all = bt_node_bool(g, 1);
    for (uint32_t i = 0; i < split->same.len && all; i++)
        all = bt_node_and(g, all, cpu_as_integer(p, split->same.at[i]));
    return all;
}

/* ---- ranges ---- */

static const bt_node *quotient(bt_graph *g, uint32_t which, const bt_node *a, int64_t by)
{
    return by == 1 ? a : bt_node_scalar(g, which, a, bt_node_int(g, by));
}

int cpu_narrow(bt_graph *g, const bt_node *first, int64_t coef, const bt_node **low,
               const bt_node **high)
{
    const bt_node *zero = bt_node_int(g, 0), *one = bt_node_int(g, 1);
    if (coef > 0) {
        const bt_node *from = quotient(
            g, BT_SCALAR_CEILDIV, bt_node_scalar(g, BT_SCALAR_SUB, zero, first), coef);
        *low = bt_node_scalar(g, BT_SCALAR_MAX, *low, from);
    } else {
        const bt_node *last = quotient(g, BT_SCALAR_FLOORDIV, first, -coef);
        *high = bt_node_scalar(g, BT_SCALAR_MIN, *high,
                               bt_node_scalar(g, BT_SCALAR_ADD, last, one));
    }
    return *low && *high;
}

int cpu_split_range(struct cpu_part *p, const struct cpu_split *split,
                    const bt_node **out_low, const bt_node **out_high)
{
    bt_graph *g = p->lanes->v->graph;
    const bt_node *end = bt_node_scalar(g, BT_SCALAR_ADD, p->at, p->count);
    const bt_node *low = p->at, *high = end;
    for (uint32_t i = 0; i < split->ranges.len; i++) {
        const bt_node *conjunct = split->ranges.at[i], *term = conjunct->args[1];
        bt_linear in;
        bt_node_as_linear(term, &in);
        int64_t coef = bt_linear_coef(&in, (uint32_t)p->lanes->index);
        const bt_node *first = cpu_at_first(p->lanes, term);
        if (!first || coef == INT64_MIN || !cpu_narrow(g, first, coef, &low, &high))
            return 0;
        if (conjunct->which == BT_SCALAR_EQ &&
            !cpu_narrow(g, bt_node_linear(g, 0, 1, &first, (int64_t[]){ -1 }), -coef,
                        &low, &high))
            return 0;
    }
    // an end that stays is seen to stay: beyond it nothing is left to do
    *out_low = low == p->at ? low : bt_node_scalar(g, BT_SCALAR_MIN, low, end);
    *out_high = high == end ? high : bt_node_scalar(g, BT_SCALAR_MAX, high, *out_low);
    return *out_low && *out_high;
}

int cpu_part_narrow(struct cpu_part *p, const bt_node *low, const bt_node *high,
                    struct cpu_part *out)
{
    struct vectoriser *v = p->lanes->v;
    const bt_node *count = bt_node_linear(
        v->graph, 0, 2, (const bt_node *[]){ high, low }, (int64_t[]){ 1, -1 });
    const bt_node *has_some =
        count ? bt_node_scalar(v->graph, BT_SCALAR_LT, bt_node_int(v->graph, 0), count)
              : NULL;
    cpu_part_open(p, out, p->to);
    if (!has_some)
        return 0;
    out->at = low;
    out->count = count;
    if (bt_node_is_true(has_some))
        return 1;
    out->to = NULL;
    if (bt_node_is_false(has_some))
        return 1;
    bt_stmt *stmt = bt_stmt_add(v->loops, p->to, BT_STMT_IF);
    if (!stmt)
        return 0;
    stmt->condition = has_some;
    out->to = &stmt->body;
    return 1;
}

int cpu_part_if(struct cpu_part *p, const bt_node *condition, struct cpu_part *yes,
                struct cpu_part *no)
{
    bt_stmt *stmt = bt_stmt_add(p->lanes->v->loops, p->to, BT_STMT_IF);
    if (!stmt)
        return 0;
    stmt->condition = condition;
    cpu_part_open(p, yes, &stmt->body);
    cpu_part_open(p, no, &stmt->otherwise);
    return 1;
}
