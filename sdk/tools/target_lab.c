#include "target_lab.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <baton/compute.h>

#include "cases.h"
#include "target_fault.h"
#include "watchdog.h"

enum { BEYOND = 16, LEAST_TRAP = 4096 };

void lab_watch(const struct lab *lab, const char *what)
{
    watchdog_begin("target %s, %s", lab->use->text, what);
}

/* ---- its memory ---- */

unsigned char *lab_host_create(size_t nbytes)
{
    const size_t room = (nbytes + 63) / 64 * 64 + (size_t)2 * LAB_GUARD;
    unsigned char *block = aligned_alloc(64, room);
    if (!block)
        return NULL;
    memset(block, LAB_UNWRITTEN, room);
    return memset(block + LAB_GUARD, 0, nbytes);
}

void lab_host_destroy(struct lab *lab, unsigned char *host, size_t nbytes)
{
    size_t n = 0;
    if (!host)
        return;
    while (n < LAB_GUARD && host[-1 - (ptrdiff_t)n] == LAB_UNWRITTEN &&
           host[nbytes + n] == LAB_UNWRITTEN)
        n++;
    if (n < LAB_GUARD)
        target_fault(
            lab->arena, &lab->fault,
            "memory of the host with %zu bytes is written to %s, by a copy or a kernel",
            nbytes,
            host[nbytes + n] == LAB_UNWRITTEN ? "before its beginning"
                                              : "behind its end");
    free(host - LAB_GUARD);
}

bt_status lab_make_memory(struct lab *lab, uint64_t nbytes, struct memory *out)
{
    out->nbytes = nbytes;
    out->host = lab_host_create((size_t)nbytes);
    if (!out->host)
        return bt_no_memory();
    out->offset = lab->step * ++lab->nblock;
    if (!lab->use->target->alloc)
        return NULL;
    // room behind: what is written there by mistake must not end the check
    lab_watch(lab, "alloc");
    bt_status status = lab->use->target->alloc(
        lab->ctx, lab->use->instance, out->offset + nbytes + LAB_GUARD, &out->block);
    watchdog_end();
    return status;
}

bt_status lab_wait_for(struct lab *lab, struct queue *queue, uint64_t value,
                       uint64_t *failed)
{
    watchdog_begin("target %s, wait for value %" PRIu64 " of a queue, its last command%s",
                   lab->use->text, value,
                   queue->is_waiting ? ", which waits for an event of another queue"
                                     : "");
    bt_status status = lab->use->target->wait(lab->ctx, queue->at, value, failed);
    watchdog_end();
    if (status || value >= queue->last) // what has failed can only be closed
        queue->last = 0;
    return status;
}

bt_status lab_open_queue(struct lab *lab, struct queue *out)
{
    lab_watch(lab, "open_queue");
    bt_status status =
        lab->use->target->open_queue(lab->ctx, lab->use->instance, &out->at);
    watchdog_end();
    return status;
}

void lab_close_queue(struct lab *lab, struct queue *queue)
{
    uint64_t failed;
    if (queue->last)
        (void)!lab_wait_for(lab, queue, queue->last, &failed);
    lab_watch(lab, "close_queue");
    if (queue->at)
        lab->use->target->close_queue(queue->at);
    watchdog_end();
}

void lab_free_memory(struct lab *lab, struct memory *m)
{
    lab_watch(lab, "free");
    if (m->block)
        lab->use->target->free(lab->use->instance, m->block);
    watchdog_end();
    lab_host_destroy(lab, m->host, (size_t)m->nbytes);
}

/* ---- commands ---- */

static void *place(const struct memory *m)
{
    return m->block ? m->block : m->host;
}

/* What the target's function gets. It stays until the lab goes, and then leads elsewhere. */
struct arguments {
    bt_event waits[LAB_WAITS];
    bt_order order;
    bt_buffer to, from;
    void *buffers[LAB_BUFFERS + 1 + BEYOND];
    uint64_t offsets[LAB_BUFFERS + 1 + BEYOND];
    bt_kernel_call call;
};

static struct arguments *arguments_of(struct lab *lab, const struct queue *queue,
                                      uint32_t nwait, const bt_event *waits)
{
    struct arguments *a = BT_NEW(lab->arena, struct arguments);
    if (!a)
        return NULL;
    for (uint32_t i = 0; i < nwait; i++)
        a->waits[i] = waits[i];
    a->order = (bt_order){ .queue = queue->at, .nwait = nwait, .waits = a->waits };
    return a;
}

/* The call has returned: what it pointed to is what waits for those who look again. */
static void end_arguments(const struct lab *lab, struct arguments *a)
{
    const struct memory *late = &lab->late, *source = &lab->source;
    const uint64_t nbytes = a->to.nbytes < late->nbytes ? a->to.nbytes : late->nbytes;
    const int is_to_own = late->block && a->to.is_own,
              is_from_own = late->block && !is_to_own;
    memset(a->waits, 0, sizeof(a->waits));
    for (uint32_t i = 0; i < BT_COUNT(a->buffers); i++) {
        const struct memory *m = i < lab->kernel->nin ? source : late;
        a->buffers[i] = place(m);
        a->offsets[i] = m->offset;
    }
    a->to = (bt_buffer){ is_to_own ? late->block : late->host,
                         is_to_own ? late->offset : 0, nbytes, (uint32_t)is_to_own };
    a->from =
        (bt_buffer){ is_from_own ? source->block : source->host,
                     is_from_own ? source->offset : 0, nbytes, (uint32_t)is_from_own };
}

static void end_command(struct queue *queue, const bt_event *after, bt_status status,
                        const uint64_t *value)
{
    if (status)
        return;
    queue->last = *value;
    queue->is_waiting = after && after->queue != queue->at;
}

bt_status lab_enqueue_copy(struct lab *lab, const bt_buffer *to, const bt_buffer *from,
                           struct queue *queue, const bt_event *after, uint64_t *value)
{
    struct arguments *a = arguments_of(lab, queue, after != NULL, after);
    if (!a)
        return bt_no_memory();
    a->to = *to;
    a->from = *from;
    lab_watch(lab, "enqueue_copy");
    bt_status status = lab->use->target->enqueue_copy(lab->ctx, lab->use->instance,
                                                      &a->to, &a->from, &a->order, value);
    watchdog_end();
    end_arguments(lab, a);
    end_command(queue, after, status, value);
    return status;
}

static void fill_call(struct lab *lab, int set, const uint32_t *stop, struct arguments *a)
{
    const uint32_t n = lab->kernel->nin;
    for (uint32_t i = 0; i < BT_COUNT(a->buffers); i++) {
        const struct memory *m = i < n    ? &lab->inputs[set][i]
                                 : i == n ? &lab->output
                                          : &lab->beyond;
        a->buffers[i] = place(m);
        a->offsets[i] = m->offset;
    }
    a->call = (bt_kernel_call){ .nbytes = sizeof(a->call),
                                .nbuffer = n + 1,
                                .buffers = a->buffers,
                                .offsets = lab->output.block ? a->offsets : NULL,
                                .workspace = place(&lab->workspace),
                                .workspace_offset = lab->workspace.offset,
                                .stop = stop };
}

/* After nwait events. */
static bt_status enqueue(struct lab *lab, int set, struct queue *queue, uint32_t nwait,
                         const bt_event *waits, const uint32_t *stop, bt_times *times,
                         uint64_t *value)
{
    struct arguments *a = arguments_of(lab, queue, nwait, waits);
    if (!a)
        return bt_no_memory();
    a->order.times = times;
    fill_call(lab, set, stop, a);
    lab_watch(lab, "enqueue");
    bt_status status =
        lab->use->target->enqueue(lab->ctx, lab->loaded, 0, &a->call, &a->order, value);
    watchdog_end();
    end_arguments(lab, a);
    end_command(queue, nwait ? waits : NULL, status, value);
    return status;
}

bt_status lab_enqueue_timed(struct lab *lab, int set, struct queue *queue,
                            const bt_event *after, const uint32_t *stop, bt_times *times,
                            uint64_t *value)
{
    return enqueue(lab, set, queue, after != NULL, after, stop, times, value);
}

bt_status lab_enqueue_after(struct lab *lab, int set, struct queue *queue, uint32_t nwait,
                            const bt_event *waits, uint64_t *value)
{
    return enqueue(lab, set, queue, nwait, waits, NULL, NULL, value);
}

static bt_status launch(struct lab *lab, int set, const uint32_t *stop)
{
    const struct queue none = { 0 };
    struct arguments *a = arguments_of(lab, &none, 0, NULL);
    if (!a)
        return bt_no_memory();
    fill_call(lab, set, stop, a);
    lab_watch(lab, "launch");
    bt_status status = lab->use->target->launch(lab->ctx, lab->loaded, 0, &a->call);
    watchdog_end();
    return status;
}

/* ---- its buffers ---- */

bt_status lab_copy(struct lab *lab, const struct memory *m, int to_host)
{
    const bt_buffer host = { .block = m->host, .nbytes = m->nbytes }, own = {
        .block = m->block, .offset = m->offset, .nbytes = m->nbytes, .is_own = 1
    };
    const bt_buffer *to = to_host ? &host : &own, *from = to_host ? &own : &host;
    struct queue queue = { 0 };
    uint64_t value, failed;
    if (!m->block)
        return NULL;
    if (to_host)
        memset(m->host, LAB_UNWRITTEN, (size_t)m->nbytes);
    if (!lab->use->target->open_queue)
        return lab->use->target->copy(lab->ctx, lab->use->instance, to, from);
    BT_TRY(lab_open_queue(lab, &queue));
    bt_status status = lab_enqueue_copy(lab, to, from, &queue, NULL, &value);
    if (!status)
        status = lab_wait_for(lab, &queue, value, &failed);
    lab_close_queue(lab, &queue);
    return status;
}

static const bt_type *leaf_of(const struct lab *lab, const bt_kernel_buffer *buffer)
{
    const bt_func *func = lab->kernel->primitive;
    return buffer->kind == BT_BUFFER_INPUT && buffer->index < func->block->nparam
               ? func->block->params[buffer->index]->base.type
               : func->result;
}

static bt_status fill(struct lab *lab, const bt_type *type, uint64_t seed,
                      const struct memory *out)
{
    struct case_leaf leaf = { .dtype = bt_tensor_dtype(type) };
    int64_t dims[BT_MAX_RANK];
    bt_tensor *tensor;
    if (!bt_tensor_static(type, &leaf.rank, dims) || leaf.rank > CASE_MAX_DIM)
        return NULL;
    memcpy(leaf.dims, dims, leaf.rank * sizeof(dims[0]));
    BT_TRY(case_values(lab->ctx, &leaf, seed, CASE_RANDOM, &tensor));
    size_t nbytes = bt_tensor_nbytes(tensor);
    memcpy(out->host, tensor->data, nbytes < out->nbytes ? nbytes : (size_t)out->nbytes);
    bt_tensor_unref(tensor);
    return lab_copy(lab, out, 0);
}

bt_status lab_make_buffers(struct lab *lab)
{
    const bt_kernel *k = lab->kernel;
    int64_t nbytes = 0;
    for (uint32_t set = 0; set < 2; set++) {
        for (uint32_t i = 0; i < k->nin; i++) {
            const bt_type *type = leaf_of(lab, &k->in[i]);
            struct memory *m = &lab->inputs[set][i];
            BT_TRY(lab_make_memory(lab, (uint64_t)bt_type_nbytes(type), m));
            BT_TRY(fill(lab, type, 100 * set + i, m));
        }
    }
    if (k->workspace && bt_dim_is_const(k->workspace, &nbytes))
        BT_TRY(lab_make_memory(lab, (uint64_t)nbytes, &lab->workspace));
    return lab_make_memory(lab, (uint64_t)bt_type_nbytes(leaf_of(lab, &k->out[0])),
                           &lab->output);
}

/* ---- traps ---- */

/* Copies find all of them there, for what they do late. */
static bt_status fill_trap(struct lab *lab, int byte, const struct memory *trap)
{
    memset(trap->host, byte, (size_t)trap->nbytes);
    return lab_copy(lab, trap, 0);
}

bt_status lab_make_traps(struct lab *lab)
{
    uint64_t nbytes = LEAST_TRAP;
    for (uint32_t i = 0; i <= lab->kernel->nin; i++) {
        const bt_kernel_buffer *buffer =
            i < lab->kernel->nin ? &lab->kernel->in[i] : &lab->kernel->out[0];
        const uint64_t n = (uint64_t)bt_type_nbytes(leaf_of(lab, buffer));
        nbytes = n > nbytes ? n : nbytes;
    }
    BT_TRY(lab_make_memory(lab, nbytes, &lab->beyond));
    BT_TRY(lab_make_memory(lab, nbytes, &lab->late));
    BT_TRY(lab_make_memory(lab, nbytes, &lab->source));
    BT_TRY(fill_trap(lab, 0, &lab->source));
    BT_TRY(fill_trap(lab, LAB_UNWRITTEN, &lab->late));
    return fill_trap(lab, LAB_UNWRITTEN, &lab->beyond);
}

void lab_free_traps(struct lab *lab)
{
    lab_free_memory(lab, &lab->beyond);
    lab_free_memory(lab, &lab->late);
    lab_free_memory(lab, &lab->source);
}

static int is_written(const struct memory *m)
{
    const unsigned char *bytes = m->host;
    uint64_t n = 0;
    while (n < m->nbytes && bytes[n] == LAB_UNWRITTEN)
        n++;
    return n < m->nbytes;
}

/* On either side. */
static bt_status look(struct lab *lab, const struct memory *trap, int *is_hit)
{
    *is_hit = is_written(trap);
    if (!*is_hit && trap->block)
        BT_TRY(lab_copy(lab, trap, 1));
    *is_hit = *is_hit || is_written(trap);
    return NULL;
}

bt_status lab_check_traps(struct lab *lab)
{
    int is_hit;
    BT_TRY(look(lab, &lab->late, &is_hit));
    if (is_hit)
        target_fault(
            lab->arena, &lab->fault,
            "what arguments of enqueue or enqueue_copy point to is used when the "
            "function has returned, and may be gone: a command has copies of "
            "buffers, offsets, dims, waits, to and from");
    BT_TRY(look(lab, &lab->beyond, &is_hit));
    if (is_hit)
        target_fault(lab->arena, &lab->fault,
                     "a kernel writes to a buffer that its call does not have: of %u "
                     "inputs and 1 output, as its bt_kernel says (nin, nout)",
                     lab->kernel->nin);
    return NULL;
}

/* ---- runs ---- */

bt_status lab_enqueue(struct lab *lab, int set, struct queue *queue,
                      const bt_event *after, const uint32_t *stop, uint64_t *value)
{
    return lab_enqueue_timed(lab, set, queue, after, stop, NULL, value);
}

bt_status lab_wait(struct lab *lab, struct queue *queue, uint64_t value)
{
    uint64_t failed = 0;
    return lab_wait_for(lab, queue, value, &failed);
}

bt_status lab_run(struct lab *lab, int set, const uint32_t *stop)
{
    struct queue queue = { 0 };
    uint64_t value;
    if (!lab->use->target->open_queue)
        return launch(lab, set, stop);
    bt_status status = lab_open_queue(lab, &queue);
    if (!status)
        status = lab_enqueue(lab, set, &queue, NULL, stop, &value);
    if (!status)
        status = lab_wait(lab, &queue, value);
    lab_close_queue(lab, &queue);
    return status;
}

bt_status lab_compute(struct lab *lab, int set, struct queue *queue)
{
    const size_t nbytes = (size_t)lab->output.nbytes;
    unsigned char *result = bt_arena_alloc(lab->arena, nbytes, 1);
    uint64_t value;
    size_t nleft = 0;
    if (!result)
        return bt_no_memory();
    memset(lab->output.host, LAB_UNWRITTEN, nbytes);
    BT_TRY(lab_copy(lab, &lab->output, 0));
    BT_TRY(lab_enqueue(lab, set, queue, NULL, NULL, &value));
    BT_TRY(lab_wait(lab, queue, value));
    BT_TRY(lab_copy(lab, &lab->output, 1));
    memcpy(result, lab->output.host, nbytes);
    while (nleft < nbytes && result[nleft] == LAB_UNWRITTEN)
        nleft++;
    if (nleft == nbytes)
        BT_TRY(lab_check_traps(lab));
    if (nleft == nbytes)
        target_fault(lab->arena, &lab->fault,
                     "`wait` returns before a kernel has written its result");
    lab->expected[set] = result;
    return NULL;
}

void lab_free_buffers(struct lab *lab)
{
    for (uint32_t i = 0; i < LAB_BUFFERS; i++) {
        lab_free_memory(lab, &lab->inputs[0][i]);
        lab_free_memory(lab, &lab->inputs[1][i]);
    }
    lab_free_memory(lab, &lab->output);
    lab_free_memory(lab, &lab->workspace);
}
