/*
 * text: a target of the tests whose kernels are functions of C text, which it neither
 * loads nor launches. It takes negative of float32, in two phases; the second looks whether
 * the first was done by a worker with scratch of its own.
 */
#include <inttypes.h>
#include <string.h>

#include <baton/compiler.h>
#include <baton/op.h>
#include <baton/target.h>

struct options {
    int64_t fault, object;
    const char *symbol;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, fault, INT, "0", "what its kernels give"),
    BT_ATTR(struct options, object, BOOL, "False", "it gives machine code"),
    BT_ATTR(struct options, symbol, STRING, "negate_", "what functions are called"),
    { 0 },
};

struct instance {
    bt_registry *registry;
    int64_t fault, object;
    char symbol[32];
};

static bt_status open(bt_ctx *ctx, const void *given, void **self)
{
    const struct options *o = given;
    struct instance *i = bt_alloc(bt_ctx_registry(ctx), sizeof(*i));
    if (!i)
        return bt_no_memory();
    *i = (struct instance){ bt_ctx_registry(ctx), o->fault, o->object, { 0 } };
    strncpy(i->symbol, o->symbol, sizeof(i->symbol) - 1);
    *self = i;
    return NULL;
}

static void close(void *self)
{
    struct instance *i = self;
    bt_free(i->registry, i, sizeof(*i));
}

static bt_status supports(bt_ctx *ctx, void *self, const bt_func *func)
{
    const bt_block *block = func->block;
    (void)self;
    return block->nbinding == 1 && bt_as_op_call(block->bindings[0], "negative") &&
                   bt_tensor_dtype(func->result) == BT_FLOAT32
               ? NULL
               : bt_fail(ctx, BT_ERR_UNSUPPORTED, "text takes negative of float32");
}

static int64_t count(const bt_type *type)
{
    uint32_t rank;
    int64_t dims[BT_MAX_RANK], n = 1;
    (void)bt_tensor_static(type, &rank, dims);
    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    return n;
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func,
                       bt_lowering *out)
{
    bt_kernel *kernel = bt_lowering_whole(out, arena, func);
    (void)ctx, (void)self;
    if (!kernel)
        return bt_no_memory();
    kernel->workspace = bt_dim(func->result->store, 64);
    return NULL;
}

static bt_status write_text(const struct instance *self, uint32_t n,
                            const bt_kernel *const *kernels, bt_text *out)
{
    bt_text_addf(out, "#include <baton/kernel.h>\n");
    for (uint32_t i = 0; i < n; i++)
        bt_text_addf(
            out,
            "int32_t negate_%u(const bt_kernel_call *call)\n{\n"
            "    const float *x = call->buffers[0];\n    float *y = call->buffers[1];\n"
            "    int64_t *ndone = call->scratch, n = %" PRId64 ", i;\n"
            "    if (call->phase == 1)\n"
            "        return *ndone == n && call->end == 1 ? %" PRId64 " : 1;\n"
            "    for (i = call->first, *ndone = 0; i < call->end; i++, ++*ndone)\n"
            "        y[i] = -x[i];\n"
            "    return call->worker != 0;\n}\n",
            i, count(kernels[i]->primitive->result), self->fault);
    return bt_text_get(out) ? NULL : bt_no_memory();
}

static bt_status make_object(bt_ctx *ctx, bt_arena *arena, bt_text *text)
{
    const char *folders[2] = { NULL, NULL };
    bt_text object;
    BT_TRY(bt_library_file(ctx, arena, "include", &folders[0]));
    const bt_c_source source = {
        .name = "text", .text = text->at, .nbytes = text->len, .folders = folders
    };
    bt_text_init(&object, arena);
    BT_TRY(bt_c_compile(ctx, "tcc", NULL, &source, &object));
    *text = object;
    return object.failed ? bt_no_memory() : NULL;
}

/* One text for all. */
static bt_status compile(bt_ctx *ctx, void *opaque, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    const struct instance *self = opaque;
    const int is_object = self->object && form != BT_CODE_SOURCE;
    bt_text text;
    bt_text_init(&text, arena);
    BT_TRY(write_text(self, n, kernels, &text));
    if (is_object)
        BT_TRY(make_object(ctx, arena, &text));
    for (uint32_t i = 0; i < n; i++) {
        bt_fault *faults = BT_NEWS(arena, bt_fault, 2);
        int64_t *phases = BT_NEWS(arena, int64_t, 2);
        bt_text symbol;
        bt_text_init(&symbol, arena);
        bt_text_addf(&symbol, "%s%u", self->symbol, i);
        if (!faults || !phases || !bt_text_get(&symbol))
            return bt_no_memory();
        phases[0] = count(kernels[i]->primitive->result);
        phases[1] = 1;
        faults[0].text = "a phase was not whole";
        faults[1] = (bt_fault){ NULL, "table", 1, 100 };
        *out[i] = (bt_kernel_code){ .form = is_object ? BT_CODE_OBJECT : BT_CODE_SOURCE,
                                    .symbol = symbol.at,
                                    .at = text.at,
                                    .nbytes = text.len,
                                    .scratch = 64,
                                    .nphase = 2,
                                    .phases = phases,
                                    .nfault = 2,
                                    .faults = faults };
    }
    return NULL;
}

/* What it gives of a machine, the kernel compiles. */
static bt_status compatibility(bt_ctx *ctx, void *self, bt_text *out)
{
    (void)ctx, (void)self;
    bt_text_addf(out, "x86-64");
    return NULL;
}

static const bt_target targets[] = {
    {
        .name = "text",
        .doc = "Kernels as C text.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open,
        .close = close,
        .supports = supports,
        .lower = lower,
        .compile = compile,
        .compatibility = compatibility,
    },
    { 0 },
};

const bt_table bt_tests_compile_targets_text[] = { BT_TARGETS(targets), { 0 } };
