/*
 * Conditions of reductions.
 *
 *     sum(o, r | o*s + r - p == i: dy[o] * w[r])
 *  -> sum(o | 0 <= i + p - o*s && i + p - o*s < R: dy[o] * w[i + p - o*s])
 *
 * An index with another coefficient c is divided: v = floordiv(e, c) where mod(e, c) is
 * 0.
 *
 * Where the index so solved leaves only ceil(R/s) of another's values, as r = i + p - o*s
 * does, that one counts these:
 *
 * -> sum(t in ceil(R/s) | 0 <= o && o < O && r < R: dy[o] * w[r])
 *        with o = floordiv(i + p, s) - (T - 1) + t,  r = i + p - o*s
 */
#include "compute/graph/conditions.h"

struct reduction {
    bt_graph *graph;
    uint32_t reducer, first, nindex;
    const bt_node *extents[BT_MAX_INDEX];
    const bt_node *condition, *body;
};

static const bt_node *identity(const struct reduction *r)
{
    bt_dtype dtype = r->body->dtype;
    bt_cell start = bt__reducer_start(r->reducer, dtype, 0);
    bt_cell second = bt__reducer_start(r->reducer, dtype, 1);
    if (bt__reducer_get(r->reducer)->result == BT__RESULT_INT64)
        dtype = BT_INT64;
    return bt__node_const(r->graph, dtype,
                          bt__reducer_end(r->reducer, r->body->dtype, start, second));
}

/* A position is a value of the first index: that index must stay. */
static int keeps_positions(const struct reduction *r)
{
    return bt__reducer_get(r->reducer)->result == BT__RESULT_INT64;
}

static int replace(struct reduction *r, uint32_t number, const bt_node *by)
{
    r->condition = bt__node_replace_index(r->graph, r->condition, number, by);
    r->body = bt__node_replace_index(r->graph, r->body, number, by);
    if (!r->condition || !r->body)
        return 0;
    r->nindex--;
    for (uint32_t i = number - r->first; i < r->nindex; i++)
        r->extents[i] = r->extents[i + 1];
    return 1;
}

/* Body selections of the identity join the condition. */
static int absorb_selects(struct reduction *r)
{
    const bt_node *nothing = identity(r);
    if (!nothing)
        return 0;
    while (r->body->kind == BT_NODE_SELECT) {
        const bt_node *c = r->body->args[0];
        if (r->body->args[1] == nothing) {
            c = bt_node_scalar(r->graph, BT_SCALAR_NOT, c, NULL);
            r->body = r->body->args[2];
        } else if (r->body->args[2] == nothing) {
            r->body = r->body->args[1];
        } else {
            break;
        }
        r->condition = bt_node_and(r->graph, r->condition, c);
        if (!r->condition)
            return 0;
    }
    return 1;
}

/* The equality's conjunct solved for one of the reduction's indices: which one, or -1.
 * Coefficients of 1 come first; no extent is asked, so that sums have one order whether
 * extents are known or not. */
static int best_index(const struct reduction *r, const bt_node *conjunct, int64_t *coef)
{
    int best = -1;
    if (conjunct->kind != BT_NODE_SCALAR || conjunct->which != BT_SCALAR_EQ ||
        conjunct->args[0]->dtype != BT_INT64)
        return -1;
    bt_linear l;
    bt_node_as_linear(conjunct->args[1], &l);
    for (uint32_t k = 0; k < r->nindex; k++) {
        uint32_t number = r->first + k, uses = 0;
        int64_t c = bt_linear_coef(&l, number);
        for (uint32_t i = 0; i < l.n; i++)
            uses += (l.atoms[i]->free & bt_index_bit(number)) != 0;
        if (!c || c == INT64_MIN || uses != 1)
            continue;
        int unit = c == 1 || c == -1;
        int best_unit = best >= 0 && (*coef == 1 || *coef == -1);
        if (best < 0 || (unit && !best_unit)) {
            best = (int)k;
            *coef = c;
        }
    }
    return best;
}

/* The index's value by the equality 0 == l, and what must hold besides. */
static const bt_node *solution(struct reduction *r, const bt_node *l, uint32_t k,
                               int64_t coef, const bt_node **also)
{
    bt_graph *g = r->graph;
    uint32_t number = r->first + k;
    // of index `number` alone the extent matters: it is not 1, or l would not have it
    const bt_node *index = bt_node_index(g, number, r->extents[k]);
    const bt_node *by = bt_node_int(g, coef < 0 ? -coef : coef);
    // l = coef * index + e;  index = -e / coef = sign * (coef * index - l) / |coef|
    const bt_node *e =
        bt_node_linear(g, 0, 2, (const bt_node *[]){ index, l },
                       coef > 0 ? (int64_t[]){ coef, -1 } : (int64_t[]){ -coef, 1 });
    const bt_node *value = bt_node_scalar(g, BT_SCALAR_FLOORDIV, e, by);
    const bt_node *rest = bt_node_scalar(g, BT_SCALAR_MOD, e, by);
    const bt_node *zero = bt_node_int(g, 0),
                  *last = bt_node_linear(g, -1, 1, &r->extents[k], (int64_t[]){ 1 });
    *also = bt_node_and(g, bt_node_scalar(g, BT_SCALAR_EQ, rest, zero),
                        bt_node_and(g, bt_node_scalar(g, BT_SCALAR_LE, zero, value),
                                    bt_node_scalar(g, BT_SCALAR_LE, value, last)));
    return value;
}

/* Index number `at` of the reduction takes few of its values where 0 <= value < extent, as
 * it stands in the value with a coefficient: it becomes their count. 0: failure. */
static int narrow(struct reduction *r, const bt_node *value, int64_t extent, uint32_t at)
{
    bt_graph *g = r->graph;
    uint32_t number = r->first + at;
    int64_t turns = bt_node_number(r->extents[at]);
    bt_linear l;
    bt_node_as_linear(value, &l);
    int64_t coef = bt_linear_coef(&l, number), count;
    uint32_t uses = 0;
    for (uint32_t i = 0; i < l.n; i++)
        uses += (l.atoms[i]->free & bt_index_bit(number)) != 0;
    if (uses != 1 || coef > -2 || coef == INT64_MIN)
        return 1;
    count = extent / -coef + (extent % -coef != 0);
    if (extent < 1 || (turns >= 0 && count > turns / 2))
        return 1;
    const bt_node *by = bt_node_int(g, -coef), *few = bt_node_int(g, count);
    const bt_node *index = bt_node_index(g, number, r->extents[at]);
    const bt_node *e = bt_node_linear(g, 0, 2, (const bt_node *[]){ value, index },
                                      (int64_t[]){ 1, -coef });
    // in the order that it had
    const bt_node *turn =
        bt_node_linear(g, 1 - count, 2,
                       (const bt_node *[]){ bt_node_scalar(g, BT_SCALAR_FLOORDIV, e, by),
                                            bt_node_index(g, number, few) },
                       (int64_t[]){ 1, 1 });
    const bt_node *zero = bt_node_int(g, 0),
                  *last = bt_node_linear(g, -1, 1, &r->extents[at], (int64_t[]){ 1 });
    r->condition = bt_node_substitute(g, r->condition, number, turn);
    r->body = bt_node_substitute(g, r->body, number, turn);
    r->condition = bt_node_and(g,
                               bt_node_and(g, bt_node_scalar(g, BT_SCALAR_LE, zero, turn),
                                           bt_node_scalar(g, BT_SCALAR_LE, turn, last)),
                               r->condition);
    r->extents[at] = few;
    return r->condition && r->body;
}

/* Solves one equality. 1: done, 0: there is none, -1: failure. */
static int solve_one(struct reduction *r)
{
    bt_nodes conjuncts = { 0 };
    if (!bt_node_conjuncts(r->graph->arena, r->condition, &conjuncts))
        return -1;
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        int64_t coef = 0;
        int k = best_index(r, conjuncts.at[i], &coef);
        if (k < 0)
            continue;
        const bt_node *also,
            *value = solution(r, conjuncts.at[i]->args[1], (uint32_t)k, coef, &also);
        r->condition = also;
        for (uint32_t j = 0; j < conjuncts.len; j++) {
            // what reads by the index may do so only where the index has a value
            const bt_node *rest = conjuncts.at[j];
            if (rest->reads && (rest->free & bt_index_bit(r->first + (uint32_t)k)))
                rest = bt_node_select(r->graph, also, rest, bt_node_bool(r->graph, 0));
            if (j != i)
                r->condition = bt_node_and(r->graph, r->condition, rest);
        }
        if (!r->condition)
            return -1;
        // the value's own numbers move down as well
        uint32_t number = r->first + (uint32_t)k;
        value = bt__node_replace_index(r->graph, value, number, bt_node_int(r->graph, 0));
        int64_t extent = bt_node_number(r->extents[k]);
        if (!value || !replace(r, number, value))
            return -1;
        // once: the value has the other index as it was
        for (uint32_t j = 0; j < r->nindex; j++) {
            const bt_node *before = r->extents[j];
            if (!narrow(r, value, extent, j))
                return -1;
            if (r->extents[j] != before)
                break;
        }
        return 1;
    }
    return 0;
}

static int drop_single_values(struct reduction *r)
{
    for (uint32_t k = 0; k < r->nindex;) {
        if (bt_node_number(r->extents[k]) != 1)
            k++;
        else if (!replace(r, r->first + k, bt_node_int(r->graph, 0)))
            return 0;
    }
    return 1;
}

const bt_node *bt__reduction_build(bt_graph *g, uint32_t reducer, uint32_t first,
                                   uint32_t nindex, const bt_node *const *extents,
                                   const bt_node *condition, const bt_node *body)
{
    struct reduction r = { .graph = g,
                           .reducer = reducer,
                           .first = first,
                           .nindex = nindex,
                           .condition = condition,
                           .body = body };
    if (!condition || !body)
        return NULL;
    int is_empty = bt_node_is_false(condition);
    for (uint32_t i = 0; i < nindex; i++) {
        if (!extents[i])
            return NULL;
        r.extents[i] = extents[i];
        is_empty |= bt_node_number(extents[i]) == 0;
    }
    if (is_empty)
        return identity(&r);
    if (!keeps_positions(&r)) {
        int solved = 1;
        if (!absorb_selects(&r) || !drop_single_values(&r))
            return NULL;
        while (solved > 0)
            solved = solve_one(&r);
        // narrowed ones may have one value left
        if (solved < 0 || !drop_single_values(&r))
            return NULL;
        if (bt_node_is_false(r.condition))
            return identity(&r);
        if (r.nindex == 0)
            return bt_node_select(g, r.condition, r.body, identity(&r));
    }
    return bt_node_reduce(g, reducer, first, r.nindex, r.extents, r.condition, r.body);
}
