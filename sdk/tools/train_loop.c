/* Steps, epoch after epoch. */
#include <math.h>
#include <signal.h>
#include <string.h>

#include "progress.h"
#include "train.h"

enum { POINTS_PER_EPOCH = 20 };

/* The signal that came; 0: none. A handler gets no argument of the program's. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    interrupted = signal;
}

/* ---- a step ---- */

static bt_status fill_batches(struct train *t)
{
    const int64_t step = t->info->step, at = step % t->nper_epoch, batch = t->info->batch;
    if (at == 0 || step == t->begin)
        BT_TRY(t->trainer->order(t->training, step / t->nper_epoch,
                                 train_data_len(t->data), t->order));
    for (int64_t i = 0; i < t->nmicro * batch; i++)
        train_batch_fill(t->data, t->parts[i / batch], i % batch,
                         t->order[at * t->nmicro * batch + i]);
    return NULL;
}

static void add_to(struct sum *sum, const bt_training_result *result)
{
    sum->loss += result->loss;
    sum->nright += result->nright;
    sum->nstep++;
}

static bt_status take_step(struct train *t)
{
    bt_training_result result;
    BT_TRY(fill_batches(t));
    const uint64_t start = bt_now_ns();
    BT_TRY(t->trainer->step(t->training, t->batches, &result));
    t->stepped += bt_now_ns() - start;
    add_to(&t->since, &result);
    add_to(&t->epoch, &result);
    return NULL;
}

/* ---- all of them ---- */

static int is_point(const struct train *t)
{
    const int64_t each = t->nper_epoch / POINTS_PER_EPOCH;
    const int64_t at = t->info->step % t->nper_epoch;
    return at == 0 || (each && at % each == 0);
}

static bt_status after_step(struct train *t, int is_stopped)
{
    const int is_end = t->info->step % t->nper_epoch == 0;
    double loss = NAN, right = NAN;
    if (is_end && t->test)
        BT_TRY(evaluate(t, t->test, &loss, &right));
    if (is_point(t))
        BT_TRY(add_point(t, loss, right));
    if (!is_end && !(t->every && t->info->step % t->every == 0) && !is_stopped)
        return NULL;
    BT_TRY(write_curves(t));
    return save_checkpoint(t);
}

static bt_status run_steps(struct train *t)
{
    const int64_t all = t->nepoch * t->nper_epoch;
    int is_stopped = 0;
    while (t->info->step < all && !is_stopped) {
        const void *mark = bt_arena_mark(bt_ctx_scratch(t->tool->ctx));
        BT_TRY(take_step(t));
        show_step(t);
        is_stopped = interrupted != 0; // once: the step that is the last has a checkpoint
        if (is_point(t) || t->every || is_stopped)
            BT_TRY(after_step(t, is_stopped));
        bt_arena_release(bt_ctx_scratch(t->tool->ctx), mark);
    }
    return NULL;
}

int run_training(struct train *t)
{
    static const int signals[] = { SIGINT, SIGTERM };
    struct sigaction action = { .sa_handler = interrupt }, before[BT_COUNT(signals)];
    t->begin = t->info->step;
    t->start = bt_now_ns();
    for (uint32_t i = 0; i < BT_COUNT(signals); i++)
        sigaction(signals[i], &action, &before[i]);
    bt_status status = run_steps(t);
    for (uint32_t i = 0; i < BT_COUNT(signals); i++)
        sigaction(signals[i], &before[i], NULL);
    clear_progress();
    TRY_TOOL(t->tool, status);
    const int64_t n = t->info->step - t->begin;
    const int is_stopped = interrupted && t->info->step < t->nepoch * t->nper_epoch;
    if (is_stopped && !t->is_quiet)
        printf("stopped at step %lld: --resume goes on from there\n",
               (long long)t->info->step);
    if (n && !t->is_quiet)
        printf("%lld step%s of %lld sample%s, %.3f ms each\n", (long long)n, PLURAL(n),
               (long long)(t->nmicro * t->info->batch),
               PLURAL(t->nmicro * t->info->batch), (double)t->stepped * 1e-6 / (double)n);
    return is_stopped ? EXIT_SIGNAL + interrupted : EXIT_OK;
}
