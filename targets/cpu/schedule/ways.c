#include "ways.h"

bt_status cpu_ways_find(bt_ctx *ctx, bt_arena *arena, struct cpu_ways *out)
{
    const uint32_t n = bt_provided_len(ctx, BT_CPU_WAY_INTERFACE);
    *out = (struct cpu_ways){ .at = BT_NEWS(arena, const bt_cpu_way *, n) };
    if (!out->at)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        bt_provided item;
        const void *row;
        BT_TRY(bt_provided_at(ctx, BT_CPU_WAY_INTERFACE, i, &item));
        BT_TRY(bt_registry_row(ctx, BT_CPU_WAY_INTERFACE, item.name, sizeof(bt_cpu_way),
                               &row));
        out->at[out->n] = row;
        if (!out->at[out->n++]->make)
            return bt_fail(ctx, BT_ERR_PLUGIN, "%s of %s does not state make", item.name,
                           BT_CPU_WAY_INTERFACE);
    }
    return NULL;
}

/* ---- order ---- */

struct sorter {
    const bt_graph *graph;
    uint8_t *state; /* of each array */
    uint8_t *seen;  /* of each node */
    uint32_t *order, n;
    int is_circular;
};
enum { NEW, OPEN, DONE };

static void visit_array(struct sorter *s, uint32_t array);

static void visit_node(struct sorter *s, const bt_node *node)
{
    if (!node->reads || s->seen[node->id])
        return;
    for (uint32_t i = 0; i < node->narg; i++)
        visit_node(s, node->args[i]);
    if (node->kind == BT_NODE_READ)
        visit_array(s, node->which);
    s->seen[node->id] = 1;
}

static void visit_array(struct sorter *s, uint32_t array)
{
    if (array >= s->graph->narray || s->state[array] == OPEN)
        s->is_circular = 1;
    if (array >= s->graph->narray || array < s->graph->ninput || s->state[array] != NEW)
        return;
    s->state[array] = OPEN;
    visit_node(s, s->graph->arrays[array]->body);
    s->state[array] = DONE;
    s->order[s->n++] = array;
}

static bt_status sort(bt_ctx *ctx, bt_arena *arena, const bt_cpu_way *way,
                      const bt_graph *g, const uint32_t **order)
{
    struct sorter s = { .graph = g,
                        .state = BT_NEWS(arena, uint8_t, g->narray),
                        .seen = BT_NEWS(arena, uint8_t, (size_t)g->nnode + 1),
                        .order = BT_NEWS(arena, uint32_t, g->narray) };
    if (!s.state || !s.seen || !s.order)
        return bt_no_memory();
    for (uint32_t i = g->ninput; i < g->narray; i++)
        visit_array(&s, i);
    *order = s.order;
    return s.is_circular ? bt_fail(ctx, BT_ERR_PLUGIN,
                                   "way %s makes stages that need themselves", way->name)
                         : NULL;
}

bt_status cpu_way_make(bt_ctx *ctx, bt_arena *arena, const struct cpu_way_call *of,
                       struct cpu_way_made *out)
{
    bt_graph *g = of->graph;
    const uint32_t ninput = g->ninput, nresult = g->nresult;
    bt_cpu_way_call call = { .nbytes = sizeof(call),
                             .primitive = of->func,
                             .graph = g,
                             .is_constant = of->config->is_constant,
                             .isa = cpu_isa_name(of->config->isa),
                             .is_exact = of->config->accuracy == CPU_EXACT };
    bt_status status = of->way->make(ctx, arena, &call);
    *out = (struct cpu_way_made){ .is_made = !status && call.is_made, .ns = call.ns };
    if (status && status->code != BT_ERR_UNSUPPORTED)
        return bt_note(ctx, status, NULL, 0, "in way %s of target cpu", of->way->name);
    if (!out->is_made)
        return NULL;
    if (g->status || g->ninput != ninput || g->nresult != nresult)
        return g->status ? g->status
                         : bt_fail(ctx, BT_ERR_PLUGIN,
                                   "way %s changes what function %s takes and gives",
                                   of->way->name, of->func->name ? of->func->name : "");
    return sort(ctx, arena, of->way, g, &out->order);
}
