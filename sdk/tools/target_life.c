#include "target_life.h"

#include <pthread.h>
#include <string.h>

#include "target_beside.h"
#include "target_fault.h"
#include "target_taken.h"
#include "watchdog.h"

enum { THREADS = 8, CALLS = 13, MAX_FAILURES = 400 };

struct life {
    struct target_taken taken;
    bt_arena *arena;
    struct target_life *out;
};

/* ---- threads ---- */

struct worker {
    const struct target_taken *taken;
    struct target_values values; /* its own, so that what it gets of others is wrong */
    pthread_t thread;
    uint32_t is_started, nwrong, nfailed;
};

static void *work(void *self)
{
    struct worker *w = self;
    const struct target_taken *t = w->taken;
    bt_ctx *ctx = bt_ctx_create(bt_ctx_registry(t->ctx));
    void *session = NULL;
    bt_status status =
        ctx ? target_taken_open(t, ctx, t->compiled, &session) : bt_no_memory();
    for (uint32_t i = 0; !status && i < CALLS; i++) {
        const int right = target_values_are_right(t, &w->values, ctx, session, &status);
        w->nwrong += !status && !right;
    }
    w->nfailed += status != NULL;
    if (session)
        t->graph->close(session);
    bt_ctx_destroy(ctx);
    return NULL;
}

static void run_threads(struct life *l, struct worker *workers)
{
    uint32_t nwrong = 0, nfailed = 0;
    watchdog_begin("target %s, runs in %d threads", l->taken.use->text, THREADS);
    for (uint32_t i = 0; i < THREADS; i++)
        workers[i].is_started =
            pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        if (workers[i].is_started)
            (void)pthread_join(workers[i].thread, NULL);
        nwrong += workers[i].nwrong;
        nfailed += workers[i].nfailed;
    }
    watchdog_end();
    if (nfailed)
        target_fault(l->arena, &l->out->fault,
                     "sessions in %d threads at once: %u of them fail", THREADS, nfailed);
    else if (nwrong)
        target_fault(l->arena, &l->out->fault,
                     "sessions in %d threads at once: %u of %d calls give another result",
                     THREADS, nwrong, THREADS * CALLS);
}

/* Of a program whose kernels are not done at once. */
static bt_status check_threads(struct life *l)
{
    struct worker workers[THREADS] = { 0 };
    struct target_taken large;
    bt_status status =
        target_taken_find(l->taken.ctx, l->arena, l->taken.targets, TARGET_LARGE, &large);
    if (status && status->code != BT_ERR_MEMORY) { // it is too large for its memory
        bt_ctx_clear_diags(l->taken.ctx);
        status = NULL;
    }
    const struct target_taken *taken = large.values.want ? &large : &l->taken;
    for (uint32_t i = 0; !status && i < THREADS; i++) {
        workers[i].taken = taken;
        status = target_values_make(taken, 100 * (uint64_t)i, &workers[i].values);
    }
    if (!status)
        run_threads(l, workers);
    for (uint32_t i = 0; i < THREADS; i++)
        target_values_free(&workers[i].values);
    target_taken_free(&large);
    return status;
}

/* ---- two instances ---- */

static void call_in_turn(struct life *l, void *first, void *second)
{
    bt_status status;
    for (uint32_t i = 0; i < 4; i++) {
        void *session = i % 2 ? second : first;
        if (session && !target_taken_is_right(&l->taken, l->taken.ctx, session, &status))
            target_fault(l->arena, &l->out->fault, "two instances called in turn: %s",
                         status ? status->message : "a result is another one");
    }
}

/* *out NULL: it opens only once, as a device may admit one. */
static bt_status open_again(struct life *l, bt_targets **out)
{
    bt_text list;
    bt_text_init(&list, l->arena);
    bt_text_addf(&list, "%s%s", l->taken.use->text,
                 l->taken.targets->n > 1 ? ",reference" : "");
    *out = NULL;
    if (!bt_text_get(&list))
        return bt_no_memory();
    bt_status status = bt_targets_open(l->taken.ctx, list.at, out);
    if (status && status->code == BT_ERR_MEMORY)
        return status;
    l->out->is_alone = status != NULL;
    bt_ctx_clear_diags(l->taken.ctx);
    return NULL;
}

static bt_status call_both(struct life *l, bt_compiled *other)
{
    void *first = NULL, *second = NULL;
    bt_status status =
        target_taken_open(&l->taken, l->taken.ctx, l->taken.compiled, &first);
    if (!status)
        status = target_taken_open(&l->taken, l->taken.ctx, other, &second);
    if (!status)
        call_in_turn(l, first, second);
    if (second)
        l->taken.graph->close(second);
    bt_compiled_unref(other); // its instance goes
    if (!status)
        call_in_turn(l, first, NULL);
    if (first)
        l->taken.graph->close(first);
    return status;
}

static bt_status check_instances(struct life *l)
{
    bt_targets *again;
    bt_compiled *other;
    watchdog_begin("target %s, two instances", l->taken.use->text);
    bt_status status = open_again(l, &again);
    if (!status && again) {
        status = bt_compile(l->taken.ctx, l->taken.fused,
                            &(bt_compile_options){ .opened = again }, &other);
        bt_targets_unref(again); // what is compiled holds it
        if (!status)
            status = call_both(l, other);
    }
    watchdog_end();
    return status;
}

/* ---- failures ---- */

/* After a failure: right, or an error, which a session opened anew does not have. Closes it. */
static void check_after(struct life *l, void *session, const char *what)
{
    bt_status status = NULL;
    int right =
        session && target_taken_is_right(&l->taken, l->taken.ctx, session, &status);
    if (!right && (!session || status)) {
        bt_ctx_clear_diags(l->taken.ctx);
        if (session)
            l->taken.graph->close(session);
        session = NULL;
        status = target_taken_open(&l->taken, l->taken.ctx, l->taken.compiled, &session);
        right =
            !status && target_taken_is_right(&l->taken, l->taken.ctx, session, &status);
    }
    if (!right)
        target_fault(
            l->arena, &l->out->fault,
            "after a call with %s the next one, in a new session where the old one is "
            "lost: %s",
            what, status ? status->message : "its result is another one");
    if (session)
        l->taken.graph->close(session);
}

/* The n-th allocation of a session that is opened and called once fails, for each n that there
 * is. */
static void check_memory_failures(struct life *l, struct guard *guard)
{
    int is_hit = 1;
    for (uint32_t n = 1; is_hit && !l->out->fault && n <= MAX_FAILURES; n++) {
        void *session = NULL;
        bt_object *got = NULL;
        guard_fail(guard, n);
        bt_status status =
            target_taken_open(&l->taken, l->taken.ctx, l->taken.compiled, &session);
        if (!status)
            status = target_taken_call(&l->taken, l->taken.ctx, session, &got);
        is_hit = guard_fail(guard, 0);
        if (!status && !target_taken_is_same(&l->taken, got))
            target_fault(
                l->arena, &l->out->fault,
                "a call in which an allocation fails has no error, and another result");
        bt_object_unref(got);
        bt_ctx_clear_diags(l->taken.ctx);
        l->out->nfailed += (uint32_t)is_hit;
        check_after(l, session, "an allocation that failed");
    }
}

static bt_status check_cancelled(struct life *l)
{
    void *session;
    bt_object *got = NULL;
    BT_TRY(target_taken_open(&l->taken, l->taken.ctx, l->taken.compiled, &session));
    bt_ctx_cancel(l->taken.ctx);
    bt_status status = target_taken_call(&l->taken, l->taken.ctx, session, &got);
    if (!status && !target_taken_is_same(&l->taken, got))
        target_fault(l->arena, &l->out->fault,
                     "a cancelled call has no error, and another result");
    bt_object_unref(got);
    bt_ctx_clear_diags(l->taken.ctx);
    check_after(l, session, "a wish to stop");
    return NULL;
}

static bt_status check_all(struct life *l, struct guard *guard)
{
    BT_TRY(check_threads(l));
    if (!l->out->fault)
        BT_TRY(check_instances(l));
    watchdog_begin("target %s, calls that fail", l->taken.use->text);
    if (!l->out->fault)
        check_memory_failures(l, guard);
    bt_status status = l->out->fault ? NULL : check_cancelled(l);
    watchdog_end();
    return status;
}

bt_status target_life(bt_ctx *ctx, bt_arena *arena, const bt_target_use *use,
                      struct guard *guard, struct target_life *out)
{
    struct target_beside beside;
    struct life l = { .arena = arena, .out = out };
    *out = (struct target_life){ 0 };
    BT_TRY(target_beside_open(ctx, use, &beside));
    bt_status status =
        target_taken_find(ctx, arena, &beside.both, TARGET_SMALL, &l.taken);
    if (!status && !l.taken.compiled)
        out->why = "no program was found of which it takes a function";
    if (!status && l.taken.compiled)
        status = check_all(&l, guard);
    target_taken_free(&l.taken);
    target_beside_close(&beside);
    if (status && status->code != BT_ERR_MEMORY) {
        target_fault(l.arena, &l.out->fault, "it fails: %s", status->message);
        status = NULL;
    }
    return status;
}
