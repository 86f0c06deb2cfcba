/* Reductions that elements address: which they are, and their places. */
#include "compute/scatter.h"

/* ---- which reductions ---- */

/* The axis that an equality of elements gives, and its value; -1: none. */
static int addressed_axis(bt__graph *g, const struct bt__scatter *s,
                          const bt__node *conjunct, const bt__node **value)
{
    struct bt__linear l;
    if (conjunct->kind != BT__NODE_SCALAR || conjunct->which != BT__SCALAR_EQ ||
        conjunct->args[0]->dtype != BT_INT64 || !conjunct->reads)
        return -1;
    bt__node_as_linear(conjunct->args[1], &l);
    for (uint32_t k = 0; k < s->naxis; k++) {
        uint64_t bit = bt__index_bit(s->axes[k]);
        int64_t coef = bt__linear_coef(&l, s->axes[k]);
        uint32_t uses = 0;
        for (uint32_t i = 0; i < l.n; i++)
            uses += (l.atoms[i]->free & bit) != 0;
        if ((coef != 1 && coef != -1) || uses != 1 || s->place[k]->kind != BT__NODE_INDEX)
            continue;
        // l = coef * axis + e, so the axis is -coef * (l - coef * axis)
        *value = bt__node_linear(g, 0, 2,
                                 (const bt__node *[]){ conjunct->args[1], s->place[k] },
                                 (int64_t[]){ -coef, 1 });
        return *value ? (int)k : -1;
    }
    return -1;
}

static const bt__node *in_range(bt__graph *g, const bt__node *value, int64_t extent)
{
    return bt__node_and(
        g, bt__node_scalar(g, BT__SCALAR_LE, bt__node_int(g, 0), value),
        bt__node_scalar(g, BT__SCALAR_LT, value, bt__node_int(g, extent)));
}

/* Solves one equality of elements. 1: done, 0: there is none, -1: failure. */
static int solve_one(bt__graph *g, struct bt__scatter *s)
{
    bt__nodes conjuncts = { 0 };
    const bt__node *value = NULL;
    if (!bt__node_conjuncts(g->arena, s->condition, &conjuncts))
        return -1;
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        int k = addressed_axis(g, s, conjuncts.at[i], &value);
        if (k < 0)
            continue;
        uint32_t axis = s->axes[k];
        const bt__node *guard = in_range(g, value, s->dims[axis]);
        s->condition = guard;
        for (uint32_t j = 0; j < conjuncts.len; j++) {
            const bt__node *rest = bt__node_substitute(g, conjuncts.at[j], axis, value);
            // what reads by the axis may do so only where it has a value
            if (conjuncts.at[j]->reads && (conjuncts.at[j]->free & bt__index_bit(axis)))
                rest = bt__node_select(g, guard, rest, bt__node_bool(g, 0));
            if (j != i)
                s->condition = bt__node_and(g, s->condition, rest);
        }
        s->body = bt__node_substitute(g, s->body, axis, value);
        for (uint32_t j = 0; j < s->naxis && s->body; j++) {
            s->place[j] =
                (int)j == k ? value : bt__node_substitute(g, s->place[j], axis, value);
            if (!s->place[j])
                return -1;
        }
        return s->condition && s->body ? 1 : -1;
    }
    return g->status ? -1 : 0;
}

/* ---- running reductions ---- */

/* `0 <= axis - v`, or `0 <= v - axis`: the axis, and v; -1: something else. */
static int running_axis(bt__graph *g, const struct bt__scatter *s,
                        const bt__node *conjunct, int *is_descending,
                        const bt__node **bound)
{
    struct bt__linear l;
    int64_t zero;
    if (conjunct->kind != BT__NODE_SCALAR || conjunct->which != BT__SCALAR_LE ||
        conjunct->args[0]->dtype != BT_INT64 ||
        !bt__node_is_const(conjunct->args[0], &zero) || zero != 0)
        return -1;
    bt__node_as_linear(conjunct->args[1], &l);
    for (uint32_t k = 0; k < s->naxis; k++) {
        uint64_t bit = bt__index_bit(s->axes[k]);
        int64_t coef = bt__linear_coef(&l, s->axes[k]);
        uint32_t uses = 0;
        for (uint32_t i = 0; i < l.n; i++)
            uses += (l.atoms[i]->free & bit) != 0;
        if ((coef != 1 && coef != -1) || uses != 1)
            continue;
        *bound = bt__node_linear(g, 0, 2,
                                 (const bt__node *[]){ conjunct->args[1], s->place[k] },
                                 (int64_t[]){ -coef, 1 });
        *is_descending = coef < 0;
        // a bound by axes alone cuts the sum, but does not run
        uint64_t axes = UINT64_MAX >> (BT__MAX_INDEX - s->rank);
        return *bound && ((*bound)->free & ~axes) ? (int)k : -1;
    }
    return -1;
}

/* Whether the axis stands in this conjunct alone. */
static int runs_along(const struct bt__scatter *s, const bt__nodes *conjuncts,
                      uint32_t which, uint32_t axis)
{
    uint64_t bit = bt__index_bit(axis);
    for (uint32_t i = 0; i < conjuncts->len; i++) {
        if (i != which && (conjuncts->at[i]->free & bit))
            return 0;
    }
    return !(s->body->free & bit);
}

/* 1: the reduction is a scan. 0: it is none, -1: failure. */
static int solve_scan(bt__graph *g, struct bt__scatter *s)
{
    bt__nodes conjuncts = { 0 };
    const bt__node *bound = NULL;
    // what has a position as well cannot take what another one took
    if (bt__reducer_get(s->node->which)->nstate != 1)
        return 0;
    if (!bt__node_conjuncts(g->arena, s->condition, &conjuncts))
        return -1;
    for (uint32_t i = 0; i < conjuncts.len; i++) {
        int k = running_axis(g, s, conjuncts.at[i], &s->is_descending, &bound);
        if (k < 0 || !runs_along(s, &conjuncts, i, s->axes[k]))
            continue;
        // the first place: beyond the start it is the start, beyond the end there is none
        const bt__node *zero = bt__node_int(g, 0);
        const bt__node *last = bt__node_int(g, s->dims[s->axes[k]] - 1);
        s->scan = k;
        s->place[k] =
            bt__node_scalar(g, s->is_descending ? BT__SCALAR_MIN : BT__SCALAR_MAX, bound,
                            s->is_descending ? last : zero);
        s->condition = bt__node_scalar(g, BT__SCALAR_LE, s->is_descending ? zero : bound,
                                       s->is_descending ? bound : last);
        for (uint32_t j = 0; j < conjuncts.len; j++) {
            if (j != i)
                s->condition = bt__node_and(g, s->condition, conjuncts.at[j]);
        }
        return s->condition && s->place[k] ? 1 : -1;
    }
    return g->status ? -1 : 0;
}

/* ---- all ---- */

/* The axes that the reduction depends on, as a buffer. */
static int lay_out(bt__graph *g, struct bt__scatter *s)
{
    s->nelem = 1;
    for (uint32_t i = s->rank; i-- > 0;) {
        if (!(s->node->free & bt__index_bit(i)))
            continue;
        s->axes[s->naxis] = i;
        s->strides[s->naxis] = s->nelem;
        s->place[s->naxis] = bt__node_index(g, i, s->dims[i]);
        if (!s->place[s->naxis++])
            return 0;
        s->nelem *= s->dims[i];
    }
    return 1;
}

int bt__scatter_solve(bt__graph *g, struct bt__scatter *s)
{
    int solved = 0, step;
    s->naxis = 0;
    s->scan = -1;
    s->is_descending = 0;
    s->condition = s->node->args[0];
    s->body = s->node->args[1];
    if (!lay_out(g, s))
        return -1;
    while ((step = solve_one(g, s)) > 0)
        solved = 1;
    if (step < 0)
        return -1;
    return solved ? 1 : solve_scan(g, s);
}
