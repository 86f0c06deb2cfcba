/*
 * A node stands in a local where it is used more than once, is no leaf and more than cheap
 * index arithmetic, and where a local holds all of its value: float32 that is not rounded
 * yet has more digits than that. What a stage hands to another is rounded (compose), so
 * expressions written with locals are as long as the formulas that they come from.
 */
#include "compute/graph/share.h"

/* Integers of so few nodes, which are what indices and conditions are made of, are
 * computed where they are used. */
enum { CHEAP_NODES = 16 };

struct look {
    uint32_t *uses; /* by id, as all of these */
    /* Of the expression; what is shared counts as a node; 0: not known. */
    uint32_t *sizes;
    uint8_t *exact; /* whether its dtype holds it */
    uint8_t *marks;
};

static void count_uses(struct look *l, const bt_node *node)
{
    if (l->uses[node->id]++)
        return;
    for (uint32_t i = 0; i < node->narg; i++)
        count_uses(l, node->args[i]);
}

static int is_exact(const struct look *l, const bt_node *node)
{
    if (!bt_dtype_is_float(node->dtype) || node->dtype == BT_FLOAT64)
        return 1;
    switch (node->kind) {
    case BT_NODE_READ:
    case BT_NODE_CAST:
    case BT_NODE_REDUCE: return 1;
    case BT_NODE_CONST:
        return bt_cell_cast(node->value, BT_FLOAT64, node->dtype).f == node->value.f;
    case BT_NODE_SELECT:
        return l->exact[node->args[1]->id] && l->exact[node->args[2]->id];
    case BT_NODE_SCALAR:
        return (node->which == BT_SCALAR_MAX || node->which == BT_SCALAR_MIN ||
                node->which == BT_SCALAR_NEG || node->which == BT_SCALAR_ABS) &&
               l->exact[node->args[0]->id] && l->exact[node->args[node->narg - 1]->id];
    default: return 0;
    }
}

static int is_worth_it(const struct look *l, const bt_node *node)
{
    int is_small = l->sizes[node->id] <= CHEAP_NODES;
    switch (node->kind) {
    case BT_NODE_REDUCE: return 1;
    case BT_NODE_LINEAR: return !is_small;
    case BT_NODE_SCALAR:
    case BT_NODE_CAST:
    case BT_NODE_SELECT: return !is_small || (node->reads && node->dtype != BT_INT64);
    default: return 0;
    }
}

static void look(struct look *l, const bt_node *node)
{
    uint32_t size = 1;
    if (l->sizes[node->id])
        return;
    for (uint32_t i = 0; i < node->narg - node->nindex; i++) {
        const bt_node *arg = node->args[i];
        look(l, arg);
        size += l->marks[arg->id] ? 1 : l->sizes[arg->id];
    }
    l->sizes[node->id] = size;
    l->exact[node->id] = (uint8_t)is_exact(l, node);
    l->marks[node->id] =
        l->uses[node->id] > 1 && l->exact[node->id] && is_worth_it(l, node);
}

int bt__shared_find(bt_arena *arena, const bt_graph *g, uint32_t nroot,
                    const bt_node *const *roots, struct bt__shared *out)
{
    struct look l;
    l.uses = BT_NEWS(arena, uint32_t, g->nnode);
    l.sizes = BT_NEWS(arena, uint32_t, g->nnode);
    l.exact = BT_NEWS(arena, uint8_t, g->nnode);
    l.marks = BT_NEWS(arena, uint8_t, g->nnode);
    if (!l.uses || !l.sizes || !l.exact || !l.marks)
        return 0;
    for (uint32_t i = 0; i < nroot; i++)
        count_uses(&l, roots[i]);
    for (uint32_t i = 0; i < nroot; i++)
        look(&l, roots[i]);
    *out = (struct bt__shared){ .n = g->nnode, .marks = l.marks };
    return 1;
}
