#include "target_life.h"

#include <pthread.h>
#include <string.h>

#include <baton/executor.h>
#include <baton/pass.h>

#include "target_beside.h"
#include "target_codes.h"
#include "target_program.h"
#include "watchdog.h"

enum { THREADS = 8, CALLS = 13, NETWORKS = 8, MOST_FAILURES = 400 };

static const int64_t extents[RULE_NEXTENT] = { 3, 3, 3 };

/* A program of which the target takes a function. */
struct life {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_target_use *use;
    const bt_targets *targets;
    const bt_executor *graph;
    struct rule_program program;
    bt_module *fused;
    bt_compiled *compiled;
    bt_object *args[CASE_MAX_LEAF], *want;
    struct target_life *out;
};

static void say(struct life *l, const char *format, ...) BT_PRINTF(2, 3);
static void say(struct life *l, const char *format, ...)
{
    bt_text text;
    va_list list;
    if (l->out->fault)
        return;
    bt_text_init(&text, l->arena);
    va_start(list, format);
    bt_text_addv(&text, format, list);
    va_end(list);
    l->out->fault = bt_text_get(&text) ? text.at : "no memory";
}

/* ---- the program ---- */

static bt_status compile(struct life *l, const bt_targets *targets, bt_compiled **out)
{
    return bt_compile(l->ctx, l->fused, &(bt_compile_options){ .opened = targets }, out);
}

static int is_taken(const bt_compiled *c)
{
    for (uint32_t i = 0; i < c->nfunc; i++) {
        if (c->funcs[i]->target == 0)
            return 1;
    }
    return 0;
}

/* l->compiled NULL: the target takes nothing of it. */
static bt_status try_text(struct life *l, int is_codes)
{
    const bt_compile_options options = { .opened = l->targets };
    const char *text = l->program.text;
    bt_module *typed;
    watchdog_begin("target %s, a compilation of a program", l->use->text);
    bt_status status = is_codes ? target_codes_read(l->ctx, text, l->targets, &typed)
                                : rule_program_read(l->ctx, text, &typed);
    if (!status) {
        status = bt_fuse(l->ctx, typed, &options, &l->fused);
        bt_module_unref(typed);
    }
    if (!status)
        status = compile(l, l->targets, &l->compiled);
    watchdog_end();
    if (!status && is_taken(l->compiled) && l->program.nparam)
        return NULL;
    bt_compiled_unref(l->compiled);
    bt_module_unref(l->fused);
    l->compiled = NULL;
    l->fused = NULL;
    if (status && status->code == BT_ERR_MEMORY)
        return status;
    bt_ctx_clear_diags(l->ctx);
    return NULL;
}

static bt_status find_program(struct life *l)
{
    struct target_draw draw = { .target = l->use->target, .seed = 1, .extents = extents };
    l->program.text = "";
    while (!l->compiled && l->program.text) {
        BT_TRY(target_program_draw(l->ctx, l->arena, &draw, &l->program));
        if (l->program.text)
            BT_TRY(try_text(l, 0));
    }
    for (uint64_t i = 0; !l->compiled && i < NETWORKS; i++) {
        BT_TRY(target_codes_draw(l->arena, i, &l->program));
        BT_TRY(try_text(l, 1));
    }
    return NULL;
}

/* ---- sessions ---- */

static bt_status open_session(struct life *l, bt_ctx *ctx, bt_compiled *c, void **out)
{
    return l->graph->load(ctx, c, "main", NULL, out);
}

static bt_status call(struct life *l, bt_ctx *ctx, void *session, bt_object **out)
{
    return l->graph->call(ctx, session, "main", l->program.nparam, l->args, NULL, out);
}

/* The same bits. Recursion is bounded by the depth of types. */
static int is_same(const bt_object *a, const bt_object *b)
{
    const bt_tuple *x = bt_object_as_tuple(a), *y = bt_object_as_tuple(b);
    const bt_tensor *p = bt_object_as_tensor(a), *q = bt_object_as_tensor(b);
    for (uint32_t i = 0; x && i < x->nfield; i++) {
        if (!is_same(x->fields[i], y->fields[i]))
            return 0;
    }
    return x || (bt_tensor_nbytes(p) == bt_tensor_nbytes(q) &&
                 memcmp(p->data, q->data, bt_tensor_nbytes(p)) == 0);
}

/* Calls once. 1: the result is what it should be. */
static int is_right(struct life *l, bt_ctx *ctx, void *session, bt_status *status)
{
    bt_object *got = NULL;
    *status = call(l, ctx, session, &got);
    const int right = !*status && is_same(got, l->want);
    bt_object_unref(got);
    return right;
}

static bt_status make_values(struct life *l)
{
    void *session;
    for (uint32_t i = 0; i < l->program.nparam; i++) {
        bt_tensor *tensor;
        BT_TRY(case_values(l->ctx, &l->program.params[i], 7 + i, CASE_RANDOM, &tensor));
        l->args[i] = &tensor->base;
    }
    watchdog_begin("target %s, a run of a program", l->use->text);
    BT_TRY(open_session(l, l->ctx, l->compiled, &session));
    bt_status status = call(l, l->ctx, session, &l->want);
    l->graph->close(session);
    watchdog_end();
    return status;
}

/* ---- threads ---- */

struct worker {
    struct life *l;
    pthread_t thread;
    uint32_t is_started, nwrong, nfailed;
};

static void *work(void *self)
{
    struct worker *w = self;
    struct life *l = w->l;
    bt_ctx *ctx = bt_ctx_create(bt_ctx_registry(l->ctx));
    void *session = NULL;
    bt_status status = ctx ? open_session(l, ctx, l->compiled, &session) : bt_no_memory();
    for (uint32_t i = 0; !status && i < CALLS; i++) {
        const int right = is_right(l, ctx, session, &status);
        w->nwrong += !status && !right;
    }
    w->nfailed += status != NULL;
    if (session)
        l->graph->close(session);
    bt_ctx_destroy(ctx);
    return NULL;
}

static void check_threads(struct life *l)
{
    struct worker workers[THREADS];
    uint32_t nwrong = 0, nfailed = 0;
    watchdog_begin("target %s, runs in %d threads", l->use->text, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ .l = l };
        workers[i].is_started =
            pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        if (workers[i].is_started)
            (void)pthread_join(workers[i].thread, NULL);
        nwrong += workers[i].nwrong;
        nfailed += workers[i].nfailed;
    }
    watchdog_end();
    if (nfailed)
        say(l, "sessions in %d threads at once: %u of them fail", THREADS, nfailed);
    else if (nwrong)
        say(l, "sessions in %d threads at once: %u of %d calls give another result",
            THREADS, nwrong, THREADS * CALLS);
}

/* ---- two instances ---- */

static void call_in_turn(struct life *l, void *first, void *second)
{
    bt_status status;
    for (uint32_t i = 0; i < 4; i++) {
        void *session = i % 2 ? second : first;
        if (session && !is_right(l, l->ctx, session, &status))
            say(l, "two instances called in turn: %s",
                status ? status->message : "a result is another one");
    }
}

/* *out NULL: it opens only once, as a device may admit one. */
static bt_status open_again(struct life *l, bt_targets **out)
{
    bt_text list;
    bt_text_init(&list, l->arena);
    bt_text_addf(&list, "%s%s", l->use->text, l->targets->n > 1 ? ",reference" : "");
    *out = NULL;
    if (!bt_text_get(&list))
        return bt_no_memory();
    bt_status status = bt_targets_open(l->ctx, list.at, out);
    if (status && status->code == BT_ERR_MEMORY)
        return status;
    l->out->is_alone = status != NULL;
    bt_ctx_clear_diags(l->ctx);
    return NULL;
}

static bt_status call_both(struct life *l, bt_compiled *other)
{
    void *first = NULL, *second = NULL;
    bt_status status = open_session(l, l->ctx, l->compiled, &first);
    if (!status)
        status = open_session(l, l->ctx, other, &second);
    if (!status)
        call_in_turn(l, first, second);
    if (second)
        l->graph->close(second);
    bt_compiled_unref(other); // its instance goes
    if (!status)
        call_in_turn(l, first, NULL);
    if (first)
        l->graph->close(first);
    return status;
}

static bt_status check_instances(struct life *l)
{
    bt_targets *again;
    bt_compiled *other;
    watchdog_begin("target %s, two instances", l->use->text);
    bt_status status = open_again(l, &again);
    if (!status && again) {
        status = compile(l, again, &other);
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
    int right = session && is_right(l, l->ctx, session, &status);
    if (!right && (!session || status)) {
        bt_ctx_clear_diags(l->ctx);
        if (session)
            l->graph->close(session);
        session = NULL;
        status = open_session(l, l->ctx, l->compiled, &session);
        right = !status && is_right(l, l->ctx, session, &status);
    }
    if (!right)
        say(l,
            "after a call with %s the next one, in a new session where the old one is "
            "lost: %s",
            what, status ? status->message : "its result is another one");
    if (session)
        l->graph->close(session);
}

/* The n-th allocation of a session that is opened and called once fails, for each n that there
 * is. */
static void check_memory_failures(struct life *l, struct guard *guard)
{
    int is_hit = 1;
    for (uint32_t n = 1; is_hit && !l->out->fault && n <= MOST_FAILURES; n++) {
        void *session = NULL;
        bt_object *got = NULL;
        guard_fail(guard, n);
        bt_status status = open_session(l, l->ctx, l->compiled, &session);
        if (!status)
            status = call(l, l->ctx, session, &got);
        is_hit = guard_fail(guard, 0);
        if (!status && !is_same(got, l->want))
            say(l,
                "a call in which an allocation fails has no error, and another result");
        bt_object_unref(got);
        bt_ctx_clear_diags(l->ctx);
        l->out->nfailed += (uint32_t)is_hit;
        check_after(l, session, "an allocation that failed");
    }
}

static bt_status check_cancelled(struct life *l)
{
    void *session;
    bt_object *got = NULL;
    BT_TRY(open_session(l, l->ctx, l->compiled, &session));
    bt_ctx_cancel(l->ctx);
    bt_status status = call(l, l->ctx, session, &got);
    if (!status && !is_same(got, l->want))
        say(l, "a cancelled call has no error, and another result");
    bt_object_unref(got);
    bt_ctx_clear_diags(l->ctx);
    check_after(l, session, "a wish to stop");
    return NULL;
}

static bt_status check_all(struct life *l, struct guard *guard)
{
    check_threads(l);
    if (!l->out->fault)
        BT_TRY(check_instances(l));
    watchdog_begin("target %s, calls that fail", l->use->text);
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
    struct life l = { .ctx = ctx, .arena = arena, .use = use, .out = out };
    const void *row;
    *out = (struct target_life){ 0 };
    BT_TRY(bt_registry_row(ctx, "baton.executor/1", "graph", sizeof(bt_executor), &row));
    l.graph = row;
    BT_TRY(target_beside_open(ctx, use, &beside));
    l.targets = &beside.both;
    bt_status status = find_program(&l);
    if (!status && !l.compiled)
        out->why = "no program was found of which it takes a function";
    if (!status && l.compiled)
        status = make_values(&l);
    if (!status && l.compiled)
        status = check_all(&l, guard);
    for (uint32_t i = 0; i < CASE_MAX_LEAF; i++)
        bt_object_unref(l.args[i]);
    bt_object_unref(l.want);
    bt_compiled_unref(l.compiled);
    bt_module_unref(l.fused);
    target_beside_close(&beside);
    if (status && status->code != BT_ERR_MEMORY) {
        say(&l, "it fails: %s", status->message);
        status = NULL;
    }
    return status;
}
