/*
 * Reductions as stages of their own.
 *
 *     y[i, j] = x[i, j] / sum(k: x[i, k])
 *  -> s[i] = sum(k: x[i, k]);  y[i, j] = x[i, j] / s[i]
 */
#include "compute/derivative/derivative.h"

struct splitting {
    bt_graph *graph;
    bt_vec(bt_array *) arrays; /* as they will be, in order */
    uint32_t *now;             /* an array's new number, by the old */
    const char *name;          /* of the stage that is looked at */
    const bt_node **memo;      /* by id of the first nmemo nodes */
    uint32_t nmemo;
};

static const bt_node *split(struct splitting *, const bt_node *);

/* Numbers of a node's free indices, and the indices themselves. */
struct free_indices {
    uint32_t n;
    const bt_node *at[BT_MAX_INDEX];
};

static void find_indices(const bt_node *node, uint64_t wanted, uint8_t *seen,
                         const bt_node **found)
{
    if (!(node->free & wanted) || seen[node->id])
        return;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_INDEX)
        found[node->which] = node;
    for (uint32_t i = 0; i < node->narg; i++)
        find_indices(node->args[i], wanted, seen, found);
}

static int free_indices(bt_graph *g, const bt_node *node, struct free_indices *out)
{
    const bt_node *found[BT_MAX_INDEX] = { 0 };
    const struct bt__look look = bt__look_begin(g);
    uint8_t *seen = BT_NEWS(look.arena, uint8_t, g->nnode);
    if (seen)
        find_indices(node, node->free, seen, found);
    bt__look_end(g, &look);
    out->n = 0;
    for (uint32_t i = 0; i < BT_MAX_INDEX; i++) {
        if (found[i])
            out->at[out->n++] = found[i];
    }
    return seen != NULL;
}

static const bt_node *extent_of(bt_graph *g, const bt_node *index)
{
    return index->narg ? index->args[0] : bt_node_int(g, index->high + 1);
}

/* A reduction, whose parts hold none any more, as a stage; its value there. */
static const bt_node *to_stage(struct splitting *s, const bt_node *reduce)
{
    bt_graph *g = s->graph;
    struct free_indices free;
    const bt_node *axes[BT_MAX_INDEX] = { 0 };
    bt_array *array = BT_NEW(g->arena, bt_array);
    if (!array || !free_indices(g, reduce, &free))
        return bt__graph_no_memory(g);
    if (free.n > BT_MAX_RANK) {
        if (!g->status)
            g->status = bt_fail(g->ctx, BT_ERR_UNSUPPORTED,
                                "a reduction inside of an expression depends on %u "
                                "indices, a stage has %d at most",
                                free.n, BT_MAX_RANK);
        return NULL;
    }
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, free.n);
    if (!extents)
        return bt__graph_no_memory(g);
    for (uint32_t i = 0; i < free.n; i++) {
        extents[i] = extent_of(g, free.at[i]);
        axes[free.at[i]->which] = bt_node_index(g, i, extents[i]);
        if (!axes[free.at[i]->which])
            return NULL;
    }
    *array = (bt_array){ .name = s->name,
                         .dtype = reduce->dtype,
                         .rank = free.n,
                         .extents = extents,
                         .body = bt__node_place(g, reduce, reduce->first, axes, free.n) };
    if (!array->body || !BT_PUSH(g->arena, &s->arrays, array))
        return array->body ? bt__graph_no_memory(g) : NULL;
    return bt_node_read(g, s->arrays.len - 1, array->dtype, free.n, free.at);
}

/* A product over several indices, of products over the last of them: its derivative takes one
 * index at a time. */
static const bt_node *split_product(struct splitting *s, const bt_node *node)
{
    bt_graph *g = s->graph;
    if (!node || node->which != BT_REDUCER_PROD || node->nindex < 2)
        return node;
    const bt_node *inner =
        bt_node_reduce(g, node->which, node->first + 1, node->nindex - 1, node->args + 3,
                       node->args[0], node->args[1]);
    inner = split_product(s, inner);
    inner = inner ? to_stage(s, inner) : NULL;
    return bt_node_reduce(g, node->which, node->first, 1, node->args + 2,
                          bt_node_bool(g, 1), inner);
}

static const bt_node *split_new(struct splitting *s, const bt_node *node, int is_whole)
{
    bt_graph *g = s->graph;
    const bt_node **args = BT_NEWS(g->arena, const bt_node *, node->narg);
    if (!args)
        return bt__graph_no_memory(g);
    for (uint32_t i = 0; i < node->narg; i++) {
        args[i] = split(s, node->args[i]);
        if (!args[i])
            return NULL;
    }
    if (node->kind == BT_NODE_READ)
        return bt_node_read(g, s->now[node->which], node->dtype, node->narg, args);
    node = bt_node_again(g, node, node->first, args);
    if (!node || node->kind != BT_NODE_REDUCE)
        return node;
    node = split_product(s, node);
    return node && !is_whole ? to_stage(s, node) : node;
}

static const bt_node *split(struct splitting *s, const bt_node *node)
{
    if (!node->reads && !node->reduces)
        return node;
    if (node->id >= s->nmemo)
        return split_new(s, node, 0);
    if (!s->memo[node->id])
        s->memo[node->id] = split_new(s, node, 0);
    return s->memo[node->id];
}

static bt_status split_stage(struct splitting *s, uint32_t number)
{
    bt_graph *g = s->graph;
    bt_array *stage = g->arrays[number];
    s->name = stage->name;
    s->nmemo = g->nnode;
    s->memo = BT_NEWS(g->arena, const bt_node *, s->nmemo);
    if (!s->memo)
        return bt_no_memory();
    stage->body = stage->body->reads || stage->body->reduces
                      ? split_new(s, stage->body, 1)
                      : stage->body;
    if (!stage->body)
        return bt__derive_why(g);
    s->now[number] = s->arrays.len;
    return BT_PUSH(g->arena, &s->arrays, stage) ? NULL : bt_no_memory();
}

bt_status bt__graph_split(bt_graph *g)
{
    struct splitting s = { .graph = g };
    const uint32_t narray = g->narray;
    uint32_t *results = BT_NEWS(g->arena, uint32_t, g->nresult);
    s.now = BT_NEWS(g->arena, uint32_t, narray);
    if (!s.now || !results)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->ninput; i++) {
        s.now[i] = i;
        if (!BT_PUSH(g->arena, &s.arrays, g->arrays[i]))
            return bt_no_memory();
    }
    for (uint32_t i = g->ninput; i < narray; i++)
        BT_TRY(split_stage(&s, i));
    for (uint32_t i = 0; i < g->nresult; i++)
        results[i] = s.now[g->results[i]];
    g->results = results;
    return bt__graph_set_arrays(g, s.arrays.len, s.arrays.at) ? NULL : bt_no_memory();
}
