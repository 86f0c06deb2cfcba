/*
 * plain: a target for tests of executors and plans. It takes functions of negative, abs
 * and add on float32 of one shape; each call is a kernel, what lies between is memory
 * that it asks for. Its launches allocate nothing and hold no state.
 */
#include <math.h>
#include <string.h>

#include <baton/op.h>
#include <baton/target.h>

extern const bt_table bt_tests_graph_plain_plain[];

static const char *const names[] = { "negative", "abs", "add" };
enum { NEGATIVE, ABS, ADD };

/* A kernel's code. */
struct code {
    uint32_t what; /* of names */
    uint32_t unused;
    int64_t nelem;
};

struct loaded {
    bt_registry *registry;
    size_t nbytes;
    struct code codes[];
};

struct options {
    int64_t threads, slow;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, threads, INT, "1", "that its peak is said to be of"),
    BT_ATTR(struct options, slow, INT, "0", "1: its peak is said to be next to nothing"),
    { 0 },
};

struct instance {
    bt_registry *registry;
    int64_t nthread, is_slow;
};

static bt_status open(bt_ctx *ctx, const void *given, void **self)
{
    struct instance *made = bt_alloc(bt_ctx_registry(ctx), sizeof(*made));
    if (!made)
        return bt_no_memory();
    made->registry = bt_ctx_registry(ctx);
    made->nthread = ((const struct options *)given)->threads;
    made->is_slow = ((const struct options *)given)->slow;
    *self = made;
    return NULL;
}

static void close(void *self)
{
    struct instance *made = self;
    bt_free(made->registry, made, sizeof(*made));
}

/* So much that nothing here comes near it, or so little that all is above it. */
static double peak(void *self, uint32_t nthread)
{
    const struct instance *made = self;
    return (made->is_slow ? 1e-3 : 1e15) * (double)(nthread ? nthread : made->nthread);
}

/* ---- lowering ---- */

static uint32_t what_of(const bt_value *value)
{
    uint32_t i = 0;
    while (i < BT_COUNT(names) && !bt_as_op_call(value, names[i]))
        i++;
    return i;
}

static int is_taken(const bt_func *func)
{
    const bt_block *block = func->block;
    int taken = block->nbinding > 0 && bt_tensor_dtype(func->result) == BT_FLOAT32 &&
                block->result == block->bindings[block->nbinding - 1];
    for (uint32_t i = 0; taken && i < block->nparam; i++)
        taken = block->params[i]->base.type == func->result;
    for (uint32_t i = 0; taken && i < block->nbinding; i++) {
        const bt_call *call = bt_as_call(block->bindings[i]);
        taken = what_of(block->bindings[i]) < BT_COUNT(names) &&
                call->base.type == func->result;
        for (uint32_t k = 0; taken && k < call->narg; k++)
            taken = call->args[k]->kind != BT_VALUE_CONST;
    }
    return taken;
}

static bt_status supports(bt_ctx *ctx, void *self, const bt_func *func)
{
    (void)self;
    return is_taken(func)
               ? NULL
               : bt_fail(ctx, BT_ERR_UNSUPPORTED,
                         "target plain: @%s is more than negative, abs and add",
                         func->name);
}

static bt_kernel_buffer buffer_of(const bt_block *block, const bt_value *value)
{
    bt_kernel_buffer out = { BT_BUFFER_OUTPUT, 0 };
    for (uint32_t i = 0; i < block->nparam; i++) {
        if (value == &block->params[i]->base)
            return (bt_kernel_buffer){ BT_BUFFER_INPUT, i };
    }
    for (uint32_t i = 0; i + 1 < block->nbinding; i++) {
        if (value == block->bindings[i])
            return (bt_kernel_buffer){ BT_BUFFER_TEMP, i };
    }
    return out;
}

static int64_t nelem_of(const bt_type *type)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK], n = 1;
    if (!bt_tensor_static(type, &rank, dims))
        return 0;
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    return n;
}

/* Each element is written after those of its place are read. */
static const bt_kernel_alias aliases[] = { { 0, 0, 0 }, { 0, 1, 0 } };

static bt_status lower_binding(bt_arena *arena, const bt_block *block, uint32_t index,
                               bt_kernel *kernel)
{
    const bt_call *call = bt_as_call(block->bindings[index]);
    bt_kernel_buffer *buffers = BT_NEWS(arena, bt_kernel_buffer, call->narg + 1);
    struct code *code = BT_NEW(arena, struct code);
    if (!buffers || !code)
        return bt_no_memory();
    for (uint32_t i = 0; i < call->narg; i++)
        buffers[i] = buffer_of(block, call->args[i]);
    buffers[call->narg] = buffer_of(block, &call->base);
    code->what = what_of(&call->base);
    code->nelem = nelem_of(call->base.type);
    *kernel = (bt_kernel){ .nalias = code->what == ADD ? 2 : 1,
                           .aliases = aliases,
                           .nin = call->narg,
                           .in = buffers,
                           .nout = 1,
                           .out = buffers + call->narg,
                           .content = code };
    return NULL;
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func,
                       bt_lowering *out)
{
    (void)ctx, (void)self;
    uint32_t n = func->block->nbinding;
    const bt_type **temps = BT_NEWS(arena, const bt_type *, n);
    if (!temps)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++) {
        bt_kernel *kernel = bt_lowering_add(out, arena);
        if (!kernel)
            return bt_no_memory();
        BT_TRY(lower_binding(arena, func->block, i, kernel));
        temps[i] =
            bt_dim(func->result->store, nelem_of(func->result) * (int64_t)sizeof(float));
    }
    out->ntemp = n - 1;
    out->temps = temps;
    return NULL;
}

/* ---- code ---- */

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

static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **out)
{
    const size_t nbytes = n * sizeof(struct code);
    (void)self;
    bt_registry *registry = bt_ctx_registry(ctx);
    struct loaded *l = bt_alloc(registry, sizeof(*l) + nbytes);
    if (!l)
        return bt_no_memory();
    l->registry = registry;
    l->nbytes = nbytes;
    for (uint32_t i = 0; i < n; i++)
        memcpy(&l->codes[i], codes[i]->at, sizeof(struct code));
    *out = l;
    return NULL;
}

static void unload(void *opaque)
{
    struct loaded *l = opaque;
    bt_free(l->registry, l, sizeof(*l) + l->nbytes);
}

static bt_status launch(bt_ctx *ctx, void *opaque, uint32_t kernel,
                        const bt_kernel_call *call)
{
    void *const *buffers = call->buffers;
    const struct loaded *l = opaque;
    const struct code *code = &l->codes[kernel];
    const float *x = buffers[0], *y = buffers[1];
    float *out = buffers[code->what == ADD ? 2 : 1];
    for (int64_t i = 0; i < code->nelem; i++)
        out[i] = code->what == ADD   ? x[i] + y[i]
                 : code->what == ABS ? fabsf(x[i])
                                     : -x[i];
    for (uint32_t i = 0; i < (code->what == ADD ? 3u : 2u); i++) {
        if ((uintptr_t)buffers[i] % 64)
            return bt_fail(ctx, BT_ERR_RUNTIME, "target plain: buffer %u is not aligned",
                           i);
    }
    return NULL;
}

static const bt_target targets[] = {
    {
        .name = "plain",
        .doc = "negative, abs and add on float32, a kernel each.",
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
        .peak = peak,
    },
    { 0 },
};
const bt_table bt_tests_graph_plain_plain[] = { BT_TARGETS(targets), { 0 } };
