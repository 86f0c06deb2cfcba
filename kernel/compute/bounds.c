/*
 * Proofs of bounds. To show 0 <= l: bounds of l itself, or l - c*f where 0 <= f is a
 * known fact and c a positive number that cancels an atom; two facts are tried in turn.
 * Guards of `else` are the very conditions to be shown, so most proofs are a comparison
 * of pointers.
 */
#include "compute/bounds.h"

enum { FACTS_TOGETHER = 2 };

static int is_bounded(const bt__node *node)
{
    return node->low != INT64_MIN && node->high != INT64_MAX;
}

/* l of the conjunct 0 <= l (sign 1), or of 0 == l (either sign); NULL: none. */
static const bt__node *fact_term(const bt__node *conjunct, int *is_equal)
{
    int64_t zero;
    *is_equal = conjunct->which == BT__SCALAR_EQ;
    if (conjunct->kind != BT__NODE_SCALAR || conjunct->narg != 2 ||
        (conjunct->which != BT__SCALAR_LE && conjunct->which != BT__SCALAR_EQ) ||
        conjunct->args[0]->dtype != BT_INT64 ||
        !bt__node_is_const(conjunct->args[0], &zero) || zero != 0 ||
        !is_bounded(conjunct->args[1]))
        return NULL;
    return conjunct->args[1];
}

/* The factor with which f's first atom cancels l's; 0: none. */
static int64_t cancelling(const bt__node *l, const bt__node *f, int sign)
{
    struct bt__linear in_l, in_f;
    bt__node_as_linear(l, &in_l);
    bt__node_as_linear(f, &in_f);
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

static int natural(bt__graph *g, const struct bt__facts *facts, const bt__node *l,
                   uint32_t together)
{
    if (!l || !is_bounded(l))
        return 0;
    if (l->low >= 0)
        return 1;
    if (l->high < 0 || !together)
        return 0;
    for (const struct bt__facts *f = facts; f; f = f->outer) {
        for (uint32_t i = 0; i < f->conjuncts.len; i++) {
            int is_equal;
            const bt__node *term = fact_term(f->conjuncts.at[i], &is_equal);
            for (int sign = 1; term && sign >= (is_equal ? -1 : 1); sign -= 2) {
                int64_t by = cancelling(l, term, sign);
                if (by &&
                    natural(g, facts,
                            bt__node_linear(g, 0, 2, (const bt__node *[]){ l, term },
                                            (int64_t[]){ 1, -by }),
                            together - 1))
                    return 1;
            }
        }
    }
    return 0;
}

static int stands(const struct bt__facts *facts, const bt__node *condition)
{
    for (; facts; facts = facts->outer) {
        for (uint32_t i = 0; i < facts->conjuncts.len; i++) {
            if (facts->conjuncts.at[i] == condition)
                return 1;
        }
    }
    return 0;
}

int bt__facts_imply(bt__graph *g, const struct bt__facts *facts,
                    const bt__node *condition)
{
    int is_equal;
    if (!condition)
        return 0;
    if (bt__node_is_true(condition) || stands(facts, condition))
        return 1;
    const bt__node *l = fact_term(condition, &is_equal);
    return l && !is_equal && natural(g, facts, l, FACTS_TOGETHER);
}

int bt__facts_bound(bt__graph *g, const struct bt__facts *facts, const bt__node *index,
                    const bt__node *extent)
{
    const bt__node *zero = bt__node_int(g, 0);
    return bt__facts_imply(g, facts, bt__node_scalar(g, BT__SCALAR_LE, zero, index)) &&
           bt__facts_imply(g, facts, bt__node_scalar(g, BT__SCALAR_LT, index, extent));
}

static int cover_under(bt__graph *g, const struct bt__facts *facts,
                       const bt__node *condition, const bt__node *node)
{
    struct bt__facts inner = { .outer = facts };
    if (!condition || !bt__node_conjuncts(g->arena, condition, &inner.conjuncts))
        return 0;
    return bt__facts_cover(g, &inner, node);
}

int bt__facts_cover(bt__graph *g, const struct bt__facts *facts, const bt__node *node)
{
    if (!node->reads)
        return 1;
    if (node->kind == BT__NODE_SELECT)
        return bt__facts_cover(g, facts, node->args[0]) &&
               cover_under(g, facts, node->args[0], node->args[1]) &&
               cover_under(g, facts,
                           bt__node_scalar(g, BT__SCALAR_NOT, node->args[0], NULL),
                           node->args[2]);
    if (node->kind == BT__NODE_REDUCE)
        return bt__facts_cover(g, facts, node->args[0]) &&
               cover_under(g, facts, node->args[0], node->args[1]);
    for (uint32_t i = 0; i < node->narg; i++) {
        if (!bt__facts_cover(g, facts, node->args[i]))
            return 0;
        if (node->kind == BT__NODE_READ &&
            !bt__facts_bound(g, facts, node->args[i], g->arrays[node->which].extents[i]))
            return 0;
    }
    return 1;
}
