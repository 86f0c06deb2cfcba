/*
 * Stages as calls.
 *
 *     s0 = sum(k: a0[i, k]);  s1 = a1[i] * s0[i]
 *  -> %0 = compute(%a0, formula="a0: float32[3, 4] => s0: ..");  %1 = compute(%a1, %0, ..)
 */
#include "compute/adjoint/emit.h"
#include "compute/adjoint/adjoint.h"

struct emitter {
    bt_builder *builder;
    bt_graph *graph;
    uint32_t ninput, narray; /* of the graph as it came */
    bt_array **arrays;
    const bt_value **values; /* of each array */
    uint32_t has_no_term;    /* an extent was met that no dim expresses */
};

/* ---- types of stages ---- */

static const bt_type *term_of(struct emitter *, const bt_node *);

static const bt_type *term_of_sum(struct emitter *e, const bt_node *node)
{
    bt_store *store = bt_builder_store(e->builder);
    bt_linear sum;
    bt_node_as_linear(node, &sum);
    const bt_type *all = bt_dim(store, sum.constant);
    for (uint32_t i = 0; i < sum.n && all; i++) {
        const bt_type *term = term_of(e, sum.atoms[i]);
        term = term ? bt_dim_scale(store, term, sum.coefs[i], 0) : NULL;
        all = term ? bt_dim_add(store, all, term) : NULL;
    }
    return all;
}

static const bt_type *no_term(struct emitter *e)
{
    e->has_no_term = 1;
    return NULL;
}

/* An extent as a dim of types. NULL: none expresses it, or the store says why. */
static const bt_type *term_of(struct emitter *e, const bt_node *node)
{
    bt_store *store = bt_builder_store(e->builder);
    if (node->kind == BT_NODE_CONST)
        return bt_dim(store, node->value.i);
    if (node->kind == BT_NODE_DIM)
        return e->graph->dims[node->which]->term;
    if (node->kind == BT_NODE_LINEAR)
        return term_of_sum(e, node);
    if (node->kind != BT_NODE_SCALAR || node->narg != 2)
        return no_term(e);
    const bt_type *a = term_of(e, node->args[0]),
                  *b = a ? term_of(e, node->args[1]) : NULL;
    if (!b)
        return NULL;
    switch (node->which) {
    case BT_SCALAR_MUL: return bt_dim_mul(store, a, b);
    case BT_SCALAR_FLOORDIV: return bt_dim_floordiv(store, a, b);
    case BT_SCALAR_CEILDIV: return bt_dim_ceildiv(store, a, b);
    case BT_SCALAR_MOD: return bt_dim_mod(store, a, b);
    case BT_SCALAR_MIN: return bt_dim_min(store, a, b);
    case BT_SCALAR_MAX: return bt_dim_max(store, a, b);
    default: return no_term(e);
    }
}

static bt_status type_of_stage(struct emitter *e, const bt_array *stage,
                               const bt_type **out)
{
    bt_store *store = bt_builder_store(e->builder);
    const bt_type *dims[BT_MAX_RANK];
    for (uint32_t i = 0; i < stage->rank; i++) {
        dims[i] = term_of(e, stage->extents[i]);
        if (!dims[i] && !e->has_no_term)
            return bt_store_why(bt_builder_ctx(e->builder), store);
        if (!dims[i])
            return bt_fail(bt_builder_ctx(e->builder), BT_ERR_UNSUPPORTED,
                           "axis %u of a derivative's stage has a size that no dim "
                           "expresses",
                           i);
    }
    *out = bt_type_tensor(store, bt_type_shape(store, stage->rank, dims),
                          bt_type_dtype(store, stage->dtype));
    return *out ? NULL : bt_store_why(bt_builder_ctx(e->builder), store);
}

/* ---- one stage ---- */

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

/* The graph is left with the stage alone, and what it reads as inputs. */
static bt_status cut(struct emitter *e, uint32_t number, uint32_t *narg,
                     const bt_value **args)
{
    bt_graph *g = e->graph;
    uint8_t *seen = BT_NEWS(g->arena, uint8_t, g->nnode);
    uint8_t *used = BT_NEWS(g->arena, uint8_t, e->narray);
    uint32_t *now = BT_NEWS(g->arena, uint32_t, e->narray), n = 0;
    uint32_t *result = BT_NEW(g->arena, uint32_t);
    bt_array **arrays = BT_NEWS(g->arena, bt_array *, e->narray);
    bt_array *copies = BT_NEWS(g->arena, bt_array, e->narray);
    if (!seen || !used || !now || !result || !arrays || !copies)
        return bt_no_memory();
    mark_reads(e->arrays[number]->body, seen, used);
    for (uint32_t i = 0; i < number; i++) {
        if (!used[i])
            continue;
        copies[n] = *e->arrays[i];
        copies[n].body = NULL;
        arrays[n] = &copies[n];
        args[n] = e->values[i];
        now[i] = n++;
    }
    copies[n] = *e->arrays[number];
    copies[n].body = bt__node_rename_arrays(g, copies[n].body, now);
    arrays[n] = &copies[n];
    if (!copies[n].body)
        return bt__derive_why(g);
    *narg = g->ninput = n;
    *result = n;
    g->results = result;
    g->nresult = 1;
    return bt__graph_set_arrays(g, n + 1, arrays) ? NULL : bt_no_memory();
}

bt_status bt_build_formula(bt_builder *b, const bt_type *dims, uint32_t narg,
                           const bt_value *const *args, const char *formula,
                           const bt_value **out)
{
    bt_store *store = bt_builder_store(b);
    const bt_op *op;
    const struct {
        const bt_type *dims;
        const char *formula;
    } attrs = { dims ? dims : bt_type_shape(store, 0, NULL), bt_name_of(store, formula) };
    if (!attrs.dims || !attrs.formula)
        return bt_store_why(bt_builder_ctx(b), store);
    BT_TRY(bt_op_get(bt_builder_ctx(b), "compute", &op));
    return bt_build_op(b, op, &attrs, narg, args, out);
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
    BT_TRY(bt_graph_text(ctx, g->arena, g, type, &text));
    const bt_type *dims =
        bt_type_shape(bt_builder_store(e->builder), text.ndim, text.dims);
    if (!dims)
        return bt_store_why(ctx, bt_builder_store(e->builder));
    return bt_build_formula(e->builder, dims, narg, args, text.formula,
                            &e->values[number]);
}

bt_status bt__graph_emit(bt_builder *b, bt_graph *g, const bt_value *const *values,
                         const bt_type *const *types, const bt_value **results)
{
    struct emitter e = { .builder = b, .graph = g, .ninput = g->ninput };
    const uint32_t nresult = g->nresult, *result = g->results;
    e.narray = g->narray;
    e.arrays = BT_NEWS(g->arena, bt_array *, e.narray);
    e.values = BT_NEWS(g->arena, const bt_value *, e.narray);
    if (!e.arrays || !e.values)
        return bt_no_memory();
    for (uint32_t i = 0; i < e.narray; i++) {
        e.arrays[i] = g->arrays[i];
        e.values[i] = i < e.ninput ? values[i] : NULL;
    }
    for (uint32_t i = e.ninput; i < e.narray; i++) {
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
