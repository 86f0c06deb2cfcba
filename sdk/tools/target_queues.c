#include "target_queues.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <baton/compute.h>

#include "target_codes.h"
#include "target_fault.h"
#include "target_program.h"
#include "watchdog.h"

enum {
    MOST_BUFFERS = 8,
    NROUNDS = 16,
    UNWRITTEN = 0x5a,
    LARGE = 1 << 24,
    GUARD = 256,
    NETWORKS = 32
};

/* Launches that keep a queue busy: so many at first, and more as long as all of them take less
 * than BUSY_NS. */
enum { LEAST_BUSY = 16, MOST_BUSY = 256, BUSY_NS = 5000000 };

/* Memory that a kernel has: of the host, or a block of the target's. */
struct memory {
    void *host; /* with GUARD bytes before it and behind, of UNWRITTEN */
    void *block;
    uint64_t nbytes;
    uint64_t offset; /* in its block */
};

/* A queue, and the last command in it that nobody has waited for; 0: none. */
struct queue {
    void *at;
    uint64_t last;
};

/* One kernel of the target, on two sets of inputs. */
struct lab {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_target_use *use;
    void *loaded;
    bt_module *module; /* that the kernel's function is of */
    const bt_kernel *kernel;
    struct memory inputs[2][MOST_BUFFERS], output, workspace, large;
    unsigned char *back; /* what is copied from there */
    void *expected[2];   /* what it computes of each */
    uint64_t
        step; /* memory begins at so many bytes of its block, or 2, 3, ... times that */
    uint32_t nblock, nbusy;
    const char *fault;
};

/* A call of the target begins. */
static void watch(const struct lab *lab, const char *what)
{
    watchdog_begin("target %s, %s", lab->use->text, what);
}

/* ---- a kernel ---- */

/* Its kernels, where it is one kernel on tensors of known sizes. */
static bt_status lower(struct lab *lab, const bt_func *func)
{
    const bt_target *target = lab->use->target;
    bt_lowering lowering = { 0 };
    int64_t size;
    lab->kernel = NULL;
    if (bt_target_supports(lab->ctx, lab->use, func))
        return NULL;
    BT_TRY(target->lower(lab->ctx, lab->use->instance, lab->arena, func, &lowering));
    if (lowering.nkernel != 1 || lowering.ntemp || func->nvar)
        return NULL;
    bt_kernel *kernel = lowering.kernels[0];
    kernel->name = "checked";
    kernel->primitive = func;
    if (kernel->nin > MOST_BUFFERS || kernel->nout != 1 ||
        bt_type_nbytes(func->result) <= 0 || !bt_as_tensor_type(func->result) ||
        (kernel->workspace && !bt_dim_is_const(kernel->workspace, &size)))
        return NULL;
    for (uint32_t i = 0; i < func->block->nparam; i++) {
        if (!bt_as_tensor_type(func->block->params[i]->base.type) ||
            bt_type_nbytes(func->block->params[i]->base.type) <= 0)
            return NULL;
    }
    lab->kernel = kernel;
    return NULL;
}

static bt_status load(struct lab *lab)
{
    const bt_target *target = lab->use->target;
    bt_kernel_code *code = BT_NEW(lab->arena, bt_kernel_code);
    if (!code)
        return bt_no_memory();
    BT_TRY(target->compile(lab->ctx, lab->use->instance, lab->arena, BT_CODE_ANY, 1,
                           &lab->kernel, &code));
    const bt_kernel_code *made = code;
    return target->load(lab->ctx, lab->use->instance, 1, &made, &lab->loaded);
}

/* A primitive function of the program that the target takes; lab->kernel NULL: none. */
static bt_status find_kernel(struct lab *lab, const char *text, int is_codes)
{
    const bt_targets only = { .nref = 1, .n = 1, .at = &lab->use };
    const bt_compile_options options = { .opened = &only };
    bt_module *typed, *fused;
    if (is_codes ? target_codes_read(lab->ctx, text, &only, &typed)
                 : rule_program_read(lab->ctx, text, &typed))
        return NULL;
    bt_status status = bt_fuse(lab->ctx, typed, &options, &fused);
    bt_module_unref(typed);
    if (status)
        return NULL;
    for (uint32_t i = 0; !status && !lab->kernel && i < fused->nglobal; i++) {
        const bt_func *func = fused->globals[i]->func;
        if (func && bt_func_is_primitive(func))
            status = lower(lab, func);
    }
    if (!status && lab->kernel)
        status = load(lab);
    if (status)
        lab->kernel = NULL;
    if (lab->kernel) {
        lab->module = fused;
        return NULL;
    }
    bt_module_unref(fused);
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

static bt_status try_text(struct lab *lab, const struct rule_program *program,
                          int is_codes)
{
    watch(lab, "a compilation of a program");
    bt_status status = find_kernel(lab, program->text, is_codes);
    watchdog_end();
    BT_TRY(status);
    bt_ctx_clear_diags(lab->ctx);
    return NULL;
}

/* Of a program of its patterns, or of a network of codes. */
static bt_status make_kernel(struct lab *lab)
{
    struct target_draw draw = { .target = lab->use->target, .seed = 1 };
    struct rule_program program = { .text = "" };
    while (!lab->kernel && program.text) {
        BT_TRY(target_program_draw(lab->ctx, lab->arena, &draw, &program));
        if (program.text)
            BT_TRY(try_text(lab, &program, 0));
    }
    for (uint64_t i = 0; !lab->kernel && i < NETWORKS; i++) {
        BT_TRY(target_codes_draw(lab->arena, i, &program));
        BT_TRY(try_text(lab, &program, 1));
    }
    return NULL;
}

/* ---- its memory ---- */

static unsigned char *host_create(size_t nbytes)
{
    const size_t room = (nbytes + 63) / 64 * 64 + (size_t)2 * GUARD;
    unsigned char *block = aligned_alloc(64, room);
    if (!block)
        return NULL;
    memset(block, UNWRITTEN, room);
    return memset(block + GUARD, 0, nbytes);
}

/* Bytes beside it that are no longer as they were are a fault. */
static void host_destroy(struct lab *lab, unsigned char *host, size_t nbytes)
{
    size_t n = 0;
    if (!host)
        return;
    while (n < GUARD && host[-1 - (ptrdiff_t)n] == UNWRITTEN &&
           host[nbytes + n] == UNWRITTEN)
        n++;
    if (n < GUARD)
        target_fault(
            lab->arena, &lab->fault,
            "memory of the host with %zu bytes is written to %s, by a copy or a kernel",
            nbytes,
            host[nbytes + n] == UNWRITTEN ? "before its beginning" : "behind its end");
    free(host - GUARD);
}

static bt_status make_memory(struct lab *lab, uint64_t nbytes, struct memory *out)
{
    out->nbytes = nbytes;
    out->host = host_create((size_t)nbytes);
    if (!out->host)
        return bt_no_memory();
    out->offset = lab->step * ++lab->nblock;
    if (!lab->use->target->alloc)
        return NULL;
    // room behind: what is written there by mistake must not end the check
    watch(lab, "alloc");
    bt_status status = lab->use->target->alloc(lab->ctx, lab->use->instance,
                                               out->offset + nbytes + GUARD, &out->block);
    watchdog_end();
    return status;
}

/* As target->wait, within a time. */
static bt_status wait_for(struct lab *lab, struct queue *queue, uint64_t value,
                          uint64_t *failed)
{
    watchdog_begin("target %s, wait for value %" PRIu64 " of a queue, its last command",
                   lab->use->text, value);
    bt_status status = lab->use->target->wait(lab->ctx, queue->at, value, failed);
    watchdog_end();
    if (status || value >= queue->last) // what has failed can only be closed
        queue->last = 0;
    return status;
}

static bt_status open_queue(struct lab *lab, struct queue *out)
{
    watch(lab, "open_queue");
    bt_status status =
        lab->use->target->open_queue(lab->ctx, lab->use->instance, &out->at);
    watchdog_end();
    return status;
}

/* When all of its commands are done, also those behind which an error came. */
static void close_queue(struct lab *lab, struct queue *queue)
{
    uint64_t failed;
    if (queue->last)
        (void)wait_for(lab, queue, queue->last, &failed);
    watch(lab, "close_queue");
    if (queue->at)
        lab->use->target->close_queue(queue->at);
    watchdog_end();
}

static bt_status enqueue_copy(struct lab *lab, const bt_buffer *to, const bt_buffer *from,
                              struct queue *queue, const bt_event *after, uint64_t *value)
{
    const bt_order order = { .queue = queue->at, .nwait = after != NULL, .waits = after };
    watch(lab, "enqueue_copy");
    bt_status status = lab->use->target->enqueue_copy(lab->ctx, lab->use->instance, to,
                                                      from, &order, value);
    watchdog_end();
    queue->last = status ? queue->last : *value;
    return status;
}

static void free_memory(struct lab *lab, struct memory *m)
{
    watch(lab, "free");
    if (m->block)
        lab->use->target->free(lab->use->instance, m->block);
    watchdog_end();
    host_destroy(lab, m->host, (size_t)m->nbytes);
}

/* Between the two sides of memory, done when it returns. */
static bt_status copy(struct lab *lab, const struct memory *m, int to_host)
{
    const bt_buffer host = { .block = m->host, .nbytes = m->nbytes }, own = {
        .block = m->block, .offset = m->offset, .nbytes = m->nbytes, .is_own = 1
    };
    struct queue queue = { 0 };
    uint64_t value, failed;
    if (!m->block)
        return NULL;
    if (to_host)
        memset(m->host, UNWRITTEN, (size_t)m->nbytes);
    BT_TRY(open_queue(lab, &queue));
    bt_status status = enqueue_copy(lab, to_host ? &host : &own, to_host ? &own : &host,
                                    &queue, NULL, &value);
    if (!status)
        status = wait_for(lab, &queue, value, &failed);
    close_queue(lab, &queue);
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
    return copy(lab, out, 0);
}

static bt_status make_buffers(struct lab *lab)
{
    const bt_kernel *k = lab->kernel;
    int64_t nbytes = 0;
    for (uint32_t set = 0; set < 2; set++) {
        for (uint32_t i = 0; i < k->nin; i++) {
            const bt_type *type = leaf_of(lab, &k->in[i]);
            struct memory *m = &lab->inputs[set][i];
            BT_TRY(make_memory(lab, (uint64_t)bt_type_nbytes(type), m));
            BT_TRY(fill(lab, type, 100 * set + i, m));
        }
    }
    if (k->workspace && bt_dim_is_const(k->workspace, &nbytes))
        BT_TRY(make_memory(lab, (uint64_t)nbytes, &lab->workspace));
    return make_memory(lab, (uint64_t)bt_type_nbytes(leaf_of(lab, &k->out[0])),
                       &lab->output);
}

/* ---- commands ---- */

static void *place(const struct memory *m)
{
    return m->block ? m->block : m->host;
}

static bt_status enqueue_timed(struct lab *lab, int set, struct queue *queue,
                               const bt_event *after, const uint32_t *stop,
                               bt_times *times, uint64_t *value)
{
    const bt_order order = {
        .queue = queue->at, .nwait = after != NULL, .waits = after, .times = times
    };
    void *buffers[MOST_BUFFERS + 1];
    uint64_t offsets[MOST_BUFFERS + 1];
    const uint32_t n = lab->kernel->nin;
    for (uint32_t i = 0; i < n; i++) {
        buffers[i] = place(&lab->inputs[set][i]);
        offsets[i] = lab->inputs[set][i].offset;
    }
    buffers[n] = place(&lab->output);
    offsets[n] = lab->output.offset;
    const bt_kernel_call call = { .nbytes = sizeof(call),
                                  .nbuffer = n + 1,
                                  .buffers = buffers,
                                  .offsets = lab->output.block ? offsets : NULL,
                                  .workspace = place(&lab->workspace),
                                  .workspace_offset = lab->workspace.offset,
                                  .stop = stop };
    watch(lab, "enqueue");
    bt_status status =
        lab->use->target->enqueue(lab->ctx, lab->loaded, 0, &call, &order, value);
    watchdog_end();
    queue->last = status ? queue->last : *value;
    return status;
}

static bt_status enqueue(struct lab *lab, int set, struct queue *queue,
                         const bt_event *after, const uint32_t *stop, uint64_t *value)
{
    return enqueue_timed(lab, set, queue, after, stop, NULL, value);
}

static bt_status wait(struct lab *lab, struct queue *queue, uint64_t value)
{
    uint64_t failed = 0;
    return wait_for(lab, queue, value, &failed);
}

/* What the kernel computes of a set of inputs, when nothing else goes on. The output holds
 * something else before. */
static bt_status compute(struct lab *lab, int set, struct queue *queue)
{
    const size_t nbytes = (size_t)lab->output.nbytes;
    unsigned char *result = bt_arena_alloc(lab->arena, nbytes, 1);
    uint64_t value;
    size_t nleft = 0;
    if (!result)
        return bt_no_memory();
    memset(lab->output.host, UNWRITTEN, nbytes);
    BT_TRY(copy(lab, &lab->output, 0));
    BT_TRY(enqueue(lab, set, queue, NULL, NULL, &value));
    BT_TRY(wait(lab, queue, value));
    BT_TRY(copy(lab, &lab->output, 1));
    memcpy(result, lab->output.host, nbytes);
    while (nleft < nbytes && result[nleft] == UNWRITTEN)
        nleft++;
    if (nleft == nbytes)
        target_fault(lab->arena, &lab->fault,
                     "`wait` returns before a kernel has written its result");
    lab->expected[set] = result;
    return NULL;
}

static void free_buffers(struct lab *lab)
{
    for (uint32_t i = 0; i < MOST_BUFFERS; i++) {
        free_memory(lab, &lab->inputs[0][i]);
        free_memory(lab, &lab->inputs[1][i]);
    }
    free_memory(lab, &lab->output);
    free_memory(lab, &lab->workspace);
}

/* ---- what is checked ---- */

/* The same again, with all memory inside of larger blocks. A result that is not there was
 * written elsewhere in the block, so what `compute` says of `wait` then is not told. */
static bt_status check_offsets(struct lab *lab, struct queue *queue)
{
    struct lab moved = { .ctx = lab->ctx,
                         .arena = lab->arena,
                         .use = lab->use,
                         .loaded = lab->loaded,
                         .kernel = lab->kernel };
    if (!lab->use->space)
        return NULL;
    moved.step = lab->use->space->align;
    bt_status status = make_buffers(&moved);
    if (!status)
        status = compute(&moved, 0, queue);
    if (!status &&
        memcmp(moved.expected[0], lab->expected[0], (size_t)lab->output.nbytes))
        target_fault(lab->arena, &lab->fault,
                     "a kernel gives something else where its buffers begin inside their "
                     "blocks: bt_kernel_call.offsets");
    free_buffers(&moved);
    return status;
}

static bt_status check_values(struct lab *lab, struct queue *queue)
{
    uint64_t before = 0, value = 0;
    for (uint32_t i = 0; i < 4; i++, before = value) {
        BT_TRY(enqueue(lab, 0, queue, NULL, NULL, &value));
        if (value <= before && before)
            target_fault(lab->arena, &lab->fault,
                         "enqueue gives value %" PRIu64 " after %" PRIu64
                         ": it is more for each command of a queue",
                         value, before);
        else if (!value)
            target_fault(
                lab->arena, &lab->fault,
                "enqueue gives value 0: a queue's counter is 0 before any command");
    }
    return wait(lab, queue, value);
}

/* Much work for the first queue, whose last command writes what the second one's writes
 * too, but later: by the event it waits for, or by the order of one queue. */
static bt_status check_order(struct lab *lab, struct queue *first, struct queue *second)
{
    const int is_same = first == second;
    uint64_t value = 0, last;
    const uint64_t start = bt_now_ns();
    for (uint32_t i = 0; i < lab->nbusy; i++)
        BT_TRY(enqueue(lab, 0, first, NULL, NULL, &value));
    const bt_event event = { first->at, value };
    BT_TRY(enqueue(lab, 1, second, is_same ? NULL : &event, NULL, &last));
    BT_TRY(wait(lab, second, last));
    BT_TRY(copy(lab, &lab->output, 1));
    int is_wrong = memcmp(lab->output.host, lab->expected[1], (size_t)lab->output.nbytes);
    BT_TRY(wait(lab, first, value));
    if (bt_now_ns() - start < BUSY_NS && lab->nbusy < MOST_BUSY)
        lab->nbusy *= 2;
    BT_TRY(copy(lab, &lab->output, 1));
    is_wrong |= memcmp(lab->output.host, lab->expected[1], (size_t)lab->output.nbytes);
    if (is_wrong && is_same)
        target_fault(
            lab->arena, &lab->fault,
            "a command does not run after those before it in its queue, or `wait` "
            "returns before it is done");
    else if (is_wrong)
        target_fault(
            lab->arena, &lab->fault,
            "a command does not wait for the events of its bt_order, or `wait` returns "
            "before it is done");
    return NULL;
}

/* A large block is filled by one command and read by the next: through one queue, where that
 * is the order, or through two with an event between them. */
static bt_status copy_through(struct lab *lab, unsigned char byte, struct queue *first,
                              struct queue *second)
{
    const struct memory *m = &lab->large;
    unsigned char *back = lab->back;
    const bt_buffer from = { .block = m->host, .nbytes = m->nbytes },
                    own = { .block = m->block, .nbytes = m->nbytes, .is_own = 1 },
                    to = { .block = back, .nbytes = m->nbytes };
    uint64_t value, last, failed;
    memset(m->host, byte, (size_t)m->nbytes);
    memset(back, UNWRITTEN, (size_t)m->nbytes);
    BT_TRY(enqueue_copy(lab, &own, &from, first, NULL, &value));
    const bt_event event = { first->at, value };
    BT_TRY(enqueue_copy(lab, &to, &own, second, first == second ? NULL : &event, &last));
    BT_TRY(wait_for(lab, second, last, &failed));
    size_t n = 0;
    while (n < m->nbytes && back[n] == byte)
        n++;
    BT_TRY(wait_for(lab, first, value, &failed));
    if (n < m->nbytes)
        target_fault(lab->arena, &lab->fault,
                     "a copy does not %s, or `wait` returns before it is done",
                     first == second ? "run after those before it in its queue"
                                     : "wait for the events of its bt_order");
    return NULL;
}

static bt_status check_copies(struct lab *lab, struct queue *a, struct queue *b)
{
    const bt_space *space = lab->use->space;
    uint64_t nbytes = LARGE;
    if (!lab->use->target->alloc || !space)
        return NULL;
    if (space->largest && space->largest < nbytes)
        nbytes = space->largest;
    if (space->budget && space->budget / 2 < nbytes)
        nbytes = space->budget / 2;
    nbytes -= nbytes > GUARD ? GUARD : 0;
    lab->back = host_create((size_t)nbytes);
    if (!lab->back)
        return bt_no_memory();
    BT_TRY(make_memory(lab, nbytes, &lab->large));
    BT_TRY(copy_through(lab, 1, a, a));
    return copy_through(lab, 2, a, b);
}

/* A kernel that is asked to stop may fail; then the failure has a value, and what is behind
 * it fails with it. */
static bt_status check_failure(struct lab *lab, struct queue *queue)
{
    static const uint32_t stop = 1;
    uint64_t value, behind, failed = 0;
    BT_TRY(enqueue(lab, 0, queue, NULL, &stop, &value));
    BT_TRY(enqueue(lab, 1, queue, NULL, NULL, &behind));
    bt_status status = wait_for(lab, queue, behind, &failed);
    if (status && status->code == BT_ERR_MEMORY)
        return status;
    if (status && failed != value)
        target_fault(lab->arena, &lab->fault,
                     "wait fails (%s) and *failed is %" PRIu64
                     ": it is the value of the command "
                     "that has failed, %" PRIu64,
                     status->message, failed, value);
    return NULL;
}

/* Of two commands of one queue: each begins before it ends, both in the time between here and
 * there, and the second one when the first has ended. */
static bt_status check_times(struct lab *lab, struct queue *queue)
{
    bt_times first = { 0 }, second = { 0 };
    uint64_t value;
    if (!lab->use->target->tells_times)
        return NULL;
    const uint64_t begin = bt_now_ns();
    BT_TRY(enqueue_timed(lab, 0, queue, NULL, NULL, &first, &value));
    BT_TRY(enqueue_timed(lab, 1, queue, NULL, NULL, &second, &value));
    BT_TRY(wait(lab, queue, value));
    const uint64_t end = bt_now_ns();
    if (!first.end_ns || !second.end_ns)
        target_fault(
            lab->arena, &lab->fault,
            "tells_times is set, and bt_order.times of a command that is done is not "
            "written");
    else if (first.begin_ns < begin || first.end_ns < first.begin_ns ||
             second.begin_ns < first.end_ns || second.end_ns < second.begin_ns ||
             end < second.end_ns)
        target_fault(
            lab->arena, &lab->fault,
            "bt_order.times of two commands, from when the first is given: %" PRId64
            "..%" PRId64 " and %" PRId64 "..%" PRId64 " ns, where both were done after "
            "%" PRId64 ": they run one after the other, and times are those of bt_now_ns",
            (int64_t)(first.begin_ns - begin), (int64_t)(first.end_ns - begin),
            (int64_t)(second.begin_ns - begin), (int64_t)(second.end_ns - begin),
            (int64_t)(end - begin));
    return NULL;
}

static bt_status check_all(struct lab *lab, struct queue *a, struct queue *b,
                           struct queue *c)
{
    BT_TRY(check_values(lab, a));
    BT_TRY(check_copies(lab, a, b));
    BT_TRY(compute(lab, 0, a));
    BT_TRY(compute(lab, 1, a));
    if (!lab->fault)
        BT_TRY(check_offsets(lab, a));
    int can_differ =
        memcmp(lab->expected[0], lab->expected[1], (size_t)lab->output.nbytes) != 0;
    for (uint32_t i = 0; can_differ && !lab->fault && i < NROUNDS; i++) {
        BT_TRY(check_order(lab, a, a));
        BT_TRY(check_order(lab, i % 2 ? a : b, i % 2 ? b : a));
    }
    if (!lab->fault)
        BT_TRY(check_times(lab, a));
    return lab->fault ? NULL : check_failure(lab, c);
}

static bt_status check_kernel(struct lab *lab)
{
    struct queue queues[3] = { 0 };
    bt_status status = make_buffers(lab);
    for (uint32_t i = 0; !status && i < BT_COUNT(queues); i++)
        status = open_queue(lab, &queues[i]);
    if (!status)
        status = check_all(lab, &queues[0], &queues[1], &queues[2]);
    for (uint32_t i = 0; i < BT_COUNT(queues); i++)
        close_queue(lab, &queues[i]);
    free_buffers(lab);
    free_memory(lab, &lab->large);
    host_destroy(lab, lab->back, (size_t)lab->large.nbytes);
    if (status && status->code != BT_ERR_MEMORY) {
        target_fault(lab->arena, &lab->fault, "its queues fail: %s", status->message);
        status = NULL;
    }
    return status;
}

bt_status check_queues(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use,
                       const char **fault, const char **why)
{
    struct lab lab = { .ctx = ctx, .arena = arena, .use = use, .nbusy = LEAST_BUSY };
    *fault = *why = NULL;
    BT_TRY(make_kernel(&lab));
    if (!lab.kernel) {
        *why = "no function of one kernel was found that it takes";
        return NULL;
    }
    bt_status status = check_kernel(&lab);
    watch(&lab, "unload");
    use->target->unload(lab.loaded);
    watchdog_end();
    bt_module_unref(lab.module);
    *fault = lab.fault;
    return status;
}
