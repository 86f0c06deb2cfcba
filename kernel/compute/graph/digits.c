/*
 * Quotients, remainders and digits in the equalities of a reduction: what reshapes, tiles
 * and channel groups leave where they are turned round. Each rule replaces equalities by
 * others that hold at the same points, and so is one for every reducer.
 *
 *     R1  floordiv(e, c*d) == a && mod(floordiv(e, c), d) == b
 *      -> floordiv(e, c) == d*a + b && 0 <= b < d
 *     R2  c_1*i_1 + ... + c_m*i_m == E
 *      -> i_k == mod(floordiv(E, c_k), c_(k-1) / c_k) for each k
 *     R3  floordiv(v, c) == E  ->  v = c*E + t, t in c
 *     R4  mod(v, c) == E       ->  v = c*t + E, t in ceildiv(extent of v, c), 0 <= E < c
 */
#include "compute/graph/interval.h"
#include "compute/graph/reduction.h"

enum { MAX_DIGITS = 16 };

/* A divisor: a number above 0, or a dim, which may be 0. */
static int divides(const bt_node *atom, uint32_t which)
{
    const bt_node *by =
        atom->kind == BT_NODE_SCALAR && atom->which == which ? atom->args[1] : NULL;
    return by && atom->dtype == BT_INT64 && !by->free && !by->reads && by->low >= 0 &&
           by->high > 0;
}

/* What an atom with coefficient 1 or -1 is equal to where 0 == l. */
static const bt_node *other_side(bt_graph *g, const bt_node *l, const bt_node *atom,
                                 int64_t coef)
{
    return bt_node_linear(g, 0, 2, (const bt_node *[]){ l, atom },
                          (int64_t[]){ -coef, 1 });
}

static const bt_node *equal(bt_graph *g, const bt_node *a, const bt_node *b)
{
    return bt_node_scalar(g, BT_SCALAR_EQ, a, b);
}

/* ---- R1 ---- */

/* An equality with a quotient or a remainder of coefficient 1 or -1. */
struct part {
    uint32_t conjunct;
    const bt_node *atom, *other;
};

static int is_multiple(const bt_node *node, int64_t of)
{
    bt_linear l;
    bt_node_as_linear(node, &l);
    int is_one = l.constant % of == 0;
    for (uint32_t i = 0; i < l.n; i++)
        is_one &= l.coefs[i] % of == 0;
    return is_one;
}

/* floordiv(e, c), where the quotient is one by c*d of it, and the remainder, by d, one of
 * it or of what multiples of d make different. NULL: it is not so, or failure. */
static const bt_node *shared_quotient(bt_graph *g, const bt_node *quotient,
                                      const bt_node *remainder)
{
    const bt_node *by = quotient->args[1], *d = remainder->args[1], *less = by;
    int64_t whole, part;
    if (bt_node_is_const(by, &whole) && bt_node_is_const(d, &part)) {
        if (whole % part != 0)
            return NULL;
        less = bt_node_int(g, whole / part);
    } else if (by == d) {
        less = bt_node_int(g, 1);
        part = 0;
    } else {
        return NULL;
    }
    const bt_node *q = bt_node_scalar(g, BT_SCALAR_FLOORDIV, quotient->args[0], less);
    const bt_node *apart = bt_node_linear(
        g, 0, 2, (const bt_node *[]){ q, remainder->args[0] }, (int64_t[]){ 1, -1 });
    int64_t nothing;
    if (!apart || !bt__is_bounded(q) || !bt__is_bounded(remainder->args[0]))
        return NULL;
    return (part ? is_multiple(apart, part)
                 : bt_node_is_const(apart, &nothing) && nothing == 0)
               ? q
               : NULL;
}

/*
 * R1. Let q = floordiv(e, c), so that floordiv(e, c*d) = floordiv(q, d), and d > 0.
 * From floordiv(q, d) == a and mod(q, d) == b follow q == d*a + b, as q = d*floordiv(q, d)
 * + mod(q, d), and 0 <= b < d. Where these hold, d*a + b is a number in base d: its
 * quotient by d is a and its remainder b.
 */
static int join(struct bt__reduction *r, const struct part *a, const struct part *b)
{
    bt_graph *g = r->graph;
    const bt_node *q = shared_quotient(g, a->atom, b->atom), *d = b->atom->args[1];
    if (!q)
        return g->status ? -1 : 0;
    const bt_node *range = bt__in_range(g, b->other, d);
    const bt_node *sum = bt_node_scalar(
        g, BT_SCALAR_ADD, bt_node_scalar(g, BT_SCALAR_MUL, a->other, d), b->other);
    if (!range || !sum)
        return -1;
    // where d is no number, nothing else says that it is not 0
    if (!bt__is_bounded(sum) || (d->low < 1 && !bt_node_is_true(range)))
        return 0;
    const bt_node *instead = bt_node_and(g, equal(g, q, sum), range);
    return bt__reduction_exchange(r, a->conjunct, b->conjunct, instead) ? 1 : -1;
}

/* The parts of all equalities that are quotients or remainders of reduced indices. */
static int find_parts(const struct bt__reduction *r, uint32_t which, bt_arena *arena,
                      struct part **out, uint32_t *n)
{
    uint64_t reduced = bt__reduction_indices(r);
    uint32_t cap = 0;
    for (uint32_t i = 0; i < r->conjuncts.len; i++) {
        const bt_node *term = bt__equal_term(r->conjuncts.at[i]);
        bt_linear l;
        if (!term)
            continue;
        bt_node_as_linear(term, &l);
        for (uint32_t k = 0; k < l.n; k++) {
            if (!divides(l.atoms[k], which) || !(l.atoms[k]->free & reduced) ||
                l.atoms[k]->reads || (l.coefs[k] != 1 && l.coefs[k] != -1))
                continue;
            if (!bt_vec_reserve(arena, (void **)out, &cap, *n, sizeof(**out)))
                return 0;
            const bt_node *other = other_side(r->graph, term, l.atoms[k], l.coefs[k]);
            if (!other)
                return 0;
            (*out)[(*n)++] = (struct part){ i, l.atoms[k], other };
        }
    }
    return 1;
}

int bt__reduction_join(struct bt__reduction *r)
{
    struct part *quotients = NULL, *remainders = NULL;
    uint32_t nquotient = 0, nremainder = 0;
    bt_arena *arena = r->graph->arena;
    if (!find_parts(r, BT_SCALAR_FLOORDIV, arena, &quotients, &nquotient) ||
        !find_parts(r, BT_SCALAR_MOD, arena, &remainders, &nremainder)) {
        (void)bt__graph_no_memory(r->graph);
        return -1;
    }
    for (uint32_t i = 0; i < nquotient; i++) {
        for (uint32_t k = 0; k < nremainder; k++) {
            int done = 0;
            if (quotients[i].conjunct != remainders[k].conjunct)
                done = join(r, &quotients[i], &remainders[k]);
            if (done)
                return done;
        }
    }
    return 0;
}

/* ---- R2 ---- */

/* Digits with their coefficients, the greatest first; `other` is what they sum to. */
struct digits {
    uint32_t n;
    const bt_node *atoms[MAX_DIGITS], *other;
    int64_t coefs[MAX_DIGITS];
};

static void insert(struct digits *d, const bt_node *atom, int64_t coef)
{
    uint32_t at = d->n++;
    for (; at > 0 && d->coefs[at - 1] < coef; at--) {
        d->atoms[at] = d->atoms[at - 1];
        d->coefs[at] = d->coefs[at - 1];
    }
    d->atoms[at] = atom;
    d->coefs[at] = coef;
}

/* Whether each coefficient divides the one before, and is more than all that the digits
 * behind it come to. */
static int have_places(const struct digits *d)
{
    int64_t rest = 0;
    for (uint32_t k = d->n; k-- > 0;) {
        int64_t most;
        if (rest >= d->coefs[k] || (k > 0 && d->coefs[k - 1] % d->coefs[k] != 0) ||
            !bt_mul_int64(d->coefs[k], d->atoms[k]->high, &most) ||
            !bt_add_int64(rest, most, &rest))
            return 0;
    }
    return 1;
}

/* All atoms of the equality with reduced indices, as digits. 0: they are none. */
static int find_digits(const struct bt__reduction *r, const bt_node *term,
                       struct digits *d)
{
    uint64_t reduced = bt__reduction_indices(r);
    int64_t sign = 0, coefs[MAX_DIGITS + 1];
    const bt_node *atoms[MAX_DIGITS + 1] = { term };
    bt_linear l;
    *d = (struct digits){ 0 };
    if (!bt__is_bounded(term))
        return 0;
    bt_node_as_linear(term, &l);
    for (uint32_t i = 0; i < l.n; i++) {
        const bt_node *atom = l.atoms[i];
        if (!(atom->free & reduced))
            continue;
        sign = sign ? sign : l.coefs[i] < 0 ? -1 : 1;
        if (atom->reads || atom->low != 0 || !bt__is_bounded(atom) ||
            l.coefs[i] == INT64_MIN || l.coefs[i] * sign < 0 || d->n == MAX_DIGITS)
            return 0;
        insert(d, atom, l.coefs[i] * sign);
    }
    // an index by itself is divided as it is
    if (d->n == 0 ||
        (d->n == 1 && (d->coefs[0] == 1 || d->atoms[0]->kind == BT_NODE_INDEX)) ||
        !have_places(d))
        return 0;
    coefs[0] = -sign;
    for (uint32_t k = 0; k < d->n; k++) {
        atoms[k + 1] = d->atoms[k];
        coefs[k + 1] = d->coefs[k];
    }
    d->other = bt_node_linear(r->graph, 0, d->n + 1, atoms, coefs);
    return 1;
}

/*
 * R2. Let S_k be the sum of the terms from k on. As 0 <= S_k < c_(k-1), and c_(k-1) divides
 * all coefficients before it, S_k = mod(E, c_(k-1)) and i_k = floordiv(S_k, c_k), which is
 * mod(floordiv(E, c_k), c_(k-1) / c_k); the first one is floordiv(E, c_1). What is left of
 * S_m, mod(E, c_m), is 0. Numbers with these digits and no rest sum to E.
 */
int bt__reduction_digits(struct bt__reduction *r)
{
    bt_graph *g = r->graph;
    for (uint32_t i = 0; i < r->conjuncts.len; i++) {
        const bt_node *term = bt__equal_term(r->conjuncts.at[i]);
        struct digits d;
        if (!term || !find_digits(r, term, &d))
            continue;
        const bt_node *least = bt_node_int(g, d.coefs[d.n - 1]),
                      *zero = bt_node_int(g, 0);
        const bt_node *instead =
            equal(g, zero, bt_node_scalar(g, BT_SCALAR_MOD, d.other, least));
        for (uint32_t k = 0; k < d.n; k++) {
            const bt_node *digit = bt_node_scalar(g, BT_SCALAR_FLOORDIV, d.other,
                                                  bt_node_int(g, d.coefs[k]));
            if (k > 0)
                digit = bt_node_scalar(g, BT_SCALAR_MOD, digit,
                                       bt_node_int(g, d.coefs[k - 1] / d.coefs[k]));
            instead = bt_node_and(g, instead, equal(g, d.atoms[k], digit));
        }
        return bt__reduction_exchange(r, i, i, instead) ? 1 : -1;
    }
    return 0;
}

/* ---- R3, R4 ---- */

/*
 * R3. floordiv(e, c) == E where 0 <= e - c*E < c, so for one t in c: e == c*E + t. With
 * e = s*v + w, s = 1 or -1, this is v = s*(c*E + t - w); counted down where s is -1, so
 * that values come in the order that they had.
 */
static const bt_node *by_quotient(bt_graph *g, const struct part *p, const bt_node *t,
                                  const bt_node *rest, int64_t sign, int64_t by)
{
    return bt_node_linear(g, sign > 0 ? 0 : 1 - by, 3,
                          (const bt_node *[]){ p->other, t, rest },
                          (int64_t[]){ sign * by, 1, -sign });
}

/*
 * R4. With e = s*v + w and s = 1 or -1 modulo c, mod(e, c) == E where 0 <= E < c and v is
 * s*(E - w) modulo c: for one t, v == c*t + mod(s*(E - w), c). v is at least 0, so t is.
 */
static const bt_node *by_remainder(bt_graph *g, const struct part *p, const bt_node *t,
                                   const bt_node *rest, int64_t sign, int64_t by)
{
    int64_t none;
    const bt_node *place = p->other;
    if (sign < 0 || !bt_node_is_const(rest, &none) || none != 0)
        place =
            bt_node_scalar(g, BT_SCALAR_MOD,
                           bt_node_linear(g, 0, 2, (const bt_node *[]){ p->other, rest },
                                          (int64_t[]){ sign, -sign }),
                           bt_node_int(g, by));
    return bt_node_linear(g, 0, 2, (const bt_node *[]){ t, place }, (int64_t[]){ by, 1 });
}

/* 1 or -1, as the coefficient is, modulo `by` for a remainder; else 0. */
static int64_t sign_of(int64_t coef, int64_t by, int is_remainder)
{
    if (coef == 1 || coef == -1)
        return coef;
    if (!is_remainder || !coef)
        return 0;
    return bt_mod_int64(coef, by) == 1 ? 1 : bt_mod_int64(coef, by) == by - 1 ? -1 : 0;
}

static int divide_index(struct bt__reduction *r, const struct part *p, uint32_t k)
{
    bt_graph *g = r->graph;
    const bt_node *e = p->atom->args[0], *range, *few, *value;
    uint32_t number = r->first + k;
    int is_remainder = p->atom->which == BT_SCALAR_MOD;
    int64_t by, coef = bt__lone_coef(e, number);
    if (!bt_node_is_const(p->atom->args[1], &by) || by < 2 || !bt__is_bounded(e) ||
        (p->other->free & bt_index_bit(number)) || !bt__is_bounded(p->other))
        return 0;
    int64_t sign = sign_of(coef, by, is_remainder);
    int64_t extent = bt_node_number(r->extents[k]);
    // a quotient that says no more of the index than its extent is a condition
    if (!sign || (!is_remainder && extent >= 0 && extent <= by))
        return 0;
    const bt_node *of = bt_node_int(g, by);
    few = is_remainder ? bt_node_scalar(g, BT_SCALAR_CEILDIV, r->extents[k], of) : of;
    if (!few)
        return -1;
    const bt_node *index = bt_node_index(g, number, r->extents[k]);
    const bt_node *rest =
        bt_node_linear(g, 0, 2, (const bt_node *[]){ e, index }, (int64_t[]){ 1, -coef });
    const bt_node *t = bt_node_index(g, number, few);
    if (!rest || !t)
        return -1;
    value = is_remainder ? by_remainder(g, p, t, rest, sign, by)
                         : by_quotient(g, p, t, rest, sign, by);
    if (!value)
        return -1;
    if (!bt__is_bounded(value))
        return 0;
    range = bt__in_range(g, value, r->extents[k]);
    if (is_remainder)
        range = bt_node_and(g, range, bt__in_range(g, p->other, of));
    return bt__reduction_put(r, k, value, few, range, p->conjunct) ? 1 : -1;
}

int bt__reduction_divide(struct bt__reduction *r)
{
    static const uint32_t kinds[] = { BT_SCALAR_FLOORDIV, BT_SCALAR_MOD };
    for (uint32_t i = 0; i < BT_COUNT(kinds); i++) {
        struct part *parts = NULL;
        uint32_t n = 0;
        if (!find_parts(r, kinds[i], r->graph->arena, &parts, &n)) {
            (void)bt__graph_no_memory(r->graph);
            return -1;
        }
        for (uint32_t p = 0; p < n; p++) {
            for (uint32_t k = 0; k < r->nindex; k++) {
                int done = divide_index(r, &parts[p], k);
                if (done)
                    return done;
            }
        }
    }
    return 0;
}
