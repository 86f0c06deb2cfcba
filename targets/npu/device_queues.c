/*
 * Queues: a list of commands and a thread that does them in order, each when the events that it
 * waits for have come. All lists and counters are under one lock of the device, and one condition
 * says that any has moved: a device has few queues.
 */
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "launch.h"

struct command {
    struct command *next;
    size_t nbytes; /* of this, with its lists */
    uint64_t value;
    struct npu_kernel *kernel; /* NULL: a copy of `ncopy` bytes */
    const uint32_t *stop;
    bt_times *times; /* NULL: nobody asks */
    uint8_t *to;
    const uint8_t *from;
    size_t ncopy;
    uint32_t nwait;
    bt_event *waits;
    struct npu_buffer *buffers; /* of a kernel */
};

struct queue {
    struct npu_device *device;
    bt_ctx *ctx; /* of the thread */
    pthread_t thread;
    struct command *first, **end;
    uint64_t given, done;
    uint64_t failed; /* the value of the command that failed; 0: none */
    uint32_t code;   /* ... and what with */
    char why[256];
    int is_closing;
};

/* ---- doing ---- */

static void fail(struct queue *q, uint64_t value, uint32_t code, const char *why)
{
    q->failed = value;
    q->code = code;
    snprintf(q->why, sizeof(q->why), "%s", why);
}

/* Until all events of the command have come. 0: one of them never will. */
static int await(struct queue *q, const struct command *c)
{
    for (uint32_t i = 0; i < c->nwait; i++) {
        const struct queue *other = c->waits[i].queue;
        while (other->done < c->waits[i].value && !other->failed)
            pthread_cond_wait(&q->device->moved, &q->device->queue_lock);
        if (other->done < c->waits[i].value) {
            fail(q, c->value, other->code, other->why);
            return 0;
        }
    }
    return 1;
}

static bt_status run(struct queue *q, const struct command *c)
{
    if (c->kernel)
        return npu_kernel_run(q->ctx, q->device, c->kernel, c->buffers, c->stop);
    memmove(c->to, c->from, c->ncopy);
    return NULL;
}

/* The first command, without the lock while it runs. */
static void do_first(struct queue *q)
{
    struct npu_device *d = q->device;
    struct command *c = q->first;
    if (!q->failed && await(q, c)) {
        pthread_mutex_unlock(&d->queue_lock);
        const uint64_t begin = bt_now_ns();
        bt_status status = run(q, c);
        if (c->times)
            *c->times = (bt_times){ begin, bt_now_ns() };
        pthread_mutex_lock(&d->queue_lock);
        if (status)
            fail(q, c->value, status->code, status->message);
        else
            q->done = c->value;
        bt_ctx_clear_diags(q->ctx);
    }
    q->first = c->next;
    if (!q->first)
        q->end = &q->first;
    bt_free(d->registry, c, c->nbytes);
    pthread_cond_broadcast(&d->moved);
}

static void *work(void *self)
{
    struct queue *q = self;
    struct npu_device *d = q->device;
    pthread_mutex_lock(&d->queue_lock);
    for (;;) {
        while (!q->first && !q->is_closing)
            pthread_cond_wait(&d->moved, &d->queue_lock);
        if (!q->first)
            break;
        do_first(q);
    }
    pthread_mutex_unlock(&d->queue_lock);
    return NULL;
}

/* ---- opening, closing ---- */

bt_status npu_open_queue(bt_ctx *ctx, void *device, void **out)
{
    struct npu_device *d = device;
    struct queue *q = bt_alloc(d->registry, sizeof(*q));
    bt_ctx *own = q ? bt_ctx_create(d->registry) : NULL;
    if (!own) {
        bt_free(d->registry, q, sizeof(*q));
        return bt_no_memory();
    }
    q->device = d;
    q->ctx = own;
    q->end = &q->first;
    if (pthread_create(&q->thread, NULL, work, q) != 0) {
        bt_ctx_destroy(own);
        bt_free(d->registry, q, sizeof(*q));
        return bt_fail(ctx, BT_ERR_RUNTIME, "the system gives no thread for a queue");
    }
    *out = q;
    return NULL;
}

void npu_close_queue(void *opaque)
{
    struct queue *q = opaque;
    struct npu_device *d = q->device;
    pthread_mutex_lock(&d->queue_lock);
    q->is_closing = 1;
    pthread_cond_broadcast(&d->moved);
    pthread_mutex_unlock(&d->queue_lock);
    pthread_join(q->thread, NULL);
    bt_ctx_destroy(q->ctx);
    bt_free(d->registry, q, sizeof(*q));
}

/* ---- giving ---- */

static bt_status create(const bt_order *order, uint32_t nbuffer, struct command **out)
{
    const struct queue *q = order->queue;
    size_t nbytes, more;
    if (!bt_mul_size(order->nwait, sizeof(bt_event), &nbytes) ||
        !bt_mul_size(nbuffer, sizeof(struct npu_buffer), &more) ||
        !bt_add_size(nbytes, more, &nbytes) ||
        !bt_add_size(nbytes, sizeof(struct command), &nbytes))
        return bt_no_memory();
    struct command *c = bt_alloc(q->device->registry, nbytes);
    if (!c)
        return bt_no_memory();
    c->nbytes = nbytes;
    c->buffers = (struct npu_buffer *)(c + 1);
    c->waits = (bt_event *)(c->buffers + nbuffer);
    c->nwait = order->nwait;
    c->times = order->times;
    if (order->nwait)
        memcpy(c->waits, order->waits, order->nwait * sizeof(bt_event));
    *out = c;
    return NULL;
}

static void give(struct command *c, struct queue *q, uint64_t *value)
{
    struct npu_device *d = q->device;
    pthread_mutex_lock(&d->queue_lock);
    *value = c->value = ++q->given;
    *q->end = c;
    q->end = &c->next;
    pthread_cond_broadcast(&d->moved);
    pthread_mutex_unlock(&d->queue_lock);
}

bt_status npu_enqueue(bt_ctx *ctx, void *loaded, uint32_t kernel,
                      const bt_kernel_call *call, const bt_order *order, uint64_t *value)
{
    struct queue *q = order->queue;
    struct npu_kernel *k = npu_loaded_kernel(loaded, kernel);
    struct command *c;
    BT_TRY(create(order, k->code.nbuffer, &c));
    c->kernel = k;
    c->stop = call->stop;
    bt_status status = npu_kernel_bind(ctx, k, call, c->buffers);
    if (status)
        bt_free(q->device->registry, c, c->nbytes);
    else
        give(c, q, value);
    return status;
}

static bt_status side(bt_ctx *ctx, const bt_buffer *buffer, uint8_t **out)
{
    if (buffer->is_own)
        return npu_block_bytes(ctx, buffer->block, buffer->offset, buffer->nbytes, out);
    *out = (uint8_t *)buffer->block + buffer->offset;
    return NULL;
}

bt_status npu_enqueue_copy(bt_ctx *ctx, void *device, const bt_buffer *to,
                           const bt_buffer *from, const bt_order *order, uint64_t *value)
{
    uint8_t *into, *of;
    struct command *c;
    (void)device;
    BT_TRY(side(ctx, to, &into));
    BT_TRY(side(ctx, from, &of));
    BT_TRY(create(order, 0, &c));
    c->to = into;
    c->from = of;
    c->ncopy = (size_t)to->nbytes;
    give(c, order->queue, value);
    return NULL;
}

bt_status npu_wait(bt_ctx *ctx, void *opaque, uint64_t value, uint64_t *failed)
{
    struct queue *q = opaque;
    struct npu_device *d = q->device;
    bt_status status = NULL;
    pthread_mutex_lock(&d->queue_lock);
    while (q->done < value && !q->failed)
        pthread_cond_wait(&d->moved, &d->queue_lock);
    if (q->done < value) {
        *failed = q->failed;
        status = bt_fail(ctx, q->code, "%s", q->why);
    }
    pthread_mutex_unlock(&d->queue_lock);
    return status;
}
