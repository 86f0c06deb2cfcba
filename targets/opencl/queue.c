#define _POSIX_C_SOURCE 200809L // nanosleep
#include "queue.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "load.h"

/* ---- waiting ---- */

static bt_status check_event(bt_ctx *ctx, struct ocl_instance *o, cl_event event,
                             int *is_done)
{
    cl_int state = CL_COMPLETE;
    const cl_int error = o->cl.GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                            sizeof(state), &state, NULL);
    if (error != CL_SUCCESS)
        return ocl_fail(ctx, o, error, "a command does not say whether it is done");
    *is_done = state == CL_COMPLETE;
    return state < 0 ? ocl_fail_command(ctx, o, state) : NULL;
}

/* A command may take microseconds, or seconds. */
static void rest(uint32_t round)
{
    const long us = round < 100 ? 0 : round < 500 ? 20 : 500;
    if (us)
        (void)nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
    else
        (void)sched_yield();
}

bt_status ocl_event_await(bt_ctx *ctx, struct ocl_instance *o, cl_event event)
{
    int is_done = 0;
    const uint64_t start = bt_now_ns();
    for (uint32_t i = 0;; i++) {
        BT_TRY(check_event(ctx, o, event, &is_done));
        if (is_done)
            return NULL;
        if (!o->timeout_ns) {
            (void)o->cl.WaitForEvents(1, &event); // what it says is asked again
        } else if (bt_now_ns() - start > o->timeout_ns) {
            ocl_hang(o);
            return ocl_alive(ctx, o);
        } else {
            rest(i);
        }
        BT_TRY(ocl_alive(ctx, o));
    }
}

void ocl_queue_flush(struct ocl_queue *q)
{
    if (q->nunflushed)
        (void)q->instance->cl.Flush(q->at); // a failure is that of its commands, too
    q->nunflushed = 0;
}

/* ---- the end of commands ---- */

static void release(struct ocl_instance *o, cl_event event)
{
    if (event)
        (void)o->cl.ReleaseEvent(event);
}

static void command_destroy(struct ocl_queue *q, struct ocl_command *c)
{
    struct ocl_instance *o = q->instance;
    if (!ocl_is_hung(o)) {
        release(o, c->first);
        release(o, c->last);
        for (uint32_t i = 0; i < c->nevent; i++)
            release(o, c->events[i]);
    }
    if (c->cell) {
        c->cell->next = q->cells;
        q->cells = c->cell;
    }
    bt_free(o->registry, c, c->nbytes);
}

static void pop(struct ocl_queue *q)
{
    struct ocl_command *c = q->first;
    q->first = c->next;
    if (!q->first)
        q->last = &q->first;
    q->ncommand--;
    command_destroy(q, c);
}

/* The queue fails with a command. */
static void fail_queue(struct ocl_queue *q, uint64_t value, bt_status status)
{
    if (!q->failed) {
        q->failed = value;
        q->code = status->code;
        snprintf(q->why, sizeof(q->why), "%s", status->message);
    }
    while (q->first)
        pop(q);
    ocl_pieces_settle(q, UINT64_MAX, 1);
}

static uint64_t clock_of(const struct ocl_instance *o, cl_event event, cl_uint what)
{
    cl_ulong ns = 0;
    return o->cl.GetEventProfilingInfo(event, what, sizeof(ns), &ns, NULL) == CL_SUCCESS
               ? ns
               : 0;
}

/* The device has a clock of its own: when the command was given is known by both. */
static void write_times(struct ocl_queue *q, const struct ocl_command *c)
{
    const struct ocl_instance *o = q->instance;
    const cl_event first = c->first ? c->first : c->last;
    const uint64_t queued = clock_of(o, first, CL_PROFILING_COMMAND_QUEUED),
                   start = clock_of(o, first, CL_PROFILING_COMMAND_START),
                   last = clock_of(o, c->last, CL_PROFILING_COMMAND_END),
                   now = bt_now_ns();
    uint64_t begin = c->given_ns + (start > queued ? start - queued : 0),
             end = c->given_ns + (last > queued ? last - queued : 0);
    begin = begin < q->end_ns ? q->end_ns : begin;
    begin = begin > now ? now : begin;
    end = end < begin ? begin : end > now ? now : end;
    *c->times = (bt_times){ begin, end };
    q->end_ns = end;
}

/* Of a queue that was closed and is another thread's by now, nothing else may be looked at. */
static int is_done(const struct ocl_queue *q, uint64_t value)
{
    return value <= __atomic_load_n(&q->done, __ATOMIC_ACQUIRE);
}

bt_status ocl_command_check_waits(bt_ctx *ctx, const struct ocl_command *c)
{
    for (uint32_t i = 0; i < c->nwait; i++) {
        struct ocl_queue *other = c->waits[i].queue;
        if (is_done(other, c->waits[i].value))
            continue;
        ocl_queue_retire(ctx, other, c->waits[i].value);
        if (other->failed && other->failed <= c->waits[i].value)
            return bt_fail(ctx, other->code, "%s", other->why);
    }
    return NULL;
}

static bt_status retire_first(bt_ctx *ctx, struct ocl_queue *q)
{
    struct ocl_command *c = q->first;
    BT_TRY(ocl_command_check_waits(ctx, c));
    BT_TRY(ocl_event_await(ctx, q->instance, c->last));
    if (c->cell && c->cell->fault)
        return ocl_kernel_fault(ctx, c->loaded, c->kernel, c->cell->fault);
    if (c->times)
        write_times(q, c);
    ocl_pieces_settle(q, c->value, 0);
    __atomic_store_n(&q->done, c->value, __ATOMIC_RELEASE);
    return NULL;
}

void ocl_queue_retire(bt_ctx *ctx, struct ocl_queue *q, uint64_t value)
{
    ocl_queue_flush(q);
    while (q->first && q->first->value <= value) {
        bt_status status = retire_first(ctx, q);
        if (status)
            fail_queue(q, q->first->value, status);
        else
            pop(q);
    }
}

bt_status ocl_queue_wait(bt_ctx *ctx, void *queue, uint64_t value, uint64_t *failed)
{
    struct ocl_queue *q = queue;
    ocl_queue_retire(ctx, q, value);
    if (!q->failed || q->failed > value)
        return NULL;
    *failed = q->failed;
    return bt_fail(ctx, q->code, "%s", q->why);
}

/* ---- giving ---- */

/* The event of a command that is not done; NULL: it is. */
static cl_event event_of(const struct ocl_queue *q, uint64_t value)
{
    const struct ocl_command *c = q->first;
    while (c && c->value < value)
        c = c->next;
    return c ? c->last : NULL;
}

static bt_status find_events(bt_ctx *ctx, const struct ocl_queue *q,
                             struct ocl_command *c)
{
    for (uint32_t i = 0; i < c->nwait; i++) {
        struct ocl_queue *other = c->waits[i].queue;
        if (other->instance != q->instance)
            return bt_fail(ctx, BT_ERR_INTERNAL,
                           "target opencl: an event of another instance");
        if (is_done(other, c->waits[i].value))
            continue;
        if (other->failed && other->failed <= c->waits[i].value)
            return bt_fail(ctx, other->code, "%s", other->why);
        const cl_event event = other == q ? NULL : event_of(other, c->waits[i].value);
        if (!event)
            continue;
        // what is retired before this command is given would take it along
        const cl_int error = q->instance->cl.RetainEvent(event);
        if (error != CL_SUCCESS)
            return ocl_fail(ctx, q->instance, error, "an event is not kept");
        c->events[c->nevent++] = event;
        ocl_queue_flush(other); // else this one might wait for ever
    }
    return NULL;
}

static struct ocl_command *command_create(const struct ocl_queue *q,
                                          const bt_order *order)
{
    const size_t each = sizeof(bt_event) + sizeof(cl_event);
    const size_t nbytes = sizeof(struct ocl_command) + order->nwait * each;
    struct ocl_command *c = bt_alloc(q->instance->registry, nbytes);
    if (!c)
        return NULL;
    c->nbytes = nbytes;
    c->times = order->times;
    c->nwait = order->nwait;
    for (uint32_t i = 0; i < order->nwait; i++)
        c->waits[i] = order->waits[i];
    c->events = (cl_event *)(void *)(c->waits + order->nwait);
    return c;
}

bt_status ocl_command_begin(bt_ctx *ctx, const bt_order *order, uint64_t *value,
                            struct ocl_command **out)
{
    struct ocl_queue *q = order->queue;
    *out = NULL;
    BT_TRY(ocl_alive(ctx, q->instance));
    if (q->ncommand >= OCL_MAX_COMMANDS) // it runs behind: half of them first
        ocl_queue_retire(ctx, q, q->first->value + OCL_MAX_COMMANDS / 2);
    struct ocl_command *c = command_create(q, order);
    if (!c)
        return bt_no_memory();
    *value = ++q->given;
    c->value = *value;
    bt_status status = q->failed ? NULL : find_events(ctx, q, c);
    if (status)
        fail_queue(q, c->value, status);
    if (q->failed) {
        command_destroy(q, c);
        return NULL;
    }
    c->given_ns = bt_now_ns();
    *out = c;
    return NULL;
}

cl_uint ocl_command_nevent(const struct ocl_command *c)
{
    return c->last ? 0 : c->nevent;
}

const cl_event *ocl_command_events(const struct ocl_command *c)
{
    return ocl_command_nevent(c) ? c->events : NULL;
}

void ocl_command_add_event(struct ocl_queue *q, struct ocl_command *c, cl_event event)
{
    if (c->times && !c->first)
        c->first = c->last;
    else
        release(q->instance, c->last);
    c->last = event;
}

bt_status ocl_command_mark(bt_ctx *ctx, struct ocl_queue *q, struct ocl_command *c)
{
    struct ocl_instance *o = q->instance;
    cl_event event = NULL;
    const cl_int error = o->cl.EnqueueMarkerWithWaitList(q->at, ocl_command_nevent(c),
                                                         ocl_command_events(c), &event);
    if (error != CL_SUCCESS)
        return ocl_fail(ctx, o, error, "a marker is not taken");
    ocl_command_add_event(q, c, event);
    return NULL;
}

static void append(struct ocl_queue *q, struct ocl_command *c)
{
    *q->last = c;
    q->last = &c->next;
    q->ncommand++;
}

void ocl_command_drop(struct ocl_queue *q, struct ocl_command *c, bt_status status)
{
    append(q, c);
    fail_queue(q, c->value, status);
}

bt_status ocl_command_end(struct ocl_queue *q, struct ocl_command *c, bt_status status)
{
    if (status) {
        ocl_command_drop(q, c, status);
        return status;
    }
    append(q, c);
    if (++q->nunflushed >= 8) // the device need not wait for somebody who waits
        ocl_queue_flush(q);
    return NULL;
}

/* ---- queues ---- */

static struct ocl_queue *take_idle(struct ocl_instance *o)
{
    pthread_mutex_lock(&o->lock);
    struct ocl_queue *q = o->idle;
    if (q)
        o->idle = q->next_idle;
    pthread_mutex_unlock(&o->lock);
    return q;
}

bt_status ocl_open_queue(bt_ctx *ctx, void *self, void **out)
{
    struct ocl_instance *o = self;
    cl_int error = CL_SUCCESS;
    BT_TRY(ocl_alive(ctx, o));
    struct ocl_queue *q = take_idle(o);
    *out = q;
    if (q)
        return NULL;
    q = bt_alloc(o->registry, sizeof(*q));
    if (!q)
        return bt_no_memory();
    q->at = o->cl.CreateCommandQueue(o->context, o->device, CL_QUEUE_PROFILING_ENABLE,
                                     &error);
    if (!q->at) {
        bt_free(o->registry, q, sizeof(*q));
        return ocl_fail(ctx, o, error, "device %s gives no queue", o->facts.name);
    }
    q->instance = o;
    q->last = &q->first;
    pthread_mutex_lock(&o->lock);
    q->next = o->queues;
    o->queues = q;
    pthread_mutex_unlock(&o->lock);
    *out = q;
    return NULL;
}

/* What the driver has of it. */
static void queue_release(struct ocl_queue *q)
{
    struct ocl_instance *o = q->instance;
    const int is_hung = ocl_is_hung(o);
    if (q->at && !is_hung) {
        (void)o->cl.Finish(q->at);
        ocl_staging_destroy(q);
        (void)o->cl.ReleaseCommandQueue(q->at);
    }
    q->at = NULL;
    while (q->cells) {
        struct ocl_cell *cell = q->cells;
        q->cells = cell->next;
        if (is_hung) // its fault may still be written
            continue;
        (void)o->cl.ReleaseMemObject(cell->mem);
        bt_free(o->registry, cell, sizeof(*cell));
    }
}

/* The queue stays, as events of it may be asked for, and is opened again, its counter going on:
 * queues are opened for single commands, too. */
void ocl_close_queue(void *queue)
{
    struct ocl_queue *q = queue;
    struct ocl_instance *o = q->instance;
    if (q->failed || q->first) {
        queue_release(q);
        return;
    }
    pthread_mutex_lock(&o->lock);
    q->next_idle = o->idle;
    o->idle = q;
    pthread_mutex_unlock(&o->lock);
}

void ocl_queues_destroy(struct ocl_instance *o)
{
    while (o->queues) {
        struct ocl_queue *q = o->queues;
        o->queues = q->next;
        queue_release(q);
        while (q->first)
            pop(q);
        bt_free(o->registry, q, sizeof(*q));
    }
}
