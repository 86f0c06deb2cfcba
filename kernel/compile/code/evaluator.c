/*
 * Primitive functions run by the reference evaluator, as a target's kernels are. One with
 * open dims is read anew for the dims of a call, as if its text had numbers there; what was
 * made for the last few is kept.
 */
#include <pthread.h>
#include <string.h>

#include <baton/compute.h>
#include <baton/target.h>

#include "text/given_dims.h"

/* A function for some values of its dims. */
struct instance {
    bt_compute *compute;
    bt_module *module; /* that types are of */
    int64_t *dims;
    const bt_type *const *in, *const *out; /* leaves */
    bt_arena *arena;                       /* in which this lies too */
};

enum { MOST_INSTANCES = 8 };
struct function {
    const char *name;
    uint32_t nin, nout, ndim;
    const char *const *dims; /* names */
    uint32_t ninstance;      /* the last one that ran is the first */
    struct instance *instances[MOST_INSTANCES];
};
struct bt_evaluator {
    pthread_mutex_t lock; /* of functions: a bt_compute serves one run at a time */
    uint32_t n;
    struct function *functions;
    const char *text;
    size_t nbytes;
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

/* Types of all leaves; those of the result behind those of the parameters. */
static const bt_type **leaves_of(bt_arena *arena, const bt_func *func, uint32_t *nin,
                                 uint32_t *nout)
{
    uint32_t n = 0;
    *nin = 0;
    *nout = bt_type_nleaf(func->result);
    for (uint32_t i = 0; i < func->block->nparam; i++)
        *nin += bt_type_nleaf(func->block->params[i]->base.type);
    const bt_type **leaves = BT_NEWS(arena, const bt_type *, (size_t)*nin + *nout);
    for (uint32_t i = 0; leaves && i < func->block->nparam; i++)
        add_leaves(func->block->params[i]->base.type, leaves, &n);
    if (leaves)
        add_leaves(func->result, leaves, &n);
    return leaves;
}

static void drop_instance(struct instance *instance)
{
    bt_compute_destroy(instance->compute);
    bt_module_unref(instance->module);
    bt_arena_destroy(instance->arena);
}

/* `module` has the function with numbers for its dims. */
static bt_status fill_instance(bt_ctx *ctx, const struct function *f, const int64_t *dims,
                               bt_module *module, struct instance *out)
{
    const bt_func *func = bt_module_find(module, f->name)->func;
    uint32_t nin, nout;
    const bt_type **leaves = leaves_of(out->arena, func, &nin, &nout);
    out->module = bt_module_ref(module);
    out->dims = BT_NEWS(out->arena, int64_t, f->ndim);
    if (!leaves || !out->dims)
        return bt_no_memory();
    for (uint32_t i = 0; i < f->ndim; i++)
        out->dims[i] = dims[i];
    out->in = leaves;
    out->out = leaves + nin;
    for (uint32_t i = 0; i < nin + nout; i++) {
        uint32_t rank;
        int64_t physical[BT_MAX_RANK];
        if (!bt_as_tensor_type(leaves[i]) ||
            !bt_tensor_physical(leaves[i], &rank, physical))
            return bt_fail(ctx, BT_ERR_FORMAT, "@%s has no tensors of known dims",
                           f->name);
    }
    return make_compute(ctx, out->arena, func, &out->compute);
}

static bt_status make_instance(bt_ctx *ctx, const struct function *f, const int64_t *dims,
                               bt_module *module, struct instance **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct instance *instance = arena ? BT_NEW(arena, struct instance) : NULL;
    if (!instance) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    instance->arena = arena;
    bt_status status = fill_instance(ctx, f, dims, module, instance);
    if (status)
        drop_instance(instance);
    else
        *out = instance;
    return status;
}

/* The text with numbers for the dims of a function. */
static bt_status read_text(bt_ctx *ctx, const struct bt_evaluator *e,
                           const struct function *f, const int64_t *dims, bt_module **out)
{
    bt_module *parsed;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    bt__given_dims given = { 0 };
    if (f) {
        given = (bt__given_dims){ f->name, f->ndim,
                                  BT_NEWS(scratch, struct bt__given_dim, f->ndim) };
        if (!given.at)
            return bt_no_memory();
    }
    for (uint32_t i = 0; i < given.n; i++)
        given.at[i] = (struct bt__given_dim){ .name = f->dims[i], .value = dims[i] };
    BT_TRY(bt__parse_given(ctx, "functions", NULL, e->text, e->nbytes, &given, &parsed));
    bt_status status = bt_infer(ctx, parsed, out);
    bt_module_unref(parsed);
    return status;
}

/* The instance for some dims, first of its function's. */
static bt_status find_instance(bt_ctx *ctx, const struct bt_evaluator *e,
                               struct function *f, const int64_t *dims,
                               struct instance **out)
{
    bt_module *module;
    uint32_t i = 0;
    *out = NULL;
    for (; i < f->ninstance; i++) {
        *out = f->instances[i];
        if (!f->ndim || memcmp((*out)->dims, dims, f->ndim * sizeof(*dims)) == 0)
            break;
    }
    if (i == f->ninstance) {
        BT_TRY(read_text(ctx, e, f, dims, &module));
        bt_status status = make_instance(ctx, f, dims, module, out);
        bt_module_unref(module);
        BT_TRY(status);
        if (f->ninstance == MOST_INSTANCES)
            drop_instance(f->instances[--i]);
        else
            f->ninstance++;
    }
    for (; i > 0; i--)
        f->instances[i] = f->instances[i - 1];
    f->instances[0] = *out;
    return NULL;
}

/* What is said of a function before its dims are known; without any it is made now. */
static bt_status load_function(bt_ctx *ctx, struct bt_evaluator *e, bt_module *module,
                               const bt_func *func, struct function *out)
{
    const char **dims = BT_NEWS(e->arena, const char *, func->nvar);
    out->name = bt_arena_text(e->arena, func->name, strlen(func->name));
    if (!dims || !out->name || !leaves_of(e->arena, func, &out->nin, &out->nout))
        return bt_no_memory();
    out->dims = dims;
    out->ndim = func->nvar;
    for (uint32_t i = 0; i < func->nvar; i++) {
        const char *name = ((const bt_var_type *)(const void *)func->vars[i])->name;
        if (bt_type_kind_of(func->vars[i]) != BT_KIND_DIM || !name)
            return bt_fail(ctx, BT_ERR_FORMAT,
                           "@%s has a type parameter that is no dim with a name",
                           out->name);
        dims[i] = bt_arena_text(e->arena, name, strlen(name));
        if (!dims[i])
            return bt_no_memory();
    }
    if (out->ndim)
        return NULL;
    BT_TRY(make_instance(ctx, out, NULL, module, &out->instances[0]));
    out->ninstance = 1;
    return NULL;
}

static bt_status load_functions(bt_ctx *ctx, bt_evaluator *e, bt_module *module)
{
    e->functions = BT_NEWS(e->arena, struct function, module->nglobal);
    if (!e->functions)
        return bt_no_memory();
    for (uint32_t i = 0; i < module->nglobal; i++) {
        const bt_global *global = module->globals[i];
        if (global->kind != BT_GLOBAL_FUNC)
            return bt_fail(ctx, BT_ERR_FORMAT, "@%s is no function", global->name);
        e->n = i + 1;
        BT_TRY(load_function(ctx, e, module, global->func, &e->functions[i]));
    }
    return NULL;
}

static bt_status load_all(bt_ctx *ctx, bt_evaluator *e)
{
    bt_module *module;
    BT_TRY(read_text(ctx, e, NULL, NULL, &module));
    bt_status status = load_functions(ctx, e, module);
    bt_module_unref(module);
    return status;
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
    *e = (bt_evaluator){ .arena = arena, .text = text, .nbytes = nbytes };
    pthread_mutex_init(&e->lock, NULL); // without attributes it cannot fail
    bt_status status = nbytes ? load_all(ctx, e) : NULL;
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
    for (uint32_t i = 0; i < e->n; i++) {
        for (uint32_t k = 0; k < e->functions[i].ninstance; k++)
            drop_instance(e->functions[i].instances[k]);
    }
    pthread_mutex_destroy(&e->lock);
    bt_arena_destroy(e->arena);
}

uint32_t bt_evaluator_nfunction(const bt_evaluator *e)
{
    return e->n;
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

/* Under the lock. */
static bt_status run(bt_ctx *ctx, bt_evaluator *e, struct function *f,
                     const bt_kernel_call *call)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    bt_tensor **in = BT_NEWS(scratch, bt_tensor *, f->nin);
    bt_tensor **out = BT_NEWS(scratch, bt_tensor *, f->nout);
    struct instance *instance;
    if (!in || !out)
        return bt_no_memory();
    bt_status status = find_instance(ctx, e, f, call->dims, &instance);
    for (uint32_t i = 0; !status && i < f->nin; i++)
        status = wrap(ctx, instance->in[i], call->buffers[i], &in[i]);
    if (!status)
        status = bt_compute_run(ctx, instance->compute, f->nin,
                                (const bt_tensor *const *)in, out);
    for (uint32_t i = 0; !status && i < f->nout; i++) {
        if (out[i]->nelem)
            memcpy(call->buffers[f->nin + i], out[i]->data, bt_tensor_nbytes(out[i]));
        bt_tensor_unref(out[i]);
    }
    for (uint32_t i = 0; i < f->nin; i++)
        bt_tensor_unref(in[i]);
    return status;
}

bt_status bt_evaluator_run(bt_ctx *ctx, bt_evaluator *e, uint32_t function,
                           const bt_kernel_call *call)
{
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    pthread_mutex_lock(&e->lock);
    bt_status status = run(ctx, e, &e->functions[function], call);
    pthread_mutex_unlock(&e->lock);
    bt_arena_release(scratch, mark);
    return status;
}
