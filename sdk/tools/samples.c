#include "samples.h"

#include <stdlib.h>
#include <sys/resource.h>

enum { LEAST_RUNS = 5, MAX_RUNS = 10000 };
static const double ENOUGH_NS = 2e9; // of runs, where their number is not given

struct sample {
    double ns;
    int interrupted;
};

/* How often the system has taken a processor from this process. */
static long count_interrupts(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_nivcsw;
}

static bt_status run_once(bt_program *program, struct sample *out)
{
    long before = count_interrupts();
    uint64_t start = bt_now_ns();
    BT_TRY(bt_program_run(program));
    out->ns = (double)(bt_now_ns() - start);
    out->interrupted = count_interrupts() != before;
    return NULL;
}

static int by_time(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* Moves the samples that count to the front and gives their number. */
static uint32_t drop_interrupted(struct sample *all, uint32_t n)
{
    uint32_t nclean = 0;
    for (uint32_t i = 0; i < n; i++)
        nclean += !all[i].interrupted;
    if (nclean < LEAST_RUNS || 2 * nclean < n)
        return n;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!all[i].interrupted)
            all[kept++] = all[i];
    }
    return kept;
}

/* The sample below which a part of them lies. */
static double quantile(const struct sample *sorted, uint32_t n, double part)
{
    return sorted[(uint32_t)((double)(n - 1) * part + 0.5)].ns;
}

static void summarise(struct sample *all, uint32_t n, struct samples *out)
{
    uint32_t kept = drop_interrupted(all, n);
    qsort(all, kept, sizeof(*all), by_time);
    *out = (struct samples){
        .n = kept,
        .ndropped = n - kept,
        .median = (all[(kept - 1) / 2].ns + all[kept / 2].ns) / 2,
        .least = all[0].ns,
        .most = all[kept - 1].ns,
        .p10 = quantile(all, kept, 0.1),
        .p90 = quantile(all, kept, 0.9),
    };
}

bt_status take_samples(bt_ctx *ctx, bt_program *program, uint32_t nwarm, uint32_t nrun,
                       struct samples *out)
{
    uint32_t most = nrun ? nrun : MAX_RUNS, n = 0;
    struct sample *all = BT_NEWS(bt_ctx_scratch(ctx), struct sample, most);
    double sum = 0;
    if (!all)
        return bt_no_memory();
    for (uint32_t i = 0; i < nwarm; i++)
        BT_TRY(run_once(program, &all[0]));
    while (n < most && (nrun || n < LEAST_RUNS || sum < ENOUGH_NS)) {
        BT_TRY(run_once(program, &all[n]));
        sum += all[n++].ns;
    }
    summarise(all, n, out);
    return NULL;
}
