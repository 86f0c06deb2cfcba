/*
 * Conditions of reductions.
 *
 *     sum(o, r | o*s + r - p == i: dy[o] * w[r])
 *  -> sum(o | 0 <= i + p - o*s && i + p - o*s < R: dy[o] * w[i + p - o*s])
 *
 * An index with another coefficient c is divided: v = floordiv(e, c) where mod(e, c) is
 * 0. Quotients and remainders of indices are the matter of digits.c, strides that are known when a
 * program runs that of strides.c.
 *
 * R5. Where an equality leaves an index few values between two ends that move with others,
 * as r = i + p - o*s leaves o ceil(R/s) of them, it counts these:
 *
 * -> sum(t in ceil(R/s) | 0 <= o && o < O && r < R: dy[o] * w[r])
 *        with o = floordiv(i + p, s) - (T - 1) + t,  r = i + p - o*s
 *
 * An index with one value at most is that value.
 */
#include "compute/graph/conditions.h"
#include "compute/graph/bounds.h"
#include "compute/graph/fold.h"
#include "compute/graph/interval.h"
#include "compute/graph/reduction.h"

/* Each rule makes the condition simpler; were there one that does not, what is left of it
 * would be tested at each point. */
enum { MAX_STEPS = 256 };

static const bt_node *identity(const struct bt__reduction *r)
{
    bt_dtype dtype = r->body->dtype;
    bt_cell start = bt__reducer_start(r->reducer, dtype, 0);
    bt_cell second = bt__reducer_start(r->reducer, dtype, 1);
    if (bt__reducer_get(r->reducer)->result == BT__RESULT_INT64)
        dtype = BT_INT64;
    return bt__node_const(r->graph, dtype,
                          bt__reducer_end(r->reducer, r->body->dtype, start, second));
}

/* A position counts all places of the indices: these must stay. */
static int keeps_positions(const struct bt__reduction *r)
{
    return bt__reducer_get(r->reducer)->result == BT__RESULT_INT64;
}

/* l of the conjunct 0 <= l; NULL: something else. */
static const bt_node *natural_term(const bt_node *conjunct)
{
    int64_t zero;
    return conjunct->kind == BT_NODE_SCALAR && conjunct->which == BT_SCALAR_LE &&
                   conjunct->args[0]->dtype == BT_INT64 &&
                   bt_node_is_const(conjunct->args[0], &zero) && zero == 0
               ? conjunct->args[1]
               : NULL;
}

/* Of two conjuncts of which one says all that the other does, that one; else NULL. */
static const bt_node *stronger(const bt_node *a, const bt_node *b)
{
    bt_linear x, y;
    const bt_node *in_a = natural_term(a), *in_b = natural_term(b);
    if (a == b)
        return a;
    if (!in_a || !in_b || !bt__is_bounded(in_a) || !bt__is_bounded(in_b))
        return NULL;
    bt_node_as_linear(in_a, &x);
    bt_node_as_linear(in_b, &y);
    int is_same = x.n == y.n;
    for (uint32_t i = 0; i < x.n && is_same; i++)
        is_same = x.atoms[i] == y.atoms[i] && x.coefs[i] == y.coefs[i];
    return !is_same ? NULL : x.constant < y.constant ? a : b;
}

/* Adds the conjuncts of a condition, each once. 0: failure. */
static int add(struct bt__reduction *r, bt_nodes *to, const bt_node *condition)
{
    bt_nodes more = { 0 };
    if (!condition)
        return 0;
    if (!bt_node_conjuncts(r->graph->arena, condition, &more))
        return bt__graph_no_memory(r->graph) != NULL;
    for (uint32_t i = 0; i < more.len; i++) {
        const bt_node *is = NULL;
        for (uint32_t at = 0; at < to->len && !is; at++) {
            is = stronger(to->at[at], more.at[i]);
            to->at[at] = is ? is : to->at[at];
        }
        if (!is && !BT_PUSH(r->graph->arena, to, more.at[i]))
            return bt__graph_no_memory(r->graph) != NULL;
    }
    return 1;
}

static const bt_node *conjunction(bt_graph *g, const bt_nodes *all)
{
    const bt_node *c = bt_node_bool(g, 1);
    for (uint32_t i = 0; i < all->len; i++)
        c = bt_node_and(g, c, all->at[i]);
    return c;
}

/* An index that has one value is no index. */
static int replace(struct bt__reduction *r, uint32_t number, const bt_node *by)
{
    bt_nodes conjuncts = { 0 };
    for (uint32_t i = 0; i < r->conjuncts.len; i++) {
        if (!add(r, &conjuncts,
                 bt__node_replace_index(r->graph, r->conjuncts.at[i], number, by)))
            return 0;
    }
    r->conjuncts = conjuncts;
    r->body = bt__node_replace_index(r->graph, r->body, number, by);
    if (!r->body)
        return 0;
    r->nindex--;
    for (uint32_t i = number - r->first; i < r->nindex; i++)
        r->extents[i] = r->extents[i + 1];
    return 1;
}

/* A condition that reads may do so only where those before it keep its reads in bounds. */
static const bt_node *behind(struct bt__reduction *r, const bt_node *c)
{
    if (!c || !c->reads || !r->conjuncts.len || bt__facts_cover(r->graph, NULL, c))
        return c;
    return bt_node_select(r->graph, conjunction(r->graph, &r->conjuncts), c,
                          bt_node_bool(r->graph, 0));
}

/* Body selections of the identity join the condition. */
static int absorb_selects(struct bt__reduction *r)
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
        if (!add(r, &r->conjuncts, behind(r, c)))
            return 0;
    }
    return 1;
}

/* ---- an index replaced ---- */

uint64_t bt__reduction_indices(const struct bt__reduction *r)
{
    uint64_t all = 0;
    for (uint32_t k = 0; k < r->nindex; k++)
        all |= bt_index_bit(r->first + k);
    return all;
}

int64_t bt__lone_coef(const bt_node *linear, uint32_t index)
{
    bt_linear l;
    uint32_t uses = 0;
    bt_node_as_linear(linear, &l);
    for (uint32_t i = 0; i < l.n; i++)
        uses += (l.atoms[i]->free & bt_index_bit(index)) != 0;
    return uses == 1 ? bt_linear_coef(&l, index) : 0;
}

const bt_node *bt__equal_term(const bt_node *conjunct)
{
    return conjunct->kind == BT_NODE_SCALAR && conjunct->which == BT_SCALAR_EQ &&
                   conjunct->args[0]->dtype == BT_INT64
               ? conjunct->args[1]
               : NULL;
}

const bt_node *bt__in_range(bt_graph *g, const bt_node *value, const bt_node *extent)
{
    const bt_node *last = bt_node_linear(g, -1, 1, &extent, (int64_t[]){ 1 });
    return bt_node_and(g, bt_node_scalar(g, BT_SCALAR_LE, bt_node_int(g, 0), value),
                       bt_node_scalar(g, BT_SCALAR_LE, value, last));
}

/* Of a conjunct that is behind a guard, select(guard, c, false), c; else NULL. */
static const bt_node *behind_guard(const bt_node *conjunct)
{
    return conjunct->kind == BT_NODE_SELECT && bt_node_is_false(conjunct->args[2]) &&
                   !conjunct->args[0]->reads
               ? conjunct->args[1]
               : NULL;
}

int bt__reduction_exchange(struct bt__reduction *r, uint32_t one, uint32_t two,
                           const bt_node *instead)
{
    bt_nodes conjuncts = { 0 };
    if (!add(r, &conjuncts, instead))
        return 0;
    for (uint32_t i = 0; i < r->conjuncts.len; i++) {
        if (i != one && i != two && !add(r, &conjuncts, r->conjuncts.at[i]))
            return 0;
    }
    r->conjuncts = conjuncts;
    return 1;
}

int bt__reduction_put(struct bt__reduction *r, uint32_t k, const bt_node *value,
                      const bt_node *extent, const bt_node *where, uint32_t used)
{
    bt_graph *g = r->graph;
    uint32_t number = r->first + k;
    bt_nodes conjuncts = { 0 };
    if (!add(r, &conjuncts, where))
        return 0;
    for (uint32_t i = 0; i < r->conjuncts.len; i++) {
        const bt_node *c = r->conjuncts.at[i];
        const bt_node *plain = !c->reads ? c : behind_guard(c) ? c->args[0] : NULL;
        if (i != used && plain &&
            !add(r, &conjuncts, bt_node_substitute(g, plain, number, value)))
            return 0;
    }
    // what reads by the index may do so only where the index has a value
    const bt_node *guard = conjunction(g, &conjuncts);
    for (uint32_t i = 0; i < r->conjuncts.len; i++) {
        const bt_node *c = r->conjuncts.at[i], *inner = behind_guard(c);
        int is_open = !inner && !(c->free & bt_index_bit(number));
        if (i == used || !c->reads)
            continue;
        c = bt_node_substitute(g, inner ? inner : c, number, value);
        if (!is_open)
            c = bt_node_select(g, guard, c, bt_node_bool(g, 0));
        if (!add(r, &conjuncts, c))
            return 0;
    }
    r->conjuncts = conjuncts;
    r->body = bt_node_substitute(g, r->body, number, value);
    if (!r->body)
        return 0;
    if (!extent)
        return replace(r, number, bt_node_int(g, 0));
    r->extents[k] = extent;
    return 1;
}

/* ---- equalities ---- */

/* The index that the equality 0 == l is solved for, or -1: none. Coefficients of 1 come
 * first; no extent is asked, so that sums have one order whether extents are known or
 * not. */
static int best_index(const struct bt__reduction *r, const bt_node *l, int64_t *coef)
{
    int best = -1;
    for (uint32_t k = 0; k < r->nindex; k++) {
        int64_t c = bt__lone_coef(l, r->first + k);
        if (!c || c == INT64_MIN)
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
static const bt_node *solution(struct bt__reduction *r, const bt_node *l, uint32_t k,
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
    *also = bt_node_and(g, bt_node_scalar(g, BT_SCALAR_EQ, rest, bt_node_int(g, 0)),
                        bt__in_range(g, value, r->extents[k]));
    return value;
}

/* Solves one equality for an index; those of elements come last, as others may say what
 * they are read by. 1: done, 0: there is none, -1: failure. */
static int solve_one(struct bt__reduction *r)
{
    for (uint32_t reads = 0; reads < 2; reads++) {
        for (uint32_t i = 0; i < r->conjuncts.len; i++) {
            int64_t coef = 0;
            const bt_node *also, *value, *l = bt__equal_term(r->conjuncts.at[i]);
            int k = l && l->reads == reads ? best_index(r, l, &coef) : -1;
            if (k < 0)
                continue;
            value = solution(r, l, (uint32_t)k, coef, &also);
            return value && also &&
                           bt__reduction_put(r, (uint32_t)k, value, NULL, also, i)
                       ? 1
                       : -1;
        }
    }
    return 0;
}

/* ---- R5 ---- */

/*
 * R5. From 0 <= c*v + a and 0 <= b - c*v, c > 0, follows v <= floordiv(b, c), and v is more
 * than floordiv(b, c) - n where n*c > a + b, as then c*(floordiv(b, c) - n) + a <= b - n*c +
 * a < 0. So v is floordiv(b, c) - (n - 1) + t for some t in n, in the order that it had.
 */
static int narrow(struct bt__reduction *r, uint32_t k, const bt_node *from,
                  const bt_node *to)
{
    bt_graph *g = r->graph;
    uint32_t number = r->first + k;
    int64_t c = bt__lone_coef(from, number), turns = bt_node_number(r->extents[k]), count;
    // of an extent that is not known: what is more than this is the bound of a dim
    const int64_t most = turns >= 0 ? turns / 2 : INT32_MAX;
    const bt_node *width =
        bt_node_linear(g, 0, 2, (const bt_node *[]){ from, to }, (int64_t[]){ 1, 1 });
    if (!width)
        return -1;
    if (!bt__is_bounded(width) || width->high < 0 || from->reads || to->reads)
        return 0;
    count = width->high / c + 1;
    if (count > most)
        return 0;
    const bt_node *few = bt_node_int(g, count);
    const bt_node *index = bt_node_index(g, number, r->extents[k]);
    const bt_node *b =
        bt_node_linear(g, 0, 2, (const bt_node *[]){ to, index }, (int64_t[]){ 1, c });
    // in the order that it had
    const bt_node *value = bt_node_linear(
        g, 1 - count, 2,
        (const bt_node *[]){ bt_node_scalar(g, BT_SCALAR_FLOORDIV, b, bt_node_int(g, c)),
                             bt_node_index(g, number, few) },
        (int64_t[]){ 1, 1 });
    if (!value)
        return -1;
    return bt__reduction_put(r, k, value, few, bt__in_range(g, value, r->extents[k]),
                             UINT32_MAX)
               ? 1
               : -1;
}

/* 0 <= l where l is q + w or w - q, q = floordiv(e, c): a bound of e itself, as floordiv(e, c)
 * is at least -w where e is at least -c*w, and at most w where e is below c*(w + 1). */
static const bt_node *without_quotient(bt_graph *g, const bt_node *l, uint64_t reduced)
{
    bt_linear parts;
    bt_node_as_linear(l, &parts);
    for (uint32_t i = 0; i < parts.n; i++) {
        const bt_node *q = parts.atoms[i];
        int64_t by, sign = parts.coefs[i];
        if (q->kind != BT_NODE_SCALAR || q->which != BT_SCALAR_FLOORDIV ||
            !(q->free & reduced) || q->reads || (sign != 1 && sign != -1) ||
            !bt_node_is_const(q->args[1], &by) || by < 1 || !bt__is_bounded(q->args[0]))
            continue;
        const bt_node *bound = bt_node_linear(g, sign > 0 ? 0 : by - 1, 3,
                                              (const bt_node *[]){ l, q, q->args[0] },
                                              (int64_t[]){ by, -sign * by, sign });
        return bound && bt__is_bounded(bound) ? bound : NULL;
    }
    return NULL;
}

/* One bound of a quotient becomes one of what is divided. */
static int open_quotient(struct bt__reduction *r)
{
    bt_graph *g = r->graph;
    for (uint32_t i = 0; i < r->conjuncts.len; i++) {
        const bt_node *l = natural_term(r->conjuncts.at[i]);
        l = l && bt__is_bounded(l) ? without_quotient(g, l, bt__reduction_indices(r))
                                   : NULL;
        if (l)
            return bt__reduction_exchange(
                       r, i, i, bt_node_scalar(g, BT_SCALAR_LE, bt_node_int(g, 0), l))
                       ? 1
                       : -1;
    }
    return g->status ? -1 : 0;
}

/* One index counts the values that it has. 1: done, 0: there is none, -1: failure. */
static int narrow_one(struct bt__reduction *r)
{
    for (uint32_t k = 0; k < r->nindex; k++) {
        uint32_t number = r->first + k;
        for (uint32_t i = 0; i < r->conjuncts.len; i++) {
            const bt_node *from = natural_term(r->conjuncts.at[i]);
            int64_t c = from ? bt__lone_coef(from, number) : 0;
            for (uint32_t j = 0; c > 0 && j < r->conjuncts.len; j++) {
                const bt_node *to = natural_term(r->conjuncts.at[j]);
                int done =
                    to && bt__lone_coef(to, number) == -c ? narrow(r, k, from, to) : 0;
                if (done)
                    return done;
            }
        }
    }
    return 0;
}

/* ---- all ---- */

static int drop_single_values(struct bt__reduction *r)
{
    for (uint32_t k = 0; k < r->nindex;) {
        if (bt_node_number(r->extents[k]) != 1)
            k++;
        else if (!replace(r, r->first + k, bt_node_int(r->graph, 0)))
            return 0;
    }
    return 1;
}

/* One step towards a condition without equalities. Ranges of plain windows stay as they are
 * written: an index is narrowed only where an equality has been solved. */
static int step(struct bt__reduction *r, int *was_solved)
{
    int done = bt__reduction_digits(r);
    if (!done)
        done = bt__reduction_join(r);
    if (!done)
        done = solve_one(r);
    if (!done)
        done = bt__reduction_divide(r);
    if (!done)
        done = bt__reduction_unstride(r);
    *was_solved |= done;
    if (!done && *was_solved)
        done = open_quotient(r);
    if (!done && *was_solved)
        done = narrow_one(r);
    return done;
}

/* In one order, however they were found. */
static void sort(bt_nodes *conjuncts)
{
    for (uint32_t i = 1; i < conjuncts->len; i++) {
        const bt_node *c = conjuncts->at[i];
        uint32_t at = i;
        for (; at > 0 && bt__node_compare(c, conjuncts->at[at - 1]) < 0; at--)
            conjuncts->at[at] = conjuncts->at[at - 1];
        conjuncts->at[at] = c;
    }
}

static int solve(struct bt__reduction *r)
{
    int done = 1, was_solved = 0;
    for (uint32_t i = 0; i < MAX_STEPS && done > 0; i++) {
        if (!drop_single_values(r))
            return 0;
        done = r->nindex ? step(r, &was_solved) : 0;
    }
    if (was_solved)
        sort(&r->conjuncts);
    return done >= 0;
}

/* Whether these are the conjuncts of a condition: then it stays as it was written, so that a text
 * of it is read as itself. */
static int is_conjunction(bt_graph *g, const bt_node *condition, const bt_nodes *all)
{
    bt_nodes own = { 0 };
    if (!bt_node_conjuncts(g->arena, condition, &own) || own.len != all->len)
        return 0;
    for (uint32_t i = 0; i < own.len; i++) {
        if (own.at[i] != all->at[i])
            return 0;
    }
    return 1;
}

const bt_node *bt__reduction_build(bt_graph *g, uint32_t reducer, uint32_t first,
                                   uint32_t nindex, const bt_node *const *extents,
                                   const bt_node *condition, const bt_node *body)
{
    struct bt__reduction r = {
        .graph = g, .reducer = reducer, .first = first, .nindex = nindex, .body = body
    };
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
        if (!add(&r, &r.conjuncts, condition) || !absorb_selects(&r) || !solve(&r))
            return NULL;
        if (r.nindex != nindex || !is_conjunction(g, condition, &r.conjuncts))
            condition = conjunction(g, &r.conjuncts);
        if (!condition)
            return NULL;
        if (bt_node_is_false(condition))
            return identity(&r);
        if (r.nindex == 0)
            return bt_node_select(g, condition, r.body, identity(&r));
    }
    return bt_node_reduce(g, reducer, first, r.nindex, r.extents, condition, r.body);
}
