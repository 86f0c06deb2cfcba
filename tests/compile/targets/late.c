/*
 * late: target far with queues whose commands are done as late as can be, and in any order:
 * none runs before somebody waits, and then a seeded draw says which of all queues' first
 * commands is next, until the one that is waited for is done. Whoever forgets an event or
 * a wait reads what is not there yet, or writes what others still need. later: the same on
 * the host's memory.
 */
#include "away.h"

#include <inttypes.h>
#include <string.h>

struct command {
    struct command *next;
    size_t nbytes; /* of this, with its lists */
    uint64_t value;
    void *loaded; /* NULL: a copy */
    uint32_t kernel, nwait;
    bt_kernel_call call;
    bt_buffer to, from;
    bt_times *times;
    bt_event *waits;
    void *lists[];
};

struct late_queue {
    struct far_instance *instance;
    struct late_queue *next; /* of the instance's */
    struct command *first, *last;
    uint64_t given, done;
    uint64_t failed; /* the value of a command that failed; 0: none */
    uint32_t code;   /* ... and what with */
    char why[160];
};

static bt_status open_queue(bt_ctx *ctx, void *self, void **out)
{
    struct far_instance *i = self;
    struct late_queue *q = bt_alloc(i->registry, sizeof(*q));
    (void)ctx;
    if (!q)
        return bt_no_memory();
    pthread_mutex_lock(&i->queue_lock);
    *q = (struct late_queue){ .instance = i, .next = i->queues };
    i->queues = q;
    pthread_mutex_unlock(&i->queue_lock);
    *out = q;
    return NULL;
}

static void drop_first(struct late_queue *q)
{
    struct command *c = q->first;
    q->first = c->next;
    bt_free(q->instance->registry, c, c->nbytes);
}

static void close_queue(void *opaque)
{
    struct late_queue *q = opaque;
    struct far_instance *i = q->instance;
    pthread_mutex_lock(&i->queue_lock);
    struct late_queue **at = &i->queues;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    pthread_mutex_unlock(&i->queue_lock);
    while (q->first)
        drop_first(q);
    bt_free(i->registry, q, sizeof(*q));
}

/* ---- giving ---- */

/* Its lists: buffers and their offsets, dims, events. */
static bt_status create(bt_ctx *ctx, const bt_order *order, uint32_t nbuffer,
                        uint32_t ndim, struct command **out)
{
    const struct late_queue *q = order->queue;
    const size_t lists =
        nbuffer * (sizeof(void *) + sizeof(uint64_t)) + ndim * sizeof(int64_t);
    const size_t nbytes =
        sizeof(struct command) + lists + order->nwait * sizeof(bt_event);
    for (uint32_t i = 0; i < order->nwait; i++) {
        const struct late_queue *other = order->waits[i].queue;
        if (other->instance != q->instance)
            return bt_fail(ctx, BT_ERR_INTERNAL, "late: an event of another instance");
    }
    struct command *c = bt_alloc(q->instance->registry, nbytes);
    if (!c)
        return bt_no_memory();
    *c = (struct command){ .nbytes = nbytes,
                           .nwait = order->nwait,
                           .times = order->times };
    c->waits = (bt_event *)(void *)((char *)c->lists + lists);
    if (order->nwait)
        memcpy(c->waits, order->waits, order->nwait * sizeof(bt_event));
    *out = c;
    return NULL;
}

static void give(struct command *c, struct late_queue *q, uint64_t *value)
{
    pthread_mutex_lock(&q->instance->queue_lock);
    c->value = *value = ++q->given;
    if (q->first)
        q->last->next = c;
    else
        q->first = c;
    q->last = c;
    pthread_mutex_unlock(&q->instance->queue_lock);
}

static bt_status enqueue(bt_ctx *ctx, void *loaded, uint32_t kernel,
                         const bt_kernel_call *call, const bt_order *order,
                         uint64_t *value)
{
    struct command *c;
    BT_TRY(create(ctx, order, call->nbuffer, call->ndim, &c));
    uint64_t *offsets = (uint64_t *)(void *)(c->lists + call->nbuffer);
    int64_t *dims = (int64_t *)(void *)(offsets + call->nbuffer);
    c->loaded = loaded;
    c->kernel = kernel;
    c->call = *call;
    c->call.buffers = c->lists;
    c->call.offsets = call->offsets ? offsets : NULL;
    c->call.dims = dims;
    for (uint32_t i = 0; i < call->ndim; i++)
        dims[i] = call->dims[i];
    for (uint32_t i = 0; i < call->nbuffer; i++) {
        c->lists[i] = call->buffers[i];
        offsets[i] = call->offsets ? call->offsets[i] : 0;
    }
    give(c, order->queue, value);
    return NULL;
}

static bt_status enqueue_copy(bt_ctx *ctx, void *self, const bt_buffer *to,
                              const bt_buffer *from, const bt_order *order,
                              uint64_t *value)
{
    struct command *c;
    (void)self;
    BT_TRY(create(ctx, order, 0, 0, &c));
    c->to = *to;
    c->from = *from;
    give(c, order->queue, value);
    return NULL;
}

/* ---- running ---- */

static void fail(struct late_queue *q, uint64_t value, bt_status status)
{
    q->failed = value;
    q->code = status->code;
    strncpy(q->why, status->message, sizeof(q->why) - 1);
    while (q->first)
        drop_first(q);
}

/* Whether the events have come; *failed: one that never will. */
static int is_ready(const struct late_queue *q, const struct command *c,
                    const struct late_queue **failed)
{
    int ready = 1;
    for (uint32_t i = 0; !q->instance->options.deaf && i < c->nwait; i++) {
        const struct late_queue *other = c->waits[i].queue;
        ready &= other->done >= c->waits[i].value;
        if (other->failed && other->failed <= c->waits[i].value)
            *failed = other;
    }
    return ready || *failed;
}

static void run_first(bt_ctx *ctx, struct late_queue *q, const struct late_queue *failed)
{
    struct command *c = q->first;
    const uint64_t value = c->value, begin = bt_now_ns();
    bt_status status = failed ? bt_fail(ctx, failed->code, "%s (before it)", failed->why)
                       : c->loaded ? far_launch(ctx, c->loaded, c->kernel, &c->call)
                                   : far_copy(ctx, q->instance, &c->to, &c->from);
    if (status) {
        fail(q, value, status);
        return;
    }
    if (c->times)
        *c->times = (bt_times){ begin, bt_now_ns() };
    drop_first(q);
    q->done = value;
}

/* Any of the first commands that can run; 0: none can. */
static int run_one(bt_ctx *ctx, struct far_instance *i)
{
    struct late_queue *chosen = NULL;
    const struct late_queue *failed = NULL;
    uint32_t n = 0;
    for (struct late_queue *q = i->queues; q; q = q->next) {
        const struct late_queue *broken = NULL;
        if (!q->first || !is_ready(q, q->first, &broken))
            continue;
        i->state = i->state * 6364136223846793005u + 1442695040888963407u;
        if ((i->state >> 33) % ++n == 0) {
            chosen = q;
            failed = broken;
        }
    }
    if (chosen)
        run_first(ctx, chosen, failed);
    return chosen != NULL;
}

static bt_status wait_for(bt_ctx *ctx, void *queue, uint64_t value, uint64_t *failed)
{
    struct late_queue *q = queue;
    struct far_instance *i = q->instance;
    int stuck = 0;
    pthread_mutex_lock(&i->queue_lock);
    i->nwait++;
    while (q->done < value && !q->failed && !stuck)
        stuck = !run_one(ctx, i);
    pthread_mutex_unlock(&i->queue_lock);
    if (stuck)
        return bt_fail(ctx, BT_ERR_INTERNAL, "late: %" PRIu64 " is never done", value);
    if (q->done >= value)
        return NULL;
    *failed = q->failed;
    return bt_fail(ctx, q->code, "%s", q->why);
}

/* ---- the targets ---- */

static bt_status open_later(bt_ctx *ctx, const void *given, void **self)
{
    BT_TRY(far_open(ctx, given, self));
    ((struct far_instance *)*self)->is_host = 1;
    return NULL;
}

static const bt_attr options[] = { FAR_OPTIONS };

#define COMMON                                                                          \
    .options = options, .options_nbytes = sizeof(struct far_options),                   \
    .close = far_close, .cost = far_cost, .lower = far_lower, .compile = far_compile, .load = far_load,   \
    .unload = far_unload, .describe = far_describe, .compatibility = far_compatibility, \
    .reads_layouts = 1, .takes_dims = 1, .tells_times = 1, .open_queue = open_queue,    \
    .close_queue = close_queue, .enqueue = enqueue, .wait = wait_for

static const bt_target targets[] = {
    {
        .name = "late",
        .doc = "Target far, with queues that put off all they can.",
        COMMON,
        .open = far_open,
        .alloc = far_alloc,
        .free = far_free,
        .space = far_space,
        .enqueue_copy = enqueue_copy,
    },
    {
        .name = "later",
        .doc = "Target late on the host's memory.",
        COMMON,
        .open = open_later,
    },
    { 0 },
};

const bt_table bt_tests_compile_targets_late[] = { BT_TARGETS(targets), { 0 } };
