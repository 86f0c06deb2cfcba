/*
 * liar: a target of the tests that says what it is told to say. It takes `negative` of
 * float32, and computes it where it has no fault.
 */
#include <math.h>
#include <stdio.h>
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

struct instance {
    bt_registry *registry;
    char fault[64];
};

static bt_status open(bt_ctx *ctx, const void *given, void **self)
{
    const struct options *o = given;
    if (strcmp(o->fault, "open") == 0)
        return bt_fail(ctx, BT_ERR_IO, "the device is away");
    struct instance *i = bt_alloc(bt_ctx_registry(ctx), sizeof(*i));
    if (!i)
        return bt_no_memory();
    i->registry = bt_ctx_registry(ctx);
    snprintf(i->fault, sizeof(i->fault), "%s", o->fault);
    *self = i;
    return NULL;
}

static void close(void *self)
{
    struct instance *i = self;
    bt_free(i->registry, i, sizeof(*i));
}

static int has_fault(void *self, const char *fault)
{
    return strcmp(((struct instance *)self)->fault, fault) == 0;
}

static bt_status supports(bt_ctx *ctx, void *self, const bt_func *func)
{
    const bt_block *block = func->block;
    if (has_fault(self, "supports"))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "not today");
    if (block->nbinding != 1 || !bt_as_op_call(block->bindings[0], "negative") ||
        bt_tensor_dtype(block->result->type) != BT_FLOAT32)
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "only negative of float32");
    return NULL;
}

/* ---- lowering, and what may be wrong in it ---- */

struct kernel {
    bt_kernel *base;
    bt_kernel_buffer in, out, own;
    const bt_type *temp;
    int64_t n;
    bt_kernel_alias aliases;
};

static void spoil(void *self, struct kernel *k, bt_lowering *out)
{
    if (has_fault(self, "kind"))
        k->in.kind = 7;
    if (has_fault(self, "index"))
        k->in.index = 1;
    if (has_fault(self, "output-index"))
        k->out.index = 3;
    if (has_fault(self, "temp-index"))
        k->in = (bt_kernel_buffer){ BT_BUFFER_TEMP, 0 };
    if (has_fault(self, "writes-input"))
        k->out.kind = BT_BUFFER_INPUT;
    if (has_fault(self, "early") || has_fault(self, "negative"))
        out->ntemp = 1;
    if (has_fault(self, "early"))
        k->in = (bt_kernel_buffer){ BT_BUFFER_TEMP, 0 };
    if (has_fault(self, "negative"))
        k->temp = bt_dim(k->temp->store, -8);
    if (has_fault(self, "no-kernels"))
        out->nkernel = 0;
    if (has_fault(self, "no-buffers"))
        k->base->in = NULL;
    if (has_fault(self, "aliases") || has_fault(self, "no-alias")) {
        k->base->nalias = 1;
        k->base->aliases = &k->aliases;
        k->aliases.in = has_fault(self, "no-alias");
    }
    if (has_fault(self, "null-kernels"))
        out->kernels = NULL;
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func,
                       bt_lowering *out)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK];
    struct kernel *k = BT_NEW(arena, struct kernel);
    if (!k)
        return bt_no_memory();
    if (has_fault(self, "lower"))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "lowering is hard");
    if (has_fault(self, "lower-fails"))
        return bt_fail(ctx, BT_ERR_INTERNAL, "lowering broke");
    (void)bt_tensor_static(func->block->result->type, &rank, dims);
    k->base = bt_lowering_add(out, arena);
    if (!k->base)
        return bt_no_memory();
    k->n = 1;
    for (uint32_t i = 0; i < rank; i++)
        k->n *= dims[i];
    k->in = (bt_kernel_buffer){ BT_BUFFER_INPUT, 0 };
    k->out = (bt_kernel_buffer){ BT_BUFFER_OUTPUT, 0 };
    k->temp = bt_dim(func->result->store, 64);
    *k->base = (bt_kernel){
        .nin = 1, .in = &k->in, .nout = 1, .out = &k->out, .content = &k->n
    };
    out->temps = &k->temp;
    spoil(self, k, out);
    return NULL;
}

/* ---- code: the number of elements of each kernel ---- */

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    static const char text[] = "not C";
    (void)arena, (void)form;
    if (has_fault(self, "compile"))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "compiling is hard");
    if (has_fault(self, "compile-fails"))
        return bt_fail(ctx, BT_ERR_INTERNAL, "compiling broke");
    for (uint32_t i = 0; i < n; i++) {
        *out[i] = (bt_kernel_code){ .form = BT_CODE_BYTES,
                                    .at = kernels[i]->content,
                                    .nbytes = sizeof(int64_t) };
        if (has_fault(self, "no-form"))
            out[i]->form = BT_CODE_ANY;
        if (has_fault(self, "no-bytes"))
            out[i]->at = NULL;
        if (has_fault(self, "no-symbol"))
            out[i]->form = BT_CODE_OBJECT;
        if (has_fault(self, "no-own"))
            out[i]->own_nbytes = 1;
        if (has_fault(self, "no-phases"))
            out[i]->nphase = 1;
        if (has_fault(self, "text"))
            *out[i] = (bt_kernel_code){
                .form = BT_CODE_SOURCE, .symbol = "f", .at = text, .nbytes = strlen(text)
            };
    }
    return NULL;
}

struct loaded {
    bt_registry *registry;
    size_t nbytes;
    char fault[64];
    float before; /* what an earlier launch has left */
    int64_t n[];
};

static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **out)
{
    const size_t nbytes = n * sizeof(int64_t);
    if (has_fault(self, "load"))
        return bt_fail(ctx, BT_ERR_UNSUPPORTED, "loading is hard");
    if (has_fault(self, "load-nothing"))
        return NULL;
    struct loaded *l = bt_alloc(bt_ctx_registry(ctx), sizeof(*l) + nbytes);
    if (!l)
        return bt_no_memory();
    l->registry = bt_ctx_registry(ctx);
    l->nbytes = sizeof(*l) + nbytes;
    snprintf(l->fault, sizeof(l->fault), "%s", ((struct instance *)self)->fault);
    for (uint32_t i = 0; i < n; i++)
        memcpy(&l->n[i], codes[i]->at, sizeof(int64_t));
    *out = l;
    return NULL;
}

static void unload(void *loaded)
{
    struct loaded *l = loaded;
    bt_free(l->registry, l, l->nbytes);
}

/* What a kernel may do wrong with n elements. */
static void spoil_launch(struct loaded *l, float *x, float *y, int64_t n)
{
    if (strcmp(l->fault, "wrong") == 0)
        y[n - 1] += 1;
    if (strcmp(l->fault, "nan") == 0)
        y[n - 2] = y[n - 1] = (float)NAN;
    if (strcmp(l->fault, "before") == 0)
        y[-1] = 0;
    if (strcmp(l->fault, "behind") == 0)
        y[n + 1] = 0;
    if (strcmp(l->fault, "input") == 0)
        x[0] = 7;
    if (strcmp(l->fault, "crash") == 0)
        y[n + ((int64_t)1 << 40)] = 0;
    if (strcmp(l->fault, "state") == 0)
        y[1] += l->before;
    l->before += 1;
}

/* Its crashes are the machine's, not a sanitizer's finding. */
__attribute__((no_sanitize("undefined"))) static bt_status
launch(bt_ctx *ctx, void *loaded, uint32_t kernel, const bt_kernel_call *call)
{
    struct loaded *l = loaded;
    float *x = call->buffers[0], *y = call->buffers[1];
    int64_t n = l->n[kernel];
    if (strcmp(l->fault, "launch") == 0)
        return bt_fail(ctx, BT_ERR_RUNTIME, "launching broke");
    if (strcmp(l->fault, "third") == 0)
        y = call->buffers[2];
    if (strcmp(l->fault, "aliases") == 0)
        memset(y, 0, (size_t)n * sizeof(float));
    for (int64_t i = 0; i < n - (strcmp(l->fault, "part") == 0); i++)
        y[i] = -x[i];
    spoil_launch(l, x, y, n);
    return NULL;
}

static const bt_target targets[] = {
    {
        .name = "liar",
        .doc = "What a target may do wrong.",
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

const bt_table bt_tests_compile_targets_liar[] = { BT_TARGETS(targets), { 0 } };
