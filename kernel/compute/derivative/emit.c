/*
 * Stages as calls.
 *
 *     s0 = sum(k: a0[i, k]);  s1 = a1[i] * s0[i]
 *  -> %0 = compute(%a0, formula="a0: float32[3, 4] => s0: ..");  %1 = compute(%a1, %0, ..)
 *
 * Positions in the windows of images that one stage alone reads, as the adjoint of maxima does, are a stage of
 * its call: a target that has both in hand goes through the images once.
 */
#include "compute/derivative/emit.h"

#include "compute/derivative/derivative.h"

struct emitter {
    bt_builder *builder;
    bt_graph *graph;
    const bt_call *primal;
    uint32_t ninput, narray; /* of the graph as it came */
    bt_array **arrays;
    const bt_value **values; /* of each array */
    const bt_type **terms;   /* what each dim of the graph is in types, NULL: nothing */
    uint8_t *is_inner; /* of each array: a stage of the call of the one that reads it */
};

static bt_status type_of_stage(struct emitter *e, const bt_array *stage,
                               const bt_type **out)
{
    bt_ctx *ctx = bt_builder_ctx(e->builder);
    bt_store *store = bt_builder_store(e->builder);
    const bt_type *dims[BT_MAX_RANK];
    for (uint32_t i = 0; i < stage->rank; i++) {
        BT_TRY(bt__node_dim(ctx, store, stage->extents[i], e->graph->ndim, e->terms,
                            &dims[i]));
        if (!dims[i])
            return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                           "axis %u of a derivative's stage has a size that no dim "
                           "expresses",
                           i);
    }
    *out = bt_type_tensor(store, bt_type_shape(store, stage->rank, dims),
                          bt_type_dtype(store, stage->dtype));
    return *out ? NULL : bt_store_why(ctx, store);
}

static void mark_reads(const bt_node *node, uint8_t *seen, uint8_t *used)
{
    if (!node->reads || seen[node->id])
        return;
    seen[node->id] = 1;
    if (node->kind == BT_NODE_READ)
        used[node->which] = 1;
    for (uint32_t i = 0; i < node->narg; i++)
        mark_reads(node->args[i], seen, used);
}

/* Whether the stage is an array again: which; -1: it is something else. */
static int64_t copied(const struct emitter *e, const bt_array *stage)
{
    const bt_node *read = stage->body;
    if (read->kind != BT_NODE_READ || read->narg != stage->rank ||
        read->dtype != stage->dtype)
        return -1;
    for (uint32_t i = 0; i < read->narg; i++) {
        const bt_node *own = bt_node_index(e->graph, i, stage->extents[i]);
        if (read->args[i] != own ||
            e->arrays[read->which]->extents[i] != stage->extents[i])
            return -1;
    }
    return read->which;
}

/* Of float32 and along two axes: for others, targets have nothing that takes both together. */
static int is_position_in_image(const bt_array *stage)
{
    const bt_node *body = stage->body;
    if (body->kind != BT_NODE_REDUCE || body->nindex != 2 ||
        bt_dtype_is_float(stage->dtype) || body->args[1]->kind != BT_NODE_SELECT)
        return 0;
    const bt_node *here = body->args[1]->args[0];
    while (here->narg > 0 && here->kind != BT_NODE_READ)
        here = here->args[0];
    return here->dtype == BT_FLOAT32;
}

/* Which stages are a part of another one's call. */
static bt_status find_inner(struct emitter *e, uint32_t nresult, const uint32_t *result)
{
    bt_graph *g = e->graph;
    uint32_t *nreader = BT_NEWS(g->arena, uint32_t, e->narray);
    e->is_inner = BT_NEWS(g->arena, uint8_t, e->narray);
    if (!nreader || !e->is_inner)
        return bt_no_memory();
    for (uint32_t k = 0; k < nresult; k++)
        nreader[result[k]]++;
    for (uint32_t i = e->ninput; i < e->narray; i++) {
        uint8_t *seen = BT_NEWS(g->arena, uint8_t, g->nnode);
        uint8_t *used = BT_NEWS(g->arena, uint8_t, e->narray);
        if (!seen || !used)
            return bt_no_memory();
        mark_reads(e->arrays[i]->body, seen, used);
        for (uint32_t a = e->ninput; a < i; a++)
            nreader[a] += used[a];
    }
    for (uint32_t i = e->ninput; i < e->narray; i++)
        e->is_inner[i] = nreader[i] == 1 && is_position_in_image(e->arrays[i]);
    return NULL;
}

/* Marks what the call of a stage reads, and the stages that are in it. */
static bt_status find_used(struct emitter *e, uint32_t number, uint8_t *used)
{
    for (uint32_t i = number + 1; i-- > e->ninput;) {
        uint8_t *seen;
        if (i != number && (!used[i] || !e->is_inner[i]))
            continue;
        if (!(seen = BT_NEWS(e->graph->arena, uint8_t, e->graph->nnode)))
            return bt_no_memory();
        mark_reads(e->arrays[i]->body, seen, used);
    }
    return NULL;
}

/* The graph is left with the stage, those that are in its call, and what these read as inputs. */
static bt_status cut(struct emitter *e, uint32_t number, uint32_t *narg,
                     const bt_value **args)
{
    bt_graph *g = e->graph;
    uint8_t *used = BT_NEWS(g->arena, uint8_t, e->narray);
    uint32_t *now = BT_NEWS(g->arena, uint32_t, e->narray), n = 0;
    uint32_t *result = BT_NEW(g->arena, uint32_t);
    bt_array **arrays = BT_NEWS(g->arena, bt_array *, e->narray);
    bt_array *copies = BT_NEWS(g->arena, bt_array, e->narray);
    if (!used || !now || !result || !arrays || !copies)
        return bt_no_memory();
    BT_TRY(find_used(e, number, used));
    for (uint32_t i = 0; i < number; i++) {
        if (!used[i] || e->is_inner[i])
            continue;
        copies[n] = *e->arrays[i];
        copies[n].body = NULL;
        args[n] = e->values[i];
        now[i] = n++;
    }
    *narg = g->ninput = n;
    for (uint32_t i = 0; i <= number; i++) {
        if (i != number && !(used[i] && e->is_inner[i]))
            continue;
        copies[n] = *e->arrays[i];
        copies[n].body = bt__node_rename_arrays(g, copies[n].body, now);
        if (!copies[n].body)
            return bt__derive_why(g);
        now[i] = n++;
    }
    for (uint32_t i = 0; i < n; i++)
        arrays[i] = &copies[i];
    *result = n - 1;
    g->results = result;
    g->nresult = 1;
    return bt__graph_set_arrays(g, n, arrays) ? NULL : bt_no_memory();
}

/* Dims that a check of the primal makes one are one dim of the graph; what its name takes is what
 * the first input that shows it has. */
static bt_status set_terms(struct emitter *e, const bt_value *const *args)
{
    bt_graph *g = e->graph;
    uint8_t *shown = BT_NEWS(g->arena, uint8_t, g->ndim);
    if (!shown)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->ndim; i++)
        g->dims[i]->term = e->terms[i];
    for (uint32_t k = 0; k < g->ninput; k++) {
        const bt_shape_type *shape = bt_tensor_shape(args[k]->type);
        for (uint32_t a = 0; shape && a < g->arrays[k]->rank; a++) {
            const bt_node *extent = g->arrays[k]->extents[a];
            if (extent->kind != BT_NODE_DIM || shown[extent->which])
                continue;
            shown[extent->which] = 1;
            g->dims[extent->which]->term = shape->dims[a];
        }
    }
    return NULL;
}

static bt_status emit_stage(struct emitter *e, uint32_t number, const bt_type *type)
{
    bt_graph *g = e->graph;
    bt_ctx *ctx = bt_builder_ctx(e->builder);
    bt_graph_formula text;
    uint32_t narg;
    const bt_value **args = BT_NEWS(g->arena, const bt_value *, number + 1);
    if (!args)
        return bt_no_memory();
    if (!type)
        BT_TRY(type_of_stage(e, e->arrays[number], &type));
    BT_TRY(cut(e, number, &narg, args));
    BT_TRY(set_terms(e, args));
    BT_TRY(bt_graph_text(ctx, g->arena, g, type, &text));
    BT_TRY(bt_graph_text_checks(g->arena, e->primal->ncheck, e->primal->checks, type,
                                narg, args, &text));
    const bt_type *dims =
        bt_type_shape(bt_builder_store(e->builder), text.ndim, text.dims);
    if (!dims)
        return bt_store_why(ctx, bt_builder_store(e->builder));
    return bt_build_formula(e->builder, dims, narg, args, text.formula,
                            &e->values[number]);
}

bt_status bt__graph_emit(bt_builder *b, bt_graph *g, const bt_call *primal,
                         const bt_value *const *values, const bt_type *const *types,
                         const bt_value **results)
{
    struct emitter e = {
        .builder = b, .graph = g, .primal = primal, .ninput = g->ninput
    };
    const uint32_t nresult = g->nresult, *result = g->results;
    e.narray = g->narray;
    e.arrays = BT_NEWS(g->arena, bt_array *, e.narray);
    e.values = BT_NEWS(g->arena, const bt_value *, e.narray);
    e.terms = BT_NEWS(g->arena, const bt_type *, g->ndim);
    if (!e.arrays || !e.values || !e.terms)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->ndim; i++)
        e.terms[i] = g->dims[i]->term;
    for (uint32_t i = 0; i < e.narray; i++) {
        e.arrays[i] = g->arrays[i];
        e.values[i] = i < e.ninput ? values[i] : NULL;
    }
    BT_TRY(find_inner(&e, nresult, result));
    for (uint32_t i = e.ninput; i < e.narray; i++) {
        if (e.is_inner[i])
            continue;
        const int64_t of = copied(&e, e.arrays[i]);
        const bt_type *type = NULL;
        for (uint32_t k = 0; k < nresult; k++)
            type = result[k] == i ? types[k] : type;
        if (of >= 0 && (!type || e.values[of]->type == type))
            e.values[i] = e.values[of];
        else
            BT_TRY(emit_stage(&e, i, type));
    }
    for (uint32_t k = 0; k < nresult; k++)
        results[k] = e.values[result[k]];
    return NULL;
}
