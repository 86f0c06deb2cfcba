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
    return bt_lowering_whole(out, arena, primitive) ? NULL : bt_no_memory();
}

/* ---- code ---- */

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    (void)self, (void)form;
    for (uint32_t i = 0; i < n; i++) {
        bt_text text;
        bt_text_init(&text, arena);
        BT_TRY(bt_evaluator_print(ctx, kernels[i]->primitive, &text));
        *out[i] =
            (bt_kernel_code){ .form = BT_CODE_BYTES, .at = text.at, .nbytes = text.len };
    }
    return NULL;
}

struct loaded {
    bt_arena *arena;
    uint32_t n;
    bt_evaluator *evaluators[];
};

static void unload(void *opaque)
{
    struct loaded *l = opaque;
    for (uint32_t i = 0; i < l->n; i++)
        bt_evaluator_destroy(l->evaluators[i]);
    bt_arena_destroy(l->arena);
}

static bt_status load_all(bt_ctx *ctx, struct loaded *l, uint32_t n,
                          const bt_kernel_code *const *codes)
{
    for (; l->n < n; l->n++)
        BT_TRY(bt_evaluator_create(ctx, codes[l->n]->at, codes[l->n]->nbytes,
                                   &l->evaluators[l->n]));
    return NULL;
}

static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct loaded *l =
        arena ? bt_arena_alloc(arena, 1, sizeof(*l) + n * sizeof(bt_evaluator *)) : NULL;
    (void)self;
    if (!l) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    l->arena = arena;
    bt_status status = load_all(ctx, l, n, codes);
    if (status)
        unload(l);
    else
        *out = l;
    return status;
}

static bt_status launch(bt_ctx *ctx, void *loaded, uint32_t kernel,
                        const bt_kernel_call *call)
{
    const struct loaded *l = loaded;
    return bt_evaluator_run(ctx, l->evaluators[kernel], call);
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
        .takes_dims = 1,
    },
    { 0 },
};

const bt_table bt_targets_reference_reference[] = { BT_TARGETS(targets), { 0 } };
