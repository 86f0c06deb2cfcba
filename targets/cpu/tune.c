// struct stat's times
#define _POSIX_C_SOURCE 200809L

#include "tune.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <baton/baton.h>
#include <baton/target.h>

#include "records.h"
#include "schedule/schedule.h"
#include "trial.h"

struct cpu_tuner {
    struct cpu_tuner_options o;
    const char *machine; /* whose records are used */
    pthread_mutex_t mutex;
    // what was read of the file when it was as `seen` says
    bt_arena *arena;
    const void *mark;
    struct stat seen;
    struct cpu_records records;
    int has_begun;
    int is_lost;      /* what is measured: the file cannot be written */
    int has_remarked; /* that some are damaged */
    int has_remarked_strange;
};

/* ---- whose records ---- */

static long cache_of(int name)
{
    const long nbytes = sysconf(name);
    return nbytes > 0 ? nbytes : 0;
}

/* The processor, what of it is used, and the version of what chooses. NULL: no memory. */
static const char *machine_of(bt_arena *arena, enum cpu_isa isa)
{
    char name[49] = "processor";
    bt_text text;
    bt_text_init(&text, arena);
#if defined(__x86_64__)
    unsigned words[12];
    int is_named = 1;
    for (unsigned i = 0; i < 3; i++)
        is_named &= __get_cpuid(0x80000002U + i, &words[4 * i], &words[4 * i + 1],
                                &words[4 * i + 2], &words[4 * i + 3]);
    if (is_named)
        memcpy(name, words, sizeof(words));
    name[48] = 0;
#endif
    bt_text_addf(&text, "%s, %s, caches %ld %ld %ld, baton %s", name, cpu_isa_name(isa),
                 cache_of(_SC_LEVEL1_DCACHE_SIZE), cache_of(_SC_LEVEL2_CACHE_SIZE),
                 cache_of(_SC_LEVEL3_CACHE_SIZE), bt_version());
    return bt_text_get(&text);
}

/* A digest of all that the fastest way depends on: the function, options, and what there is to
 * choose, with estimates. NULL: no memory. */
static const char *key_of(bt_arena *arena, const struct cpu_tuner *t, const bt_func *func,
                          const struct cpu_choices *choices)
{
    char digest[65];
    bt_text text;
    bt_text_init(&text, arena);
    bt_text_addf(&text, "%016" PRIx64 " %u %u %d %s %s", bt_func_hash(func),
                 t->o.config->accuracy, t->o.config->has_small_weights,
                 t->o.request->keeps_denormals, t->o.request->engine,
                 t->o.request->compiler);
    for (uint32_t i = 0; i < choices->all.len; i++) {
        const struct cpu_choice *c = &choices->all.at[i];
        bt_text_addf(&text, " %s %u %s", c->program, c->sum, c->way);
        // the estimate of a program is of its loops, which may depend on the number of threads
        if (c->sum)
            bt_text_addf(&text, " %.3g", c->ns);
    }
    if (!bt_text_get(&text))
        return NULL;
    bt_digest(text.at, text.len, digest);
    return bt_arena_text(arena, digest, 64);
}

/* ---- choosing ---- */

/* So many of what excludes each other are measured at most, and none whose estimate is more than so
 * many times the least. One takes the place of one with a lesser estimate if its time is below this
 * share. */
enum { MAX_TRIED = 4 };
static const double most_times = 4, least_gain = 0.97;

struct tuning {
    bt_ctx *ctx;
    struct cpu_trial trial;
    struct cpu_choices *choices;
};

/* The best by estimate of those left that take `most` ns or less; NULL: there is none. */
static struct cpu_choice *next_best(const struct cpu_choices *c,
                                    const struct cpu_choice *rival, double most)
{
    struct cpu_choice *best = NULL;
    for (uint32_t i = 0; i < c->all.len; i++) {
        struct cpu_choice *one = &c->all.at[i];
        if (cpu_is_rival(one, rival) && one->measured_ns == 0 && one->ns <= most &&
            (!best || one->ns < best->ns))
            best = one;
    }
    return best;
}

static void take(struct cpu_choices *c, struct cpu_choice *one)
{
    for (uint32_t i = 0; i < c->all.len; i++) {
        if (cpu_is_rival(&c->all.at[i], one))
            c->all.at[i].is_taken = 0;
    }
    one->is_taken = 1;
}

static bt_status measure(const struct tuning *t, struct cpu_choice *one)
{
    BT_TRY(cpu_trial_run(t->ctx, &t->trial, t->choices, &one->measured_ns));
    if (one->measured_ns < 1) // less than the clock tells
        one->measured_ns = 1;
    return NULL;
}

/* A way of a sum, while those before it go the ways chosen for them, and those behind it the ways of
 * the least estimate. */
static bt_status choose_way(const struct tuning *t, const struct cpu_choice *rival)
{
    struct cpu_choice *one = next_best(t->choices, rival, INFINITY), *best = one;
    const double most = most_times * one->ns;
    if (cpu_count_rivals(t->choices, rival, most) == 1)
        return NULL; // there is nothing to compare it with
    for (uint32_t n = 0; n < MAX_TRIED && one; n++) {
        take(t->choices, one);
        BT_TRY(measure(t, one));
        // what is as good stays as it is estimated: on another day it may be the better one
        if (one->measured_ns < least_gain * best->measured_ns)
            best = one;
        one = next_best(t->choices, rival, most);
    }
    take(t->choices, best);
    return NULL;
}

/* All sums of a program, which is taken. */
static bt_status choose_ways(const struct tuning *t, const struct cpu_choice *program)
{
    const struct cpu_choices *c = t->choices;
    for (uint32_t i = 0; i < c->all.len; i++) {
        const struct cpu_choice *one = &c->all.at[i];
        if (one->sum && strcmp(one->program, program->program) == 0 &&
            (one == program + 1 || one[-1].sum != one->sum))
            BT_TRY(choose_way(t, one));
    }
    return NULL;
}

/* The programs, each with its best ways. */
static bt_status choose_program(const struct tuning *t)
{
    struct cpu_choices *c = t->choices;
    const struct cpu_choice rival = { .sum = 0 };
    struct cpu_choice *one = next_best(c, &rival, INFINITY), *best = one;
    const double most = most_times * one->ns;
    const int is_only = cpu_count_rivals(c, &rival, most) == 1;
    for (uint32_t n = 0; n < MAX_TRIED && one; n++) {
        take(c, one);
        BT_TRY(choose_ways(t, one));
        if (is_only)
            return NULL;
        BT_TRY(measure(t, one));
        if (one->measured_ns < least_gain * best->measured_ns)
            best = one;
        one = next_best(c, &rival, most);
    }
    take(c, best);
    return NULL;
}

static int has_rivals(const struct cpu_choices *c)
{
    for (uint32_t i = 0; i < c->all.len; i++) {
        if (cpu_count_rivals(c, &c->all.at[i], INFINITY) > 1)
            return 1;
    }
    return 0;
}

/* ---- records ---- */

/* Takes what the record takes. 0: it names what there is not, or not all that is to be chosen. */
static int take_record(struct cpu_choices *c, const struct cpu_record *r)
{
    for (uint32_t i = 0; i < c->all.len; i++)
        c->all.at[i].is_taken = 0;
    for (uint32_t i = 0; i < r->nchoice; i++) {
        struct cpu_choice *one = cpu_find_choice(c, &r->choices[i]);
        if (!one)
            return 0;
        one->measured_ns = r->choices[i].measured_ns;
        if (r->choices[i].is_taken)
            take(c, one);
    }
    const char *program = cpu_choice_taken(c, NULL, 0);
    for (uint32_t i = 0; program && i < c->all.len; i++) {
        const struct cpu_choice *one = &c->all.at[i];
        if (strcmp(one->program, program) == 0 && !cpu_choice_taken(c, program, one->sum))
            return 0;
    }
    return program != NULL;
}

/* What is taken or was measured. */
static bt_status fill_record(bt_arena *arena, const struct cpu_choices *c,
                             struct cpu_record *r)
{
    struct cpu_choice *rows = BT_NEWS(arena, struct cpu_choice, c->all.len);
    if (!rows)
        return bt_no_memory();
    r->choices = rows;
    for (uint32_t i = 0; i < c->all.len; i++) {
        if (c->all.at[i].is_taken || c->all.at[i].measured_ns > 0)
            rows[r->nchoice++] = c->all.at[i];
    }
    return NULL;
}

/* The file is read again only where it is another one than it was. */
static bt_status refresh(bt_ctx *ctx, struct cpu_tuner *t)
{
    struct stat now;
    if (stat(t->o.path, &now) != 0)
        memset(&now, 0, sizeof(now));
    if (t->mark && now.st_dev == t->seen.st_dev && now.st_ino == t->seen.st_ino &&
        now.st_size == t->seen.st_size && now.st_mtim.tv_sec == t->seen.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == t->seen.st_mtim.tv_nsec)
        return NULL;
    if (t->mark)
        bt_arena_release(t->arena, t->mark);
    t->mark = NULL;
    const void *mark = bt_arena_mark(t->arena);
    BT_TRY(cpu_records_read(ctx, t->arena, t->o.path, &t->records));
    t->mark = mark;
    t->seen = now;
    if (t->records.ndamaged && !t->has_remarked)
        bt_remark(ctx, BT_REMARK_NOTE,
                  bt_fail(ctx, BT_ERR_FORMAT,
                          "%s: %" PRIu32
                          " of its tuning records %s damaged, and not used",
                          t->o.path, t->records.ndamaged,
                          t->records.ndamaged == 1 ? "is" : "are"));
    t->has_remarked |= t->records.ndamaged > 0;
    return NULL;
}

/* What cannot be kept is measured all the same: said once, not an error. */
static bt_status keep(bt_ctx *ctx, struct cpu_tuner *t, bt_status status)
{
    if (!status || status->code != BT_ERR_IO)
        return status;
    bt_remark(
        ctx, BT_REMARK_NOTE,
        bt_note(ctx, status, NULL, 0, "what is measured now is used, and not recorded"));
    t->is_lost = 1;
    return NULL;
}

static bt_status begin(bt_ctx *ctx, struct cpu_tuner *t)
{
    if (t->has_begun)
        return NULL;
    BT_TRY(keep(ctx, t, cpu_records_begin(ctx, t->o.path)));
    t->has_begun = 1;
    return NULL;
}

static void remark_strange(bt_ctx *ctx, struct cpu_tuner *t, const struct cpu_record *r)
{
    if (!t->has_remarked_strange)
        bt_remark(ctx, BT_REMARK_NOTE,
                  bt_fail(ctx, BT_ERR_FORMAT,
                          "%s: its record of %s is of ways that are not here, and not "
                          "used: without that line it is measured",
                          t->o.path, r->name));
    t->has_remarked_strange = 1;
}

static bt_status tune(bt_ctx *ctx, bt_arena *arena, struct cpu_tuner *t,
                      const struct cpu_trial *trial, struct cpu_choices *choices,
                      int *is_chosen)
{
    const bt_func *func = trial->func;
    struct cpu_record record = { .machine = t->machine,
                                 .function = key_of(arena, t, func, choices),
                                 .name = func->name ? func->name : "function" };
    if (!record.function)
        return bt_no_memory();
    BT_TRY(refresh(ctx, t));
    const struct cpu_record *known =
        cpu_records_find(&t->records, t->machine, record.function);
    if (!known) {
        const struct tuning tuning = { ctx, *trial, choices };
        BT_TRY(choose_program(&tuning));
        BT_TRY(fill_record(arena, choices, &record));
        if (!t->is_lost)
            BT_TRY(keep(ctx, t, cpu_records_add(ctx, arena, t->o.path, &record)));
    }
    *is_chosen = take_record(choices, known ? known : &record);
    if (known && !*is_chosen)
        remark_strange(ctx, t, known);
    return NULL;
}

bt_status cpu_tune(bt_ctx *ctx, bt_arena *arena, struct cpu_tuner *t, const bt_func *func,
                   const struct cpu_choices **out)
{
    struct cpu_choices *choices = BT_NEW(arena, struct cpu_choices);
    struct cpu_config config = *t->o.config;
    int is_chosen = 0;
    bt_loops *loops;
    *out = NULL;
    if (!choices)
        return bt_no_memory();
    choices->arena = arena;
    config.choices = choices;
    if (func->nvar)
        return NULL;
    pthread_mutex_lock(&t->mutex);
    bt_status status = begin(ctx, t);
    pthread_mutex_unlock(&t->mutex);
    BT_TRY(status);
    status = cpu_schedule(ctx, arena, &config, func, NULL, &loops);
    if (status)
        return status->code == BT_ERR_UNSUPPORTED ? NULL : status;
    if (!has_rivals(choices))
        return NULL;
    const struct cpu_trial trial = { .config = t->o.config,
                                     .request = t->o.request,
                                     .pool = t->o.pool,
                                     .func = func,
                                     .loops = loops };
    // what is measured wants the machine for itself
    pthread_mutex_lock(&t->mutex);
    status = tune(ctx, arena, t, &trial, choices, &is_chosen);
    pthread_mutex_unlock(&t->mutex);
    if (is_chosen)
        *out = choices;
    return status;
}

bt_status cpu_tuner_create(bt_ctx *ctx, const struct cpu_tuner_options *o,
                           struct cpu_tuner **out)
{
    bt_arena *arena = bt_arena_create(bt_ctx_registry(ctx));
    struct cpu_tuner *t = arena ? BT_NEW(arena, struct cpu_tuner) : NULL;
    if (t) {
        t->o = *o;
        t->arena = arena;
        t->machine = machine_of(arena, o->config->isa);
        t->o.path = bt_arena_text(arena, o->path, strlen(o->path));
    }
    if (!t || !t->machine || !t->o.path) {
        bt_arena_destroy(arena);
        return bt_no_memory();
    }
    pthread_mutex_init(&t->mutex, NULL);
    *out = t;
    return NULL;
}

void cpu_tuner_destroy(struct cpu_tuner *t)
{
    if (!t)
        return;
    pthread_mutex_destroy(&t->mutex);
    bt_arena_destroy(t->arena);
}
