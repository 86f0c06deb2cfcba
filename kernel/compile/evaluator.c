/* Primitive functions run by the reference evaluator, as a target's kernels are. */
#include <pthread.h>
#include <string.h>

#include <baton/compute.h>
#include <baton/target.h>

struct function {
    bt_compute *compute;
    uint32_t nin, nout;
    const bt_type *const *in, *const *out; /* leaves */
};
struct bt_evaluator {
    pthread_mutex_t lock; /* of functions: a bt_compute serves one run at a time */
    uint32_t n;
    struct function *functions;
    bt_module *module;
    bt_arena *arena;
};

/* ---- text ---- */

bt_status bt_evaluator_print(bt_ctx *ctx, uint32_t n, const bt_func *const *functions,
                             bt_text *out)
{
    bt_module_builder *builder;
    bt_module *module;
    bt_status status = NULL;
    if (n == 0)
        return NULL;
    bt_store *store = functions[0]->block->result->type->store;
    BT_TRY(bt_module_builder_create(ctx, store, NULL, &builder));
    for (uint32_t i = 0; !status && i < n; i++) {
        bt_global global = { .name = functions[i]->name,
                             .kind = BT_GLOBAL_FUNC,
                             .type = bt_func_type_of(store, functions[i]),
                             .func = functions[i] };
        status =
            global.type ? bt_module_builder_set(builder, &global, 1) : bt_no_memory();
    }
    if (status) {
        bt_module_builder_destroy(builder);
        return status;
    }
    BT_TRY(bt_module_builder_finish(builder, 1, &module));
    status = bt_print(ctx, module, NULL, out);
    bt_module_unref(module);
    return status ? status : out->failed ? bt_no_memory() : NULL;
}

/* ---- functions ---- */

static void add_leaves(const bt_type *type, const bt_type **leaves, uint32_t *n)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple)
        leaves[(*n)++] = type;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        add_leaves(tuple->at[i], leaves, n);
}

/* A function of one call, which may be of an operator in plain C; else a joined graph. */
static bt_status make_compute(bt_ctx *ctx, bt_arena *arena, const bt_func *func,
                              bt_compute **out)
{
    const bt_block *block = func->block;
    const bt_call *call = block->nbinding == 1 ? bt_as_call(block->bindings[0]) : NULL;
    if (!call || call->callee_kind != BT_CALLEE_OP || call->narg != block->nparam ||
        block->result != &call->base)
        return bt_compute_create_func(ctx, func, out);
    for (uint32_t i = 0; i < call->narg; i++) {
        // a call by itself is computed by logical indices, a function as memory lies
        if (call->args[i] != &block->params[i]->base ||
            bt_type_layout(call->args[i]->type) || bt_type_layout(call->base.type))
            return bt_compute_create_func(ctx, func, out);
    }
    bt_formula_call formula;
    BT_TRY(bt_call_formula(arena, call, &formula));
    return bt_compute_create(ctx, &formula, out);
}

static bt_status load_function(bt_ctx *ctx, bt_arena *arena, const bt_func *func,
                               struct function *out)
{
    uint32_t nin = 0, nout = bt_type_nleaf(func->result);
    for (uint32_t i = 0; i < func->block->nparam; i++)
        nin += bt_type_nleaf(func->block->params[i]->base.type);
    const bt_type **leaves = BT_NEWS(arena, const bt_type *, (size_t)nin + nout);
    if (!leaves)
        return bt_no_memory();
    out->in = leaves;
    out->out = leaves + nin;
    for (uint32_t i = 0; i < func->block->nparam; i++)
        add_leaves(func->block->params[i]->base.type, leaves, &out->nin);
    add_leaves(func->result, leaves + nin, &out->nout);
    for (uint32_t i = 0; i < nin + nout; i++) {
        uint32_t rank;
        int64_t dims[BT_MAX_RANK];
        if (!bt_as_tensor_type(leaves[i]) || !bt_tensor_static(leaves[i], &rank, dims))
            return bt_fail(ctx, BT_ERR_FORMAT, "@%s has no tensors of known dims",
                           func->name);
    }
    return make_compute(ctx, arena, func, &out->compute);
}

static bt_status load_all(bt_ctx *ctx, bt_evaluator *e, const char *text, size_t nbytes)
{
    bt_module *parsed;
    BT_TRY(bt_parse(ctx, "functions", NULL, text, nbytes, &parsed));
    bt_status status = bt_infer(ctx, parsed, &e->module);
    bt_module_unref(parsed);
    BT_TRY(status);
    e->functions = BT_NEWS(e->arena, struct function, e->module->nglobal);
    if (!e->functions)
        return bt_no_memory();
    for (uint32_t i = 0; i < e->module->nglobal; i++) {
        const bt_global *global = e->module->globals[i];
        if (global->kind != BT_GLOBAL_FUNC)
            return bt_fail(ctx, BT_ERR_FORMAT, "@%s is no function", global->name);
        e->n = i + 1;
        BT_TRY(load_function(ctx, e->arena, global->func, &e->functions[i]));
    }
    return NULL;
}

bt_status bt_evaluator_create(bt_ctx *ctx, const char *text, size_t nbytes,
                              bt_evaluator **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    bt_evaluator *e = arena ? BT_NEW(arena, bt_evaluator) : NULL;
    if (!e) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    e->arena = arena;
    pthread_mutex_init(&e->lock, NULL); // without attributes it cannot fail
    bt_status status = nbytes ? load_all(ctx, e, text, nbytes) : NULL;
    if (status)
        bt_evaluator_destroy(e);
    else
        *out = e;
    return status;
}

void bt_evaluator_destroy(bt_evaluator *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; i < e->n; i++)
        bt_compute_destroy(e->functions[i].compute);
    pthread_mutex_destroy(&e->lock);
    bt_module_unref(e->module);
    bt_arena_destroy(e->arena);
}

uint32_t bt_evaluator_nfunction(const bt_evaluator *e)
{
    return e->n;
}

uint32_t bt_evaluator_nin(const bt_evaluator *e, uint32_t function)
{
    return e->functions[function].nin;
}

uint32_t bt_evaluator_nout(const bt_evaluator *e, uint32_t function)
{
    return e->functions[function].nout;
}

/* ---- as a kernel ---- */

static bt_kernel_buffer *number(bt_arena *arena, uint32_t kind, uint32_t n)
{
    bt_kernel_buffer *all = BT_NEWS(arena, bt_kernel_buffer, n);
    for (uint32_t i = 0; all && i < n; i++)
        all[i] = (bt_kernel_buffer){ kind, i };
    return all;
}

/* All inputs are read before anything is written. */
static int add_over(bt_arena *arena, bt_kernel *kernel)
{
    enum { MOST = 64 }; // pairs that are worth listing
    if ((uint64_t)kernel->nin * kernel->nout > MOST)
        return 1;
    bt_kernel_over *over = BT_NEWS(arena, bt_kernel_over, kernel->nin * kernel->nout);
    for (uint32_t i = 0; over && i < kernel->nin * kernel->nout; i++)
        over[i] = (bt_kernel_over){ .out = i / kernel->nin, .in = i % kernel->nin };
    kernel->nover = kernel->nin * kernel->nout;
    kernel->over = over;
    return over != NULL;
}

bt_kernel *bt_lowering_add(bt_lowering *l, bt_arena *arena)
{
    bt_kernel *kernel = BT_NEW(arena, bt_kernel);
    bt_kernel **kernels = BT_NEWS(arena, bt_kernel *, (size_t)l->nkernel + 1);
    if (!kernel || !kernels)
        return NULL;
    for (uint32_t i = 0; i < l->nkernel; i++)
        kernels[i] = l->kernels[i];
    kernels[l->nkernel++] = kernel;
    l->kernels = kernels;
    return kernel;
}

bt_kernel *bt_lowering_whole(bt_lowering *l, bt_arena *arena, const bt_func *primitive)
{
    bt_kernel *kernel = bt_lowering_add(l, arena);
    if (!kernel)
        return NULL;
    for (uint32_t i = 0; i < primitive->block->nparam; i++)
        kernel->nin += bt_type_nleaf(primitive->block->params[i]->base.type);
    kernel->nout = bt_type_nleaf(primitive->result);
    kernel->in = number(arena, BT_BUFFER_INPUT, kernel->nin);
    kernel->out = number(arena, BT_BUFFER_OUTPUT, kernel->nout);
    return kernel->in && kernel->out && add_over(arena, kernel) ? kernel : NULL;
}

/* ---- running ---- */

static bt_status wrap(bt_ctx *ctx, const bt_type *type, void *data, bt_tensor **out)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    (void)bt_tensor_physical(type, &rank, dims);
    return bt_tensor_wrap(ctx, bt_tensor_dtype(type), rank, dims, data, out);
}

bt_status bt_evaluator_run(bt_ctx *ctx, bt_evaluator *e, uint32_t function,
                           const bt_kernel_call *call)
{
    const struct function *f = &e->functions[function];
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_tensor **in = BT_NEWS(scratch, bt_tensor *, f->nin);
    bt_tensor **out = BT_NEWS(scratch, bt_tensor *, f->nout);
    bt_status status = in && out ? NULL : bt_no_memory();
    for (uint32_t i = 0; !status && i < f->nin; i++)
        status = wrap(ctx, f->in[i], call->buffers[i], &in[i]);
    if (!status) {
        pthread_mutex_lock(&e->lock);
        status =
            bt_compute_run(ctx, f->compute, f->nin, (const bt_tensor *const *)in, out);
        pthread_mutex_unlock(&e->lock);
    }
    for (uint32_t i = 0; !status && i < f->nout; i++) {
        if (out[i]->nelem)
            memcpy(call->buffers[f->nin + i], out[i]->data, bt_tensor_nbytes(out[i]));
        bt_tensor_unref(out[i]);
    }
    for (uint32_t i = 0; in && i < f->nin; i++)
        bt_tensor_unref(in[i]);
    bt_arena_release(scratch, mark);
    return status;
}
