/*
 * Factors that tiles cannot read where they are: computed ones (an activation before a
 * convolution), floats of fewer bits, elements whose place is a division of indices (a
 * reshape before a product). Each becomes an array of its own, over the axes of an array that
 * it reads, so that windows share elements, or over the indices that it depends on. Tiles of
 * integers read codes of 8 bits themselves: then that array is passed over (cpu_read_codes).
 */
#include "contract.h"

/* Axes of the new array: the expressions that they stand for. */
struct places {
    bt_graph *graph;
    uint32_t n;
    const bt_node *at[CPU_AXES];
    const bt_node *extents[CPU_AXES];
    uint32_t is_same; /* 1: the same elements are read as before, none more */
    bt_map done;
};

static const bt_node *rewrite(struct places *p, const bt_node *node);

static int is_inside(const bt_node *at, const bt_node *extent)
{
    return (at->kind == BT_NODE_INDEX && at->narg && at->args[0] == extent) ||
           (at->low >= 0 && at->high < extent->low);
}

static const bt_node *rewrite_new(struct places *p, const bt_node *node)
{
    const bt_node *args[CPU_AXES];
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->at[i] == node && node->kind != BT_NODE_CONST)
            return bt_node_index(p->graph, i, p->extents[i]);
    }
    if (node->kind == BT_NODE_REDUCE || node->kind == BT_NODE_INDEX ||
        node->narg > CPU_AXES)
        return NULL;
    for (uint32_t i = 0; i < node->narg; i++) {
        args[i] = rewrite(p, node->args[i]);
        if (!args[i])
            return NULL;
        // in bounds wherever the new array has an element
        if (node->kind == BT_NODE_READ && !p->is_same &&
            !is_inside(args[i], p->graph->arrays[node->which]->extents[i]))
            return NULL;
    }
    return bt_node_again(p->graph, node, node->first, args);
}

/* The node over the new axes; NULL: it depends on more than these, or failure. */
static const bt_node *rewrite(struct places *p, const bt_node *node)
{
    if (!node->free && !node->reads)
        return node;
    const bt_node *known = bt_map_find(&p->done, node);
    if (known)
        return known;
    known = rewrite_new(p, node);
    return known && bt_map_put(&p->done, node, (void *)(uintptr_t)known) ? known : NULL;
}

/* The array of these axes, and the read of it in place of the factor; NULL: there can be
 * none, or failure. */
static const bt_node *make(struct places *p, const bt_node *factor, bt_dtype dtype)
{
    bt_graph *g = p->graph;
    bt_array array = { .name = "factor", .dtype = dtype, .rank = p->n };
    const bt_node **extents = BT_NEWS(g->arena, const bt_node *, p->n);
    uint32_t number;
    bt_map_init(&p->done, g->arena, 0);
    const bt_node *body = rewrite(p, factor);
    if (!extents || !body)
        return NULL;
    for (uint32_t i = 0; i < p->n; i++)
        extents[i] = p->extents[i];
    array.extents = extents;
    array.body = body->dtype == dtype ? body : bt_node_cast(g, dtype, body);
    return array.body && bt_graph_add_array(g, &array, &number)
               ? bt_node_read(g, number, dtype, p->n, p->at)
               : NULL;
}

/* Of nodes, none of which is in it. NULL: no memory. */
static uint8_t *new_set(bt_graph *g)
{
    uint8_t *set = BT_NEWS(g->arena, uint8_t, g->nnode + 1);
    if (!set && !g->status)
        g->status = bt_no_memory();
    return set;
}

/* ---- axes of an array that is read ---- */

/* `seen` by id, here and below. */
static const bt_node *by_reads(bt_graph *g, const bt_node *factor, const bt_node *node,
                               bt_dtype dtype, uint8_t *seen)
{
    const bt_node *found = NULL;
    if (seen[node->id])
        return NULL;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_READ && node->narg > 0 && node->narg <= CPU_AXES) {
        struct places p = { .graph = g, .n = node->narg };
        for (uint32_t i = 0; i < node->narg; i++) {
            p.at[i] = node->args[i];
            p.extents[i] = g->arrays[node->which]->extents[i];
        }
        found = make(&p, factor, dtype);
    }
    for (uint32_t i = 0; i < node->narg && !found && node->reads && !g->status; i++)
        found = by_reads(g, factor, node->args[i], dtype, seen);
    return found;
}

/* ---- indices ---- */

/* NULL: it is none that a read can have. */
static const bt_node *extent_of(const bt_array *stage, const bt_node *reduce,
                                uint32_t index)
{
    if (index < stage->rank)
        return stage->extents[index];
    return index >= reduce->first && index - reduce->first < reduce->nindex
               ? reduce->args[2 + index - reduce->first]
               : NULL;
}

/* Whether an array that is read has so many elements, for all values of dims. */
static int reads_as_many(bt_graph *g, const bt_node *node, const bt_node *nelem,
                         uint8_t *seen)
{
    if (seen[node->id])
        return 0;
    seen[node->id] = 1;
    for (uint32_t i = 0; i < node->narg && node->reads; i++) {
        if (reads_as_many(g, node->args[i], nelem, seen))
            return 1;
    }
    const bt_node *all = bt_node_int(g, node->kind == BT_NODE_READ);
    for (uint32_t i = 0; i < node->narg && node->kind == BT_NODE_READ; i++)
        all = cpu_times(g, all, g->arrays[node->which]->extents[i]);
    const bt_node *more = cpu_minus(g, all, nelem);
    return more && more->low >= 0;
}

static int has_choice(const bt_node *node, uint8_t *seen)
{
    if (node->kind == BT_NODE_SELECT)
        return 1;
    if (seen[node->id])
        return 0;
    seen[node->id] = 1;
    for (uint32_t i = 0; i < node->narg && node->reduces; i++) {
        if (has_choice(node->args[i], seen))
            return 1;
    }
    return 0;
}

static const bt_node *by_indices(bt_graph *g, const bt_array *stage,
                                 const bt_node *reduce, const bt_node *factor,
                                 bt_dtype dtype)
{
    struct places p = { .graph = g };
    const bt_node *nelem = bt_node_int(g, 1);
    uint8_t *met = new_set(g), *seen = new_set(g);
    if (!met || !seen)
        return NULL;
    p.is_same = bt_node_is_true(reduce->args[0]) && !has_choice(stage->body, met);
    for (uint32_t i = 0; i < BT_MAX_INDEX; i++) {
        const bt_node *extent = extent_of(stage, reduce, i);
        if (!(factor->free & bt_index_bit(i)))
            continue;
        if (p.n == CPU_AXES || !extent || !(nelem = cpu_times(g, nelem, extent)))
            return NULL;
        p.at[p.n] = bt_node_index(g, i, extent);
        p.extents[p.n++] = extent;
    }
    // windows would be written out
    return p.n && reads_as_many(g, factor, nelem, seen) ? make(&p, factor, dtype) : NULL;
}

const bt_node *cpu_factor_make(bt_graph *g, const bt_array *stage, const bt_node *reduce,
                               const bt_node *factor, bt_dtype dtype, int by_index)
{
    uint8_t *seen = new_set(g);
    const bt_node *found =
        by_index || !seen ? NULL : by_reads(g, factor, factor, dtype, seen);
    if (!found && !g->status)
        found = by_indices(g, stage, reduce, factor, dtype);
    return found;
}

/* ---- codes ---- */

int cpu_read_codes(const bt_graph *g, struct cpu_operand *o)
{
    const bt_array *stored = g->arrays[o->array];
    bt_view_factor f;
    if (!stored->body || !bt_view_factor_of(stored->body, &f) || f.zeros ||
        (f.dtype != BT_UINT8 && f.dtype != BT_INT8) || f.read->narg != stored->rank)
        return 0;
    for (uint32_t a = 0; a < stored->rank; a++) {
        const bt_node *index = f.read->args[a];
        const int is_own = index->kind == BT_NODE_INDEX && index->which == a;
        if ((!is_own && !cpu_is_size(stored->extents[a], 1)) ||
            (!is_own && !cpu_is_size(index, 0)) ||
            g->arrays[f.read->which]->extents[a] != stored->extents[a])
            return 0;
    }
    o->array = f.read->which;
    o->dtype = f.dtype;
    o->zero = f.zero;
    return 1;
}
