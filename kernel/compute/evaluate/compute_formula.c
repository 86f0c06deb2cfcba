/* Computations by formula: instantiated for the inputs at hand, kept for the next
 * call. */
#include "compute/evaluate/compute.h"

#include <inttypes.h>
#include <string.h>

#include "ir/dim.h"
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
        for (uint32_t a = 0; a < in[i]->rank; a++) {
            if (in[i]->dims[a] > 1 && compute->strides[i][a] != in[i]->strides[a])
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
    compute->leaves = NULL;
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

/* Values of a graph's dims, by the shapes that show them. */
static bt_status read_dims(bt_ctx *ctx, const bt_compute *compute,
                           const bt_tensor *const *in, int64_t *out)
{
    const bt_graph *g = compute->open;
    for (uint32_t i = 0; i < g->ninput; i++) {
        if (in[i]->dtype != g->arrays[i].dtype || in[i]->rank != g->arrays[i].rank)
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "%s: tensor %u differs from the parameter's type",
                           compute->name, i);
    }
    for (uint32_t i = 0; i < g->ndim; i++) {
        const struct bt__shown *at = &compute->shown[i];
        if (!at->sign)
            return bt_fail(ctx, BT_ERR_ARGUMENT, "%s: no tensor's shape shows dim %s",
                           compute->name, g->dims[i].name);
        if (!bt_add_int64(at->sign * in[at->input]->dims[at->axis], at->constant,
                          &out[i]) ||
            out[i] < g->dims[i].low || out[i] > g->dims[i].high)
            return bt_fail(ctx, BT_ERR_ARGUMENT,
                           "%s: dim %s is %" PRId64 ", expected %" PRId64 " to %" PRId64,
                           compute->name, g->dims[i].name, out[i], g->dims[i].low,
                           g->dims[i].high);
    }
    return NULL;
}

static bt_status bind(bt_ctx *ctx, bt_compute *compute, const bt_tensor *const *in)
{
    int64_t number;
    BT_TRY(begin_for(compute, in));
    int64_t *dims = BT_NEWS(compute->made, int64_t, compute->open->ndim);
    if (!dims)
        return bt_no_memory();
    BT_TRY(read_dims(ctx, compute, in, dims));
    BT_TRY(bt__graph_bind(ctx, compute->made, compute->open, dims, &compute->graph));
    BT_TRY(bt__graph_inline(compute->graph));
    for (uint32_t i = 0; i < compute->call.nleaf; i++) {
        for (uint32_t a = 0; a < in[i]->rank; a++) {
            const bt_node *extent = compute->graph->arrays[i].extents[a];
            if (!bt_node_is_const(extent, &number) || number != in[i]->dims[a])
                return bt_fail(ctx, BT_ERR_ARGUMENT,
                               "%s: axis %u of tensor %u has extent %" PRId64
                               ", expected %" PRId64 " by the shapes before it",
                               compute->name, a, i, in[i]->dims[a],
                               bt_node_number(extent));
        }
    }
    return NULL;
}

static bt_status instantiate(bt_ctx *ctx, bt_compute *compute, const bt_tensor *const *in)
{
    BT_TRY(begin_for(compute, in));
    struct bt__instance instance = compute->instance;
    instance.leaves = compute->leaves;
    return bt__instantiate(ctx, compute->made, &instance, &compute->graph);
}

bt_status bt__compute_instantiate(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                                  const bt_tensor *const *in)
{
    (void)nin;
    if (same_leaves(compute, in)) {
        compute->graph->ctx = ctx;
        return NULL;
    }
    bt_status status =
        compute->open ? bind(ctx, compute, in)
        : compute->is_joined
            ? bt_fail(ctx, BT_ERR_ARGUMENT,
                      "%s: the tensors differ from the parameters' types", compute->name)
            : instantiate(ctx, compute, in);
    if (status)
        forget(compute);
    return status;
}

/* Recursion is bounded by the depth of types. */
static void find_in(const bt_func *func, const bt_type *type, uint32_t *input,
                    struct bt__shown *shown)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_shape_type *shape = bt_tensor_shape(type);
    struct bt__shown at = { .input = *input };
    int64_t one;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        find_in(func, tuple->at[i], input, shown);
    if (tuple)
        return;
    ++*input;
    for (uint32_t i = 0; shape && i < shape->n; i++) {
        const bt_type *var = bt__dim_shown(shape->dims[i], 0, &at.constant);
        if (!var || !bt__dim_shown(shape->dims[i], 1, &one))
            continue;
        at.axis = i;
        at.sign = one - at.constant;
        for (uint32_t k = 0; k < func->nvar; k++) {
            if (func->vars[k] == var && !shown[k].sign)
                shown[k] = at;
        }
    }
}

static bt_status find_shown(bt_compute *compute, const bt_func *func)
{
    struct bt__shown *shown = BT_NEWS(compute->arena, struct bt__shown, func->nvar);
    uint32_t input = 0;
    if (!shown)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->block->nparam; i++)
        find_in(func, func->block->params[i]->base.type, &input, shown);
    compute->shown = shown;
    return NULL;
}

bt_status bt__compute_take_func(bt_ctx *ctx, bt_compute *compute, const bt_func *func)
{
    BT_TRY(begin(compute));
    BT_TRY(bt__graph_join(ctx, compute->made, func, &compute->graph));
    compute->leaves = compute->call.leaves;
    compute->is_joined = 1;
    if (!compute->graph->ndim)
        return bt__graph_inline(compute->graph);
    BT_TRY(find_shown(compute, func));
    // it stays: what is made from it at a run is forgotten before the next
    compute->open = compute->graph;
    compute->of_open = compute->made;
    compute->made = NULL;
    forget(compute);
    return NULL;
}

/* A fault of the formula shows before any tensor is there, as far as types are known.
 * Where they say all dims, this is the instantiation that a run will use. */
bt_status bt__compute_take_formula(bt_ctx *ctx, bt_compute *compute,
                                   const bt_formula_call *call)
{
    BT_TRY(
        bt__call_formula(ctx, compute->arena, call, &compute->call, &compute->instance));
    BT_TRY(begin(compute));
    BT_TRY(bt__call_graph(ctx, compute->made, &compute->instance, &compute->graph));
    compute->leaves = compute->call.leaves;
    if (!compute->graph || compute->graph->ndim)
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
        int64_t *copy = BT_NEWS(compute->coded, int64_t, in[i]->rank);
        if (!copy)
            return bt_no_memory();
        // the stride of an axis with one element does not matter: 0 for all
        for (uint32_t a = 0; a < in[i]->rank; a++)
            copy[a] = in[i]->dims[a] > 1 ? in[i]->strides[a] : 0;
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
        out[i] = bt_tensor_ref(stages[g->results[i] - g->ninput]);
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
