/* Operators' computations: making them, running them, asking for shapes and costs. */
#include "compute/evaluate/compute.h"

#include <inttypes.h>
#include <string.h>

#include "compute/graph/cost.h"
#include "compute/graph/print.h"

/* What is to be computed: a call of an operator, or all calls of a function. */
struct source {
    const bt_formula_call *call;
    const bt_func *func;
    const int64_t *dims; /* of the function */
};

static int has_graph(const bt_compute *compute)
{
    return compute->instance.formula || compute->is_joined;
}

static bt_status fill_call(bt_ctx *ctx, bt_compute *compute, const bt_formula_call *call)
{
    const bt_op *op = call->op;
    compute->name = bt_arena_text(compute->arena, op->name, strlen(op->name));
    if (!compute->name)
        return bt_no_memory();
    BT_TRY(bt__call_read(ctx, compute->arena, call, &compute->call));
    if (bt_op_has_formula(op))
        return bt__compute_take_formula(ctx, compute, call);
    return bt__compute_take_eval(ctx, compute, call, NULL, NULL);
}

/* The function's call, where there is no other. Plain C has parameters in any order, and
 * constants; a formula has all parameters in their order, as it is joined else. NULL: none,
 * or one on tensors with layouts, as calls by themselves are of logical indices. */
static const bt_call *lone_call(const bt_func *func)
{
    const bt_block *block = func->block;
    const bt_call *call = block->nbinding == 1 ? bt_as_call(block->bindings[0]) : NULL;
    if (!call || call->callee_kind != BT_CALLEE_OP || block->result != &call->base ||
        bt_type_layout(call->base.type))
        return NULL;
    int has_formula = bt_op_has_formula(call->op);
    if (has_formula && call->narg != block->nparam)
        return NULL;
    for (uint32_t i = 0; i < call->narg; i++) {
        if (bt_type_layout(call->args[i]->type) ||
            (has_formula && call->args[i] != &block->params[i]->base))
            return NULL;
    }
    return call;
}

static bt_status fill_bound(struct bt__copying *c, bt_compute *compute,
                            const struct source *source)
{
    const bt_func *func = source->func;
    const bt_block *block = func->block;
    const bt_call *lone = lone_call(func);
    const char *name = lone ? lone->op->name : func->name ? func->name : "a function";
    bt_formula_call call;
    BT_TRY(bt__copying_bind(c, func, source->dims));
    if (lone)
        BT_TRY(bt__copying_binding(c, lone, &call));
    if (lone && bt_op_has_formula(lone->op))
        return fill_call(c->ctx, compute, &call);
    const bt_type **types = BT_NEWS(c->arena, const bt_type *, block->nparam), *result;
    compute->name = bt_arena_text(compute->arena, name, strlen(name));
    if (!compute->name || !types)
        return bt_no_memory();
    for (uint32_t i = 0; i < block->nparam; i++)
        BT_TRY(bt__copying_type(c, block->params[i]->base.type, &types[i]));
    BT_TRY(bt__copying_type(c, func->result, &result));
    BT_TRY(bt__call_read_types(c->ctx, compute->arena, compute->name, block->nparam,
                               types, result, &compute->call));
    return lone ? bt__compute_take_eval(c->ctx, compute, &call, lone, func->block)
                : bt__compute_take_func(c->ctx, compute, func, c);
}

static bt_status fill_func(bt_ctx *ctx, bt_compute *compute, const struct source *source)
{
    struct bt__copying c;
    bt_store *store = bt_store_create(compute->registry);
    if (!store)
        return bt_no_memory();
    bt__copying_init(&c, ctx, compute->arena, store);
    bt_status status = fill_bound(&c, compute, source);
    bt_store_unref(store);
    return status;
}

static bt_status create(bt_ctx *ctx, const struct source *source, bt_compute **out)
{
    bt_registry *registry = bt_ctx_registry(ctx);
    bt_compute *compute = bt_alloc(registry, sizeof(*compute));
    if (!compute)
        return bt_no_memory();
    compute->registry = bt_registry_ref(registry);
    compute->arena = bt_arena_create(registry);
    bt_status status = !compute->arena ? bt_no_memory()
                       : source->call  ? fill_call(ctx, compute, source->call)
                                       : fill_func(ctx, compute, source);
    if (status)
        bt_compute_destroy(compute);
    else
        *out = compute;
    return status;
}

bt_status bt_compute_create(bt_ctx *ctx, const bt_formula_call *call, bt_compute **out)
{
    return create(ctx, &(struct source){ .call = call }, out);
}

bt_status bt_compute_create_func(bt_ctx *ctx, const bt_func *func, const int64_t *dims,
                                 bt_compute **out)
{
    return create(ctx, &(struct source){ .func = func, .dims = dims }, out);
}

void bt_compute_destroy(bt_compute *compute)
{
    if (!compute)
        return;
    bt_registry *registry = compute->registry;
    for (uint32_t i = 0; i < compute->nleaf; i++)
        bt_tensor_unref(compute->sources[i].constant);
    bt__formulas_unref(compute->formulas);
    bt_arena_destroy(compute->coded);
    bt_arena_destroy(compute->made);
    bt_arena_destroy(compute->arena);
    bt_store_unref(compute->store);
    bt_free(registry, compute, sizeof(*compute));
    bt_registry_unref(registry);
}

uint32_t bt_compute_nout(const bt_compute *compute)
{
    return compute->call.nresult;
}

static bt_status check_inputs(bt_ctx *ctx, const bt_compute *compute, uint32_t nin,
                              const bt_tensor *const *in)
{
    if (nin != compute->call.nleaf)
        return bt_fail(ctx, BT_ERR_ARGUMENT, "%s: expected %u tensors, found %u",
                       compute->name, compute->call.nleaf, nin);
    for (uint32_t i = 0; i < nin; i++) {
        if (!in[i])
            return bt_fail(ctx, BT_ERR_ARGUMENT, "%s: tensor %u is missing",
                           compute->name, i);
    }
    return NULL;
}

/* What was computed against what the type says of it. */
static bt_status check_result(bt_ctx *ctx, const bt_compute *compute, uint32_t index,
                              const bt_tensor *t)
{
    const struct bt__leaf *type = &compute->call.results[index];
    char wanted[BT_DTYPE_NAME_SIZE], found[BT_DTYPE_NAME_SIZE];
    if (!t)
        return bt_fail(ctx, BT_ERR_INTERNAL, "%s gave no tensor for result %u",
                       compute->name, index);
    if (type->dtype && type->dtype != t->dtype)
        return bt_fail(ctx, BT_ERR_INTERNAL, "%s: result %u has type %s, computed was %s",
                       compute->name, index,
                       bt_dtype_name(type->dtype, wanted, sizeof(wanted)),
                       bt_dtype_name(t->dtype, found, sizeof(found)));
    if (type->has_rank && type->rank != t->rank)
        return bt_fail(ctx, BT_ERR_INTERNAL,
                       "%s: result %u has a type of rank %u, computed was rank %u",
                       compute->name, index, type->rank, t->rank);
    for (uint32_t i = 0; type->has_rank && i < t->rank; i++) {
        if (type->dims[i] >= 0 && type->dims[i] != t->dims[i])
            return bt_fail(ctx, BT_ERR_RUNTIME,
                           "%s: axis %u of result %u has extent %" PRId64
                           " in its type, computed was %" PRId64,
                           compute->name, i, index, type->dims[i], t->dims[i]);
    }
    return NULL;
}

bt_status bt_compute_run(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                         const bt_tensor *const *in, bt_tensor **out)
{
    uint32_t nout = compute->call.nresult;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_tensor **made = BT_NEWS(scratch, bt_tensor *, nout);
    bt_status status = made ? check_inputs(ctx, compute, nin, in) : bt_no_memory();
    if (!status)
        status = has_graph(compute) ? bt__compute_run_formula(ctx, compute, nin, in, made)
                                    : bt__compute_run_eval(ctx, compute, in, made);
    for (uint32_t i = 0; !status && i < nout; i++)
        status = check_result(ctx, compute, i, made[i]);
    for (uint32_t i = 0; made && i < nout; i++) {
        if (status)
            bt_tensor_unref(made[i]);
        else
            out[i] = made[i];
    }
    bt_arena_release(scratch, mark);
    return status;
}

/* ---- asking ---- */

static bt_status need_graph(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                            const bt_tensor *const *in)
{
    BT_TRY(check_inputs(ctx, compute, nin, in));
    if (!has_graph(compute))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                       "%s is plain C: there is no compute graph", compute->name);
    return bt__compute_instantiate(ctx, compute, nin, in);
}

bt_status bt_compute_shapes(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                            const bt_tensor *const *in, uint32_t *ranks,
                            int64_t (*out)[BT_MAX_RANK], uint32_t *is_bound)
{
    *is_bound = 0;
    if (has_graph(compute)) {
        BT_TRY(need_graph(ctx, compute, nin, in));
        for (uint32_t i = 0; i < compute->graph->nresult; i++) {
            const bt_array *array = compute->results[i];
            ranks[i] = array->rank;
            for (uint32_t k = 0; k < array->rank; k++)
                (void)bt_node_is_const(array->extents[k], &out[i][k]);
        }
        return NULL;
    }
    BT_TRY(check_inputs(ctx, compute, nin, in));
    for (uint32_t i = 0; i < compute->call.nresult; i++) {
        const struct bt__leaf *type = &compute->call.results[i];
        ranks[i] = type->rank;
        for (uint32_t k = 0; k < type->rank; k++) {
            out[i][k] = type->dims[k];
            if (type->dims[k] < 0)
                return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                               "%s: extent %u of result %u is known only when it is "
                               "computed",
                               compute->name, k, i);
        }
        if (!type->has_rank)
            return bt_fail(ctx, BT_ERR_UNSUPPORTED,
                           "%s: the rank of result %u is known only when it is computed",
                           compute->name, i);
    }
    return NULL;
}

bt_status bt_compute_print(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                           const bt_tensor *const *in, bt_text *out)
{
    BT_TRY(need_graph(ctx, compute, nin, in));
    return bt_graph_print(ctx, compute->graph, out);
}

bt_status bt_compute_cost(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                          const bt_tensor *const *in, int64_t *multiply_adds)
{
    BT_TRY(need_graph(ctx, compute, nin, in));
    return bt__graph_cost(compute->graph, multiply_adds);
}

bt_status bt_compute_may_fold(bt_ctx *ctx, bt_compute *compute, uint32_t nin,
                              const bt_tensor *const *in, int *out)
{
    struct bt__folding folding = { 0 };
    BT_TRY(check_inputs(ctx, compute, nin, in));
    if (has_graph(compute))
        BT_TRY(bt__compute_instantiate(ctx, compute, nin, in));
    BT_TRY(bt__folding_add_run(&folding, compute, nin, in));
    *out = bt__may_fold(&folding);
    return NULL;
}
