/* Computations by formula: instantiated for the inputs at hand, kept for the next
 * call. */
#include "compute/evaluate/compute.h"

#include <inttypes.h>
#include <string.h>

#include "ir/dim.h"
#include "value/elements.h"
#include "value/tensor.h"

/* ---- instantiation ---- */

static int same_leaves(const bt_compute *compute, const bt_tensor *const *in)
{
    for (uint32_t i = 0; compute->leaves && i < compute->call.nleaf; i++) {
        const struct bt__leaf *leaf = &compute->leaves[i];
        if (leaf->dtype != in[i]->dtype || leaf->rank != in[i]->rank)
            return 0;
        for (uint32_t a = 0; a < leaf->rank; a++) {
            if (leaf->dims[a] != in[i]->dims[a])
                return 0;
        }
    }
    return compute->graph != NULL;
}

static int same_strides(const bt_compute *compute, const bt_tensor *const *in)
{
    if (!compute->bytecode)
        return 0;
    for (uint32_t i = 0; i < compute->call.nleaf; i++) {
        const uint32_t nparts = bt_dtype_nparts(in[i]->dtype);
        for (uint32_t a = 0; a < in[i]->rank; a++) {
            if (in[i]->dims[a] > 1 &&
                compute->strides[i][a] != in[i]->strides[a] * nparts)
                return 0;
        }
    }
    return 1;
}

static void forget_bytecode(bt_compute *compute)
{
    bt_arena_destroy(compute->coded);
    compute->coded = NULL;
    compute->bytecode = NULL;
    compute->strides = NULL;
}

/* Forgets the last instantiation. */
static void forget(bt_compute *compute)
{
    forget_bytecode(compute);
    bt_arena_destroy(compute->made);
    compute->made = NULL;
    compute->graph = NULL;
    compute->results = NULL;
    compute->leaves = NULL;
}

/* Once the graph is there. */
static bt_status make_parts(bt_compute *compute)
{
    const bt_graph *g = compute->graph;
    compute->results = BT_NEWS(compute->made, const bt_array *, g->nresult);
    if (!compute->results)
        return bt_no_memory();
    for (uint32_t i = 0; i < g->nresult; i++)
        compute->results[i] = g->arrays[g->results[i]];
    return bt__graph_to_parts(compute->graph);
}

/* Elements of their parts, which a stage has computed. */
static bt_status join_parts(bt_ctx *ctx, bt_tensor *parts, const bt_array *whole,
                            bt_tensor **out)
{
    const uint32_t nparts = bt_dtype_nparts(whole->dtype);
    if (!bt_dtype_is_moved(whole->dtype)) {
        *out = bt_tensor_ref(parts);
        return NULL;
    }
    struct bt__tensor *t = bt__tensor_alloc(ctx, whole->dtype, whole->rank, parts->dims,
                                            NULL, parts->nelem / nparts, 0);
    if (!t)
        return bt_no_memory();
    t->tensor.data = parts->data;
    t->tensor.owner = bt_object_ref(&parts->base);
    *out = &t->tensor;
    return NULL;
}

/* An arena for the next one. */
static bt_status begin(bt_compute *compute)
{
    forget(compute);
    compute->made = bt_arena_create(compute->registry);
    return compute->made ? NULL : bt_no_memory();
}

/* Begins the one for these inputs. */
static bt_status begin_for(bt_compute *compute, const bt_tensor *const *in)
{
    BT_TRY(begin(compute));
    struct bt__leaf *leaves =
        BT_NEWS(compute->made, struct bt__leaf, compute->call.nleaf);
    if (!leaves)
        return bt_no_memory();
    for (uint32_t i = 0; i < compute->call.nleaf; i++) {
        int64_t *dims = BT_NEWS(compute->made, int64_t, in[i]->rank);
        if (!dims)
            return bt_no_memory();
        if (in[i]->rank)
            memcpy(dims, in[i]->dims, in[i]->rank * sizeof(*dims));
        leaves[i] = (struct bt__leaf){ in[i]->dtype, in[i]->rank, dims, 1 };
    }
    compute->leaves = leaves;
    return NULL;
}

static bt_status instantiate(bt_ctx *ctx, bt_compute *compute, const bt_tensor *const *in)
{
    BT_TRY(begin_for(compute, in));
    struct bt__instance instance = compute->instance;
    instance.leaves = compute->leaves;
    BT_TRY(bt__instantiate(ctx, compute->made, &instance, &compute->graph));
    return make_parts(compute);
}

bt_status bt__compute_instantiate(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                                  const bt_tensor *const *in)
{
    (void)nin;
    if (same_leaves(compute, in)) {
        compute->graph->ctx = ctx;
        return NULL;
    }
    if (compute->is_joined)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "%s: the tensors differ from the parameters' types",
                       compute->name);
    bt_status status = instantiate(ctx, compute, in);
    if (status)
        forget(compute);
    return status;
}

bt_status bt__compute_take_func(bt_ctx *ctx, bt_compute *compute, const bt_func *func,
                                struct bt__copying *copying)
{
    BT_TRY(begin(compute));
    BT_TRY(bt__graph_join(ctx, compute->made, func, NULL, copying, &compute->graph));
    compute->leaves = compute->call.leaves;
    compute->is_joined = 1;
    if (compute->graph->ndim)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s: dim %s is known only when it is computed", compute->name,
                       compute->graph->dims[0]->name);
    BT_TRY(make_parts(compute));
    return bt__graph_inline(compute->graph);
}

/* A fault of the formula shows before any tensor is there, as far as types are known.
 * Where they say all dims, this is the instantiation that a run will use. */
bt_status bt__compute_take_formula(bt_ctx *ctx, bt_compute *compute,
                                   const bt_formula_call *call)
{
    BT_TRY(
        bt__call_formula(ctx, compute->arena, call, &compute->call, &compute->instance));
    compute->formulas = bt__formulas_ref(ctx);
    BT_TRY(begin(compute));
    BT_TRY(bt__call_graph(ctx, compute->made, &compute->instance, &compute->graph));
    compute->leaves = compute->call.leaves;
    if (compute->graph && !compute->graph->ndim)
        return make_parts(compute);
    forget(compute);
    return NULL;
}

static bt_status make_bytecode(bt_ctx *ctx, bt_compute *compute,
                               const bt_tensor *const *in)
{
    compute->coded = bt_arena_create(compute->registry);
    const int64_t **strides =
        compute->coded ? BT_NEWS(compute->coded, const int64_t *, compute->call.nleaf)
                       : NULL;
    if (!strides)
        return bt_no_memory();
    for (uint32_t i = 0; i < compute->call.nleaf; i++) {
        int64_t *copy = BT_NEWS(compute->coded, int64_t, in[i]->rank + 1);
        const uint32_t nparts = bt_dtype_nparts(in[i]->dtype);
        if (!copy)
            return bt_no_memory();
        // the stride of an axis with one element does not matter: 0 for all
        for (uint32_t a = 0; a < in[i]->rank; a++)
            copy[a] = in[i]->dims[a] > 1 ? in[i]->strides[a] * nparts : 0;
        copy[in[i]->rank] = 1; // of parts
        strides[i] = copy;
    }
    compute->strides = strides;
    return bt__bytecode_create(ctx, compute->coded, compute->name, compute->graph,
                               strides, &compute->bytecode);
}

static bt_status prepare(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                         const bt_tensor *const *in)
{
    BT_TRY(bt__compute_instantiate(ctx, compute, nin, in));
    if (same_strides(compute, in))
        return NULL;
    forget_bytecode(compute);
    bt_status status = make_bytecode(ctx, compute, in);
    if (status) {
        forget_bytecode(compute);
        compute->graph->status = NULL; // the graph is whole: the next try may use it
    }
    return status;
}

/* ---- running ---- */

static bt_status run_stages(bt_ctx *ctx, const bt_compute *compute,
                            const bt_tensor *const *in, bt_tensor **stages, void **data)
{
    const struct bt__bytecode *p = compute->bytecode;
    for (uint32_t i = 0; i < compute->call.nleaf; i++)
        data[i] = in[i]->data;
    for (uint32_t i = 0; i < p->nstage; i++) {
        const struct bt__code *code = &p->stages[i];
        BT_TRY(bt_tensor_create(ctx, code->dtype, code->rank, code->dims, &stages[i]));
        data[code->array] = stages[i]->data;
    }
    return bt__bytecode_run(ctx, p, data);
}

/* Bytecode reads elements where they are aligned. */
static bt_status align(bt_ctx *ctx, uint32_t nin, const bt_tensor *const *in,
                       const bt_tensor **out)
{
    for (uint32_t i = 0; i < nin; i++) {
        bt_tensor *copy;
        if (bt__tensor_is_aligned(in[i]))
            copy = bt_tensor_ref(in[i]);
        else
            BT_TRY(bt_tensor_dense(ctx, in[i], &copy));
        out[i] = copy;
    }
    return NULL;
}

static bt_status run_aligned(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                             const bt_tensor *const *in, bt_tensor **out)
{
    BT_TRY(prepare(ctx, compute, nin, in));
    const bt_graph *g = compute->graph;
    uint32_t nstage = compute->bytecode->nstage;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_tensor **stages = BT_NEWS(scratch, bt_tensor *, nstage);
    void **data = BT_NEWS(scratch, void *, g->narray);
    bt_status status =
        stages && data ? run_stages(ctx, compute, in, stages, data) : bt_no_memory();
    for (uint32_t i = 0; !status && i < g->nresult; i++)
        status = join_parts(ctx, stages[g->results[i] - g->ninput], compute->results[i],
                            &out[i]);
    for (uint32_t i = 0; stages && i < nstage; i++)
        bt_tensor_unref(stages[i]);
    bt_arena_release(scratch, mark);
    return status;
}

bt_status bt__compute_run_formula(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                                  const bt_tensor *const *in, bt_tensor **out)
{
    uint32_t i = 0;
    while (i < nin && bt__tensor_is_aligned(in[i]))
        i++;
    if (i == nin)
        return run_aligned(ctx, compute, nin, in, out);
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    const bt_tensor **aligned = BT_NEWS(scratch, const bt_tensor *, nin);
    bt_status status = aligned ? align(ctx, nin, in, aligned) : bt_no_memory();
    if (!status)
        status = run_aligned(ctx, compute, nin, aligned, out);
    for (i = 0; aligned && i < nin; i++)
        bt_tensor_unref(aligned[i]);
    bt_arena_release(scratch, mark);
    return status;
}
