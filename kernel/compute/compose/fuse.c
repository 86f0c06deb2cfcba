/* How calls may be joined: Relay's operator patterns, from formulas instead of a list. */
#include <baton/compute.h>

#include "compute/compose/rows.h"
#include "compute/formula/call.h"

/* How far a stage moves the elements that it reads. */
struct reach {
    const bt_graph *graph;
    const bt_array *stage;
    uint32_t kind;
};

/* Whether the read is of the element's own place in an array of the stage's extents. */
static int is_own_place(const struct reach *r, const bt_array *array, const bt_node *read)
{
    if (array->rank != r->stage->rank)
        return 0;
    for (uint32_t i = 0; i < array->rank; i++) {
        const bt_node *index = read->args[i];
        if (array->extents[i] != r->stage->extents[i] ||
            (index->kind == BT_NODE_INDEX && index->which != i))
            return 0;
    }
    return 1;
}

/* Broadcast: some of the stage's axes, in their order. */
static uint32_t reach_of_read(const struct reach *r, const bt_node *read)
{
    const bt_array *array = r->graph->arrays[read->which];
    uint32_t next = 0;
    for (uint32_t i = 0; i < array->rank; i++) {
        const bt_node *index = read->args[i];
        if (bt_node_number(array->extents[i]) == 1 && index->kind == BT_NODE_CONST)
            continue;
        if (index->kind != BT_NODE_INDEX || index->which < next ||
            array->extents[i] != r->stage->extents[index->which])
            return BT_FUSE_INJECTIVE;
        next = index->which + 1;
    }
    return is_own_place(r, array, read) ? BT_FUSE_ELEMWISE : BT_FUSE_BROADCAST;
}

static void look_at_node(struct reach *r, const bt_node *node, uint8_t *seen)
{
    if (!node->reads || seen[node->id] || r->kind == BT_FUSE_INJECTIVE)
        return;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_READ) {
        uint32_t kind = reach_of_read(r, node);
        r->kind = kind > r->kind ? kind : r->kind;
    }
    for (uint32_t i = 0; i < node->narg; i++)
        look_at_node(r, node->args[i], seen);
}

/* Of a reduction that is no view: a group's channels are read at floordiv(c, ...). */
static uint32_t kind_of_reduction(const bt_node *reduce)
{
    const bt_node *body = reduce->args[1];
    if (reduce->args[0]->reads) // scattered
        return BT_FUSE_OPAQUE;
    return reduce->which == BT_REDUCER_SUM && body->kind == BT_NODE_SCALAR &&
                   body->which == BT_SCALAR_MUL
               ? BT_FUSE_CONTRACTION
               : BT_FUSE_REDUCE;
}

static bt_status kind_of_stage(const bt_graph *g, const bt_array *stage, uint32_t *out)
{
    bt_view view;
    bt_view_of(g, stage, &view);
    switch (view.kind) {
    case BT_VIEW_CONTRACTION: *out = BT_FUSE_CONTRACTION; return NULL;
    case BT_VIEW_WINDOW:
    case BT_VIEW_ROW: *out = BT_FUSE_REDUCE; return NULL;
    case BT_VIEW_MAP: break;
    default:
        *out = view.reduce ? kind_of_reduction(view.reduce) : BT_FUSE_OPAQUE;
        return NULL;
    }
    struct reach r = { .graph = g, .stage = stage, .kind = BT_FUSE_ELEMWISE };
    uint8_t *seen = BT_NEWS(g->arena, uint8_t, g->nnode);
    if (!seen)
        return bt_no_memory();
    look_at_node(&r, stage->body, seen);
    *out = r.kind;
    return NULL;
}

/* Of an operator with several stages only maps can still be joined with others: as what they are where all
 * read their own places, such as factors of channels. */
static bt_status look_at_graph(bt_graph *g, bt_fuse_info *out)
{
    BT_TRY(bt__graph_inline(g));
    uint8_t *seen = BT_NEWS(g->arena, uint8_t, g->nnode);
    if (!seen)
        return bt_no_memory();
    *out = (bt_fuse_info){ .kind = BT_FUSE_ELEMWISE };
    for (uint32_t i = g->ninput; i < g->narray; i++) {
        uint32_t kind;
        BT_TRY(kind_of_stage(g, g->arrays[i], &kind));
        out->cost += bt__node_cost(g->arrays[i]->body, seen);
        if (g->narray - g->ninput > 1 && kind > BT_FUSE_BROADCAST)
            kind = kind <= BT_FUSE_INJECTIVE ? BT_FUSE_INJECTIVE : BT_FUSE_OPAQUE;
        out->kind = kind > out->kind ? kind : out->kind;
    }
    return NULL;
}

/* Whether a dim is known at run time only: attributes may name it too. */
static int is_open(const bt_formula_call *call)
{
    uint32_t has = call->result->has;
    for (uint32_t i = 0; i < call->narg; i++)
        has |= call->args[i]->has;
    return has != 0;
}

static int has_layouts(const bt_formula_call *call)
{
    int has = bt_type_layout(call->result) != NULL;
    for (uint32_t i = 0; i < call->narg; i++)
        has |= bt_type_layout(call->args[i]) != NULL;
    return has;
}

/* A call that has no graph before its dims are known is left alone: with others it would
 * leave them without one too. */
static bt_status look(bt_ctx *ctx, bt_arena *arena, const bt_formula_call *call,
                      bt_fuse_info *out)
{
    bt_graph *graph;
    bt_status status = bt__call_compose(ctx, arena, call, &graph);
    if (status)
        return is_open(call) && status->code != BT_ERR_MEMORY ? NULL : status;
    if (!graph || (graph->ndim && has_layouts(call)))
        return NULL;
    if (graph->ndim)
        BT_TRY(bt__graph_open(ctx, arena, call, NULL, graph, &graph));
    BT_TRY(look_at_graph(graph, out));
    // of tuples and of blocked layouts inputs are no arguments, axes no axes
    return graph->ninput == call->narg && !has_layouts(call)
               ? bt__graph_rows(graph, &out->row_args, &out->is_by_rows)
               : NULL;
}

bt_status bt_fuse_look(bt_ctx *ctx, const bt_formula_call *call, bt_fuse_info *out)
{
    const void *facet;
    *out = (bt_fuse_info){ .kind = BT_FUSE_OPAQUE };
    BT_TRY(bt_op_facet(ctx, call->op, "fuse", &facet));
    if (facet) {
        out->kind = ((const bt_fuse_facet *)facet)->kind;
        return NULL;
    }
    if (!bt_op_has_formula(call->op))
        return NULL;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_status status = arena ? look(ctx, arena, call, out) : bt_no_memory();
    bt_arena_destroy(arena);
    return status;
}
