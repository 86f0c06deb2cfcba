/*
 * far: a target of the tests with memory of its own. Nobody can read or write it but during
 * a launch or a copy: its pages have no rights at any other time, and a block's handle is
 * not where its bytes are. It computes by another target, which knows nothing of that.
 */
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "away.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

static const bt_attr options[] = { FAR_OPTIONS };

struct block {
    char *at;
    uint64_t nbytes; /* whole pages */
    uint64_t asked;  /* of these */
};

bt_status far_open(bt_ctx *ctx, const void *given, void **self)
{
    struct far_instance *i = bt_alloc(bt_ctx_registry(ctx), sizeof(*i));
    if (!i)
        return bt_no_memory();
    *i = (struct far_instance){ .registry = bt_ctx_registry(ctx),
                                .options = *(const struct far_options *)given };
    strncpy(i->fault, i->options.fault, sizeof(i->fault) - 1);
    i->state = (uint64_t)i->options.seed * 2 + 1;
    pthread_mutex_init(&i->lock, NULL);
    pthread_mutex_init(&i->queue_lock, NULL);
    bt_status status = bt_targets_open(ctx, i->options.by, &i->targets);
    i->options.fault = i->options.by = NULL; // the texts go with the options
    if (status) {
        bt_free(i->registry, i, sizeof(*i));
        return status;
    }
    i->by = i->targets->at[0];
    *self = i;
    return NULL;
}

void far_close(void *self)
{
    struct far_instance *i = self;
    bt_targets_unref(i->targets);
    pthread_mutex_destroy(&i->lock);
    pthread_mutex_destroy(&i->queue_lock);
    bt_free(i->registry, i, sizeof(*i));
}

/* ---- memory ---- */

static bt_status fault(bt_ctx *ctx, struct far_instance *i, const char *what)
{
    if (strcmp(i->fault, what) != 0)
        return NULL;
    const uint32_t n = __atomic_add_fetch(&i->nfault, 1, __ATOMIC_RELAXED);
    return i->options.nth == 0 || i->options.nth == n
               ? bt_fail(ctx, BT_ERR_RUNTIME, "far: %s fails", what)
               : NULL;
}

bt_status far_space(bt_ctx *ctx, void *self, bt_space *out)
{
    const struct far_options *o = &((const struct far_instance *)self)->options;
    (void)ctx;
    out->name = "away";
    out->align = (uint64_t)o->align;
    out->largest = (uint64_t)o->largest;
    out->budget = (uint64_t)o->budget;
    return NULL;
}

bt_status far_alloc(bt_ctx *ctx, void *self, uint64_t nbytes, void **out)
{
    struct far_instance *i = self;
    BT_TRY(fault(ctx, i, "alloc"));
    if (i->options.largest && nbytes > (uint64_t)i->options.largest)
        return bt_fail(ctx, BT_ERR_INTERNAL, "far: a block of %" PRIu64 " bytes", nbytes);
    __atomic_add_fetch(&i->nalloc, 1, __ATOMIC_RELAXED);
    if (nbytes > UINT64_C(1) << 40)
        return bt_no_memory();
    struct block *block = bt_alloc(i->registry, sizeof(*block));
    if (!block)
        return bt_no_memory();
    block->asked = nbytes;
    block->nbytes = (nbytes + 4095) / 4096 * 4096;
    void *at = mmap(NULL, block->nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    block->at = at;
    if (at == MAP_FAILED) {
        bt_free(i->registry, block, sizeof(*block));
        return bt_no_memory();
    }
    *out = block;
    const uint64_t held = __atomic_add_fetch(&i->held, nbytes, __ATOMIC_RELAXED);
    if (!i->options.budget || held <= (uint64_t)i->options.budget)
        return NULL;
    far_free(self, block);
    return bt_fail(ctx, BT_ERR_INTERNAL, "far: %" PRIu64 " bytes are held", held);
}

void far_free(void *self, void *opaque)
{
    struct far_instance *i = self;
    struct block *block = opaque;
    __atomic_sub_fetch(&i->held, block->asked, __ATOMIC_RELAXED);
    munmap(block->at, block->nbytes);
    bt_free(i->registry, block, sizeof(*block));
}

static void allow(const struct block *block, int rights)
{
    (void)mprotect(block->at, block->nbytes, rights);
}

static bt_status check_align(bt_ctx *ctx, const struct far_instance *i, uint64_t offset)
{
    return offset % (uint64_t)i->options.align == 0
               ? NULL
               : bt_fail(ctx, BT_ERR_INTERNAL, "far: something begins at %" PRIu64,
                         offset);
}

static bt_status check_side(bt_ctx *ctx, const struct far_instance *i,
                            const bt_buffer *side)
{
    const struct block *block = side->block;
    if (side->is_own)
        BT_TRY(check_align(ctx, i, side->offset));
    return !side->is_own || (side->offset <= block->nbytes &&
                             side->nbytes <= block->nbytes - side->offset)
               ? NULL
               : bt_fail(ctx, BT_ERR_INTERNAL,
                         "far: %" PRIu64 " bytes at %" PRIu64 " of a block of %" PRIu64,
                         side->nbytes, side->offset, block->nbytes);
}

static char *address(const bt_buffer *side)
{
    return side->is_own ? ((const struct block *)side->block)->at + side->offset
                        : (char *)side->block + side->offset;
}

bt_status far_copy(bt_ctx *ctx, void *self, const bt_buffer *to, const bt_buffer *from)
{
    struct far_instance *i = self;
    BT_TRY(fault(ctx, i, "copy"));
    __atomic_add_fetch(&i->ncopy, 1, __ATOMIC_RELAXED);
    BT_TRY(check_side(ctx, i, to));
    BT_TRY(check_side(ctx, i, from));
    if (!to->is_own && !from->is_own)
        return bt_fail(ctx, BT_ERR_INTERNAL, "far: a copy that is not its own");
    const bt_buffer *sides[] = { to, from };
    pthread_mutex_lock(&i->lock);
    for (int k = 0; k < 2; k++) {
        if (sides[k]->is_own)
            allow(sides[k]->block, PROT_READ | PROT_WRITE);
    }
    memmove(address(to), address(from), to->nbytes);
    for (int k = 0; k < 2; k++) {
        if (sides[k]->is_own)
            allow(sides[k]->block, PROT_NONE);
    }
    pthread_mutex_unlock(&i->lock);
    return NULL;
}

/* ---- by the reference ---- */

/* Drawn for each function, by its name. */
bt_status far_cost(bt_ctx *ctx, void *self, const bt_func *func, bt_cost *out)
{
    uint64_t state = (uint64_t)((const struct far_instance *)self)->options.costs;
    (void)ctx;
    *out = (bt_cost){ .confidence = state != 0 };
    for (const char *c = func->name ? func->name : ""; *c; c++)
        state = (state ^ (unsigned char)*c) * 1099511628211u;
    out->ns = (double)(state >> 32 & 0xffff);
    return NULL;
}

bt_status far_lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func,
                    bt_lowering *out)
{
    const struct far_instance *i = self;
    return i->by->target->lower(ctx, i->by->instance, arena, func, out);
}

bt_status far_compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form, uint32_t n,
                      const bt_kernel *const *kernels, bt_kernel_code *const *out)
{
    const struct far_instance *i = self;
    return i->by->target->compile(ctx, i->by->instance, arena, form, n, kernels, out);
}

bt_status far_load(bt_ctx *ctx, void *self, uint32_t n,
                   const bt_kernel_code *const *codes, void **out)
{
    struct far_instance *i = self;
    struct far_loaded *l = bt_alloc(i->registry, sizeof(*l));
    if (!l)
        return bt_no_memory();
    l->instance = i;
    bt_status status = i->by->target->load(ctx, i->by->instance, n, codes, &l->inner);
    if (status)
        bt_free(i->registry, l, sizeof(*l));
    else
        *out = l;
    return status;
}

void far_unload(void *loaded)
{
    struct far_loaded *l = loaded;
    l->instance->by->target->unload(l->inner);
    bt_free(l->instance->registry, l, sizeof(*l));
}

/* The address of what begins there in a block, which may be used from now on. */
static void *enter(const struct block *block, uint64_t offset)
{
    allow(block, PROT_READ | PROT_WRITE);
    return block->at + offset;
}

bt_status far_launch(bt_ctx *ctx, void *loaded, uint32_t kernel,
                     const bt_kernel_call *call)
{
    const struct far_loaded *l = loaded;
    struct far_instance *i = l->instance;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    BT_TRY(fault(ctx, i, "launch"));
    if (i->is_host)
        return i->by->target->launch(ctx, l->inner, kernel, call);
    for (uint32_t k = 0; call->offsets && k < call->nbuffer; k++)
        BT_TRY(check_align(ctx, i, call->offsets[k]));
    const void *mark = bt_arena_mark(scratch);
    void **addresses = BT_NEWS(scratch, void *, call->nbuffer);
    if (!addresses)
        return bt_no_memory();
    bt_kernel_call seen = *call;
    seen.buffers = addresses;
    seen.offsets = NULL;
    pthread_mutex_lock(&i->lock);
    for (uint32_t k = 0; k < call->nbuffer; k++)
        addresses[k] = enter(call->buffers[k], call->offsets ? call->offsets[k] : 0);
    if (call->workspace)
        seen.workspace = enter(call->workspace, call->workspace_offset);
    bt_status status = i->by->target->launch(ctx, l->inner, kernel, &seen);
    for (uint32_t k = 0; k < call->nbuffer; k++)
        allow(call->buffers[k], PROT_NONE);
    if (call->workspace)
        allow(call->workspace, PROT_NONE);
    pthread_mutex_unlock(&i->lock);
    bt_arena_release(scratch, mark);
    return status;
}

void far_describe(void *loaded, bt_text *out)
{
    const struct far_instance *i = ((const struct far_loaded *)loaded)->instance;
    bt_text_addf(out, "allocs %" PRIu32 " copies %" PRIu32 " waits %" PRIu32 "\n",
                 i->nalloc, i->ncopy, i->nwait);
}

bt_status far_compatibility(bt_ctx *ctx, void *self, bt_text *out)
{
    (void)ctx, (void)self, (void)out;
    return NULL;
}

static const bt_target targets[] = {
    {
        .name = "far",
        .doc = "The reference in memory that the host does not see.",
        .options = options,
        .options_nbytes = sizeof(struct far_options),
        .open = far_open,
        .close = far_close,
        .cost = far_cost,
        .lower = far_lower,
        .compile = far_compile,
        .load = far_load,
        .unload = far_unload,
        .launch = far_launch,
        .describe = far_describe,
        .compatibility = far_compatibility,
        .reads_layouts = 1,
        .takes_dims = 1,
        .alloc = far_alloc,
        .free = far_free,
        .copy = far_copy,
        .space = far_space,
    },
    { 0 },
};

const bt_table bt_tests_compile_targets_far[] = { BT_TARGETS(targets), { 0 } };
