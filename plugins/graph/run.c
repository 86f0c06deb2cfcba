/*
 * A target either runs a step before it returns, or puts it into a queue: kernels into one,
 * copies into another, so that both go on at once. Steps are ordered by events, and the
 * host waits where it reads or writes what a queue has to do with: before a step of its
 * own, and at the end.
 */
#include "run.h"

#include <inttypes.h>
#include <string.h>

/* ---- places ---- */

void copy_bytes(void *to, const void *from, size_t nbytes)
{
    if (from != to && nbytes)
        memcpy(to, from, nbytes);
}

void *place_address(const struct session *s, const struct place *place)
{
    switch (place->kind) {
    case PLACE_ARG: return s->in[place->index]->data;
    case PLACE_CONST: return s->consts[place->index].plain->data;
    default: return (char *)s->addresses[place->index] + s->table[place->offset];
    }
}

/* In memory of a target's own: the block, and where in it. */
static void *own_block(const struct session *s, uint32_t space, const struct place *place,
                       uint64_t *offset)
{
    *offset = place->kind == PLACE_BLOCK ? (uint64_t)s->table[place->offset] : 0;
    return place->kind == PLACE_BLOCK
               ? s->addresses[place->index]
               : s->own_consts[(space - 1) * s->nconst + place->index];
}

/* ---- waiting ---- */

static const bt_target_use *use_of(const struct session *s, uint32_t queue)
{
    return s->compiled->targets[queue / 2];
}

/* Where several steps fail, the error of the first one is told: it is the cause. */
static bt_status note_failure(struct session *s, uint32_t step, bt_status status)
{
    if (!s->failure || step < s->failed) {
        s->failure = status;
        s->failed = step;
    }
    return status;
}

/* As the caller wants it; a kernel that says so by itself has failed. */
static int is_cancelled(const bt_ctx *ctx, bt_status status)
{
    return status->code == BT_ERR_CANCELLED && bt_ctx_cancelled(ctx);
}

/* The place in the program. */
static bt_status note_place(bt_ctx *ctx, const struct step *step, bt_status status)
{
    const bt_value *value = step->value;
    return status && value && value->span && !is_cancelled(ctx, status)
               ? bt_note(ctx, status, value->type->store, value->span, "in this call")
               : status;
}

static bt_status note_copy(bt_ctx *ctx, const struct session *s, const struct step *step,
                           bt_status status)
{
    return bt_note(ctx, status, NULL, 0,
                   "in a copy of %" PRId64 " bytes to or from the memory of target %s",
                   s->table[step->nbytes], s->compiled->targets[step->space - 1]->text);
}

/* Names the step that failed: the one that was to give the queue that value. */
static bt_status name_failed(bt_ctx *ctx, struct session *s, uint32_t queue,
                             uint64_t failed, bt_status status)
{
    uint32_t i = 0;
    while (i < s->nstep && (s->steps[i].queue != queue || s->values[i] != failed))
        i++;
    if (i < s->nstep && s->steps[i].kernel != COPY)
        status =
            note_place(ctx, &s->steps[i],
                       bt_compiled_note(ctx, s->compiled, s->steps[i].kernel, status));
    else if (i < s->nstep)
        status = note_copy(ctx, s, &s->steps[i], status);
    return note_failure(s, i, status);
}

/* Waits until the step is done. */
static bt_status wait_for(bt_ctx *ctx, struct session *s, uint32_t step)
{
    const uint32_t number = s->steps[step].queue;
    struct queue *queue = &s->queues[number];
    uint64_t failed = 0;
    if (s->values[step] <= queue->done)
        return NULL;
    bt_status status =
        use_of(s, number)->target->wait(ctx, queue->opened, s->values[step], &failed);
    if (status)
        return name_failed(ctx, s, number, failed, status);
    queue->done = s->values[step];
    return NULL;
}

void close_queues(struct session *s)
{
    for (uint32_t i = 0; i < s->nqueue; i++) {
        if (s->queues[i].opened)
            use_of(s, i)->target->close_queue(s->queues[i].opened);
        s->queues[i] = (struct queue){ .name = s->queues[i].name };
    }
}

/* Waits for all that was begun, as memory of the caller is in use. */
static bt_status finish(bt_ctx *ctx, struct session *s)
{
    for (uint32_t i = 0; i < s->nqueue; i++) {
        struct queue *queue = &s->queues[i];
        if (queue->nstep)
            (void)wait_for(ctx, s, queue->nstep - 1);
        queue->nstep = 0;
    }
    if (s->failure)
        close_queues(s); // the next call has new ones
    return s->failure;
}

/* ---- steps ---- */

/* What the step comes after: events of the same target in *order, all else is waited for. */
static bt_status take_order(bt_ctx *ctx, struct session *s, const struct step *step,
                            bt_times *times, bt_order *order)
{
    struct queue *queue = step->queue == NO_QUEUE ? NULL : &s->queues[step->queue];
    if (queue && !queue->opened) {
        const bt_target_use *use = use_of(s, step->queue);
        BT_TRY(use->target->open_queue(ctx, use->instance, &queue->opened));
    }
    *order = (bt_order){ .queue = queue ? queue->opened : NULL,
                         .waits = s->events,
                         .times = times };
    for (uint32_t i = 0; i < step->nwait; i++) {
        const uint32_t other = s->steps[step->waits[i]].queue;
        const bt_event event = { s->queues[other].opened, s->values[step->waits[i]] };
        if (!queue || other / 2 != step->queue / 2)
            BT_TRY(wait_for(ctx, s, step->waits[i]));
        else if (event.value > s->queues[other].done)
            s->events[order->nwait++] = event;
    }
    return NULL;
}

static bt_status run_kernel(bt_ctx *ctx, struct session *s, const struct step *step,
                            const bt_order *order)
{
    bt_kernel_call call = { .nbytes = sizeof(call),
                            .nbuffer = step->nbuffer,
                            .buffers = s->buffers,
                            .offsets = step->space ? s->offsets : NULL,
                            .dims = s->table + step->dims,
                            .ndim = step->ndim,
                            .stop = bt_ctx_stop(ctx) };
    for (uint32_t k = 0; k < step->nbuffer; k++)
        s->buffers[k] = step->space
                            ? own_block(s, step->space, &step->buffers[k], &s->offsets[k])
                            : place_address(s, &step->buffers[k]);
    if (step->workspace)
        call.workspace = step->space ? own_block(s, step->space, step->workspace,
                                                 &call.workspace_offset)
                                     : place_address(s, step->workspace);
    return order->queue ? bt_compiled_enqueue(ctx, s->compiled, step->kernel, &call,
                                              order, &s->values[step - s->steps])
                        : bt_compiled_launch(ctx, s->compiled, step->kernel, &call);
}

/* Where a side of a copy is. */
static bt_buffer side(const struct session *s, const struct step *step, uint32_t i)
{
    const struct place *place = &step->buffers[i];
    bt_buffer out = { .nbytes = (uint64_t)s->table[step->nbytes] };
    out.is_own = place->kind == PLACE_BLOCK && s->blocks[place->index].space != 0;
    out.block = out.is_own ? own_block(s, step->space, place, &out.offset)
                           : place_address(s, place);
    return out;
}

static bt_status run_copy(bt_ctx *ctx, struct session *s, const struct step *step,
                          const bt_order *order)
{
    const bt_buffer from = side(s, step, 0), to = side(s, step, 1);
    if (!step->space) {
        copy_bytes(to.block, from.block, (size_t)to.nbytes);
        return NULL;
    }
    const bt_target_use *use = s->compiled->targets[step->space - 1];
    bt_status status = order->queue
                           ? use->target->enqueue_copy(ctx, use->instance, &to, &from,
                                                       order, &s->values[step - s->steps])
                           : use->target->copy(ctx, use->instance, &to, &from);
    return status ? note_copy(ctx, s, step, status) : NULL;
}

/* A copy onto itself: of nothing, or where the plan has both in the same bytes. */
static int is_idle(const struct session *s, const struct step *step)
{
    const struct place *from = &step->buffers[0], *to = &step->buffers[1];
    return step->kernel == COPY &&
           (!s->table[step->nbytes] ||
            (from->kind == PLACE_BLOCK && from->kind == to->kind &&
             from->index == to->index && s->table[from->offset] == s->table[to->offset]));
}

/* Later steps wait for this one alone where it stands for others too (order.c): it is done
 * when they are, and those before it in its queue. */
static bt_status skip_step(bt_ctx *ctx, struct session *s, uint32_t number)
{
    const struct step *step = &s->steps[number];
    for (uint32_t i = 0; i < step->nwait; i++)
        BT_TRY(wait_for(ctx, s, step->waits[i]));
    if (step->queue != NO_QUEUE) {
        const uint32_t nstep = s->queues[step->queue].nstep;
        s->values[number] = nstep ? s->values[nstep - 1] : 0;
    }
    return NULL;
}

/* Whether its queue tells when it ran, so that nobody has to wait for it to know. */
static int tells_times(const struct session *s, const struct step *step,
                       const bt_run_hook *hook)
{
    return hook && hook->queued && step->queue != NO_QUEUE &&
           use_of(s, step->queue)->target->tells_times;
}

static bt_status run_step(bt_ctx *ctx, struct session *s, uint32_t number,
                          const bt_run_hook *hook)
{
    const struct step *step = &s->steps[number];
    const int is_timed = tells_times(s, step, hook),
              is_seen = hook && !is_timed && step->kernel != COPY;
    bt_order order;
    s->times[number] = (bt_times){ 0 };
    if (is_idle(s, step))
        return skip_step(ctx, s, number);
    BT_TRY(take_order(ctx, s, step, is_timed ? &s->times[number] : NULL, &order));
    const uint64_t start = is_seen ? bt_now_ns() : 0;
    BT_TRY(step->kernel == COPY
               ? run_copy(ctx, s, step, &order)
               : note_place(ctx, step, run_kernel(ctx, s, step, &order)));
    if (order.queue)
        s->queues[step->queue].nstep = number + 1;
    if (!is_seen)
        return NULL;
    if (order.queue)
        BT_TRY(wait_for(ctx, s, number));
    hook->binding(hook->self, step->value, NULL, bt_now_ns() - start);
    return NULL;
}

bt_status run_steps(bt_ctx *ctx, struct session *s, const bt_run_hook *hook)
{
    s->failure = NULL;
    for (uint32_t i = 0; !s->failure && i < s->nstep; i++) {
        bt_status status = bt_ctx_cancelled(ctx)
                               ? bt_fail(ctx, BT_ERR_CANCELLED, "cancelled")
                               : run_step(ctx, s, i, hook);
        if (status)
            (void)note_failure(s, i, status);
    }
    bt_status status = finish(ctx, s);
    for (uint32_t i = 0; !status && i < s->nstep; i++) {
        if (s->times[i].end_ns)
            hook->queued(hook->self, s->steps[i].value, s->queues[s->steps[i].queue].name,
                         s->times[i].begin_ns, s->times[i].end_ns);
    }
    return status;
}
