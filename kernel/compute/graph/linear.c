/* Integers as sums of atoms with coefficients: + - * and division by a block's size. */
#include "compute/graph/fold.h"
#include "compute/graph/interval.h"

#include <string.h>

void bt_node_as_linear(const bt_node *node, bt_linear *out)
{
    *out = (bt_linear){ 0 };
    if (node->kind == BT_NODE_CONST) {
        out->constant = node->value.i;
    } else if (node->kind == BT_NODE_LINEAR) {
        out->constant = node->value.i;
        out->n = node->narg;
        out->atoms = node->args;
        out->coefs = node->coefs;
    } else {
        out->n = 1;
        out->self[0] = node;
        out->one[0] = 1;
        out->atoms = out->self;
        out->coefs = out->one;
    }
}

int64_t bt_linear_coef(const bt_linear *l, uint32_t index)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (l->atoms[i]->kind == BT_NODE_INDEX && l->atoms[i]->which == index)
            return l->coefs[i];
    }
    return 0;
}

struct terms {
    int64_t constant;
    uint32_t n;
    const bt_node *atoms[BT__MAX_TERMS];
    int64_t coefs[BT__MAX_TERMS];
};

static int64_t times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Adds factor * node; atoms stay sorted. int64 wraps, so any order is exact. 0: too many
 * terms. */
static int add_terms(struct terms *to, const bt_node *node, int64_t factor)
{
    bt_linear l;
    bt_node_as_linear(node, &l);
    to->constant = plus(to->constant, times(factor, l.constant));
    for (uint32_t i = 0; i < l.n; i++) {
        uint32_t at = to->n;
        while (at > 0 && bt__node_compare(l.atoms[i], to->atoms[at - 1]) < 0)
            at--;
        if (at > 0 && to->atoms[at - 1] == l.atoms[i]) {
            to->coefs[at - 1] = plus(to->coefs[at - 1], times(factor, l.coefs[i]));
            continue;
        }
        if (to->n == BT__MAX_TERMS)
            return 0;
        memmove(&to->atoms[at + 1], &to->atoms[at], (to->n - at) * sizeof(*to->atoms));
        memmove(&to->coefs[at + 1], &to->coefs[at], (to->n - at) * sizeof(*to->coefs));
        to->atoms[at] = l.atoms[i];
        to->coefs[at] = times(factor, l.coefs[i]);
        to->n++;
    }
    return 1;
}

static const bt_node *from_terms(bt_graph *g, struct terms *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->coefs[i]) {
            t->atoms[n] = t->atoms[i];
            t->coefs[n++] = t->coefs[i];
        }
    }
    if (n == 0)
        return bt_node_int(g, t->constant);
    if (n == 1 && t->coefs[0] == 1 && t->constant == 0)
        return t->atoms[0];
    return bt__node_intern(g, &(bt_node){ .kind = BT_NODE_LINEAR,
                                          .dtype = BT_INT64,
                                          .value.i = t->constant,
                                          .narg = n,
                                          .args = t->atoms,
                                          .coefs = t->coefs });
}

const bt_node *bt_node_linear(bt_graph *g, int64_t constant, uint32_t n,
                              const bt_node *const *atoms, const int64_t *coefs)
{
    struct terms t = { .constant = constant };
    for (uint32_t i = 0; i < n; i++) {
        if (!atoms[i])
            return NULL;
        if (!add_terms(&t, atoms[i], coefs[i])) {
            if (!g->status)
                g->status =
                    bt_fail(g->ctx, BT_ERR_LIMIT,
                            "an index expression of more than %d terms", BT__MAX_TERMS);
            return NULL;
        }
    }
    return from_terms(g, &t);
}

/* a + factor * b */
static const bt_node *linear_sum(bt_graph *g, const bt_node *a, const bt_node *b,
                                 int64_t factor)
{
    return bt_node_linear(g, 0, 2, (const bt_node *[]){ a, b }, (int64_t[]){ 1, factor });
}

/* a by d, rounded down, or what that leaves: terms that d divides are whole blocks. Where the others
 * are together at least 0 and below d, they are the place in a block. */
static const bt_node *split_by(bt_graph *g, uint32_t which, const bt_node *a, int64_t d)
{
    bt_linear l;
    const bt_node *atoms[2][BT__MAX_TERMS];
    int64_t coefs[2][BT__MAX_TERMS];
    uint32_t n[2] = { 0, 0 };
    bt_node_as_linear(a, &l);
    if (!bt__is_bounded(a))
        return NULL;
    for (uint32_t i = 0; i < l.n; i++) {
        int rest = l.coefs[i] % d != 0;
        atoms[rest][n[rest]] = l.atoms[i];
        coefs[rest][n[rest]++] = rest ? l.coefs[i] : l.coefs[i] / d;
    }
    const bt_node *rest =
        bt_node_linear(g, bt_mod_int64(l.constant, d), n[1], atoms[1], coefs[1]);
    if (!rest)
        return NULL;
    const int is_place = rest->low >= 0 && rest->high < d;
    if (!is_place && n[0] == 0)
        return NULL;
    if (which == BT_SCALAR_MOD)
        return is_place ? rest : bt_node_scalar(g, which, rest, bt_node_int(g, d));
    const bt_node *blocks =
        bt_node_linear(g, bt_floordiv_int64(l.constant, d), n[0], atoms[0], coefs[0]);
    return is_place || !blocks
               ? blocks
               : linear_sum(g, blocks, bt_node_scalar(g, which, rest, bt_node_int(g, d)),
                            1);
}

/* ---- products with dims ---- */

enum { MAX_FACTORS = 16 };

/* An integer that is known once dims are. */
static int is_of_dims(const bt_node *node)
{
    return !node->free && !node->reads && node->dtype == BT_INT64;
}

static uint32_t factors_of(const bt_node *node, const bt_node **out, uint32_t n)
{
    for (; node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_MUL;
         node = node->args[1]) {
        if (n == MAX_FACTORS)
            return n;
        out[n++] = node->args[0];
    }
    if (n < MAX_FACTORS)
        out[n++] = node;
    return n;
}

/* An integer that is multiplied by one of those. */
static int has_dims(const bt_node *node)
{
    while (node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_MUL)
        node = node->args[1];
    return is_of_dims(node);
}

static int is_factor_before(const bt_node *a, const bt_node *b)
{
    if (a->kind == BT_NODE_DIM && b->kind == BT_NODE_DIM)
        return a->which < b->which;
    return is_of_dims(a) != is_of_dims(b) ? is_of_dims(b) : bt__node_compare(a, b) < 0;
}

/* The product of two atoms: factors in order, those of dims behind all others. NULL without
 * a failure: they are too many. */
static const bt_node *product_of_atoms(bt_graph *g, const bt_node *a, const bt_node *b)
{
    const bt_node *all[MAX_FACTORS];
    uint32_t n = factors_of(b, all, factors_of(a, all, 0));
    if (n == MAX_FACTORS)
        return NULL;
    for (uint32_t i = 1; i < n; i++) {
        const bt_node *factor = all[i];
        uint32_t at = i;
        for (; at > 0 && is_factor_before(factor, all[at - 1]); at--)
            all[at] = all[at - 1];
        all[at] = factor;
    }
    const bt_node *made = all[--n];
    while (made && n-- > 0)
        made =
            bt__node_intern(g, &(bt_node){ .kind = BT_NODE_SCALAR,
                                           .which = BT_SCALAR_MUL,
                                           .dtype = BT_INT64,
                                           .narg = 2,
                                           .args = (const bt_node *[]){ all[n], made } });
    return made;
}

/* Sums multiplied out, so that each index has its stride: (8*i + j) * n is 8*i*n + j*n. */
static const bt_node *product(bt_graph *g, const bt_node *a, const bt_node *b)
{
    bt_linear x, y;
    bt_node_as_linear(a, &x);
    bt_node_as_linear(b, &y);
    const bt_node *sum = bt_node_linear(g, times(-1, times(x.constant, y.constant)), 2,
                                        (const bt_node *[]){ a, b },
                                        (int64_t[]){ y.constant, x.constant });
    for (uint32_t i = 0; i < x.n * y.n && sum; i++) {
        const bt_node *atom = product_of_atoms(g, x.atoms[i / y.n], y.atoms[i % y.n]);
        sum = atom ? linear_sum(g, sum, atom, times(x.coefs[i / y.n], y.coefs[i % y.n]))
                   : NULL;
    }
    return sum;
}

/* Arithmetic that linear forms express; NULL without a failure where they do not. */
const bt_node *bt__node_arithmetic(bt_graph *g, uint32_t which, const bt_node *a,
                                   const bt_node *b)
{
    int64_t factor;
    switch (which) {
    case BT_SCALAR_ADD: return linear_sum(g, a, b, 1);
    case BT_SCALAR_SUB: return linear_sum(g, a, b, -1);
    case BT_SCALAR_NEG: return bt_node_linear(g, 0, 1, &a, (int64_t[]){ -1 });
    case BT_SCALAR_MUL:
        if (bt_node_is_const(a, &factor))
            return bt_node_linear(g, 0, 1, &b, &factor);
        if (bt_node_is_const(b, &factor))
            return bt_node_linear(g, 0, 1, &a, &factor);
        return has_dims(a) || has_dims(b) ? product(g, a, b) : NULL;
    case BT_SCALAR_CEILDIV:
        if (!bt_node_is_const(b, &factor) || factor < 1)
            return NULL;
        a = bt_node_linear(g, factor - 1, 1, &a, (int64_t[]){ 1 });
        return a ? split_by(g, BT_SCALAR_FLOORDIV, a, factor) : NULL;
    case BT_SCALAR_FLOORDIV:
    case BT_SCALAR_MOD:
        return bt_node_is_const(b, &factor) && factor > 0 ? split_by(g, which, a, factor)
                                                          : NULL;
    default: return NULL;
    }
}
