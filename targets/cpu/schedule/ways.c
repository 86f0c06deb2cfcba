#include "ways.h"

#include <math.h>
#include <string.h>

/* ---- those that there are ---- */

static bt_status find_one(bt_ctx *ctx, const char *name, const bt_cpu_way **out)
{
    const void *row;
    BT_TRY(bt_registry_row(ctx, BT_CPU_WAY_INTERFACE, name, sizeof(bt_cpu_way), &row));
    *out = row;
    if (!strchr(name, '.'))
        return bt_fail(
            ctx, BT_ERR_PLUGIN,
            "way %s has no dot in its name, as example.separable has: such names "
            "are target cpu's own",
            name);
    return (*out)->make ? NULL
                        : bt_fail(ctx, BT_ERR_PLUGIN, "%s of %s does not state make",
                                  name, BT_CPU_WAY_INTERFACE);
}

/* A plugin that cannot be used does not keep others from compiling. */
static bt_status leave_out(bt_ctx *ctx, const char *plugin, bt_status why)
{
    if (why->code == BT_ERR_MEMORY)
        return why;
    bt_remark(
        ctx, BT_REMARK_NOTE,
        bt_note(ctx, why, NULL, 0,
                "target cpu does without this way of plugin %s; baton plugin check %s "
                "looks at all that it has",
                plugin, plugin));
    return NULL;
}

bt_status cpu_ways_find(bt_ctx *ctx, bt_arena *arena, const char *wanted,
                        struct cpu_ways *out)
{
    const uint32_t n = bt_provided_len(ctx, BT_CPU_WAY_INTERFACE);
    const char *last = "";
    int is_found = !wanted;
    *out = (struct cpu_ways){ .at = BT_NEWS(arena, const bt_cpu_way *, n) };
    if (!out->at)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        bt_provided item;
        BT_TRY(bt_provided_at(ctx, BT_CPU_WAY_INTERFACE, i, &item));
        if (strcmp(item.name, last) == 0)
            continue; // of two plugins, which is the first's fault already, or chosen
        last = item.name;
        bt_status why = find_one(ctx, item.name, &out->at[out->n]);
        const int is_wanted = wanted && strcmp(item.name, wanted) == 0;
        is_found |= is_wanted;
        if (why && is_wanted)
            return why;
        if (why)
            BT_TRY(leave_out(ctx, bt_plugin_id(item.plugin), why));
        else
            out->n++;
    }
    return is_found ? NULL
                    : bt_fail(ctx, BT_ERR_NAME,
                              "no plugin has way %s; baton list ways shows all", wanted);
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
    s->is_circular |= s->state[array] == OPEN;
    if (array < s->graph->ninput || s->state[array] != NEW)
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

/* ---- what it was before ---- */

/* What a way finds and has to leave as it is. */
struct before {
    uint32_t ninput, ndim, nresult, narray;
    bt_array *arrays; /* copies */
    const bt_node ***extents;
    uint32_t *results;
};

static bt_status remember(bt_arena *arena, const bt_graph *g, struct before *b)
{
    *b = (struct before){ .ninput = g->ninput,
                          .ndim = g->ndim,
                          .nresult = g->nresult,
                          .narray = g->narray,
                          .arrays = BT_NEWS(arena, bt_array, g->narray),
                          .extents = BT_NEWS(arena, const bt_node **, g->narray),
                          .results = BT_NEWS(arena, uint32_t, g->nresult) };
    if (!b->arrays || !b->extents || !b->results)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->nresult; i++)
        b->results[i] = g->results[i];
    for (uint32_t i = 0; i < g->narray; i++) {
        b->arrays[i] = *g->arrays[i];
        b->extents[i] = BT_NEWS(arena, const bt_node *, b->arrays[i].rank);
        for (uint32_t k = 0; b->extents[i] && k < b->arrays[i].rank; k++)
            b->extents[i][k] = b->arrays[i].extents[k];
        if (!b->extents[i])
            return bt_no_memory();
    }
    return NULL;
}

/* Whether an array has the type that it had. Equal extents are one node. */
static int is_as_before(const struct before *b, const bt_graph *g, uint32_t i)
{
    const bt_array *now = g->arrays[i], *was = &b->arrays[i];
    if (!now || now->dtype != was->dtype || now->rank != was->rank ||
        (now->rank && !now->extents))
        return 0;
    for (uint32_t k = 0; k < now->rank; k++) {
        if (now->extents[k] != b->extents[i][k])
            return 0;
    }
    return 1;
}

static int keeps_type(const struct before *b, const bt_graph *g)
{
    if (g->ninput != b->ninput || g->nresult != b->nresult || g->ndim != b->ndim ||
        g->narray < b->narray)
        return 0;
    for (uint32_t i = 0; i < g->ninput; i++) {
        if (!is_as_before(b, g, i) || g->arrays[i]->body)
            return 0;
    }
    for (uint32_t i = 0; i < g->nresult; i++) {
        if (g->results[i] != b->results[i] || !is_as_before(b, g, g->results[i]))
            return 0;
    }
    return 1;
}

/* Whether some stage has more axes than the extents that it had. */
static int outgrows_extents(const struct before *b, const bt_graph *g)
{
    for (uint32_t i = g->ninput; i < b->narray; i++) {
        const bt_array *now = g->arrays[i], *was = &b->arrays[i];
        if (now && now->extents == was->extents && now->rank > was->rank)
            return 1;
    }
    return 0;
}

static bt_status verify(bt_ctx *ctx, bt_arena *arena, const struct cpu_way_call *of,
                        const struct before *b)
{
    const bt_graph *g = of->graph;
    if (g->status)
        return g->status;
    if (!keeps_type(b, g))
        return bt_fail(ctx, BT_ERR_PLUGIN,
                       "way %s changes what function %s takes and gives", of->way->name,
                       of->func->name ? of->func->name : "");
    if (outgrows_extents(b, g))
        return bt_fail(ctx, BT_ERR_PLUGIN,
                       "way %s makes a stage of more axes than extents", of->way->name);
    bt_status status = bt_graph_verify(ctx, arena, g);
    return status && status->code == BT_ERR_ARGUMENT
               ? bt_fail(ctx, BT_ERR_PLUGIN, "way %s makes no graph of function %s: %s",
                         of->way->name, of->func->name ? of->func->name : "",
                         status->message)
               : status;
}

bt_status cpu_way_make(bt_ctx *ctx, bt_arena *arena, const struct cpu_way_call *of,
                       struct cpu_way_made *out)
{
    bt_graph *g = of->graph;
    struct before before;
    bt_cpu_way_call call = { .nbytes = sizeof(call),
                             .primitive = of->func,
                             .graph = g,
                             .is_constant = of->config->is_constant,
                             .isa = cpu_isa_name(of->config->isa),
                             .is_exact = of->config->accuracy == CPU_EXACT };
    *out = (struct cpu_way_made){ .is_made = 0 };
    BT_TRY(remember(arena, g, &before));
    bt_status status = of->way->make(ctx, arena, &call);
    if (status && status->code == BT_ERR_UNSUPPORTED)
        return NULL;
    if (!status && !call.is_made)
        return NULL;
    if (!status)
        status = verify(ctx, arena, of, &before);
    if (!status && !(isfinite(call.ns) && call.ns >= 0))
        status = bt_fail(ctx, BT_ERR_PLUGIN, "way %s estimates %g ns for function %s",
                         of->way->name, call.ns, of->func->name ? of->func->name : "");
    if (status)
        return status->code == BT_ERR_PLUGIN
                   ? status
                   : bt_note(ctx, status, NULL, 0, "in way %s of target cpu",
                             of->way->name);
    *out = (struct cpu_way_made){ .is_made = 1, .ns = call.ns };
    return sort(ctx, arena, of->way, g, &out->order);
}
