/*
 * A target for the tests of baton plugin check: `negative` of float32 in memory of its own, by
 * queues that have a thread each, for dims that are known or open. It is right, but for what
 * the option `fault` says; `crash` names a function that crashes, `hang` one that does not
 * come back. `device.claims` is the same with a pattern.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <baton/compute.h>
#include <baton/op.h>
#include <baton/target.h>

enum { MAX_WAITS = 4, ROOM_BEHIND = 64 };

struct options {
    const char *crash, *hang, *fault;
    int64_t kernels;
};
static const bt_attr options[] = {
    BT_ATTR(struct options, crash, STRING, "", "the function that crashes"),
    BT_ATTR(struct options, hang, STRING, "", "the function that does not come back"),
    BT_ATTR(struct options, fault, STRING, "", "what is wrong"),
    BT_ATTR_RANGE(struct options, kernels, INT, "1", 1, 2, "of each function"),
    { 0 },
};

struct instance {
    bt_registry *registry;
    char crash[16], hang[16], fault[16];
    int64_t kernels;
    int is_sour; // atomic
    pthread_mutex_t lock;
    pthread_cond_t moved;
};

static void enter(const struct instance *i, const char *function)
{
    if (strcmp(i->crash, function) == 0)
        *(volatile char *)(uintptr_t)(i->kernels - 1) = 0;
    while (strcmp(i->hang, function) == 0)
        (void)pause();
}

static int has(const struct instance *i, const char *fault)
{
    return strcmp(i->fault, fault) == 0;
}

/* Memory that nobody gives back. */
static void leak(const struct instance *i, const char *where)
{
    if (has(i, where))
        (void)!bt_alloc(i->registry, 16);
}

static int nopen, nlaunch; // atomic

/* No memory. */
static bt_status run_out(struct instance *i)
{
    __atomic_store_n(&i->is_sour, has(i, "sour"), __ATOMIC_RELAXED);
    return bt_no_memory();
}

/* What a kernel of n numbers multiplies them by. No program that the check draws has 8 where dims
 * are known. */
static float sign(const struct instance *i, size_t n, int is_known)
{
    const int is_wrong =
        __atomic_load_n(&i->is_sour, __ATOMIC_RELAXED) ||
        (has(i, "twins") && __atomic_load_n(&nopen, __ATOMIC_RELAXED) > 1) ||
        (has(i, "eights") && n == 8 && is_known);
    return is_wrong ? 1 : -1;
}

static bt_status open_device(bt_ctx *ctx, const void *given, void **self)
{
    const struct options *o = given;
    if (strcmp(o->fault, "alone") == 0 && __atomic_load_n(&nopen, __ATOMIC_RELAXED))
        return bt_fail(ctx, BT_ERR_RUNTIME, "somebody has opened it");
    struct instance *i = bt_alloc(bt_ctx_registry(ctx), sizeof(*i));
    if (!i)
        return bt_no_memory();
    *i = (struct instance){ .registry = bt_ctx_registry(ctx), .kernels = o->kernels };
    snprintf(i->crash, sizeof(i->crash), "%s", o->crash);
    snprintf(i->hang, sizeof(i->hang), "%s", o->hang);
    snprintf(i->fault, sizeof(i->fault), "%s", o->fault);
    pthread_mutex_init(&i->lock, NULL);
    pthread_cond_init(&i->moved, NULL);
    __atomic_add_fetch(&nopen, 1, __ATOMIC_RELAXED);
    *self = i;
    return NULL;
}

static void close_device(void *self)
{
    struct instance *i = self;
    enter(i, "close_device");
    __atomic_sub_fetch(&nopen, 1, __ATOMIC_RELAXED);
    leak(i, "leaks_instances");
    pthread_mutex_destroy(&i->lock);
    pthread_cond_destroy(&i->moved);
    bt_free(i->registry, i, sizeof(*i));
}

/* ---- kernels: what is loaded is how many bytes each writes, by the dims of a call ---- */

struct loaded {
    struct instance *instance;
    size_t nbytes;
    int64_t first; /* bytes of the first call, under the lock; for a fault */
    bt_dim_code sizes[];
};

static bt_status supports(bt_ctx *ctx, void *self, const bt_func *func)
{
    const bt_block *block = func->block;
    enter(self, "supports");
    return block->nbinding == 1 && bt_as_op_call(block->bindings[0], "negative") &&
                   bt_tensor_dtype(block->result->type) == BT_FLOAT32
               ? NULL
               : bt_fail(ctx, BT_ERR_UNSUPPORTED, "only negative of float32");
}

static const char copies; // the content of a kernel that does

/* Two kernels: the first copies to memory that they share, the second computes. */
static bt_status lower_two(bt_arena *arena, const bt_func *func, bt_lowering *out)
{
    static const bt_kernel_buffer in = { BT_BUFFER_INPUT, 0 },
                                  temp = { BT_BUFFER_TEMP, 0 },
                                  result = { BT_BUFFER_OUTPUT, 0 };
    const bt_type **size = BT_NEW(arena, const bt_type *);
    bt_kernel *first = bt_lowering_add(out, arena), *second = bt_lowering_add(out, arena);
    if (!size || !first || !second)
        return bt_no_memory();
    *size = bt_tensor_size(func->result);
    *first =
        (bt_kernel){ .nin = 1, .in = &in, .nout = 1, .out = &temp, .content = &copies };
    *second = (bt_kernel){ .nin = 1, .in = &temp, .nout = 1, .out = &result };
    out->ntemp = 1;
    out->temps = size;
    return NULL;
}

static bt_status lower(bt_ctx *ctx, void *self, bt_arena *arena, const bt_func *func,
                       bt_lowering *out)
{
    const struct instance *i = self;
    (void)ctx;
    enter(i, "lower");
    if (i->kernels == 2)
        return lower_two(arena, func, out);
    bt_kernel *kernel = bt_lowering_whole(out, arena, func);
    if (kernel && has(i, "few"))
        kernel->nin = 0;
    return kernel ? NULL : bt_no_memory();
}

static bt_status compile(bt_ctx *ctx, void *self, bt_arena *arena, uint32_t form,
                         uint32_t n, const bt_kernel *const *kernels,
                         bt_kernel_code *const *out)
{
    (void)form;
    enter(self, "compile");
    for (uint32_t i = 0; i < n; i++) {
        const bt_func *func = kernels[i]->primitive;
        bt_dim_code size;
        BT_TRY(bt_dim_compile(ctx, arena, bt_tensor_size(func->result), func->nvar,
                              func->vars, &size));
        char here[64], *bytes = bt_arena_alloc(arena, size.nbyte + 1, 1);
        if (!bytes)
            return bt_no_memory();
        bytes[0] = kernels[i]->content == &copies;
        memcpy(bytes + 1, size.at, size.nbyte);
        *out[i] = (bt_kernel_code){ .form = BT_CODE_BYTES,
                                    .at = bytes,
                                    .nbytes = size.nbyte + 1 };
        if (has(self, "here")) {
            memcpy(here, bytes,
                   sizeof(here) < size.nbyte ? sizeof(here) : size.nbyte + 1);
            volatile uintptr_t address = (uintptr_t)here;
            out[i]->at = (const void *)address;
        }
    }
    return NULL;
}

/* The bytes may come from a file; they stay as long as what is loaded. */
static bt_status load(bt_ctx *ctx, void *self, uint32_t n,
                      const bt_kernel_code *const *codes, void **out)
{
    struct instance *i = self;
    const size_t nbytes = sizeof(struct loaded) + n * sizeof(bt_dim_code);
    struct loaded *l = bt_alloc(i->registry, nbytes);
    enter(i, "load");
    if (!l)
        return bt_no_memory();
    leak(i, "leaks_code");
    *l = (struct loaded){ i, nbytes, -1 };
    for (uint32_t k = 0; k < n; k++) {
        if (codes[k]->nbytes < 1 || codes[k]->nbytes > UINT32_MAX) {
            bt_free(i->registry, l, nbytes);
            return bt_fail(ctx, BT_ERR_FORMAT, "kernel %u has %zu bytes of code", k,
                           (size_t)codes[k]->nbytes);
        }
        l->sizes[k].at = (const uint8_t *)codes[k]->at + 1;
        l->sizes[k].nbyte = (uint32_t)codes[k]->nbytes - 1;
    }
    *out = l;
    return NULL;
}

static void unload(void *loaded)
{
    struct loaded *l = loaded;
    enter(l->instance, "unload");
    bt_free(l->instance->registry, l, l->nbytes);
}

/* How many bytes a kernel writes, by the dims of the call. */
static bt_status count_bytes(bt_ctx *ctx, const struct loaded *l, uint32_t kernel,
                             const bt_kernel_call *call, int64_t *out)
{
    bt_dim_code size = l->sizes[kernel];
    size.nvar = call->ndim;
    if (!bt_dim_code_is_valid(&size) || !bt_dim_eval(&size, call->dims, out))
        return bt_fail(ctx, BT_ERR_FORMAT, "the size of kernel %u is none", kernel);
    return NULL;
}

/* ---- memory ---- */

struct block {
    size_t nbytes;
    char bytes[];
};

static bt_status alloc_block(bt_ctx *ctx, void *self, uint64_t nbytes, void **out)
{
    struct instance *i = self;
    const size_t room = sizeof(struct block) + (size_t)nbytes + ROOM_BEHIND;
    struct block *block = bt_alloc(i->registry, room);
    (void)ctx;
    enter(i, "alloc_block");
    if (!block)
        return run_out(i);
    block->nbytes = room;
    *out = block;
    return NULL;
}

static void free_block(void *self, void *opaque)
{
    struct instance *i = self;
    struct block *block = opaque;
    enter(i, "free_block");
    bt_free(i->registry, block, block->nbytes);
}

static char *side(const bt_buffer *b)
{
    return b->is_own ? ((struct block *)b->block)->bytes + b->offset
                     : (char *)b->block + b->offset;
}

static float *buffer(const struct instance *i, const bt_kernel_call *call, uint32_t k)
{
    const uint64_t offset = call->offsets && !has(i, "offset") ? call->offsets[k] : 0;
    return (float *)(void *)(((struct block *)call->buffers[k])->bytes + offset);
}

/* ---- queues ---- */

struct command {
    struct command *next;
    uint64_t value;
    float *to;
    const float *from;
    size_t nbytes;
    int is_kernel, is_known;
    const uint32_t *stop;
    bt_times *times;
    const bt_kernel_call *call; /* where it is looked at late; for a fault */
    const bt_buffer *late_to, *late_from;
    uint32_t nwait;
    bt_event waits[MAX_WAITS];
};

struct queue {
    struct instance *instance;
    pthread_t thread;
    struct command *first, **last;
    uint64_t given, done, failed;
    int is_closing;
};

/* What the host has let go is looked at after all; by lazy_two only behind two events. */
static void look_late(const struct instance *i, struct command *c)
{
    if ((has(i, "lazy") || (has(i, "lazy_two") && c->nwait == 2)) && c->call) {
        c->from = buffer(i, c->call, 0);
        c->to = buffer(i, c->call, 1);
    } else if (has(i, "lazy_copy") && c->late_to) {
        c->from = (const float *)(void *)side(c->late_from);
        c->to = (float *)(void *)side(c->late_to);
        c->nbytes = c->late_to->nbytes;
    }
}

/* 0: it failed. */
static int run(const struct instance *i, const struct command *c)
{
    enter(i, "run");
    if (!c->is_kernel) {
        if ((has(i, "deaf") || has(i, "hasty")) && c->nbytes > 1 << 20)
            (void)!poll(NULL, 0, 20); // so that who does not wait for it comes first
        memmove(c->to, c->from, c->nbytes);
        if (has(i, "over"))
            ((char *)c->to)[c->nbytes] = 1;
        return 1;
    }
    if (has(i, "slow") && (poll(NULL, 0, 1) || // does not take thousands of launches
                           __atomic_add_fetch(&nlaunch, 1, __ATOMIC_RELAXED) > 4000))
        return 0;
    leak(i, "leaks_calls");
    if (has(i, "stubborn") && c->nbytes > 1 << 19) // nothing small is long
        return poll(NULL, 0, 200) == 0;
    const size_t n = c->nbytes / sizeof(float), nleft = has(i, "fives") && n % 5 == 0;
    for (size_t k = 0; k + nleft < n; k++)
        c->to[k] =
            sign(i, n, c->is_known) * (has(i, "far") && c->from[k] > 3 ? 3 : c->from[k]);
    if (has(i, "behind"))
        c->to[n] = 0;
    return !c->stop || !__atomic_load_n(c->stop, __ATOMIC_RELAXED);
}

/* Whether all that the command waits for is done; 0: some of it failed. */
static int await(struct instance *i, const struct queue *q, const struct command *c)
{
    for (uint32_t k = 0; !has(i, "deaf") && k < c->nwait; k++) {
        const struct queue *other = c->waits[k].queue;
        while (other->done + (uint64_t)has(i, "hasty") < c->waits[k].value ||
               (has(i, "silent") && other != q))
            pthread_cond_wait(&i->moved, &i->lock);
        if (!has(i, "unmoved") && other->failed && other->failed <= c->waits[k].value)
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
        int ok = (!q->failed || has(i, "runs_on") || has(i, "forgets")) && await(i, q, c);
        if (ok) {
            pthread_mutex_unlock(&i->lock);
            look_late(i, c);
            const uint64_t begin = bt_now_ns();
            ok = run(i, c);
            if (c->times && !has(i, "untimed"))
                *c->times = (bt_times){ has(i, "sooner") ? 1 : begin, bt_now_ns() };
            pthread_mutex_lock(&i->lock);
        }
        if (!ok && !q->failed)
            q->failed = c->value;
        if (ok && has(i, "forgets"))
            q->failed = 0;
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
    enter(i, "open_queue");
    if (!q)
        return run_out(i);
    leak(i, "leaks_queues");
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
    enter(i, "close_queue");
    pthread_mutex_lock(&i->lock);
    if (has(i, "full") && q->first)
        abort(); // not all of its commands are done
    q->is_closing = 1;
    pthread_cond_broadcast(&i->moved);
    pthread_mutex_unlock(&i->lock);
    pthread_join(q->thread, NULL);
    bt_free(i->registry, q, sizeof(*q));
}

/* What an order may be too long for is refused: an event that is left out is a race. */
static bt_status put(bt_ctx *ctx, const bt_order *order, const struct command *what,
                     uint64_t *value)
{
    struct queue *q = order->queue;
    struct instance *i = q->instance;
    const uint32_t most = has(i, "full") ? 0 : MAX_WAITS;
    if (order->nwait > most)
        return bt_fail(ctx, BT_ERR_LIMIT, "a command waits for %u events, at most %u",
                       order->nwait, most);
    struct command *c = bt_alloc(i->registry, sizeof(*c));
    if (!c)
        return run_out(i);
    *c = *what;
    c->times = order->times;
    for (c->nwait = 0; c->nwait < order->nwait; c->nwait++)
        c->waits[c->nwait] = order->waits[c->nwait];
    pthread_mutex_lock(&i->lock);
    c->value = ++q->given;
    *value = c->value;
    *q->last = c;
    q->last = &c->next;
    pthread_cond_broadcast(&i->moved);
    if (has(i, "constant"))
        *value = 1;
    pthread_mutex_unlock(&i->lock);
    return NULL;
}

static bt_status enqueue(bt_ctx *ctx, void *loaded, uint32_t kernel,
                         const bt_kernel_call *call, const bt_order *order,
                         uint64_t *value)
{
    struct loaded *l = loaded;
    int64_t nbytes;
    struct instance *i = l->instance;
    enter(i, "enqueue");
    BT_TRY(count_bytes(ctx, l, kernel, call, &nbytes));
    pthread_mutex_lock(&i->lock);
    l->first = l->first < 0 ? nbytes : l->first;
    nbytes = has(i, "dims") ? l->first : nbytes;
    pthread_mutex_unlock(&i->lock);
    const int is_copy = l->sizes[kernel].at[-1] && !has(i, "second");
    const struct command c = { .from = buffer(i, call, 0),
                               .to = buffer(i, call, 1),
                               .nbytes = (size_t)nbytes,
                               .is_kernel = !is_copy,
                               .is_known = call->ndim == 0,
                               .call = call,
                               .stop = call->stop };
    return put(ctx, order, &c, value);
}

static bt_status enqueue_copy(bt_ctx *ctx, void *self, const bt_buffer *to,
                              const bt_buffer *from, const bt_order *order,
                              uint64_t *value)
{
    const struct command c = { .to = (float *)(void *)side(to),
                               .from = (const float *)(void *)side(from),
                               .nbytes =
                                   (size_t)to->nbytes / (has(self, "copy") ? 2 : 1) &
                                   ~(size_t)(has(self, "odd") ? 3 : 0),
                               .late_to = to,
                               .late_from = from };
    enter(self, "enqueue_copy");
    return put(ctx, order, &c, value);
}

static bt_status wait_for(bt_ctx *ctx, void *queue, uint64_t value, uint64_t *failed)
{
    struct queue *q = queue;
    struct instance *i = q->instance;
    enter(i, "wait_for");
    pthread_mutex_lock(&i->lock);
    while (!has(i, "early") && q->done < value)
        pthread_cond_wait(&i->moved, &i->lock);
    const uint64_t first = q->failed;
    pthread_mutex_unlock(&i->lock);
    if (!first || first > value)
        return NULL;
    if (!has(i, "mute"))
        *failed = first;
    return bt_fail(ctx, BT_ERR_RUNTIME, "the device has stopped");
}

/* ---- the targets ---- */

static bt_status compatibility(bt_ctx *ctx, void *self, bt_text *out)
{
    (void)ctx, (void)self;
    bt_text_addf(out, "any device");
    return NULL;
}

static bt_status accepts(bt_ctx *ctx, void *self, const char *needed)
{
    if (strcmp(needed, "any device") == 0 || has(self, "trusting"))
        return NULL;
    return bt_fail(ctx, BT_ERR_UNSUPPORTED, "device: this is no %s", needed);
}

#define ROW(...)                                                                         \
    {                                                                                    \
        .doc = "A device of the tests.", .options = options,                             \
        .options_nbytes = sizeof(struct options), .open = open_device,                   \
        .close = close_device, .supports = supports, .lower = lower, .compile = compile, \
        .load = load, .unload = unload, .alloc = alloc_block, .free = free_block,        \
        .open_queue = open_queue, .close_queue = close_queue, .enqueue = enqueue,        \
        .enqueue_copy = enqueue_copy, .wait = wait_for, .takes_dims = 1,                 \
        .tells_times = 1, .compatibility = compatibility, .accepts = accepts,            \
        __VA_ARGS__                                                                      \
    }

static const char *const patterns[] = { "negative(*)", "nn.dense(negative(*), *)", NULL };

static const bt_target targets[] = {
    ROW(.name = "device"),
    ROW(.name = "device.claims", .patterns = patterns),
    { 0 },
};

const bt_table bt_tests_tools_device_device[] = { BT_TARGETS(targets), { 0 } };
