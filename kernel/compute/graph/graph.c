/* Nodes of the compute graph: made once, shared, folded, in normal form. */
#include "compute/graph/graph.h"

#include <string.h>

#include "base/arena.h"
#include "compute/graph/interval.h"

enum {
    DEPTH_FACTOR = 8, /* nodes nest deeper than text: stages of scalars add up */
    MAX_TERMS = 256
};

/* What authors see of a graph, and the hash table of its nodes. */
struct graph {
    bt_graph base;
    uint32_t cap_array, cap_dim, nslot;
    const bt_node **slots;
    bt_nodes naturals;
};

static struct graph *own(bt_graph *g)
{
    return (struct graph *)(void *)g;
}

bt_graph *bt_graph_create(bt_ctx *ctx, bt_arena *arena)
{
    struct graph *g = BT_NEW(arena, struct graph);
    if (!g)
        return NULL;
    g->base.ctx = ctx;
    g->base.arena = arena;
    return &g->base;
}

int bt_graph_add_array(bt_graph *g, const bt_array *array, uint32_t *out)
{
    bt_array *kept = bt__arena_copy(g->arena, array, 1, sizeof(*array));
    if (!kept || !bt_vec_reserve(g->arena, (void **)&g->arrays, &own(g)->cap_array,
                                 g->narray, sizeof(kept)))
        return 0;
    *out = g->narray;
    g->arrays[g->narray++] = kept;
    return 1;
}

int bt_graph_add_dim(bt_graph *g, const bt_graph_dim *dim, uint32_t *out)
{
    bt_graph_dim *kept = bt__arena_copy(g->arena, dim, 1, sizeof(*dim));
    if (!kept || !bt_vec_reserve(g->arena, (void **)&g->dims, &own(g)->cap_dim, g->ndim,
                                 sizeof(kept)))
        return 0;
    kept->low = kept->low < 0 ? 0 : kept->low;
    kept->high = kept->high > BT_MOST_DIM ? BT_MOST_DIM : kept->high;
    *out = g->ndim;
    g->dims[g->ndim++] = kept;
    return 1;
}

int bt__graph_add_natural(bt_graph *g, const bt_node *node)
{
    return node && BT_PUSH(g->arena, &own(g)->naturals, node);
}

const bt_nodes *bt__graph_naturals(const bt_graph *g)
{
    return &((const struct graph *)(const void *)g)->naturals;
}

const bt_node *bt__graph_no_memory(bt_graph *g)
{
    if (!g->status)
        g->status = bt_no_memory();
    return NULL;
}

/* ---- interning ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint32_t ncoef(const bt_node *node)
{
    return node->kind == BT_NODE_LINEAR ? node->narg : 0;
}

/* From the structure alone: no ids, so that order by hash does not depend on how a
 * formula was written. */
static uint64_t hash_node(const bt_node *node)
{
    uint64_t hash = mix(node->kind + 1, node->which);
    hash = mix(mix(hash, node->dtype), (uint64_t)node->value.i);
    hash = mix(hash, node->kind == BT_NODE_INDEX ? (uint64_t)node->high : node->first);
    for (uint32_t i = 0; i < ncoef(node); i++)
        hash = mix(hash, (uint64_t)node->coefs[i]);
    for (uint32_t i = 0; i < node->nindex; i++) {
        const bt_node *extent = node->args[2 + i];
        int64_t number = bt_node_number(extent);
        hash = mix(hash, number < 0 ? extent->hash : (uint64_t)number);
    }
    for (uint32_t i = 0; i < node->narg - node->nindex; i++)
        hash = mix(hash, node->args[i]->hash);
    return hash;
}

static int same_node(const bt_node *a, const bt_node *b)
{
    if (a->hash != b->hash || a->kind != b->kind || a->which != b->which ||
        a->dtype != b->dtype || a->value.i != b->value.i || a->narg != b->narg ||
        a->nindex != b->nindex || a->first != b->first)
        return 0;
    if (a->kind == BT_NODE_INDEX && a->high != b->high)
        return 0;
    for (uint32_t i = 0; i < ncoef(a); i++) {
        if (a->coefs[i] != b->coefs[i])
            return 0;
    }
    return !a->narg || memcmp(a->args, b->args, a->narg * sizeof(*a->args)) == 0;
}

static int grow_table(struct graph *g)
{
    uint32_t nslot = g->nslot ? g->nslot * 2 : 64;
    const bt_node **slots = BT_NEWS(g->base.arena, const bt_node *, nslot);
    if (!slots)
        return 0;
    for (uint32_t i = 0; i < g->nslot; i++) {
        const bt_node *node = g->slots[i];
        if (!node)
            continue;
        uint32_t at = (uint32_t)node->hash & (nslot - 1);
        while (slots[at])
            at = (at + 1) & (nslot - 1);
        slots[at] = node;
    }
    g->slots = slots;
    g->nslot = nslot;
    return 1;
}

static uint64_t free_of(const bt_node *node)
{
    uint64_t set = node->kind == BT_NODE_INDEX ? bt_index_bit(node->which) : 0;
    for (uint32_t i = 0; i < node->narg; i++)
        set |= node->args[i]->free;
    for (uint32_t i = 0; i < node->nindex; i++)
        set &= ~bt_index_bit(node->first + i);
    return set;
}

/* The shared node that equals *like, whose args and coefs are copied when it is new. */
static const bt_node *intern(bt_graph *g, bt_node *like)
{
    struct graph *table = own(g);
    like->hash = hash_node(like);
    if (g->nnode * 2 >= table->nslot && !grow_table(table))
        return bt__graph_no_memory(g);
    uint32_t at = (uint32_t)like->hash & (table->nslot - 1);
    for (; table->slots[at]; at = (at + 1) & (table->nslot - 1)) {
        if (same_node(table->slots[at], like))
            return table->slots[at];
    }
    bt_node *node = BT_NEW(g->arena, bt_node);
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, like->narg);
    int64_t *coefs = BT_NEWS(g->arena, int64_t, ncoef(like));
    if (!node || !args || !coefs)
        return bt__graph_no_memory(g);
    *node = *like;
    for (uint32_t i = 0; i < like->narg; i++) {
        args[i] = like->args[i];
        node->depth = args[i]->depth >= node->depth ? args[i]->depth + 1 : node->depth;
        node->reads |= args[i]->reads;
        node->reduces |= args[i]->reduces;
    }
    for (uint32_t i = 0; i < ncoef(like); i++)
        coefs[i] = like->coefs[i];
    node->args = args;
    node->coefs = coefs;
    node->free = free_of(node);
    node->id = g->nnode;
    bt__interval_set(node);
    if (node->depth > DEPTH_FACTOR * bt_ctx_limits(g->ctx)->depth) {
        if (!g->status)
            g->status = bt_fail(g->ctx, BT_ERR_LIMIT,
                                "a formula nests deeper than %d times limits.depth",
                                DEPTH_FACTOR);
        return NULL;
    }
    g->nnode++;
    return table->slots[at] = node;
}

/* Indices by number, then all else by structure. */
static int compare(const bt_node *a, const bt_node *b)
{
    int a_index = a->kind == BT_NODE_INDEX, b_index = b->kind == BT_NODE_INDEX;
    if (a == b)
        return 0;
    if (a_index != b_index)
        return a_index ? -1 : 1;
    if (a_index && a->which != b->which)
        return a->which < b->which ? -1 : 1;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* ---- leaves ---- */

const bt_node *bt__node_const(bt_graph *g, bt_dtype dtype, bt_cell value)
{
    return intern(g, &(bt_node){ .kind = BT_NODE_CONST, .dtype = dtype, .value = value });
}

const bt_node *bt_node_int(bt_graph *g, int64_t value)
{
    return bt__node_const(g, BT_INT64, (bt_cell){ .i = value });
}

const bt_node *bt_node_float(bt_graph *g, bt_dtype dtype, double value)
{
    return bt__node_const(g, dtype, (bt_cell){ .f = bt__float_round(value, dtype) });
}

const bt_node *bt_node_bool(bt_graph *g, int value)
{
    return bt__node_const(g, BT_BOOL, (bt_cell){ .i = value != 0 });
}

const bt_node *bt_node_index(bt_graph *g, uint32_t number, const bt_node *extent)
{
    if (!extent)
        return NULL;
    int64_t known = bt_node_number(extent);
    if (known == 1)
        return bt_node_int(g, 0);
    return intern(g, &(bt_node){ .kind = BT_NODE_INDEX,
                                 .which = number,
                                 .dtype = BT_INT64,
                                 .high = extent->high == INT64_MAX ? BT_MOST_DIM - 1
                                                                   : extent->high - 1,
                                 .narg = known < 0,
                                 .args = &extent });
}

const bt_node *bt__index_again(bt_graph *g, uint32_t number, const bt_node *like,
                               const bt_node *const *args)
{
    return bt_node_index(g, number,
                         like->narg ? args[0] : bt_node_int(g, like->high + 1));
}

const bt_node *bt_node_dim(bt_graph *g, uint32_t which)
{
    const bt_graph_dim *dim = g->dims[which];
    if (dim->low == dim->high)
        return bt_node_int(g, dim->low);
    return intern(g, &(bt_node){ .kind = BT_NODE_DIM,
                                 .which = which,
                                 .dtype = BT_INT64,
                                 .low = dim->low,
                                 .high = dim->high });
}

/* ---- linear forms ---- */

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
    const bt_node *atoms[MAX_TERMS];
    int64_t coefs[MAX_TERMS];
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
        while (at > 0 && compare(l.atoms[i], to->atoms[at - 1]) < 0)
            at--;
        if (at > 0 && to->atoms[at - 1] == l.atoms[i]) {
            to->coefs[at - 1] = plus(to->coefs[at - 1], times(factor, l.coefs[i]));
            continue;
        }
        if (to->n == MAX_TERMS)
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
    return intern(g, &(bt_node){ .kind = BT_NODE_LINEAR,
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
                            "an index expression of more than %d terms", MAX_TERMS);
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

/* ---- scalar operators ---- */

static const bt_node *make_scalar(bt_graph *g, uint32_t which, const bt_node *a,
                                  const bt_node *b)
{
    const struct bt__scalar *row = bt__scalar_get(which);
    const bt_node *args[2] = { a, b };
    if (row->commutes && compare(b, a) < 0) {
        args[0] = b;
        args[1] = a;
    }
    return intern(g, &(bt_node){ .kind = BT_NODE_SCALAR,
                                 .which = which,
                                 .dtype = row->is_test ? BT_BOOL : a->dtype,
                                 .narg = row->narg,
                                 .args = args });
}

/* a by d, rounded down, or what that leaves, where the terms that d does not divide are
 * together at least 0 and below d: the place in a block, and the block. */
static const bt_node *split_by(bt_graph *g, uint32_t which, const bt_node *a, int64_t d)
{
    bt_linear l;
    const bt_node *atoms[2][MAX_TERMS];
    int64_t coefs[2][MAX_TERMS];
    uint32_t n[2] = { 0, 0 };
    bt_node_as_linear(a, &l);
    if (a->low == INT64_MIN || a->high == INT64_MAX)
        return NULL;
    for (uint32_t i = 0; i < l.n; i++) {
        int rest = l.coefs[i] % d != 0;
        atoms[rest][n[rest]] = l.atoms[i];
        coefs[rest][n[rest]++] = rest ? l.coefs[i] : l.coefs[i] / d;
    }
    const bt_node *rest =
        bt_node_linear(g, bt_mod_int64(l.constant, d), n[1], atoms[1], coefs[1]);
    if (!rest || rest->low < 0 || rest->high >= d)
        return NULL;
    return which == BT_SCALAR_MOD ? rest
                                  : bt_node_linear(g, bt_floordiv_int64(l.constant, d),
                                                   n[0], atoms[0], coefs[0]);
}

/* ---- products with dims ---- */

enum { MOST_FACTORS = 16 };

/* An integer that is known once dims are. */
static int is_of_dims(const bt_node *node)
{
    return !node->free && !node->reads && node->dtype == BT_INT64;
}

static uint32_t factors_of(const bt_node *node, const bt_node **out, uint32_t n)
{
    for (; node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_MUL;
         node = node->args[1]) {
        if (n == MOST_FACTORS)
            return n;
        out[n++] = node->args[0];
    }
    if (n < MOST_FACTORS)
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
    return is_of_dims(a) != is_of_dims(b) ? is_of_dims(b) : compare(a, b) < 0;
}

/* The product of two atoms: factors in order, those of dims behind all others. NULL without
 * a failure: they are too many. */
static const bt_node *product_of_atoms(bt_graph *g, const bt_node *a, const bt_node *b)
{
    const bt_node *all[MOST_FACTORS];
    uint32_t n = factors_of(b, all, factors_of(a, all, 0));
    if (n == MOST_FACTORS)
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
        made = intern(g, &(bt_node){ .kind = BT_NODE_SCALAR,
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
static const bt_node *as_linear(bt_graph *g, uint32_t which, const bt_node *a,
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
    case BT_SCALAR_FLOORDIV:
    case BT_SCALAR_MOD:
        return bt_node_is_const(b, &factor) && factor > 0 ? split_by(g, which, a, factor)
                                                          : NULL;
    default: return NULL;
    }
}

static int is_bounded(const bt_node *node)
{
    return node->low != INT64_MIN && node->high != INT64_MAX;
}

/* l divided by what all coefficients share, rounded down: where bounds are known nothing
 * overflows. */
static const bt_node *divide_shared(bt_graph *g, const bt_node *l, int64_t *rest)
{
    bt_linear parts;
    int64_t shared = 0, coefs[MAX_TERMS];
    bt_node_as_linear(l, &parts);
    for (uint32_t i = 0; i < parts.n; i++)
        shared = bt_gcd_int64(shared, parts.coefs[i]);
    *rest = 0;
    if (shared <= 1 || !is_bounded(l))
        return l;
    *rest = bt_mod_int64(parts.constant, shared);
    for (uint32_t i = 0; i < parts.n; i++)
        coefs[i] = parts.coefs[i] / shared;
    return bt_node_linear(g, bt_floordiv_int64(parts.constant, shared), parts.n,
                          parts.atoms, coefs);
}

static const bt_node *with_zero(bt_graph *g, uint32_t which, const bt_node *l)
{
    const bt_node *zero = bt_node_int(g, 0);
    if (!zero)
        return NULL;
    return intern(g, &(bt_node){ .kind = BT_NODE_SCALAR,
                                 .which = which,
                                 .dtype = BT_BOOL,
                                 .narg = 2,
                                 .args = (const bt_node *[]){ zero, l } });
}

/* 0 <= l, whose bounds are known. */
static const bt_node *at_least_zero(bt_graph *g, const bt_node *l)
{
    int64_t rest;
    l = l ? divide_shared(g, l, &rest) : NULL;
    if (!l)
        return NULL;
    // with dims, what their numbers would show: 0 <= n - 1 - i for i in n
    const bt_node *least = g->ndim ? bt__node_end(g, l, 0) : l,
                  *most = g->ndim ? bt__node_end(g, l, 1) : l;
    if (!least || !most)
        return NULL;
    if (least->low >= 0 || most->high < 0)
        return bt_node_bool(g, least->low >= 0);
    return with_zero(g, BT_SCALAR_LE, l);
}

/* 0 == l or 0 != l: exact even where l wraps. */
static const bt_node *equals_zero(bt_graph *g, uint32_t which, const bt_node *l)
{
    int64_t rest;
    bt_linear parts;
    l = l ? divide_shared(g, l, &rest) : NULL;
    if (!l)
        return NULL;
    if (rest || (is_bounded(l) && (l->low > 0 || l->high < 0)))
        return bt_node_bool(g, which == BT_SCALAR_NE);
    if (l->low == 0 && l->high == 0)
        return bt_node_bool(g, which == BT_SCALAR_EQ);
    bt_node_as_linear(l, &parts);
    // of the two signs, one form
    if (parts.n && parts.coefs[0] < 0)
        l = bt_node_linear(g, 0, 1, &l, (int64_t[]){ -1 });
    return l ? with_zero(g, which, l) : NULL;
}

/* Comparisons of int64 by the sign of a difference, where that cannot overflow. */
static const bt_node *as_comparison(bt_graph *g, uint32_t which, const bt_node *a,
                                    const bt_node *b)
{
    int64_t low, high;
    if (which == BT_SCALAR_EQ || which == BT_SCALAR_NE)
        return equals_zero(g, which, linear_sum(g, b, a, -1));
    if ((which != BT_SCALAR_LT && which != BT_SCALAR_LE) ||
        !bt__interval_difference(b, a, &low, &high))
        return NULL;
    const bt_node *l = bt_node_linear(g, which == BT_SCALAR_LT ? -1 : 0, 2,
                                      (const bt_node *[]){ a, b }, (int64_t[]){ -1, 1 });
    // what comes out must be bounded itself: its terms may be others
    return l && is_bounded(l) ? at_least_zero(g, l) : NULL;
}

/* The opposite of a comparison is one too. */
static const bt_node *simplify_not(bt_graph *g, const bt_node *a)
{
    if (a->kind != BT_NODE_SCALAR)
        return NULL;
    if (a->which == BT_SCALAR_NOT)
        return a->args[0];
    if (a->args[0]->dtype != BT_INT64)
        return NULL;
    if (a->which == BT_SCALAR_EQ || a->which == BT_SCALAR_NE)
        return equals_zero(g, a->which == BT_SCALAR_EQ ? BT_SCALAR_NE : BT_SCALAR_EQ,
                           a->args[1]);
    int64_t zero;
    if (a->which == BT_SCALAR_LE && bt_node_is_const(a->args[0], &zero) && zero == 0 &&
        is_bounded(a->args[1]))
        return at_least_zero(g, bt_node_linear(g, -1, 1, &a->args[1], (int64_t[]){ -1 }));
    if (a->which == BT_SCALAR_LE || a->which == BT_SCALAR_LT)
        return bt_node_scalar(g, a->which == BT_SCALAR_LE ? BT_SCALAR_LT : BT_SCALAR_LE,
                              a->args[1], a->args[0]);
    return NULL;
}

static const bt_node *simplify_logic(bt_graph *g, uint32_t which, const bt_node *a,
                                     const bt_node *b)
{
    switch (which) {
    case BT_SCALAR_AND:
        return bt_node_is_false(a) || bt_node_is_true(b) || a == b ? a
               : bt_node_is_true(a) || bt_node_is_false(b)         ? b
                                                                   : NULL;
    case BT_SCALAR_OR:
        return bt_node_is_true(a) || bt_node_is_false(b) || a == b ? a
               : bt_node_is_false(a) || bt_node_is_true(b)         ? b
                                                                   : NULL;
    case BT_SCALAR_NOT: return simplify_not(g, a);
    default: return bt__interval_simplify(g, which, a, b);
    }
}

const bt_node *bt_node_scalar(bt_graph *g, uint32_t which, const bt_node *a,
                              const bt_node *b)
{
    const struct bt__scalar *row = bt__scalar_get(which);
    const bt_node *out = NULL;
    if (!a || (row->narg == 2 && !b))
        return NULL;
    if (a->kind == BT_NODE_CONST && (row->narg == 1 || b->kind == BT_NODE_CONST)) {
        bt_cell args[2] = { a->value, row->narg == 2 ? b->value : a->value };
        return bt__node_const(g, row->is_test ? BT_BOOL : a->dtype,
                              bt_scalar_eval(which, a->dtype, args));
    }
    if (a->dtype == BT_INT64) {
        out = as_linear(g, which, a, b);
        if (!out && !g->status)
            out = as_comparison(g, which, a, b);
    }
    if (!out && !g->status)
        out = simplify_logic(g, which, a, b);
    return out || g->status ? out : make_scalar(g, which, a, b);
}

const bt_node *bt_node_and(bt_graph *g, const bt_node *a, const bt_node *b)
{
    return bt_node_scalar(g, BT_SCALAR_AND, a, b);
}

int bt_node_conjuncts(bt_arena *arena, const bt_node *node, bt_nodes *out)
{
    if (bt_node_is_true(node))
        return 1;
    if (node->kind == BT_NODE_SCALAR && node->which == BT_SCALAR_AND)
        return bt_node_conjuncts(arena, node->args[0], out) &&
               bt_node_conjuncts(arena, node->args[1], out);
    return BT_PUSH(arena, out, node);
}

/* ---- the others ---- */

const bt_node *bt_node_cast(bt_graph *g, bt_dtype dtype, const bt_node *a)
{
    if (!a || a->dtype == dtype)
        return a;
    if (a->kind == BT_NODE_CONST)
        return bt__node_const(g, dtype, bt_cell_cast(a->value, a->dtype, dtype));
    // a choice of numbers stays one: select(c, 1, 0) as the dtype that it meets
    if (a->kind == BT_NODE_SELECT && a->args[1]->kind == BT_NODE_CONST &&
        a->args[2]->kind == BT_NODE_CONST)
        return bt_node_select(g, a->args[0], bt_node_cast(g, dtype, a->args[1]),
                              bt_node_cast(g, dtype, a->args[2]));
    return intern(
        g, &(bt_node){ .kind = BT_NODE_CAST, .dtype = dtype, .narg = 1, .args = &a });
}

const bt_node *bt_node_select(bt_graph *g, const bt_node *c, const bt_node *a,
                              const bt_node *b)
{
    if (!c || !a || !b)
        return NULL;
    if (bt_node_is_true(c) || a == b)
        return a;
    if (bt_node_is_false(c))
        return b;
    if (c->kind == BT_NODE_SCALAR && c->which == BT_SCALAR_NOT)
        return bt_node_select(g, c->args[0], b, a);
    return intern(g, &(bt_node){ .kind = BT_NODE_SELECT,
                                 .dtype = a->dtype,
                                 .narg = 3,
                                 .args = (const bt_node *[]){ c, a, b } });
}

const bt_node *bt_node_read(bt_graph *g, uint32_t array, bt_dtype dtype, uint32_t rank,
                            const bt_node *const *indices)
{
    for (uint32_t i = 0; i < rank; i++) {
        if (!indices[i])
            return NULL;
    }
    return intern(g, &(bt_node){ .kind = BT_NODE_READ,
                                 .which = array,
                                 .dtype = dtype,
                                 .narg = rank,
                                 .args = indices,
                                 .reads = 1 });
}

const bt_node *bt_node_reduce(bt_graph *g, uint32_t reducer, uint32_t first,
                              uint32_t nindex, const bt_node *const *extents,
                              const bt_node *condition, const bt_node *body)
{
    const bt_node *args[2 + BT_MAX_INDEX] = { condition, body };
    if (!condition || !body)
        return NULL;
    for (uint32_t i = 0; i < nindex; i++) {
        args[2 + i] = extents[i];
        if (!extents[i])
            return NULL;
    }
    uint32_t result = bt__reducer_get(reducer)->result;
    return intern(g, &(bt_node){ .kind = BT_NODE_REDUCE,
                                 .which = reducer,
                                 .dtype = result == BT__RESULT_INT64  ? BT_INT64
                                          : result == BT__RESULT_BOOL ? BT_BOOL
                                                                      : body->dtype,
                                 .reduces = 1,
                                 .narg = 2 + nindex,
                                 .args = args,
                                 .nindex = nindex,
                                 .first = first });
}

const bt_node *bt_node_round(bt_graph *g, const bt_node *a)
{
    if (!a || !bt_dtype_is_float(a->dtype) || a->dtype == BT_FLOAT64 ||
        a->kind == BT_NODE_READ || a->kind == BT_NODE_CAST)
        return a;
    if (a->kind == BT_NODE_CONST)
        return bt_node_float(g, a->dtype, a->value.f);
    return intern(
        g, &(bt_node){ .kind = BT_NODE_CAST, .dtype = a->dtype, .narg = 1, .args = &a });
}

const bt_node *bt_node_again(bt_graph *g, const bt_node *node, uint32_t first,
                             const bt_node *const *args)
{
    switch (node->kind) {
    case BT_NODE_LINEAR:
        return bt_node_linear(g, node->value.i, node->narg, args, node->coefs);
    case BT_NODE_SCALAR:
        return bt_node_scalar(g, node->which, args[0], node->narg > 1 ? args[1] : NULL);
    case BT_NODE_CAST:
        return args[0]->dtype == node->dtype ? bt_node_round(g, args[0])
                                             : bt_node_cast(g, node->dtype, args[0]);
    case BT_NODE_SELECT: return bt_node_select(g, args[0], args[1], args[2]);
    case BT_NODE_READ: return bt_node_read(g, node->which, node->dtype, node->narg, args);
    case BT_NODE_REDUCE:
        return bt_node_reduce(g, node->which, first, node->nindex, args + 2, args[0],
                              args[1]);
    default: return node;
    }
}
