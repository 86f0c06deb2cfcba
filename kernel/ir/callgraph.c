/* References between globals; components by Tarjan's algorithm, without recursion. */
#include <string.h>

#include <baton/ir.h>

#include "ir/walk.h"

/* ---- edges ---- */

struct edges {
    const bt_module *module;
    bt_arena *arena;
    bt_map positions; /* bt_global -> position + 1 */
    uint32_t *seen;   /* by position: last global found to refer to it, + 1 */
    uint32_t from;    /* the global whose references are read, + 1 */
    bt_vec(uint32_t) list;
};

static bt_status add_edge(struct edges *e, const char *name)
{
    const bt_global *global = bt_module_find(e->module, name);
    if (!global)
        return NULL;
    uint32_t to = (uint32_t)(uintptr_t)bt_map_find(&e->positions, global) - 1;
    if (e->seen[to] == e->from)
        return NULL;
    e->seen[to] = e->from;
    return BT_PUSH(e->arena, &e->list, to) ? NULL : bt_no_memory();
}

static bt_status visit(void *self, const bt_value *user, const bt_value *used)
{
    (void)user;
    return used->kind == BT_VALUE_GLOBAL ? add_edge(self, used->name) : NULL;
}

/* What stands for the derivatives of a function, or of a closure in it. */
static bt_status add_rules(struct edges *e, const bt_dict *attrs)
{
    static const char *const names[] = {
#define BT_DERIVATIVE_RULE(name, what) #name,
#include <baton/derivative_rules.def>
    };
    for (size_t i = 0; i < BT_COUNT(names); i++) {
        const bt_dict_entry *rule = bt_dict_find(attrs, names[i]);
        if (rule && rule->kind == BT_DICT_TEXT)
            BT_TRY(add_edge(e, rule->text));
    }
    return NULL;
}

static bt_status add_all_rules(struct edges *e, const bt_func *func)
{
    bt__walk walk;
    const bt_value *value;
    bt__walk_begin(&walk, e->arena, func->block);
    while ((value = bt__walk_next(&walk))) {
        const bt_closure_value *closure = bt_as_closure(value);
        if (closure)
            BT_TRY(add_rules(e, &closure->func->attrs));
    }
    return walk.failed ? bt_no_memory() : add_rules(e, &func->attrs);
}

static bt_status read_edges(struct edges *e, const bt_global *global)
{
    switch (global->kind) {
    case BT_GLOBAL_FUNC:
        BT_TRY(bt__walk_uses(e->arena, global->func->block, visit, e));
        return add_all_rules(e, global->func);
    case BT_GLOBAL_EXTERN: return add_rules(e, &global->attrs);
    case BT_GLOBAL_GRADIENT: return add_edge(e, global->primal);
    default: return NULL;
    }
}

static bt_status find_edges(const bt_module *module, bt_arena *arena, bt_callgraph *graph)
{
    uint32_t n = module->nglobal;
    struct edges e = { .module = module, .arena = arena };
    uint32_t *start = BT_NEWS(arena, uint32_t, (size_t)n + 1);
    e.seen = BT_NEWS(arena, uint32_t, n);
    if (!start || !e.seen)
        return bt_no_memory();
    bt_map_init(&e.positions, arena, 0);
    for (uint32_t i = 0; i < n; i++) {
        if (!bt_map_put(&e.positions, module->globals[i], (void *)(uintptr_t)(i + 1)))
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < n; i++) {
        e.from = i + 1;
        BT_TRY(read_edges(&e, module->globals[i]));
        start[i + 1] = e.list.len;
    }
    graph->nglobal = n;
    graph->edge_start = start;
    graph->edges = e.list.at;
    return NULL;
}

/* ---- components ---- */

struct tarjan {
    const bt_callgraph *graph;
    uint32_t *order; /* of the first visit, + 1; 0: not visited */
    uint32_t *low;   /* least order reachable */
    uint32_t *next;  /* edge to follow */
    uint8_t *is_open;
    uint32_t *path, npath; /* from the root to the global at hand */
    uint32_t *open, nopen; /* visited, component not yet known */
    uint32_t norder;
    uint32_t *component, ncomponent;
    uint32_t *members, nmember, *member_start;
};

static void visit_global(struct tarjan *t, uint32_t g)
{
    t->order[g] = t->low[g] = ++t->norder;
    t->next[g] = t->graph->edge_start[g];
    t->is_open[g] = 1;
    t->open[t->nopen++] = g;
    t->path[t->npath++] = g;
}

/* The global's references are all followed: it may close a component. */
static void leave_global(struct tarjan *t, uint32_t g)
{
    t->npath--;
    if (t->npath) {
        uint32_t above = t->path[t->npath - 1];
        if (t->low[g] < t->low[above])
            t->low[above] = t->low[g];
    }
    if (t->low[g] != t->order[g])
        return;
    uint32_t member;
    do {
        member = t->open[--t->nopen];
        t->is_open[member] = 0;
        t->component[member] = t->ncomponent;
        t->nmember++;
    } while (member != g);
    t->member_start[++t->ncomponent] = t->nmember;
}

static void find_from(struct tarjan *t, uint32_t root)
{
    const bt_callgraph *graph = t->graph;
    visit_global(t, root);
    while (t->npath) {
        uint32_t g = t->path[t->npath - 1];
        if (t->next[g] == graph->edge_start[g + 1]) {
            leave_global(t, g);
            continue;
        }
        uint32_t to = graph->edges[t->next[g]++];
        if (!t->order[to])
            visit_global(t, to);
        else if (t->is_open[to] && t->order[to] < t->low[g])
            t->low[g] = t->order[to];
    }
}

/* Lists the members of each component in the order of definition. */
static void list_members(struct tarjan *t, uint32_t *fill)
{
    memcpy(fill, t->member_start, t->ncomponent * sizeof(*fill));
    for (uint32_t g = 0; g < t->graph->nglobal; g++)
        t->members[fill[t->component[g]]++] = g;
}

static void find_recursive(const bt_callgraph *graph, uint8_t *is_recursive)
{
    for (uint32_t g = 0; g < graph->nglobal; g++) {
        for (uint32_t i = graph->edge_start[g]; i < graph->edge_start[g + 1]; i++) {
            if (graph->component[graph->edges[i]] == graph->component[g])
                is_recursive[graph->component[g]] = 1;
        }
    }
}

bt_status bt_callgraph_create(bt_ctx *ctx, const bt_module *module, bt_arena *arena,
                              const bt_callgraph **out)
{
    (void)ctx;
    size_t n = module->nglobal;
    bt_callgraph *graph = BT_NEW(arena, bt_callgraph);
    uint32_t *words = BT_NEWS(arena, uint32_t, 8 * n + 1);
    uint8_t *bytes = BT_NEWS(arena, uint8_t, 2 * n);
    if (!graph || !words || !bytes)
        return bt_no_memory();
    BT_TRY(find_edges(module, arena, graph));
    struct tarjan t = {
        .graph = graph,
        .order = words,
        .low = words + n,
        .next = words + 2 * n,
        .path = words + 3 * n,
        .open = words + 4 * n,
        .component = words + 5 * n,
        .members = words + 6 * n,
        .member_start = words + 7 * n,
        .is_open = bytes,
    };
    for (uint32_t g = 0; g < module->nglobal; g++) {
        if (!t.order[g])
            find_from(&t, g);
    }
    list_members(&t, t.order);
    graph->ncomponent = t.ncomponent;
    graph->component = t.component;
    graph->members = t.members;
    graph->member_start = t.member_start;
    graph->is_recursive = bytes + n;
    find_recursive(graph, bytes + n);
    *out = graph;
    return NULL;
}

/* What a component refers to comes before it. */
bt_status bt_callgraph_reach(const bt_callgraph *graph, const bt_module *module,
                             const bt_global *from, bt_arena *arena, const uint8_t **out)
{
    uint8_t *reached = BT_NEWS(arena, uint8_t, graph->nglobal);
    uint8_t *components = BT_NEWS(arena, uint8_t, graph->ncomponent);
    if (!reached || !components)
        return bt_no_memory();
    for (uint32_t g = 0; g < graph->nglobal; g++)
        components[graph->component[g]] |= module->globals[g] == from;
    for (uint32_t c = graph->ncomponent; c-- > 0;) {
        for (uint32_t i = graph->member_start[c];
             components[c] && i < graph->member_start[c + 1]; i++) {
            uint32_t g = graph->members[i];
            reached[g] = 1;
            for (uint32_t k = graph->edge_start[g]; k < graph->edge_start[g + 1]; k++)
                components[graph->component[graph->edges[k]]] = 1;
        }
    }
    *out = reached;
    return NULL;
}
