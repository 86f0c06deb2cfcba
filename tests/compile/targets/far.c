/*
 * far: a target of the tests with memory of its own. Nobody can read or write it but during
 * a launch or a copy: its pages have no rights at any other time, and a block's handle is
 * not where its bytes are. It computes by the target reference.
 */
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include <baton/op.h>
#include <baton/target.h>

struct options {
    int64_t n;
    const char *fault;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, n, INT, "0", "which of several it is"),
    BT_ATTR_CHOICE(struct options, fault, "none", "none|alloc|copy|launch", "what fails"),
    { 0 },
};

struct instance {
    bt_registry *registry;
    const bt_target *reference;
    void *inner;
    char fault[8];
    pthread_mutex_t lock; /* pages have rights for one launch or copy at a time */
};

struct block {
    char *at;
    uint64_t nbytes; /* whole pages */
};

static bt_status open(bt_ctx *ctx, const void *given, void **self)
{
    const struct options *o = given;
    const void *row;
    BT_TRY(bt_registry_row(ctx, "baton.target/1", "reference", sizeof(bt_target), &row));
    struct instance *i = bt_alloc(bt_ctx_registry(ctx), sizeof(*i));
    if (!i)
        return bt_no_memory();
    *i = (struct instance){ .registry = bt_ctx_registry(ctx), .reference = row };
    strncpy(i->fault, o->fault, sizeof(i->fault) - 1);
    pthread_mutex_init(&i->lock, NULL);
    bt_status status = i->reference->open(ctx, NULL, &i->inner);
    if (status)
        bt_free(i->registry, i, sizeof(*i));
    else
        *self = i;
    return status;
}

static void close(void *self)
{
    struct instance *i = self;
    i->reference->close(i->inner);
    pthread_mutex_destroy(&i->lock);
    bt_free(i->registry, i, sizeof(*i));
}

/* ---- memory ---- */

static bt_status fault(bt_ctx *ctx, const struct instance *i, const char *what)
{
    return strcmp(i->fault, what) == 0
               ? bt_fail(ctx, BT_ERR_RUNTIME, "far: %s fails", what)
               : NULL;
}

static bt_status alloc(bt_ctx *ctx, void *self, uint64_t nbytes, void **out)
{
    struct instance *i = self;
    BT_TRY(fault(ctx, i, "alloc"));
    if (nbytes > UINT64_C(1) << 40)
        return bt_no_memory();
    struct block *block = bt_alloc(i->registry, sizeof(*block));
    if (!block)
        return bt_no_memory();
    block->nbytes = (nbytes + 4095) / 4096 * 4096;
    void *at = mmap(NULL, block->nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    block->at = at;
    if (at == MAP_FAILED) {
        bt_free(i->registry, block, sizeof(*block));
        return bt_no_memory();
    }
    *out = block;
    return NULL;
}

static void free_block(void *self, void *opaque)
{
    struct instance *i = self;
    struct block *block = opaque;
    munmap(block->at, block->nbytes);
    bt_free(i->registry, block, sizeof(*block));
}

static void allow(const struct block *block, int rights)
{
    (void)mprotect(block->at, block->nbytes, rights);
}

static bt_status check_side(bt_ctx *ctx, const bt_buffer *side)
{
    const struct block *block = side->block;
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

static bt_status copy(bt_ctx *ctx, void *self, const bt_buffer *to, const bt_buffer *from)
{
    struct instance *i = self;
    BT_TRY(fault(ctx, i, "copy"));
    BT_TRY(check_side(ctx, to));
    BT_TRY(check_side(ctx, from));
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

struct loaded {
    struct instance *instance;
    void *inner;
};

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func,
                       bt_lowering *out)
{
    const struct instance *i = self;
    return i->reference->lower(ctx, i->inner, arena, func, out);
}

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels, bt_kernel_code *out)
{
    const struct instance *i = self;
    return i->reference->compile(ctx, i->inner, arena, form, n, kernels, out);
}

static bt_status load(bt_ctx *ctx, void *self, uint32_t n, const bt_kernel_code *codes,
                      void **out)
{
    struct instance *i = self;
    struct loaded *l = bt_alloc(i->registry, sizeof(*l));
    if (!l)
        return bt_no_memory();
    l->instance = i;
    bt_status status = i->reference->load(ctx, i->inner, n, codes, &l->inner);
    if (status)
        bt_free(i->registry, l, sizeof(*l));
    else
        *out = l;
    return status;
}

static void unload(void *loaded)
{
    struct loaded *l = loaded;
    l->instance->reference->unload(l->inner);
    bt_free(l->instance->registry, l, sizeof(*l));
}

static bt_status launch(bt_ctx *ctx, void *loaded, uint32_t kernel,
                        const bt_kernel_call *call)
{
    const struct loaded *l = loaded;
    struct instance *i = l->instance;
    bt_arena *scratch = bt_ctx_scratch(ctx);
    const void *mark = bt_arena_mark(scratch);
    BT_TRY(fault(ctx, i, "launch"));
    void **addresses = BT_NEWS(scratch, void *, call->nbuffer);
    if (!addresses)
        return bt_no_memory();
    bt_kernel_call seen = *call;
    seen.buffers = addresses;
    seen.offsets = NULL;
    pthread_mutex_lock(&i->lock);
    for (uint32_t k = 0; k < call->nbuffer; k++) {
        const struct block *block = call->buffers[k];
        allow(block, PROT_READ | PROT_WRITE);
        addresses[k] = block->at + (call->offsets ? call->offsets[k] : 0);
    }
    bt_status status = i->reference->launch(ctx, l->inner, kernel, &seen);
    for (uint32_t k = 0; k < call->nbuffer; k++)
        allow(call->buffers[k], PROT_NONE);
    pthread_mutex_unlock(&i->lock);
    bt_arena_release(scratch, mark);
    return status;
}

static bt_status compatibility(bt_ctx *ctx, void *self, bt_text *out)
{
    (void)ctx, (void)self, (void)out;
    return NULL;
}

static const bt_target targets[] = {
    {
        .name = "far",
        .doc = "The reference in memory that the host does not see.",
        .options = options,
        .options_nbytes = sizeof(struct options),
        .open = open,
        .close = close,
        .lower = lower,
        .compile = compile,
        .load = load,
        .unload = unload,
        .launch = launch,
        .compatibility = compatibility,
        .reads_layouts = 1,
        .alloc = alloc,
        .free = free_block,
        .copy = copy,
    },
    { 0 },
};

const bt_table bt_tests_compile_targets_far[] = { BT_TARGETS(targets), { 0 } };
