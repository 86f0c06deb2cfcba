/*
 * reference: the target that others are compared with. A primitive function is one kernel;
 * its code is the function's text, and a launch runs the evaluator on it.
 */
#define _POSIX_C_SOURCE 200809L /* pthread_mutex_t */

#include <pthread.h>
#include <string.h>

#include <baton/compute.h>
#include <baton/target.h>

/* One module's kernels. */
struct loaded {
    pthread_mutex_t lock; /* of kernels: a bt_compute serves one run at a time */
    uint32_t n;
    struct kernel *kernels;
    bt_module *module;
    bt_arena *arena;
};
struct kernel {
    bt_compute *compute;
    uint32_t nin, nout;
    const bt_type *const *in; /* leaves */
};

static char the_instance; /* of which there is nothing to know */

static bt_status open(bt_ctx *ctx, const void *options, void **self)
{
    (void)ctx, (void)options;
    *self = &the_instance;
    return NULL;
}

static void close(void *self)
{
    (void)self;
}

/* ---- lowering ---- */

static uint32_t count_inputs(const bt_func *func)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < func->block->nparam; i++)
        n += bt_type_nleaf(func->block->params[i]->base.type);
    return n;
}

static bt_kernel_buffer *number(bt_arena *arena, uint32_t kind, uint32_t n)
{
    bt_kernel_buffer *all = BT_NEWS(arena, bt_kernel_buffer, n);
    for (uint32_t i = 0; all && i < n; i++)
        all[i] = (bt_kernel_buffer){ kind, i };
    return all;
}

/* All that is read has been read when anything is written. */
static int add_over(bt_arena *arena, bt_kernel *kernel)
{
    enum { MOST = 64 }; // pairs that are worth listing
    if ((uint64_t)kernel->nin * kernel->nout > MOST)
        return 1;
    bt_kernel_over *over = BT_NEWS(arena, bt_kernel_over, kernel->nin * kernel->nout);
    for (uint32_t i = 0; over && i < kernel->nin * kernel->nout; i++)
        over[i] = (bt_kernel_over){ i / kernel->nin, i % kernel->nin };
    kernel->nover = kernel->nin * kernel->nout;
    kernel->over = over;
    return over != NULL;
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *primitive,
                       bt_lowering *out)
{
    (void)ctx, (void)self;
    bt_kernel *kernel = BT_NEW(arena, bt_kernel);
    if (!kernel)
        return bt_no_memory();
    kernel->nin = count_inputs(primitive);
    kernel->nout = bt_type_nleaf(primitive->result);
    kernel->in = number(arena, BT_BUFFER_INPUT, kernel->nin);
    kernel->out = number(arena, BT_BUFFER_OUTPUT, kernel->nout);
    *out = (bt_lowering){ .nkernel = 1, .kernels = kernel };
    return kernel->in && kernel->out && add_over(arena, kernel) ? NULL : bt_no_memory();
}

/* ---- code ---- */

/* The text of a module that defines the functions, in the order of the kernels. */
static bt_status compile(bt_ctx *ctx, void *self, uint32_t n,
                         const bt_kernel *const *kernels, bt_text *code)
{
    (void)self;
    bt_module_builder *builder;
    bt_module *module;
    if (n == 0)
        return NULL;
    bt_store *store = kernels[0]->primitive->block->result->type->store;
    BT_TRY(bt_module_builder_create(ctx, store, NULL, &builder));
    bt_status status = NULL;
    for (uint32_t i = 0; !status && i < n; i++) {
        bt_global global = { .name = kernels[i]->primitive->name,
                             .kind = BT_GLOBAL_FUNC,
                             .type = bt_func_type_of(store, kernels[i]->primitive),
                             .func = kernels[i]->primitive };
        status =
            global.type ? bt_module_builder_set(builder, &global, 1) : bt_no_memory();
    }
    if (status) {
        bt_module_builder_destroy(builder);
        return status;
    }
    BT_TRY(bt_module_builder_finish(builder, 1, &module));
    status = bt_print(ctx, module, NULL, code);
    bt_module_unref(module);
    return status;
}

/* ---- loading ---- */

static void add_leaves(const bt_type *type, const bt_type **leaves, uint32_t *n)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    if (!tuple)
        leaves[(*n)++] = type;
    for (uint32_t i = 0; tuple && i < tuple->n; i++)
        add_leaves(tuple->at[i], leaves, n);
}

static int has_layout(const bt_type *type)
{
    const bt_list_type *tuple = bt_as_tuple_type(type);
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    for (uint32_t i = 0; tuple && i < tuple->n; i++) {
        if (has_layout(tuple->at[i]))
            return 1;
    }
    return tensor && tensor->layout;
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
    const bt_type **types = BT_NEWS(arena, const bt_type *, call->narg);
    if (!types)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++) {
        types[i] = call->args[i]->type;
        // a call by itself is computed by logical indices, a function as memory lies
        if (call->args[i] != &block->params[i]->base || has_layout(types[i]) ||
            has_layout(call->base.type))
            return bt_compute_create_func(ctx, func, out);
    }
    bt_formula_call formula = { call->op, call->attrs, call->narg, types,
                                call->base.type };
    return bt_compute_create(ctx, &formula, out);
}

static bt_status load_kernel(bt_ctx *ctx, struct loaded *l, const bt_func *func,
                             struct kernel *out)
{
    const bt_type **leaves = BT_NEWS(l->arena, const bt_type *, count_inputs(func));
    if (!leaves)
        return bt_no_memory();
    for (uint32_t i = 0; i < func->block->nparam; i++)
        add_leaves(func->block->params[i]->base.type, leaves, &out->nin);
    out->in = leaves;
    out->nout = bt_type_nleaf(func->result);
    return make_compute(ctx, l->arena, func, &out->compute);
}

static void unload(void *opaque)
{
    struct loaded *l = opaque;
    for (uint32_t i = 0; i < l->n; i++)
        bt_compute_destroy(l->kernels[i].compute);
    pthread_mutex_destroy(&l->lock);
    bt_module_unref(l->module);
    bt_arena_destroy(l->arena);
}

static bt_status load_all(bt_ctx *ctx, struct loaded *l, const char *code, size_t nbytes)
{
    bt_module *parsed;
    if (nbytes == 0)
        return NULL;
    BT_TRY(bt_parse(ctx, "reference code", NULL, code, nbytes, &parsed));
    bt_status status = bt_infer(ctx, parsed, &l->module);
    bt_module_unref(parsed);
    BT_TRY(status);
    l->kernels = BT_NEWS(l->arena, struct kernel, l->module->nglobal);
    if (!l->kernels)
        return bt_no_memory();
    for (uint32_t i = 0; i < l->module->nglobal; i++) {
        const bt_global *global = l->module->globals[i];
        if (global->kind != BT_GLOBAL_FUNC)
            return bt_fail(ctx, BT_ERR_FORMAT, "reference code: @%s is no function",
                           global->name);
        l->n = i + 1;
        BT_TRY(load_kernel(ctx, l, global->func, &l->kernels[i]));
    }
    return NULL;
}

static bt_status load(bt_ctx *ctx, void *self, const void *code, size_t nbytes,
                      void **out)
{
    (void)self;
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct loaded *l = arena ? BT_NEW(arena, struct loaded) : NULL;
    if (!l) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    l->arena = arena;
    pthread_mutex_init(&l->lock, NULL); // without attributes it cannot fail
    bt_status status = load_all(ctx, l, code, nbytes);
    if (status)
        unload(l);
    else
        *out = l;
    return status;
}

/* ---- launching ---- */

static bt_status wrap(bt_ctx *ctx, const bt_type *type, void *data, bt_tensor **out)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    (void)bt_tensor_physical(type, &rank, dims);
    return bt_tensor_wrap(ctx, bt_tensor_dtype(type), rank, dims, data, out);
}

static bt_status launch(bt_ctx *ctx, void *opaque, uint32_t number_, void *const *buffers)
{
    struct loaded *l = opaque;
    const struct kernel *k = &l->kernels[number_];
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    bt_tensor **in = BT_NEWS(scratch, bt_tensor *, k->nin);
    bt_tensor **out = BT_NEWS(scratch, bt_tensor *, k->nout);
    bt_status status = in && out ? NULL : bt_no_memory();
    for (uint32_t i = 0; !status && i < k->nin; i++)
        status = wrap(ctx, k->in[i], buffers[i], &in[i]);
    if (!status) {
        pthread_mutex_lock(&l->lock);
        status =
            bt_compute_run(ctx, k->compute, k->nin, (const bt_tensor *const *)in, out);
        pthread_mutex_unlock(&l->lock);
    }
    for (uint32_t i = 0; !status && i < k->nout; i++) {
        if (out[i]->nelem)
            memcpy(buffers[k->nin + i], out[i]->data, bt_tensor_nbytes(out[i]));
        bt_tensor_unref(out[i]);
    }
    for (uint32_t i = 0; in && i < k->nin; i++)
        bt_tensor_unref(in[i]);
    bt_arena_release(scratch, mark);
    return status;
}

static const bt_target targets[] = {
    {
        .name = "reference",
        .doc = "Primitive functions by the evaluator: slow, and what others must agree "
               "with.",
        .open = open,
        .close = close,
        .lower = lower,
        .compile = compile,
        .load = load,
        .unload = unload,
        .launch = launch,
    },
    { 0 },
};

const bt_table bt_targets_reference_reference[] = { BT_TARGETS(targets), { 0 } };
