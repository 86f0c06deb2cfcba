/*
 * reference: the target that others are compared with. A primitive function is one kernel;
 * its code is the function's text, and a launch runs the evaluator on it.
 */
#include <baton/compute.h>
#include <baton/target.h>

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

static bt_status compile(bt_ctx *ctx, void *self, uint32_t n,
                         const bt_kernel *const *kernels, bt_text *code)
{
    (void)self;
    const bt_func **functions = BT_NEWS(code->arena, const bt_func *, n);
    if (!functions)
        return bt_no_memory();
    for (uint32_t i = 0; i < n; i++)
        functions[i] = kernels[i]->primitive;
    return bt_evaluator_print(ctx, n, functions, code);
}

static bt_status load(bt_ctx *ctx, void *self, const void *code, size_t nbytes,
                      void **out)
{
    bt_evaluator *evaluator;
    (void)self;
    BT_TRY(bt_evaluator_create(ctx, code, nbytes, &evaluator));
    *out = evaluator;
    return NULL;
}

static void unload(void *loaded)
{
    bt_evaluator_destroy(loaded);
}

static bt_status launch(bt_ctx *ctx, void *loaded, uint32_t kernel, void *const *buffers)
{
    return bt_evaluator_run(ctx, loaded, kernel, buffers);
}

/* The code is text of functions, which says all that it needs. */
static bt_status compatibility(bt_ctx *ctx, void *self, bt_text *out)
{
    (void)ctx, (void)self, (void)out;
    return NULL;
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
        .compatibility = compatibility,
        .reads_layouts = 1,
    },
    { 0 },
};

const bt_table bt_targets_reference_reference[] = { BT_TARGETS(targets), { 0 } };
