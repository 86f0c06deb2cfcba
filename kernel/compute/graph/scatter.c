/* Reductions that elements address: which they are, and their places. */
#include "compute/graph/scatter.h"

/* ---- which reductions ---- */

/* The coefficient of an index where it is 1 or -1 and nothing else depends on it; else
 * 0. */
static int64_t sign_of(const bt_linear *l, uint32_t index)
{
    int64_t coef = bt_linear_coef(l, index);
    uint32_t uses = 0;
    for (uint32_t i = 0; i < l->n; i++)
        uses += (l->atoms[i]->free & bt_index_bit(index)) != 0;
    return (coef == 1 || coef == -1) && uses == 1 ? coef : 0;
}

/* The axis that an equality of elements gives, and its value; -1: none. */
static int addressed_axis(bt_graph *g, const struct bt__scatter *s,
                          const bt_node *conjunct, const bt_node **value)
{
    bt_linear l;
    if (conjunct->kind != BT_NODE_SCALAR || conjunct->which != BT_SCALAR_EQ ||
        conjunct->args[0]->dtype != BT_INT64 || !conjunct->reads)
        return -1;
    bt_node_as_linear(conjunct->args[1], &l);
    for (uint32_t k = 0; k < s->naxis; k++) {
        int64_t coef = sign_of(&l, s->axes[k]);
        if (!coef || s->place[k]->kind != BT_NODE_INDEX)
            continue;
        // l = coef * axis + e, so the axis is -coef * (l - coef * axis)
        *value =
            bt_node_linear(g, 0, 2, (const bt_node *[]){ conjunct->args[1], s->place[k] },
                           (int64_t[]){ -coef, 1 });
        return *value ? (int)k : -1;
    }
    return -1;
}

static const bt_node *in_range(bt_graph *g, const bt_node *value, const bt_node *extent)
{
    return bt_node_and(g, bt_node_scalar(g, BT_SCALAR_LE, bt_node_int(g, 0), value),
                       bt_node_scalar(g, BT_SCALAR_LT, value, extent));
}

/* Solves one equality of elements. 1: done, 0: there is none, -1: failure. */
static int solve_one(bt_graph *g, struct bt__scatter *s)
{
    bt_nodes conjuncts = { 0 };
    const bt_node *value = NULL;
    if (!bt_node_conjuncts(g->arena, s->condition, &conjuncts))
        return -1;
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        int k = addressed_axis(g, s, conjuncts.at[i], &value);
        if (k < 0)
            continue;
        uint32_t axis = s->axes[k];
        const bt_node *guard = in_range(g, value, s->extents[axis]);
        s->condition = guard;
        for (uint32_t j = 0; j < conjuncts.len; j++) {
            const bt_node *rest = bt_node_substitute(g, conjuncts.at[j], axis, value);
            // what reads by the axis may do so only where it has a value
            if (conjuncts.at[j]->reads && (conjuncts.at[j]->free & bt_index_bit(axis)))
                rest = bt_node_select(g, guard, rest, bt_node_bool(g, 0));
            if (j != i)
                s->condition = bt_node_and(g, s->condition, rest);
        }
        s->body = bt_node_substitute(g, s->body, axis, value);
        for (uint32_t j = 0; j < s->naxis && s->body; j++) {
            s->place[j] =
                (int)j == k ? value : bt_node_substitute(g, s->place[j], axis, value);
            if (!s->place[j])
                return -1;
        }
        return s->condition && s->body ? 1 : -1;
    }
    return g->status ? -1 : 0;
}

/* ---- running reductions ---- */

/* `0 <= axis - v`, or `0 <= v - axis`: the axis, and v; -1: something else. */
static int running_axis(bt_graph *g, const struct bt__scatter *s, const bt_node *conjunct,
                        int *is_descending, const bt_node **bound)
{
    bt_linear l;
    int64_t zero;
    if (conjunct->kind != BT_NODE_SCALAR || conjunct->which != BT_SCALAR_LE ||
        conjunct->args[0]->dtype != BT_INT64 ||
        !bt_node_is_const(conjunct->args[0], &zero) || zero != 0)
        return -1;
    bt_node_as_linear(conjunct->args[1], &l);
    for (uint32_t k = 0; k < s->naxis; k++) {
        int64_t coef = sign_of(&l, s->axes[k]);
        if (!coef)
            continue;
        *bound =
            bt_node_linear(g, 0, 2, (const bt_node *[]){ conjunct->args[1], s->place[k] },
                           (int64_t[]){ -coef, 1 });
        *is_descending = coef < 0;
        // a bound by axes alone cuts the sum, but does not run
        uint64_t axes = UINT64_MAX >> (BT_MAX_INDEX - s->rank);
        return *bound && ((*bound)->free & ~axes) ? (int)k : -1;
    }
    return -1;
}

/* Whether the axis stands in this conjunct alone. */
static int runs_along(const struct bt__scatter *s, const bt_nodes *conjuncts,
                      uint32_t which, uint32_t axis)
{
    uint64_t bit = bt_index_bit(axis);
    for (uint32_t i = 0; i < conjuncts->len; i++) {
        if (i != which && (conjuncts->at[i]->free & bit))
            return 0;
    }
    return !(s->body->free & bit);
}

/* 1: the reduction is a scan. 0: it is none, -1: failure. */
static int solve_scan(bt_graph *g, struct bt__scatter *s)
{
    bt_nodes conjuncts = { 0 };
    const bt_node *bound = NULL;
    // a reducer with a position cannot continue from the accumulator of another element, and
    // what runs along an axis counts its places
    if (bt__reducer_get(s->node->which)->nstate != 1 || bt_node_number(s->nelem) < 0)
        return 0;
    if (!bt_node_conjuncts(g->arena, s->condition, &conjuncts))
        return -1;
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        int k = running_axis(g, s, conjuncts.at[i], &s->is_descending, &bound);
        if (k < 0 || !runs_along(s, &conjuncts, i, s->axes[k]))
            continue;
        // the first place: beyond the start it is the start, beyond the end there is none
        const bt_node *zero = bt_node_int(g, 0);
        const int64_t extent = bt_node_number(s->extents[s->axes[k]]);
        const bt_node *last = bt_node_int(g, extent - 1);
        s->scan = k;
        s->place[k] = bt_node_scalar(g, s->is_descending ? BT_SCALAR_MIN : BT_SCALAR_MAX,
                                     bound, s->is_descending ? last : zero);
        s->condition = bt_node_scalar(g, BT_SCALAR_LE, s->is_descending ? zero : bound,
                                      s->is_descending ? bound : last);
        for (uint32_t j = 0; j < conjuncts.len; j++) {
            if (j != i)
                s->condition = bt_node_and(g, s->condition, conjuncts.at[j]);
        }
        return s->condition && s->place[k] ? 1 : -1;
    }
    return g->status ? -1 : 0;
}

/* ---- all ---- */

/* The axes that the reduction depends on, as a buffer of fixed strides: 1. Only of the
 * outermost one the extent may be known at the call alone, else 0. -1: failure. */
static int lay_out(bt_graph *g, struct bt__scatter *s)
{
    int64_t nelem = 1;
    s->nelem = bt_node_int(g, 1);
    for (uint32_t i = s->rank; i-- > 0;) {
        if (!(s->node->free & bt_index_bit(i)))
            continue;
        if (nelem < 0)
            return 0;
        s->axes[s->naxis] = i;
        s->strides[s->naxis] = nelem;
        s->place[s->naxis] = bt_node_index(g, i, s->extents[i]);
        if (!s->place[s->naxis++])
            return -1;
        s->nelem = bt_node_linear(g, 0, 1, &s->extents[i], &nelem);
        if (!s->nelem)
            return -1;
        nelem = bt_node_number(s->nelem);
    }
    return 1;
}

int bt__scatter_solve(bt_graph *g, struct bt__scatter *s)
{
    int solved = 0, step, is_laid;
    s->naxis = 0;
    s->scan = -1;
    s->is_descending = 0;
    s->condition = s->node->args[0];
    s->body = s->node->args[1];
    is_laid = lay_out(g, s);
    if (is_laid <= 0)
        return is_laid;
    while ((step = solve_one(g, s)) > 0)
        solved = 1;
    if (step < 0)
        return -1;
    return solved ? 1 : solve_scan(g, s);
}

int bt_reduce_is_scatter(bt_graph *g, const bt_array *stage, const bt_node *reduce)
{
    struct bt__scatter s = { .node = reduce, .rank = stage->rank };
    for (uint32_t i = 0; i < stage->rank; i++)
        s.extents[i] = stage->extents[i];
    const int solved = bt__scatter_solve(g, &s);
    return solved > 0 ? s.scan < 0 : solved;
}
