/*
 * Targets of the tests of baton plugin check: `negative` of float32 in memory of their own, by
 * queues that have a thread each. `device` is right, each of the others has one fault; the
 * option `crash` names a function that crashes.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <baton/compute.h>
#include <baton/op.h>
#include <baton/target.h>

enum { MOST_WAITS = 4 };

struct options {
    const char *crash;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, crash, STRING, "", "the function that crashes"),
    { 0 },
};

/* Faults. */
enum { NONE, DEAF, CONSTANT, MUTE, EARLY };

struct instance {
    bt_registry *registry;
    uint32_t fault;
    char crash[16];
    pthread_mutex_t lock;
    pthread_cond_t moved;
};

static void crash_in(const struct instance *i, const char *function)
{
    if (strcmp(i->crash, function) == 0)
        *(volatile char *)(uintptr_t)i->fault = 0;
}

static bt_status open_fault(bt_ctx *ctx, const void *given, uint32_t fault, void **self)
{
    struct instance *i = bt_alloc(bt_ctx_registry(ctx), sizeof(*i));
    if (!i)
        return bt_no_memory();
    *i = (struct instance){ .registry = bt_ctx_registry(ctx), .fault = fault };
    snprintf(i->crash, sizeof(i->crash), "%s", ((const struct options *)given)->crash);
    pthread_mutex_init(&i->lock, NULL);
    pthread_cond_init(&i->moved, NULL);
    *self = i;
    return NULL;
}

static void close_device(void *self)
{
    struct instance *i = self;
    pthread_mutex_destroy(&i->lock);
    pthread_cond_destroy(&i->moved);
    bt_free(i->registry, i, sizeof(*i));
}

/* ---- kernels: what is loaded is the number of elements of each ---- */

struct loaded {
    struct instance *instance;
    size_t nbytes;
    int64_t nelem[];
};

static bt_status supports(bt_ctx *ctx, void *self, const bt_func *func)
{
    const bt_block *block = func->block;
    crash_in(self, "supports");
    return block->nbinding == 1 && bt_as_op_call(block->bindings[0], "negative") &&
                   bt_tensor_dtype(block->result->type) == BT_FLOAT32 && func->nvar == 0
               ? NULL
               : bt_fail(ctx, BT_ERR_UNSUPPORTED, "only negative of float32");
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func,
                       bt_lowering *out)
{
    (void)ctx;
    (void)self;
    return bt_lowering_whole(out, arena, func) ? NULL : bt_no_memory();
}

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    (void)ctx;
    (void)self;
    (void)form;
    for (uint32_t i = 0; i < n; i++) {
        int64_t *nelem = BT_NEW(arena, int64_t);
        if (!nelem)
            return bt_no_memory();
        *nelem = bt_type_nbytes(kernels[i]->primitive->result) / 4;
        *out[i] = (bt_kernel_code){ .form = BT_CODE_BYTES, .at = nelem, .nbytes = 8 };
    }
    return NULL;
}

static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **out)
{
    struct instance *i = self;
    const size_t nbytes = sizeof(struct loaded) + n * sizeof(int64_t);
    struct loaded *l = bt_alloc(i->registry, nbytes);
    (void)ctx;
    if (!l)
        return bt_no_memory();
    *l = (struct loaded){ i, nbytes };
    for (uint32_t k = 0; k < n; k++)
        memcpy(&l->nelem[k], codes[k]->at, sizeof(int64_t));
    *out = l;
    return NULL;
}

static void unload(void *loaded)
{
    struct loaded *l = loaded;
    bt_free(l->instance->registry, l, l->nbytes);
}

/* ---- memory ---- */

struct block {
    size_t nbytes;
    _Alignas(64) char bytes[];
};

static bt_status alloc_block(bt_ctx *ctx, void *self, uint64_t nbytes, void **out)
{
    struct instance *i = self;
    const size_t room = sizeof(struct block) + (size_t)nbytes;
    struct block *block = bt_alloc(i->registry, room);
    (void)ctx;
    crash_in(i, "alloc_block");
    if (!block)
        return bt_no_memory();
    block->nbytes = room;
    *out = block;
    return NULL;
}

static void free_block(void *self, void *opaque)
{
    struct instance *i = self;
    struct block *block = opaque;
    crash_in(i, "free_block");
    bt_free(i->registry, block, block->nbytes);
}

static char *side(const bt_buffer *b)
{
    return b->is_own ? ((struct block *)b->block)->bytes + b->offset
                     : (char *)b->block + b->offset;
}

/* ---- queues ---- */

struct command {
    struct command *next;
    uint64_t value;
    float *to;
    const float *from;
    size_t nbytes;
    int is_kernel;
    const uint32_t *stop;
    uint32_t nwait;
    bt_event waits[MOST_WAITS];
};

struct queue {
    struct instance *instance;
    pthread_t thread;
    struct command *first, **last;
    uint64_t given, done, failed;
    int is_closing;
};

/* 0: it failed. */
static int run(const struct instance *i, const struct command *c)
{
    crash_in(i, "run");
    if (!c->is_kernel) {
        memmove(c->to, c->from, c->nbytes);
        return 1;
    }
    for (size_t k = 0; k < c->nbytes / sizeof(float); k++)
        c->to[k] = -c->from[k];
    return !c->stop || !__atomic_load_n(c->stop, __ATOMIC_RELAXED);
}

/* Whether all that the command waits for is done; 0: some of it failed. */
static int await(struct instance *i, const struct command *c)
{
    for (uint32_t k = 0; i->fault != DEAF && k < c->nwait; k++) {
        const struct queue *other = c->waits[k].queue;
        while (other->done < c->waits[k].value)
            pthread_cond_wait(&i->moved, &i->lock);
        if (other->failed && other->failed <= c->waits[k].value)
            return 0;
    }
    return 1;
}

static void *work(void *self)
{
    struct queue *q = self;
    struct instance *i = q->instance;
    pthread_mutex_lock(&i->lock);
    for (;;) {
        while (!q->first && !q->is_closing)
            pthread_cond_wait(&i->moved, &i->lock);
        struct command *c = q->first;
        if (!c)
            break;
        int ok = !q->failed && await(i, c);
        if (ok) {
            pthread_mutex_unlock(&i->lock);
            ok = run(i, c);
            pthread_mutex_lock(&i->lock);
        }
        if (!ok && !q->failed)
            q->failed = c->value;
        q->done = c->value;
        q->first = c->next;
        if (!q->first)
            q->last = &q->first;
        bt_free(i->registry, c, sizeof(*c));
        pthread_cond_broadcast(&i->moved);
    }
    pthread_mutex_unlock(&i->lock);
    return NULL;
}

static bt_status open_queue(bt_ctx *ctx, void *self, void **out)
{
    struct instance *i = self;
    struct queue *q = bt_alloc(i->registry, sizeof(*q));
    crash_in(i, "open_queue");
    if (!q)
        return bt_no_memory();
    q->instance = i;
    q->last = &q->first;
    if (pthread_create(&q->thread, NULL, work, q) != 0) {
        bt_free(i->registry, q, sizeof(*q));
        return bt_fail(ctx, BT_ERR_RUNTIME, "no thread");
    }
    *out = q;
    return NULL;
}

static void close_queue(void *opaque)
{
    struct queue *q = opaque;
    struct instance *i = q->instance;
    pthread_mutex_lock(&i->lock);
    q->is_closing = 1;
    pthread_cond_broadcast(&i->moved);
    pthread_mutex_unlock(&i->lock);
    pthread_join(q->thread, NULL);
    bt_free(i->registry, q, sizeof(*q));
}

static bt_status put(const bt_order *order, const struct command *what, uint64_t *value)
{
    struct queue *q = order->queue;
    struct instance *i = q->instance;
    struct command *c = bt_alloc(i->registry, sizeof(*c));
    if (!c)
        return bt_no_memory();
    *c = *what;
    for (c->nwait = 0; c->nwait < order->nwait && c->nwait < MOST_WAITS; c->nwait++)
        c->waits[c->nwait] = order->waits[c->nwait];
    pthread_mutex_lock(&i->lock);
    c->value = ++q->given;
    *value = i->fault == CONSTANT ? 1 : c->value;
    *q->last = c;
    q->last = &c->next;
    pthread_cond_broadcast(&i->moved);
    pthread_mutex_unlock(&i->lock);
    return NULL;
}

static float *buffer(const bt_kernel_call *call, uint32_t k)
{
    return (float *)(void *)(((struct block *)call->buffers[k])->bytes +
                             (call->offsets ? call->offsets[k] : 0));
}

static bt_status enqueue(bt_ctx *ctx, void *loaded, uint32_t kernel,
                         const bt_kernel_call *call, const bt_order *order,
                         uint64_t *value)
{
    const struct loaded *l = loaded;
    const struct command c = { .from = buffer(call, 0),
                               .to = buffer(call, 1),
                               .nbytes = (size_t)l->nelem[kernel] * sizeof(float),
                               .is_kernel = 1,
                               .stop = call->stop };
    (void)ctx;
    return put(order, &c, value);
}

static bt_status enqueue_copy(bt_ctx *ctx, void *self, const bt_buffer *to,
                              const bt_buffer *from, const bt_order *order,
                              uint64_t *value)
{
    const struct command c = { .to = (float *)(void *)side(to),
                               .from = (const float *)(void *)side(from),
                               .nbytes = (size_t)to->nbytes };
    (void)ctx;
    crash_in(self, "enqueue_copy");
    return put(order, &c, value);
}

static bt_status wait_for(bt_ctx *ctx, void *queue, uint64_t value, uint64_t *failed)
{
    struct queue *q = queue;
    struct instance *i = q->instance;
    crash_in(i, "wait_for");
    pthread_mutex_lock(&i->lock);
    while (i->fault != EARLY && q->done < value)
        pthread_cond_wait(&i->moved, &i->lock);
    const uint64_t first = q->failed;
    pthread_mutex_unlock(&i->lock);
    if (!first || first > value)
        return NULL;
    if (i->fault != MUTE)
        *failed = first;
    return bt_fail(ctx, BT_ERR_RUNTIME, "the device has stopped");
}

/* ---- the targets ---- */

#define OPEN(function, fault)                                              \
    static bt_status function(bt_ctx *ctx, const void *given, void **self) \
    {                                                                      \
        return open_fault(ctx, given, (fault), self);                      \
    }
OPEN(open_right, NONE)
OPEN(open_deaf, DEAF)
OPEN(open_constant, CONSTANT)
OPEN(open_mute, MUTE)
OPEN(open_early, EARLY)

#define ROW(name_, open_, ...)                                                          \
    {                                                                                   \
        .name = name_, .doc = "A device of the tests.",                                 \
        .options_nbytes = sizeof(struct options), .open = open_, .close = close_device, \
        .supports = supports, .lower = lower, .compile = compile, .load = load,         \
        .unload = unload, .alloc = alloc_block, .free = free_block,                     \
        .open_queue = open_queue, .close_queue = close_queue, .enqueue = enqueue,       \
        .enqueue_copy = enqueue_copy, .wait = wait_for, __VA_ARGS__                     \
    }

static const char *const patterns[] = { "negative(*)", NULL };

static const bt_target targets[] = {
    ROW("device", open_right, .options = options),
    ROW("device.claims", open_right, .options = options, .patterns = patterns),
    ROW("device.constant", open_constant, .options = options),
    ROW("device.deaf", open_deaf, .options = options),
    ROW("device.early", open_early, .options = options),
    ROW("device.mute", open_mute, .options = options),
    { 0 },
};

const bt_table bt_tests_tools_device_device[] = { BT_TARGETS(targets), { 0 } };
