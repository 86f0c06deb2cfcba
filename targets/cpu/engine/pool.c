/*
 * A thread pool. Caller and worker talk through struct worker:
 *
 *     caller   writes the job, asked += 1 ...................... waits for done == asked
 *     worker             sees asked, taken = asked, works, writes the fault, done = asked
 *
 * A caller that has done its own share takes jobs that no worker has begun: the system may
 * be long in waking one, or in giving it a processor. Either looks at the other's counter
 * for a while, then sleeps on it. Who is about to sleep says so first and looks once more,
 * who has counted looks whether anybody sleeps: a fence between the two steps of both makes
 * one of them see the other.
 */
#define _GNU_SOURCE
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "modes.h"

#if defined(__linux__) && !defined(CPU_POOL_PORTABLE)
#define HAS_FUTEX 1
#include <linux/futex.h>
#include <sys/syscall.h>
#else
#define HAS_FUTEX 0
#endif
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
// It does not know fences; they only guard against sleep, data go by the counters.
#pragma GCC diagnostic ignored "-Wtsan"
#endif

enum {
    LINE = 128, /* bytes that processors move together: lines of 64 come in pairs */
    MAX_THREADS = 1024,
    FEW_THREADS = 4,     /* of a short call: each has a microsecond or more to do */
    ALONE_NS = 3 * 1000, /* of a wait: then others may have the processor */
    SPIN_NS = 50 * 1000,
    GAP_NS = 20 * 1000 /* between two looks at the clock: the processor was taken */
};

typedef _Atomic uint32_t counter;

struct worker {
    _Alignas(LINE) counter asked;
    counter sleeps; /* the worker waits for `asked` in its sleep */
    uint32_t index, modes;
    cpu_pool_work *work; /* NULL: end */
    void *arg;
    int64_t first, end;
    _Alignas(LINE) counter taken;
    counter done;
    int32_t fault;
    struct cpu_pool *pool;
    pthread_t thread;
};

struct cpu_pool {
    _Alignas(LINE) counter is_busy;
    counter caller_sleeps;
    uint32_t nworker; /* the caller is worker 0 */
    int spins;        /* a thread of it may wait awake */
    pid_t process;
    const bt_allocator *allocator;
    void *block; /* in which this lies */
    size_t nbytes;
#if !HAS_FUTEX
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#endif
    struct worker workers[];
};

/* ---- waiting ---- */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void relax(void)
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int is_changed(counter *c, uint32_t old)
{
    return atomic_load_explicit(c, memory_order_acquire) != old;
}

/* Waits awake, but gives the processor to whoever wants it; 0: longer would be a waste. What
 * comes soon is not asked of the system: in there, nobody would see it come. */
static int spin(const struct cpu_pool *pool, counter *c, uint32_t old)
{
    const int64_t start = now_ns();
    for (int64_t last = start, now = start;; last = now) {
        if (!pool->spins)
            return is_changed(c, old);
        for (int i = 0; i < 32; i++) {
            if (is_changed(c, old))
                return 1;
            relax();
        }
        now = now_ns();
        if (now - start > ALONE_NS) {
            sched_yield();
            now = now_ns();
        }
        if (now - start > SPIN_NS || now - last > GAP_NS)
            return is_changed(c, old);
    }
}

/* Sleeps until the counter has changed; `sleeps` tells the other side. */
static void sleep_on(struct cpu_pool *pool, counter *c, uint32_t old, counter *sleeps)
{
    atomic_store_explicit(sleeps, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
#if HAS_FUTEX
    (void)pool;
    while (!is_changed(c, old))
        syscall(SYS_futex, c, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
#else
    pthread_mutex_lock(&pool->mutex);
    while (!is_changed(c, old))
        pthread_cond_wait(&pool->changed, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
#endif
    atomic_store_explicit(sleeps, 0, memory_order_relaxed);
}

/* After a fence that follows the change. */
static void wake(struct cpu_pool *pool, counter *c, counter *sleeps)
{
    if (!atomic_load_explicit(sleeps, memory_order_relaxed))
        return;
#if HAS_FUTEX
    (void)pool;
    syscall(SYS_futex, c, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#else
    (void)c;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
#endif
}

/* ---- workers ---- */

static void wait_for_job(struct worker *worker, uint32_t old)
{
    if (!spin(worker->pool, &worker->asked, old))
        sleep_on(worker->pool, &worker->asked, old, &worker->sleeps);
}

/* Whether this thread is to do the worker's job. */
static int take_job(struct worker *worker, uint32_t job)
{
    uint32_t last = job - 1;
    return atomic_compare_exchange_strong_explicit(
        &worker->taken, &last, job, memory_order_relaxed, memory_order_relaxed);
}

static void do_job(struct worker *worker, uint32_t job)
{
    worker->fault = worker->work(worker->arg, worker->first, worker->end, worker->index);
    atomic_store_explicit(&worker->done, job, memory_order_release);
}

static void *serve(void *arg)
{
    struct worker *worker = arg;
    for (uint32_t job = 0;;) {
        wait_for_job(worker, job);
        job = atomic_load_explicit(&worker->asked, memory_order_acquire);
        if (!take_job(worker, job))
            continue;
        if (!worker->work)
            break;
        cpu_modes_set(worker->modes);
        do_job(worker, job);
        atomic_thread_fence(memory_order_seq_cst);
        wake(worker->pool, &worker->done, &worker->pool->caller_sleeps);
    }
    return NULL;
}

/* ---- calls ---- */

static uint32_t last_job(struct worker *worker)
{
    return atomic_load_explicit(&worker->asked, memory_order_relaxed);
}

static void ask(struct worker *worker)
{
    atomic_store_explicit(&worker->asked, last_job(worker) + 1, memory_order_release);
}

static void wait_for_worker(struct cpu_pool *pool, struct worker *worker)
{
    const uint32_t last = last_job(worker) - 1;
    if (!spin(pool, &worker->done, last))
        sleep_on(pool, &worker->done, last, &pool->caller_sleeps);
}

/* Where the i-th of n ranges begins. */
static int64_t range_start(int64_t nchunk, int64_t n, int64_t i)
{
    const int64_t more = nchunk % n;
    return nchunk / n * i + (i < more ? i : more);
}

/* A forked process has no workers. Their jobs are then the caller's, as those of threads that
 * are late are; only the lock may be as a worker left it. */
static int is_forked(const struct cpu_pool *pool)
{
    return pool->process != getpid();
}

/* 0: somebody has it. */
static int take(struct cpu_pool *pool)
{
    return !atomic_load_explicit(&pool->is_busy, memory_order_relaxed) &&
           !atomic_exchange_explicit(&pool->is_busy, 1, memory_order_acquire);
}

/* How many threads a call is for, its caller among them. */
static uint32_t count_threads(const struct cpu_pool *pool, int64_t nchunk, int is_short)
{
    uint32_t n = !pool ? 1 : nchunk < pool->nworker ? (uint32_t)nchunk : pool->nworker;
    uint32_t nawake = 1;
    if (!is_short)
        return n;
    n = n < FEW_THREADS ? n : FEW_THREADS;
    while (nawake < n &&
           !atomic_load_explicit(&pool->workers[nawake].sleeps, memory_order_relaxed))
        nawake++;
    return nawake;
}

int32_t cpu_pool_run(struct cpu_pool *pool, int64_t nchunk, int is_short,
                     cpu_pool_work *work, void *arg)
{
    if (nchunk <= 0)
        return 0;
    const uint32_t n = count_threads(pool, nchunk, is_short);
    if (n == 1 || (!HAS_FUTEX && is_forked(pool)) || !take(pool))
        return work(arg, 0, nchunk, 0);
    const uint32_t modes = cpu_modes_get();
    for (uint32_t i = 1; i < n; i++) {
        struct worker *worker = &pool->workers[i];
        worker->work = work;
        worker->arg = arg;
        worker->first = range_start(nchunk, n, i);
        worker->end = range_start(nchunk, n, i + 1);
        worker->modes = modes;
        ask(worker);
    }
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 1; i < n; i++)
        wake(pool, &pool->workers[i].asked, &pool->workers[i].sleeps);
    int32_t fault = work(arg, 0, range_start(nchunk, n, 1), 0);
    for (uint32_t i = 1; i < n; i++) {
        if (take_job(&pool->workers[i], last_job(&pool->workers[i])))
            do_job(&pool->workers[i], last_job(&pool->workers[i]));
    }
    for (uint32_t i = 1; i < n; i++) {
        wait_for_worker(pool, &pool->workers[i]);
        fault = fault ? fault : pool->workers[i].fault;
    }
    atomic_store_explicit(&pool->is_busy, 0, memory_order_release);
    return fault;
}

/* ---- creation ---- */

static uint32_t count_processors(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
#endif
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

/* Signals are for the program's own threads. */
static void start_workers(struct cpu_pool *pool, uint32_t nthread)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (uint32_t i = 1; i < nthread; i++) {
        struct worker *worker = &pool->workers[i];
        worker->index = i;
        worker->pool = pool;
        if (pthread_create(&worker->thread, NULL, serve, worker))
            break;
        pool->nworker = i + 1;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

struct cpu_pool *cpu_pool_create(const bt_allocator *allocator, uint32_t nthread)
{
    const uint32_t nprocessor = count_processors();
    nthread = nthread ? nthread : nprocessor;
    nthread = nthread < MAX_THREADS ? nthread : MAX_THREADS;
    const size_t nbytes =
        sizeof(struct cpu_pool) + nthread * sizeof(struct worker) + LINE - 1;
    void *block = allocator->realloc(allocator->self, NULL, 0, nbytes);
    if (!block)
        return NULL;
    memset(block, 0, nbytes);
    const size_t unaligned = (uintptr_t)block % LINE;
    struct cpu_pool *pool =
        (void *)((unsigned char *)block + (unaligned ? LINE - unaligned : 0));
    pool->allocator = allocator;
    pool->block = block;
    pool->nbytes = nbytes;
    pool->nworker = 1;
    pool->spins = nthread <= nprocessor;
    pool->process = getpid();
#if !HAS_FUTEX
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->changed, NULL);
#endif
    start_workers(pool, nthread);
    return pool;
}

static void stop_workers(struct cpu_pool *pool)
{
    for (uint32_t i = 1; i < pool->nworker; i++) {
        pool->workers[i].work = NULL;
        ask(&pool->workers[i]);
    }
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 1; i < pool->nworker; i++)
        wake(pool, &pool->workers[i].asked, &pool->workers[i].sleeps);
    for (uint32_t i = 1; i < pool->nworker; i++)
        pthread_join(pool->workers[i].thread, NULL);
#if !HAS_FUTEX
    pthread_mutex_destroy(&pool->mutex);
    pthread_cond_destroy(&pool->changed);
#endif
}

void cpu_pool_destroy(struct cpu_pool *pool)
{
    if (!pool)
        return;
    if (!is_forked(pool))
        stop_workers(pool);
    const bt_allocator *allocator = pool->allocator;
    allocator->realloc(allocator->self, pool->block, pool->nbytes, 0);
}

uint32_t cpu_pool_nthread(const struct cpu_pool *pool)
{
    return pool ? pool->nworker : 1;
}
