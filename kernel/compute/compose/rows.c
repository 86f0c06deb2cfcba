/*
 * Whether a call goes along rows, and which arguments it reads by rows.
 *
 *     m[i] = max(k: x[i, k]);  y[i, j] = x[i, j] - m[i]       a loop over i does all of row i
 *
 * The axis of rows is an array's first one that is longer than 1. Calls that give each other
 * nothing but rows can be one loop over these: a row is then read again while it is near. Sums of
 * products of matrices are left out, though they have rows: they are blocks of several, and so are
 * windows, for which targets have schedules of their own.
 */
#include <baton/compute.h>

#include "compute/compose/rows.h"

/* Fewer rows are no loop worth having around everything else. */
enum { LEAST_ROWS = 8 };

struct rows {
    const bt_graph *graph;
    const bt_array *stage;
    const bt_node *extent; /* of all stages along their rows */
    int axis;              /* of the stage */
    uint64_t inputs;       /* those that are read by rows only */
    int is_other;          /* something is not */
};

/* -1: there is none. */
static int axis_of(const bt_array *array)
{
    for (uint32_t i = 0; i < array->rank; i++) {
        if (bt_node_number(array->extents[i]) != 1)
            return (int)i;
    }
    return -1;
}

static int is_own_row(const struct rows *r, const bt_node *read)
{
    const bt_array *array = r->graph->arrays[read->which];
    const int axis = axis_of(array);
    const bt_node *index = axis >= 0 ? read->args[axis] : NULL;
    return index && array->extents[axis] == r->extent && index->kind == BT_NODE_INDEX &&
           (int)index->which == r->axis;
}

/* ---- reductions ---- */

struct terms {
    uint64_t wanted; /* indices that the terms depend on */
    int has_whole;   /* a read depends on all of them */
    int is_plain;    /* all reads are at indices themselves */
};

static void look_at_terms(struct terms *t, const bt_node *node, uint8_t *seen)
{
    if (!node->reads || seen[node->id])
        return;
    seen[node->id] = 1;
    for (uint32_t i = 0; i < node->narg; i++)
        look_at_terms(t, node->args[i], seen);
    if (node->kind != BT_NODE_READ)
        return;
    t->has_whole |= (node->free & t->wanted) == t->wanted;
    for (uint32_t i = 0; i < node->narg; i++)
        t->is_plain &=
            node->args[i]->kind == BT_NODE_INDEX || node->args[i]->kind == BT_NODE_CONST;
}

/* Whether it goes along the elements of an array once: not so of a product of matrices, no array of
 * which has all indices, nor of windows. 0 also: no memory. */
static int is_along_elements(const struct rows *r, const bt_node *reduce)
{
    uint8_t *seen = BT_NEWS(r->graph->arena, uint8_t, r->graph->nnode);
    struct terms t = { .wanted = reduce->args[1]->free, .is_plain = 1 };
    if (!seen || reduce->args[0]->reads)
        return 0;
    look_at_terms(&t, reduce->args[1], seen);
    return t.has_whole && t.is_plain;
}

/* ---- all ---- */

static void look_at(struct rows *r, const bt_node *node, uint8_t *seen)
{
    if ((!node->reads && !node->reduces) || seen[node->id] || r->is_other)
        return;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_REDUCE && !is_along_elements(r, node))
        r->is_other = 1;
    if (node->kind == BT_NODE_READ && !is_own_row(r, node)) {
        if (node->which >= r->graph->ninput)
            r->is_other = 1;
        else
            r->inputs &= ~(UINT64_C(1) << node->which);
    }
    for (uint32_t i = 0; i < node->narg; i++)
        look_at(r, node->args[i], seen);
}

bt_status bt__graph_rows(const bt_graph *g, uint64_t *inputs, uint32_t *is_by_rows)
{
    struct rows r = { .graph = g, .inputs = UINT64_MAX };
    *is_by_rows = 0;
    *inputs = 0;
    if (g->ndim || g->ninput > 64 || g->nresult != 1 || g->narray == g->ninput)
        return NULL;
    for (uint32_t i = g->ninput; i < g->narray && !r.is_other; i++) {
        r.stage = g->arrays[i];
        r.axis = axis_of(r.stage);
        if (r.axis < 0)
            return NULL;
        uint8_t *seen = BT_NEWS(g->arena, uint8_t, g->nnode);
        if (!seen)
            return bt_no_memory();
        r.extent = r.extent ? r.extent : r.stage->extents[r.axis];
        r.is_other = r.stage->extents[r.axis] != r.extent;
        look_at(&r, r.stage->body, seen);
    }
    *is_by_rows = !r.is_other && bt_node_number(r.extent) >= LEAST_ROWS;
    *inputs = *is_by_rows ? r.inputs : 0;
    return NULL;
}
