/* Indices and arrays replaced, in nodes that are made again. */
#include "compute/graph/graph.h"

struct replacing {
    bt_graph *graph;
    uint32_t number, shift; /* what higher numbers lose, modulo 2^32 */
    const bt_node *by;
    const bt_node **memo; /* by id of the nodes that there were */
    uint32_t nmemo;
};

static const bt_node *replace(struct replacing *r, const bt_node *node);

static const bt_node *replace_args(struct replacing *r, const bt_node *node)
{
    bt_graph *g = r->graph;
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, node->narg);
    if (!args)
        return bt__graph_no_memory(g);
    for (uint32_t i = 0; i < node->narg; i++) {
        args[i] = replace(r, node->args[i]);
        if (!args[i])
            return NULL;
    }
    return bt_node_again(g, node, node->first - (node->first > r->number) * r->shift,
                         args);
}

static const bt_node *replace(struct replacing *r, const bt_node *node)
{
    if (node->id < r->nmemo && r->memo[node->id])
        return r->memo[node->id];
    const bt_node *out;
    if (node->kind == BT_NODE_INDEX)
        out = node->which == r->number ? r->by
              : node->which > r->number
                  ? bt__index_again(r->graph, node->which - r->shift, node, node->args)
                  : node;
    else
        out = node->narg ? replace_args(r, node) : node;
    if (node->id < r->nmemo)
        r->memo[node->id] = out;
    return out;
}

static const bt_node *replace_all(bt_graph *g, const bt_node *node, uint32_t number,
                                  const bt_node *by, uint32_t shift)
{
    if (!node || !by)
        return NULL;
    struct replacing r = {
        .graph = g, .number = number, .shift = shift, .by = by, .nmemo = g->nnode
    };
    const struct bt__look look = bt__look_begin(g);
    r.memo = BT_NEWS(look.arena, const bt_node *, g->nnode);
    const bt_node *out = r.memo ? replace(&r, node) : bt__graph_no_memory(g);
    bt__look_end(g, &look);
    return out;
}

const bt_node *bt__node_replace_index(bt_graph *g, const bt_node *node, uint32_t number,
                                      const bt_node *by)
{
    return replace_all(g, node, number, by, 1);
}

/* The block of an index that some quotient or remainder of it asks for; the last of the
 * numbers that reductions below take. */
struct blocks {
    uint32_t number, last;
    int64_t factor; /* 0: none */
    uint8_t *seen;  /* by id */
};

static void find_block(struct blocks *b, const bt_node *node)
{
    int64_t factor;
    if (b->seen[node->id])
        return;
    b->seen[node->id] = 1;
    if (node->kind == BT_NODE_REDUCE && node->first + node->nindex > b->last)
        b->last = node->first + node->nindex;
    if (node->kind == BT_NODE_SCALAR &&
        (node->which == BT_SCALAR_FLOORDIV || node->which == BT_SCALAR_MOD) &&
        node->args[0]->kind == BT_NODE_INDEX && node->args[0]->which == b->number &&
        bt_node_is_const(node->args[1], &factor) && factor > 1)
        b->factor = factor;
    for (uint32_t i = 0; i < node->narg; i++)
        find_block(b, node->args[i]);
}

/* The reduction with one index as two, the block and the place in it; itself where nothing
 * asks for that, or blocks are not full. NULL: failure. */
static const bt_node *split_index(bt_graph *g, const bt_node *node, uint32_t at)
{
    uint32_t number = node->first + at;
    struct blocks b = { .number = number, .last = node->first + node->nindex };
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, node->nindex + 1);
    int64_t extent = bt_node_number(node->args[2 + at]);
    const bt_node *pair[2], *parts[2];
    const struct bt__look look = bt__look_begin(g);
    b.seen = BT_NEWS(look.arena, uint8_t, g->nnode);
    if (b.seen) {
        find_block(&b, node->args[0]);
        find_block(&b, node->args[1]);
    }
    bt__look_end(g, &look);
    if (!b.seen || !extents)
        return bt__graph_no_memory(g);
    if (!b.factor || extent < 0 || extent % b.factor || b.last >= BT_MAX_INDEX)
        return node;
    for (uint32_t i = 0; i <= node->nindex; i++)
        extents[i] = node->args[2 + i - (i > at)];
    extents[at] = bt_node_int(g, extent / b.factor);
    extents[at + 1] = bt_node_int(g, b.factor);
    pair[0] = bt_node_index(g, number, extents[at]);
    pair[1] = bt_node_index(g, number + 1, extents[at + 1]);
    const bt_node *by = bt_node_linear(g, 0, 2, pair, (int64_t[]){ b.factor, 1 });
    for (uint32_t i = 0; i < 2; i++)
        parts[i] = replace_all(g, node->args[i], number, by, (uint32_t)-1); // one up
    return bt_node_reduce(g, node->which, node->first, node->nindex + 1, extents,
                          parts[0], parts[1]);
}

/* A position stays the same: the block and the place in it follow each other. */
const bt_node *bt__node_split_blocks(bt_graph *g, const bt_node *node)
{
    for (uint32_t i = 0; node && i < node->nindex; i++)
        node = split_index(g, node, i);
    return node;
}

const bt_node *bt_node_substitute(bt_graph *g, const bt_node *node, uint32_t number,
                                  const bt_node *by)
{
    return replace_all(g, node, number, by, 0);
}

/* ---- an expression of a stage at another place ---- */

struct placing {
    bt_graph *graph;
    uint32_t rank, next;
    const bt_node *const *axes;
    const bt_node **memo; /* by id */
    uint32_t nmemo;
};

static const bt_node *too_many(bt_graph *g)
{
    if (!g->status)
        g->status = bt_fail(g->ctx, BT_ERR_LIMIT,
                            "a function's formulas nest more than %d indices when they "
                            "are joined",
                            BT_MAX_INDEX);
    return NULL;
}

static const bt_node *place(struct placing *p, const bt_node *node);

static const bt_node *place_new(struct placing *p, const bt_node *node)
{
    bt_graph *g = p->graph;
    if (node->kind == BT_NODE_INDEX) {
        if (node->which < p->rank)
            return p->axes[node->which];
        return bt__index_again(g, node->which - p->rank + p->next, node, node->args);
    }
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, node->narg);
    if (!args)
        return bt__graph_no_memory(g);
    for (uint32_t i = 0; i < node->narg; i++) {
        args[i] = place(p, node->args[i]);
        if (!args[i])
            return NULL;
    }
    if (node->kind == BT_NODE_REDUCE &&
        node->first - p->rank + p->next + node->nindex > BT_MAX_INDEX)
        return too_many(g);
    return bt_node_again(g, node, node->first - p->rank + p->next, args);
}

static const bt_node *place(struct placing *p, const bt_node *node)
{
    if (!node->free && node->kind != BT_NODE_REDUCE && !node->reads)
        return node;
    if (node->id >= p->nmemo)
        return place_new(p, node);
    if (!p->memo[node->id])
        p->memo[node->id] = place_new(p, node);
    return p->memo[node->id];
}

const bt_node *bt__node_place(bt_graph *g, const bt_node *node, uint32_t rank,
                              const bt_node *const *axes, uint32_t next)
{
    struct placing p = { .graph = g, .rank = rank, .next = next, .axes = axes };
    if (!node)
        return NULL;
    p.nmemo = g->nnode;
    p.memo = BT_NEWS(g->arena, const bt_node *, p.nmemo);
    return p.memo ? place(&p, node) : bt__graph_no_memory(g);
}

const bt_node *bt__graph_place(bt_graph *g, uint32_t array, uint32_t next,
                               const bt_node *const *axes)
{
    const bt_array *stage = g->arrays[array];
    return bt_node_round(g, bt__node_place(g, stage->body, stage->rank, axes, next));
}

/* ---- arrays by other numbers ---- */

struct renaming {
    bt_graph *graph;
    const uint32_t *now;
    const bt_node **memo;
};

static const bt_node *rename_arrays(struct renaming *r, const bt_node *node)
{
    bt_graph *g = r->graph;
    if (!node->reads || r->memo[node->id])
        return node->reads ? r->memo[node->id] : node;
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, node->narg);
    if (!args)
        return bt__graph_no_memory(g);
    for (uint32_t i = 0; i < node->narg; i++) {
        args[i] = rename_arrays(r, node->args[i]);
        if (!args[i])
            return NULL;
    }
    return r->memo[node->id] =
               node->kind == BT_NODE_READ
                   ? bt_node_read(g, r->now[node->which], node->dtype, node->narg, args)
                   : bt_node_again(g, node, node->first, args);
}

const bt_node *bt__node_rename_arrays(bt_graph *g, const bt_node *node,
                                      const uint32_t *now)
{
    struct renaming r = { .graph = g, .now = now };
    r.memo = BT_NEWS(g->arena, const bt_node *, g->nnode);
    return r.memo ? rename_arrays(&r, node) : bt__graph_no_memory(g);
}
