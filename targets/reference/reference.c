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

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *primitive,
                       bt_lowering *out)
{
    (void)ctx, (void)self;
    const bt_kernel *kernel = bt_kernel_whole(arena, primitive);
    *out = (bt_lowering){ .nkernel = 1, .kernels = kernel };
    return kernel ? NULL : bt_no_memory();
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

static bt_status launch(bt_ctx *ctx, void *loaded, uint32_t kernel,
                        const bt_kernel_call *call)
{
    return bt_evaluator_run(ctx, loaded, kernel, call);
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
