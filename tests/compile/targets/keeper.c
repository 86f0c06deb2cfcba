/*
 * keeper: a target of the tests that scatters into vectors in place. Its kernel writes what
 * changes and nothing else; in its workspace it notes where.
 */
#include <string.h>

#include <baton/op.h>
#include <baton/target.h>

struct options {
    const char *fault;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, fault, STRING, "", "what it does wrong"),
    { 0 },
};

enum { NO_FAULT, KEEPS_INDICES, KEEPS_TEMP, NEGATIVE_WORKSPACE, NARROW_WORKSPACE };
static const char *const faults[] = { "", "indices", "temp", "negative", "narrow" };

static bt_status open(bt_ctx *ctx, const void *given, void **self)
{
    static int instances[BT_COUNT(faults)];
    const struct options *o = given;
    (void)ctx;
    for (int i = 0; i < (int)BT_COUNT(faults); i++) {
        instances[i] = i;
        if (strcmp(o->fault, faults[i]) == 0)
            *self = &instances[i];
    }
    return NULL;
}

static void close(void *self)
{
    (void)self;
}

struct code {
    int64_t fault, nupdate;
};

static bt_status supports(bt_ctx *ctx, void *self, const bt_func *func)
{
    const bt_block *block = func->block;
    const bt_call *call = bt_as_op_call(block->bindings[0], "scatter_elements");
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    (void)self;
    if (block->nbinding != 1 || !call || block->nparam != 3 ||
        bt_tensor_dtype(call->base.type) != BT_FLOAT32 ||
        bt_tensor_dtype(call->args[1]->type) != BT_INT64 ||
        !bt_tensor_static(call->args[1]->type, &rank, dims) || rank != 1)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "keeper scatters into vectors");
    return NULL;
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func,
                       bt_lowering *out)
{
    static const bt_kernel_buffer in[] = { { BT_BUFFER_INPUT, 0 },
                                           { BT_BUFFER_INPUT, 1 },
                                           { BT_BUFFER_INPUT, 2 } },
                                  result[] = { { BT_BUFFER_OUTPUT, 0 } },
                                  both[] = { { BT_BUFFER_TEMP, 0 },
                                             { BT_BUFFER_OUTPUT, 0 } };
    static const bt_kernel_alias data = { 0, 0, 1 }, indices = { 0, 1, 1 };
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    bt_store *store = func->result->store;
    const bt_type **temps = BT_NEWS(arena, const bt_type *, 1);
    struct code *code = BT_NEW(arena, struct code);
    bt_kernel *kernel = bt_lowering_add(out, arena);
    (void)ctx;
    if (!code || !kernel || !temps)
        return bt_no_memory();
    temps[0] = bt_dim(store, 64);
    (void)bt_tensor_static(func->block->params[1]->base.type, &rank, dims);
    *code = (struct code){ *(int *)self, dims[0] };
    *kernel = (bt_kernel){ .nin = 3,
                           .in = in,
                           .nout = code->fault == KEEPS_TEMP ? 2 : 1,
                           .out = code->fault == KEEPS_TEMP ? both : result,
                           .nalias = 1,
                           .aliases = code->fault == KEEPS_INDICES ? &indices : &data,
                           .workspace = bt_dim(
                               store, code->fault == NEGATIVE_WORKSPACE ? -8
                                      : code->fault == NARROW_WORKSPACE ? 8
                                                                        : dims[0] * 8),
                           .content = code };
    out->ntemp = 1;
    out->temps = temps;
    return NULL;
}

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    (void)ctx, (void)self, (void)arena, (void)form;
    for (uint32_t i = 0; i < n; i++)
        *out[i] = (bt_kernel_code){ .form = BT_CODE_BYTES,
                                    .at = kernels[i]->content,
                                    .nbytes = sizeof(struct code) };
    return NULL;
}

struct loaded {
    bt_registry *registry;
    size_t nbytes;
    struct code codes[];
};

static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **out)
{
    const size_t nbytes = n * sizeof(struct code);
    (void)self;
    struct loaded *l = bt_alloc(bt_ctx_registry(ctx), sizeof(*l) + nbytes);
    if (!l)
        return bt_no_memory();
    l->registry = bt_ctx_registry(ctx);
    l->nbytes = sizeof(*l) + nbytes;
    for (uint32_t i = 0; i < n; i++)
        memcpy(&l->codes[i], codes[i]->at, sizeof(struct code));
    *out = l;
    return NULL;
}

static void unload(void *loaded)
{
    struct loaded *l = loaded;
    bt_free(l->registry, l, l->nbytes);
}

static bt_status launch(bt_ctx *ctx, void *loaded, uint32_t kernel,
                        const bt_kernel_call *call)
{
    const struct code *code = &((const struct loaded *)loaded)->codes[kernel];
    const int64_t *indices = call->buffers[1];
    const float *updates = call->buffers[2];
    float *y = call->buffers[3];
    int64_t *places = call->workspace;
    if (call->buffers[0] != call->buffers[3] || (uintptr_t)call->workspace % 64)
        return bt_fail(ctx, BT_ERR_RUNTIME, "keeper: the data are not in the result");
    for (int64_t i = 0; i < code->nupdate; i++)
        places[i] = indices[i];
    for (int64_t i = 0; i < code->nupdate; i++)
        y[places[i]] = updates[i];
    return NULL;
}

static const bt_target targets[] = {
    {
        .name = "keeper",
        .doc = "Scatters in place.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open,
        .close = close,
        .supports = supports,
        .lower = lower,
        .compile = compile,
        .load = load,
        .unload = unload,
        .launch = launch,
    },
    { 0 },
};

const bt_table bt_tests_compile_targets_keeper[] = { BT_TARGETS(targets), { 0 } };
