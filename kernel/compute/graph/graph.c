/* Nodes of the compute graph: made once, shared, folded, in normal form. */
#include "compute/graph/fold.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "compute/graph/interval.h"

enum { DEPTH_FACTOR = 8 }; /* nodes nest deeper than text: stages of scalars add up */

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

struct bt__look bt__look_begin(const bt_graph *g)
{
    bt_arena *scratch = bt_ctx_scratch(g->ctx);
    return (struct bt__look){ scratch, bt_arena_mark(scratch) };
}

void bt__look_end(const bt_graph *g, const struct bt__look *look)
{
    if (look->arena != g->arena)
        bt_arena_release(look->arena, look->mark);
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

int bt__graph_set_arrays(bt_graph *g, uint32_t n, bt_array *const *arrays)
{
    while (own(g)->cap_array < n) {
        if (!bt_vec_reserve(g->arena, (void **)&g->arrays, &own(g)->cap_array,
                            own(g)->cap_array, sizeof(*arrays)))
            return 0;
    }
    for (uint32_t i = 0; i < n; i++)
        g->arrays[i] = arrays[i];
    g->narray = n;
    return 1;
}

int bt_graph_add_dim(bt_graph *g, const bt_graph_dim *dim, uint32_t *out)
{
    bt_graph_dim *kept = bt__arena_copy(g->arena, dim, 1, sizeof(*dim));
    if (!kept || !bt_vec_reserve(g->arena, (void **)&g->dims, &own(g)->cap_dim, g->ndim,
                                 sizeof(kept)))
        return 0;
    kept->low = kept->low < 0 ? 0 : kept->low;
    kept->high = kept->high > BT_MAX_DIM ? BT_MAX_DIM : kept->high;
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
const bt_node *bt__node_intern(bt_graph *g, bt_node *like)
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

int bt__graph_has(const bt_graph *g, const bt_node *node)
{
    const struct graph *table = (const struct graph *)(const void *)g;
    uint32_t at = (uint32_t)node->hash & (table->nslot - 1);
    while (table->nslot && table->slots[at] && table->slots[at] != node)
        at = (at + 1) & (table->nslot - 1);
    return table->nslot && table->slots[at] == node;
}

/* Indices by number, then all else by structure. */
int bt__node_compare(const bt_node *a, const bt_node *b)
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

/* What an author may get wrong and no node can say: the graph's status does. */
static const bt_node *refuse(bt_graph *g, const char *what, uint32_t number)
{
    if (!g->status)
        g->status = bt_fail(g->ctx, BT_ERR_ARGUMENT, "a graph cannot have %s %" PRIu32,
                            what, number);
    return NULL;
}

/* ---- leaves ---- */

const bt_node *bt__node_const(bt_graph *g, bt_dtype dtype, bt_cell value)
{
    return bt__node_intern(
        g, &(bt_node){ .kind = BT_NODE_CONST, .dtype = dtype, .value = value });
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
    if (number >= BT_MAX_INDEX)
        return refuse(g, "an index", number);
    int64_t known = bt_node_number(extent);
    if (known == 1)
        return bt_node_int(g, 0);
    return bt__node_intern(
        g,
        &(bt_node){ .kind = BT_NODE_INDEX,
                    .which = number,
                    .dtype = BT_INT64,
                    .high = extent->high == INT64_MAX ? BT_MAX_DIM - 1 : extent->high - 1,
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
    if (which >= g->ndim)
        return refuse(g, "dim", which);
    const bt_graph_dim *dim = g->dims[which];
    if (dim->low == dim->high)
        return bt_node_int(g, dim->low);
    return bt__node_intern(g, &(bt_node){ .kind = BT_NODE_DIM,
                                          .which = which,
                                          .dtype = BT_INT64,
                                          .low = dim->low,
                                          .high = dim->high });
}

/* ---- scalar operators ---- */

static const bt_node *make_scalar(bt_graph *g, uint32_t which, const bt_node *a,
                                  const bt_node *b)
{
    const struct bt__scalar *row = bt__scalar_get(which);
    const bt_node *args[2] = { a, b };
    if (row->commutes && bt__node_compare(b, a) < 0) {
        args[0] = b;
        args[1] = a;
    }
    return bt__node_intern(g, &(bt_node){ .kind = BT_NODE_SCALAR,
                                          .which = which,
                                          .dtype = row->is_test ? BT_BOOL : a->dtype,
                                          .narg = row->narg,
                                          .args = args });
}

const bt_node *bt_node_scalar(bt_graph *g, uint32_t which, const bt_node *a,
                              const bt_node *b)
{
    if (which >= BT_SCALAR_COUNT)
        return refuse(g, "scalar operator", which);
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
        out = bt__node_arithmetic(g, which, a, b);
        if (!out && !g->status)
            out = bt__node_comparison(g, which, a, b);
    }
    if (!out && !g->status)
        out = bt__node_logic(g, which, a, b);
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

static int is_int64(bt_dtype dtype)
{
    const uint32_t class_ = BT_DTYPE_CLASS(dtype);
    return class_ == BT_CLASS_INT || (class_ == BT_CLASS_UINT && dtype != BT_UINT64);
}

const bt_node *bt_node_cast(bt_graph *g, bt_dtype dtype, const bt_node *a)
{
    if (!a || a->dtype == dtype)
        return a;
    if (a->kind == BT_NODE_CONST)
        return bt__node_const(g, dtype, bt_cell_cast(a->value, a->dtype, dtype));
    // an integer in int64 is the same number
    if (a->kind == BT_NODE_CAST && a->dtype == BT_INT64 && is_int64(a->args[0]->dtype))
        return bt_node_cast(g, dtype, a->args[0]);
    // a choice of numbers stays one: select(c, 1, 0) as the dtype that it meets
    if (a->kind == BT_NODE_SELECT && a->args[1]->kind == BT_NODE_CONST &&
        a->args[2]->kind == BT_NODE_CONST)
        return bt_node_select(g, a->args[0], bt_node_cast(g, dtype, a->args[1]),
                              bt_node_cast(g, dtype, a->args[2]));
    return bt__node_intern(
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
    return bt__node_intern(g, &(bt_node){ .kind = BT_NODE_SELECT,
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
    return bt__node_intern(g, &(bt_node){ .kind = BT_NODE_READ,
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
    if (reducer >= BT_REDUCER_COUNT)
        return refuse(g, "reducer", reducer);
    if (first > BT_MAX_INDEX || nindex > BT_MAX_INDEX - first)
        return refuse(g, "a reduction up to index", first + nindex);
    for (uint32_t i = 0; i < nindex; i++) {
        args[2 + i] = extents[i];
        if (!extents[i])
            return NULL;
    }
    uint32_t result = bt__reducer_get(reducer)->result;
    return bt__node_intern(g,
                           &(bt_node){ .kind = BT_NODE_REDUCE,
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

const bt_node *bt__row_position(bt_graph *g, uint32_t first, uint32_t nindex,
                                const bt_node *const *extents)
{
    const bt_node *at = bt_node_int(g, 0);
    for (uint32_t i = 0; i < nindex; i++)
        at = bt_node_scalar(g, BT_SCALAR_ADD,
                            bt_node_scalar(g, BT_SCALAR_MUL, at, extents[i]),
                            bt_node_index(g, first + i, extents[i]));
    return at;
}

const bt_node *bt_node_round(bt_graph *g, const bt_node *a)
{
    if (!a || !bt_dtype_is_float(a->dtype) || a->dtype == BT_FLOAT64 ||
        a->kind == BT_NODE_READ || a->kind == BT_NODE_CAST)
        return a;
    if (a->kind == BT_NODE_CONST)
        return bt_node_float(g, a->dtype, a->value.f);
    return bt__node_intern(
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
