/* Copies, by way of the staging buffer: a ring of pinned memory. */
#include <inttypes.h>
#include <string.h>

#include "queue.h"

enum { LEAST_STAGE = 256 << 10, MAX_STAGE = 16 << 20 };

/* ---- the ring ---- */

void ocl_staging_destroy(struct ocl_queue *q)
{
    struct ocl_instance *o = q->instance;
    ocl_pieces_settle(q, UINT64_MAX, 1);
    if (!q->staging)
        return;
    (void)o->cl.EnqueueUnmapMemObject(q->at, q->staging, q->host, 0, NULL, NULL);
    (void)o->cl.Finish(q->at);
    (void)o->cl.ReleaseMemObject(q->staging);
    q->staging = NULL;
    q->staging_nbytes = 0;
}

/* Of twice the bytes of a copy, so that one half is copied while the other one is filled. */
static bt_status staging_create(bt_ctx *ctx, struct ocl_queue *q, uint64_t nbytes)
{
    struct ocl_instance *o = q->instance;
    cl_int error = CL_SUCCESS;
    uint64_t size = LEAST_STAGE;
    while (size < MAX_STAGE && size / 2 < nbytes)
        size *= 2;
    if (size <= q->staging_nbytes)
        return NULL;
    ocl_queue_retire(ctx, q, UINT64_MAX);
    if (q->failed)
        return bt_fail(ctx, q->code, "%s", q->why);
    ocl_staging_destroy(q);
    q->staging = o->cl.CreateBuffer(o->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                    (size_t)size, NULL, &error);
    if (!q->staging)
        return ocl_fail(ctx, o, error, "no pinned memory for copies");
    q->host = o->cl.EnqueueMapBuffer(q->at, q->staging, 1, CL_MAP_READ | CL_MAP_WRITE, 0,
                                     (size_t)size, 0, NULL, NULL, &error);
    if (!q->host) {
        (void)o->cl.ReleaseMemObject(q->staging);
        q->staging = NULL;
        return ocl_fail(ctx, o, error, "no pinned memory for copies");
    }
    q->staging_nbytes = size;
    q->head = q->used = 0;
    return NULL;
}

/* Takes the first piece out; the command that it is of is done. */
static void settle_first(struct ocl_queue *q, int is_dropped)
{
    struct ocl_instance *o = q->instance;
    struct ocl_piece *p = &q->pieces[q->first_piece];
    if (p->to && !is_dropped)
        memcpy(p->to, q->host + p->at, (size_t)p->nbytes);
    if (p->to) {
        pthread_mutex_lock(&o->lock);
        struct ocl_piece **at = &o->reads;
        while (*at != p)
            at = &(*at)->next;
        *at = p->next;
        pthread_mutex_unlock(&o->lock);
    }
    if (!ocl_is_hung(o))
        (void)o->cl.ReleaseEvent(p->event);
    q->used -= p->room;
    q->first_piece = (q->first_piece + 1) % OCL_MAX_PIECES;
    q->npiece--;
}

void ocl_pieces_settle(struct ocl_queue *q, uint64_t value, int is_dropped)
{
    while (q->npiece && q->pieces[q->first_piece].value <= value)
        settle_first(q, is_dropped);
}

/* Where a piece of so many bytes goes; 0: there is no room yet. */
static int find_room(const struct ocl_queue *q, uint64_t nbytes, uint64_t *at,
                     uint64_t *room)
{
    const uint64_t left = q->staging_nbytes - q->head;
    *at = nbytes <= left ? q->head : 0;
    *room =
        nbytes <= left ? nbytes : left + nbytes; // what is left at the end stays empty
    return q->npiece < OCL_MAX_PIECES && *room <= q->staging_nbytes - q->used;
}

/* Room for a piece of the command with this value: what is in the way is waited for. */
static bt_status make_room(bt_ctx *ctx, struct ocl_queue *q, uint64_t value,
                           uint64_t nbytes, struct ocl_piece **out)
{
    uint64_t at, room;
    if (!q->npiece)
        q->head = q->used = 0;
    while (!find_room(q, nbytes, &at, &room)) {
        const struct ocl_piece *oldest = &q->pieces[q->first_piece];
        if (oldest->value == value) {
            ocl_queue_flush(q);
            q->nunflushed = 1; // more of the same command may come
            BT_TRY(ocl_event_await(ctx, q->instance, oldest->event));
            settle_first(q, 0);
        } else {
            ocl_queue_retire(ctx, q, oldest->value);
        }
        if (q->failed)
            return bt_fail(ctx, q->code, "%s", q->why);
        if (!q->npiece)
            q->head = q->used = 0;
    }
    struct ocl_piece *p = &q->pieces[(q->first_piece + q->npiece) % OCL_MAX_PIECES];
    *p = (struct ocl_piece){
        .queue = q, .value = value, .at = at, .nbytes = nbytes, .room = room
    };
    *out = p;
    return NULL;
}

/* The piece is on its way. */
static void take(struct ocl_queue *q, struct ocl_piece *p)
{
    struct ocl_instance *o = q->instance;
    q->head = p->at + p->nbytes;
    q->used += p->room;
    q->npiece++;
    q->nunflushed++;
    if (!p->to)
        return;
    pthread_mutex_lock(&o->lock);
    p->next = o->reads;
    o->reads = p;
    pthread_mutex_unlock(&o->lock);
}

/* ---- copies ---- */

struct copying {
    bt_ctx *ctx;
    struct ocl_queue *queue;
    struct ocl_command *command;
    cl_mem mem;
    uint64_t offset;
    char *host;
    uint64_t nbytes;
    int to_host;
};

static bt_status copy_piece(const struct copying *c, uint64_t begin, uint64_t nbytes)
{
    struct ocl_queue *q = c->queue;
    struct ocl_instance *o = q->instance;
    struct ocl_piece *p;
    cl_event event = NULL;
    BT_TRY(make_room(c->ctx, q, c->command->value, nbytes, &p));
    char *staged = q->host + p->at;
    const cl_uint n = ocl_command_nevent(c->command);
    const cl_event *events = ocl_command_events(c->command);
    if (!c->to_host)
        memcpy(staged, c->host + begin, (size_t)nbytes);
    const size_t at = (size_t)(c->offset + begin), size = (size_t)nbytes;
    const cl_int error = c->to_host ? o->cl.EnqueueReadBuffer(q->at, c->mem, 0, at, size,
                                                              staged, n, events, &event)
                                    : o->cl.EnqueueWriteBuffer(q->at, c->mem, 0, at, size,
                                                               staged, n, events, &event);
    if (error != CL_SUCCESS)
        return ocl_fail(c->ctx, o, error, "a copy of %" PRIu64 " bytes is not taken",
                        nbytes);
    p->event = event;
    p->to = c->to_host ? c->host + begin : NULL;
    take(q, p);
    (void)o->cl.RetainEvent(event);
    ocl_command_add_event(q, c->command, event);
    return NULL;
}

static bt_status copy_pieces(const struct copying *c)
{
    struct ocl_queue *q = c->queue;
    BT_TRY(staging_create(c->ctx, q, c->nbytes));
    const uint64_t most = q->staging_nbytes / 2;
    // bytes of a large one go to the host at once: whether those before it fail must be known
    if (c->to_host && c->nbytes > most) {
        for (uint32_t i = 0; i < c->command->nwait; i++)
            ocl_queue_retire(c->ctx, c->command->waits[i].queue,
                             c->command->waits[i].value);
        ocl_queue_retire(c->ctx, q, c->command->value - 1);
        BT_TRY(ocl_command_check_waits(c->ctx, c->command));
        if (q->failed)
            return bt_fail(c->ctx, q->code, "%s", q->why);
    }
    for (uint64_t at = 0; at < c->nbytes; at += most)
        BT_TRY(copy_piece(c, at, c->nbytes - at < most ? c->nbytes - at : most));
    return NULL;
}

/* What is copied from may be what another copy is still to bring there: it is waited for. */
static void bring(bt_ctx *ctx, struct ocl_instance *o, const char *at, uint64_t nbytes)
{
    for (;;) {
        struct ocl_queue *queue = NULL;
        uint64_t value = 0;
        pthread_mutex_lock(&o->lock);
        for (const struct ocl_piece *p = o->reads; p && !queue; p = p->next) {
            if (p->to < at + nbytes && at < p->to + p->nbytes) {
                queue = p->queue;
                value = p->value;
            }
        }
        pthread_mutex_unlock(&o->lock);
        if (!queue)
            return;
        ocl_queue_retire(ctx, queue, value);
    }
}

static bt_status copy_within(const struct copying *c, const bt_buffer *from)
{
    struct ocl_queue *q = c->queue;
    struct ocl_instance *o = q->instance;
    const struct ocl_block *block = from->block;
    cl_event event = NULL;
    const cl_int error = o->cl.EnqueueCopyBuffer(
        q->at, block->mem, c->mem, (size_t)from->offset, (size_t)c->offset,
        (size_t)c->nbytes, ocl_command_nevent(c->command), ocl_command_events(c->command),
        &event);
    if (error != CL_SUCCESS)
        return ocl_fail(c->ctx, o, error, "a copy of %" PRIu64 " bytes is not taken",
                        c->nbytes);
    ocl_command_add_event(q, c->command, event);
    return NULL;
}

static bt_status copy(struct copying *c, const bt_buffer *to, const bt_buffer *from)
{
    const bt_buffer *own = to->is_own ? to : from, *host = to->is_own ? from : to;
    c->mem = ((const struct ocl_block *)own->block)->mem;
    c->offset = own->offset;
    c->nbytes = to->nbytes;
    if (!c->nbytes)
        return ocl_command_mark(c->ctx, c->queue, c->command);
    if (to->is_own && from->is_own)
        return copy_within(c, from);
    c->host = (char *)host->block + host->offset;
    c->to_host = !to->is_own;
    if (!c->to_host)
        bring(c->ctx, c->queue->instance, c->host, c->nbytes);
    return copy_pieces(c);
}

bt_status ocl_enqueue_copy(bt_ctx *ctx, void *self, const bt_buffer *to,
                           const bt_buffer *from, const bt_order *order, uint64_t *value)
{
    struct copying c = { .ctx = ctx, .queue = order->queue };
    (void)self;
    BT_TRY(ocl_within(ctx, to));
    BT_TRY(ocl_within(ctx, from));
    if ((!to->is_own && !from->is_own) || to->nbytes != from->nbytes)
        return bt_fail(ctx, BT_ERR_ARGUMENT,
                       "target opencl: a copy of %" PRIu64 " bytes from %" PRIu64
                       ", of which one side is a block",
                       to->nbytes, from->nbytes);
    BT_TRY(ocl_command_begin(ctx, order, value, &c.command));
    return c.command ? ocl_command_end(c.queue, c.command, copy(&c, to, from)) : NULL;
}
