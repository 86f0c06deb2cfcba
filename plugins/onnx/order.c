#include "order.h"

/* A node's state while the order is made. */
enum { WAITING, ENTERED, PLACED };

typedef bt_vec(uint32_t) index_list;

struct order {
    bt_ctx *ctx;
    bt_arena *arena;
    const char *path;
    const struct onnx_graph *graph;
    bt_map makers;    /* name of a value -> 1 + index of the node that gives it */
    index_list *uses; /* per node: the nodes whose results it uses */
};

static bt_status add_use(struct order *o, uint32_t user, const char *name)
{
    uintptr_t maker = (uintptr_t)bt_map_find(&o->makers, name);
    return !maker || BT_PUSH(o->arena, &o->uses[user], (uint32_t)(maker - 1))
               ? NULL
               : bt_no_memory();
}

/* What graphs within the node take from this one counts too. They nest no deeper than the
 * reader let them. */
static bt_status add_uses(struct order *o, uint32_t user, const struct onnx_node *node)
{
    for (uint32_t i = 0; i < node->inputs.len; i++)
        BT_TRY(add_use(o, user, node->inputs.at[i]));
    for (uint32_t i = 0; i < node->attrs.len; i++) {
        const struct onnx_graph *inner = node->attrs.at[i].g;
        for (uint32_t k = 0; inner && k < inner->nodes.len; k++)
            BT_TRY(add_uses(o, user, &inner->nodes.at[k]));
        for (uint32_t k = 0; inner && k < inner->outputs.len; k++)
            BT_TRY(add_use(o, user, inner->outputs.at[k].name));
    }
    return NULL;
}

static bt_status find_makers(struct order *o)
{
    bt_map_init(&o->makers, o->arena, 1);
    for (uint32_t i = 0; i < o->graph->nodes.len; i++) {
        const struct onnx_node *node = &o->graph->nodes.at[i];
        for (uint32_t k = 0; k < node->outputs.len; k++) {
            const char *name = node->outputs.at[k];
            if (*name && !bt_map_put(&o->makers, name, (void *)((uintptr_t)i + 1)))
                return bt_no_memory();
        }
    }
    return NULL;
}

static int is_sorted(const struct order *o)
{
    for (uint32_t i = 0; i < o->graph->nodes.len; i++) {
        for (uint32_t k = 0; k < o->uses[i].len; k++) {
            if (o->uses[i].at[k] >= i)
                return 0;
        }
    }
    return 1;
}

/* Places a node after those it uses, depth first, with a stack of its own. */
static bt_status place(struct order *o, uint32_t first, uint8_t *states, uint32_t *out,
                       uint32_t *nout)
{
    index_list stack = { 0 };
    if (!BT_PUSH(o->arena, &stack, first))
        return bt_no_memory();
    while (stack.len) {
        uint32_t node = stack.at[stack.len - 1];
        if (states[node] != WAITING) {
            stack.len--;
            if (states[node] == ENTERED)
                out[(*nout)++] = node;
            states[node] = PLACED;
            continue;
        }
        states[node] = ENTERED;
        for (uint32_t i = 0; i < o->uses[node].len; i++) {
            uint32_t used = o->uses[node].at[i];
            if (states[used] == ENTERED)
                return bt_fail(o->ctx, BT_ERR_FORMAT,
                               "%s: node %s reads what is computed from its own output",
                               o->path, onnx_node_name(&o->graph->nodes.at[used]));
            if (states[used] == WAITING && !BT_PUSH(o->arena, &stack, used))
                return bt_no_memory();
        }
    }
    return NULL;
}

static bt_status find_order(struct order *o, uint32_t *out)
{
    uint32_t n = o->graph->nodes.len, nout = 0;
    uint8_t *states = BT_NEWS(o->arena, uint8_t, n);
    if (!states)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(place(o, i, states, out, &nout));
    return NULL;
}

bt_status graph_order(bt_ctx *ctx, bt_arena *arena, const char *path,
                      const struct onnx_graph *graph, const uint32_t **out)
{
    struct order o = { .ctx = ctx, .arena = arena, .path = path, .graph = graph };
    uint32_t n = graph->nodes.len, *order = BT_NEWS(arena, uint32_t, n);

    o.uses = BT_NEWS(arena, index_list, n);
    if (!order || !o.uses)
        return bt_no_memory();
    BT_TRY(find_makers(&o));
    for (uint32_t i = 0; i < n; i++)
        BT_TRY(add_uses(&o, i, &graph->nodes.at[i]));
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (!is_sorted(&o))
        BT_TRY(find_order(&o, order));
    *out = order;
    return NULL;
}
