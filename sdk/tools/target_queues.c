#include "target_queues.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "target_fault.h"
#include "target_lab.h"
#include "watchdog.h"

enum { NROUNDS = 16, LARGE = 1 << 24, NLONG = 4 };

/* Launches that keep a queue busy: so many at first, and more as long as all of them take less
 * than BUSY_NS. */
enum { LEAST_BUSY = 16, MAX_BUSY = 256, BUSY_NS = 5000000 };

/* The same again, with all memory inside of larger blocks. A result that is not there was
 * written elsewhere in the block, so what `compute` says of `wait` then is not told. */
static bt_status check_offsets(struct lab *lab, struct queue *queue)
{
    struct lab moved = { .ctx = lab->ctx,
                         .arena = lab->arena,
                         .use = lab->use,
                         .loaded = lab->loaded,
                         .kernel = lab->kernel,
                         .beyond = lab->beyond,
                         .late = lab->late,
                         .source = lab->source };
    if (!lab->use->space)
        return NULL;
    moved.step = lab->use->space->align;
    bt_status status = lab_make_buffers(&moved);
    if (!status)
        status = lab_compute(&moved, 0, queue);
    if (!status &&
        memcmp(moved.expected[0], lab->expected[0], (size_t)lab->output.nbytes))
        target_fault(lab->arena, &lab->fault,
                     "a kernel gives something else where its buffers begin inside their "
                     "blocks: bt_kernel_call.offsets");
    lab_free_buffers(&moved);
    return status;
}

static bt_status check_values(struct lab *lab, struct queue *queue)
{
    uint64_t before = 0, value = 0;
    for (uint32_t i = 0; i < 4; i++, before = value) {
        BT_TRY(lab_enqueue(lab, 0, queue, NULL, NULL, &value));
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
    return lab_wait(lab, queue, value);
}

/* Much work for the first queue, whose last command writes what the second one's writes
 * too, but later: by the event it waits for, or by the order of one queue. */
static bt_status check_order(struct lab *lab, struct queue *first, struct queue *second)
{
    const int is_same = first == second;
    uint64_t value = 0, last;
    const uint64_t start = bt_now_ns();
    for (uint32_t i = 0; i < lab->nbusy; i++)
        BT_TRY(lab_enqueue(lab, 0, first, NULL, NULL, &value));
    const bt_event event = { first->at, value };
    BT_TRY(lab_enqueue(lab, 1, second, is_same ? NULL : &event, NULL, &last));
    BT_TRY(lab_wait(lab, second, last));
    BT_TRY(lab_copy(lab, &lab->output, 1));
    int is_wrong = memcmp(lab->output.host, lab->expected[1], (size_t)lab->output.nbytes);
    BT_TRY(lab_wait(lab, first, value));
    if (bt_now_ns() - start < BUSY_NS && lab->nbusy < MAX_BUSY)
        lab->nbusy *= 2;
    BT_TRY(lab_copy(lab, &lab->output, 1));
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

/* A large block is filled by one command, and its end, which is written last, read by the next:
 * through one queue, where that is the order, or through two with an event between them. */
static bt_status copy_through(struct lab *lab, unsigned char byte, struct queue *first,
                              struct queue *second)
{
    const struct memory *m = &lab->large;
    unsigned char *back = lab->back;
    const uint64_t align = lab->use->space->align, end = m->nbytes / 32 / align * align;
    const bt_buffer from = { .block = m->host, .nbytes = m->nbytes },
                    own = { .block = m->block, .nbytes = m->nbytes, .is_own = 1 },
                    last = { m->block, end * 31, m->nbytes - end * 31, 1 },
                    to = { .block = back, .nbytes = last.nbytes };
    uint64_t value, done, failed;
    memset(m->host, byte, (size_t)m->nbytes);
    memset(back, LAB_UNWRITTEN, (size_t)m->nbytes);
    BT_TRY(lab_enqueue_copy(lab, &own, &from, first, NULL, &value));
    const bt_event event = { first->at, value };
    BT_TRY(lab_enqueue_copy(lab, &to, &last, second, first == second ? NULL : &event,
                            &done));
    BT_TRY(lab_wait_for(lab, second, done, &failed));
    size_t n = 0;
    while (n < to.nbytes && back[n] == byte)
        n++;
    BT_TRY(lab_wait_for(lab, first, value, &failed));
    if (n < to.nbytes)
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
    nbytes -= nbytes > LAB_GUARD ? LAB_GUARD : 0;
    lab->back = lab_host_create((size_t)nbytes);
    if (!lab->back)
        return bt_no_memory();
    BT_TRY(lab_make_memory(lab, nbytes, &lab->large));
    BT_TRY(copy_through(lab, 1, a, a));
    for (uint32_t i = 0; !lab->fault && i < NROUNDS;
         i++) // whether it waits shows by chance
        BT_TRY(copy_through(lab, (unsigned char)(2 + i), i % 2 ? b : a, i % 2 ? a : b));
    return NULL;
}

/* A kernel that is asked to stop fails, alone in a queue. *is_heard 0: it does not. */
static bt_status ask_to_stop(struct lab *lab, int *is_heard)
{
    static const uint32_t stop = 1;
    const bt_status status = lab_run(lab, 0, &stop);
    *is_heard = status != NULL;
    return status && status->code == BT_ERR_MEMORY ? status : NULL;
}

/* What a failure does to commands behind it. */
struct failure {
    struct queue first, second;
    uint64_t value, behind,
        after; /* of who fails, who is behind it, who waits for its event */
    bt_status status, elsewhere; /* of their queues */
    uint64_t failed;
};

static bt_status enqueue_failure(struct lab *lab, struct failure *f)
{
    static const uint32_t stop = 1;
    BT_TRY(lab_open_queue(lab, &f->first));
    BT_TRY(lab_open_queue(lab, &f->second));
    BT_TRY(lab_enqueue(lab, 0, &f->first, NULL, &stop, &f->value));
    const bt_event event = { f->first.at, f->value };
    BT_TRY(lab_enqueue(lab, 1, &f->first, NULL, NULL, &f->behind));
    BT_TRY(lab_enqueue(lab, 1, &f->second, &event, NULL, &f->after));
    uint64_t failed;
    f->elsewhere = lab_wait_for(lab, &f->second, f->after, &failed);
    f->status = lab_wait_for(lab, &f->first, f->behind, &f->failed);
    return NULL;
}

/* With nothing of a result in the output before. */
static bt_status judge_failure(struct lab *lab, const struct failure *f)
{
    BT_TRY(lab_copy(lab, &lab->output, 1));
    const int is_run =
        memcmp(lab->output.host, lab->expected[1], (size_t)lab->output.nbytes) == 0;
    if (f->status && f->failed != f->value)
        target_fault(lab->arena, &lab->fault,
                     "wait fails (%s) and *failed is %" PRIu64
                     ": it is the value of the command "
                     "that has failed, %" PRIu64,
                     f->status->message, f->failed, f->value);
    else if (!f->status)
        target_fault(lab->arena, &lab->fault,
                     "a command of a queue fails, and wait for the one behind it says "
                     "nothing of that: it fails as well");
    else if (!f->elsewhere)
        target_fault(lab->arena, &lab->fault,
                     "a command fails, and one of another queue that waits for its event "
                     "does not: it fails as well");
    else if (is_run)
        target_fault(lab->arena, &lab->fault,
                     "a command fails, and what is behind it runs all the same: it never "
                     "runs");
    return NULL;
}

static bt_status check_failure(struct lab *lab)
{
    struct failure f = { .first = { 0 } };
    int is_heard;
    BT_TRY(ask_to_stop(lab, &is_heard));
    if (!is_heard)
        return NULL;
    memset(lab->output.host, LAB_UNWRITTEN, (size_t)lab->output.nbytes);
    BT_TRY(lab_copy(lab, &lab->output, 0));
    bt_status status = enqueue_failure(lab, &f);
    lab_close_queue(lab, &f.second);
    lab_close_queue(lab, &f.first);
    if (!status)
        status = judge_failure(lab, &f);
    bt_ctx_clear_diags(lab->ctx);
    return status;
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
    BT_TRY(lab_enqueue_timed(lab, 0, queue, NULL, NULL, &first, &value));
    BT_TRY(lab_enqueue_timed(lab, 1, queue, NULL, NULL, &second, &value));
    BT_TRY(lab_wait(lab, queue, value));
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

/* Long work, which is given in no time: kernels may be done as fast as they are given. */
static bt_status occupy(struct lab *lab, struct queue *queue)
{
    const struct memory *m = &lab->large;
    const bt_buffer from = { .block = m->host, .nbytes = m->nbytes },
                    own = { .block = m->block, .nbytes = m->nbytes, .is_own = 1 };
    uint64_t value;
    for (uint32_t i = 0; m->block && i < NLONG; i++)
        BT_TRY(lab_enqueue_copy(lab, &own, &from, queue, NULL, &value));
    return NULL;
}

/* As many events as an executor gives: one of each of its two queues, of which one is busy. Who waits
 * for the other alone is too early. */
static bt_status enqueue_two_waits(struct lab *lab, struct queue *idle,
                                   struct queue *busy, int is_first, struct queue *last)
{
    bt_event short_one = { .queue = idle->at }, long_one = { .queue = busy->at };
    uint64_t value;
    BT_TRY(lab_enqueue(lab, 0, idle, NULL, NULL, &short_one.value));
    BT_TRY(occupy(lab, busy));
    for (uint32_t i = 0; i < lab->nbusy; i++)
        BT_TRY(lab_enqueue(lab, 0, busy, NULL, NULL, &long_one.value));
    const bt_event events[2] = { is_first ? long_one : short_one,
                                 is_first ? short_one : long_one };
    BT_TRY(lab_enqueue_after(lab, 1, last, 2, events, &value));
    BT_TRY(lab_wait(lab, last, value));
    BT_TRY(lab_wait(lab, idle, short_one.value));
    return lab_wait(lab, busy, long_one.value);
}

static bt_status check_two_waits(struct lab *lab, struct queue *idle, struct queue *busy,
                                 int is_first)
{
    struct queue last = { 0 };
    BT_TRY(lab_open_queue(lab, &last));
    bt_status status = enqueue_two_waits(lab, idle, busy, is_first, &last);
    lab_close_queue(lab, &last);
    BT_TRY(status);
    BT_TRY(lab_copy(lab, &lab->output, 1));
    if (memcmp(lab->output.host, lab->expected[1], (size_t)lab->output.nbytes))
        target_fault(
            lab->arena, &lab->fault,
            "a command that waits for two events, of two queues, comes after one of "
            "them alone: bt_order.nwait");
    return NULL;
}

static bt_status check_commands(struct lab *lab, struct queue *a, struct queue *b)
{
    BT_TRY(check_values(lab, a));
    BT_TRY(check_copies(lab, a, b));
    BT_TRY(lab_compute(lab, 0, a));
    BT_TRY(lab_compute(lab, 1, a));
    if (!lab->fault)
        BT_TRY(check_offsets(lab, a));
    int can_differ =
        memcmp(lab->expected[0], lab->expected[1], (size_t)lab->output.nbytes) != 0;
    for (uint32_t i = 0; can_differ && !lab->fault && i < NROUNDS; i++) {
        BT_TRY(check_order(lab, a, a));
        BT_TRY(check_order(lab, i % 2 ? a : b, i % 2 ? b : a));
    }
    for (uint32_t i = 0; can_differ && !lab->fault && i < NROUNDS; i++)
        BT_TRY(check_two_waits(lab, i % 2 ? a : b, i % 2 ? b : a, (int)(i / 2 % 2)));
    return lab->fault ? NULL : check_times(lab, a);
}

/* Where a trap is hit, that is the reason for whatever else is wrong, as a result that is missing. */
static bt_status check_all(struct lab *lab, struct queue *a, struct queue *b)
{
    BT_TRY(check_commands(lab, a, b));
    const char *fault = lab->fault;
    lab->fault = NULL;
    bt_status status = lab_check_traps(lab);
    if (!lab->fault)
        lab->fault = fault;
    return status || lab->fault ? status : check_failure(lab);
}

static bt_status check_kernel(struct lab *lab)
{
    struct queue queues[2] = { 0 };
    bt_status status = lab_make_traps(lab);
    if (!status)
        status = lab_make_buffers(lab);
    for (uint32_t i = 0; !status && i < BT_COUNT(queues); i++)
        status = lab_open_queue(lab, &queues[i]);
    if (!status)
        status = check_all(lab, &queues[0], &queues[1]);
    for (uint32_t i = 0; i < BT_COUNT(queues); i++)
        lab_close_queue(lab, &queues[i]);
    lab_free_buffers(lab);
    lab_free_traps(lab);
    lab_free_memory(lab, &lab->large);
    lab_host_destroy(lab, lab->back, (size_t)lab->large.nbytes);
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
    BT_TRY(lab_make_kernel(&lab));
    if (!lab.kernel && !lab.fault) {
        *why = "no function of one kernel was found that it takes";
        return NULL;
    }
    bt_status status = lab.fault ? NULL : check_kernel(&lab);
    lab_free_kernel(&lab);
    *fault = lab.fault;
    return status;
}
