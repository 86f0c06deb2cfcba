/*
 * The thread pool's cost: a call that does nothing, by how long ago the last one was.
 *
 *     bench_pool [threads]
 */
#include "engine/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *libc_realloc(void *self, void *pointer, size_t old_nbytes, size_t nbytes)
{
    (void)self, (void)old_nbytes;
    if (nbytes > 0)
        return realloc(pointer, nbytes);
    free(pointer);
    return NULL;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int32_t nothing(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    (void)arg, (void)first, (void)end, (void)lane;
    return 0;
}

static int32_t one_microsecond(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    (void)arg, (void)lane;
    for (const int64_t stop = now_ns() + 1000 * (end - first); now_ns() < stop;)
        ;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Samples of `ncall` calls each, after a pause. */
static void measure(const char *what, struct cpu_pool *pool, int64_t nchunk, int ncall,
                    long pause_ns, cpu_pool_work *work)
{
    enum { NSAMPLE = 301 };
    double samples[NSAMPLE];
    for (int i = 0; i < NSAMPLE; i++) {
        nanosleep(&(struct timespec){ 0, pause_ns }, NULL);
        if (ncall > 1) // awake workers are the question
            cpu_pool_run(pool, nchunk, 0, work, NULL);
        const int64_t start = now_ns();
        for (int j = 0; j < ncall; j++)
            cpu_pool_run(pool, nchunk, 0, work, NULL);
        samples[i] = (double)(now_ns() - start) / ncall;
    }
    qsort(samples, NSAMPLE, sizeof(*samples), compare);
    printf("%-24s %8.0f ns, best %8.0f ns\n", what, samples[NSAMPLE / 2], samples[0]);
}

int main(int argc, char **argv)
{
    const bt_allocator allocator = { .realloc = libc_realloc };
    struct cpu_pool *pool =
        cpu_pool_create(&allocator, argc > 1 ? (uint32_t)atoi(argv[1]) : 0);
    if (!pool)
        return 1;
    const int64_t n = cpu_pool_nthread(pool);
    printf("%lld threads\n", (long long)n);
    measure("one chunk, no thread", pool, 1, 200, 1000, nothing);
    measure("workers awake", pool, n, 200, 1000, nothing);
    measure("workers asleep", pool, n, 1, 2000000, nothing);
    measure("1 us each, awake", pool, n, 200, 1000, one_microsecond);
    measure("1 us each, asleep", pool, n, 1, 2000000, one_microsecond);
    cpu_pool_destroy(pool);
    return 0;
}
