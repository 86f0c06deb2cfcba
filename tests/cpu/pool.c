/* The thread pool: every chunk once, whatever calls meet, and quiet when idle. */
#define _GNU_SOURCE
#include "engine/pool.h"
#include "failing_allocator.h"

#include <dlfcn.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- threads that are refused ---- */

static _Atomic int threads_allowed = 1 << 30;

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                   void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &symbol, sizeof(real));
    return atomic_fetch_sub(&threads_allowed, 1) > 0 ? real(thread, attr, start, arg)
                                                     : 11;
}

/* ---- fixture ---- */

static struct failing_allocator allocator;

static int setup(void **state)
{
    (void)state;
    allocator = failing_allocator(0, 0);
    allocator.base.self = &allocator;
    atomic_store(&threads_allowed, 1 << 30);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(allocator.nblock, 0);
    return 0;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- chunks ---- */

enum { MAX_CHUNKS = 100 };

struct marks {
    int count[MAX_CHUNKS], lane[MAX_CHUNKS];
};

static int32_t mark(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    struct marks *marks = arg;
    for (int64_t i = first; i < end; i++) {
        marks->count[i]++;
        marks->lane[i] = (int)lane;
    }
    return 0;
}

static void test_every_chunk_is_done_once_by_lanes_in_order(void **state)
{
    (void)state;
    for (uint32_t nthread = 1; nthread <= 6; nthread++) {
        struct cpu_pool *pool = cpu_pool_create(&allocator.base, nthread);
        assert_non_null(pool);
        assert_int_equal(cpu_pool_nthread(pool), nthread);
        for (int64_t n = 0; n <= MAX_CHUNKS; n += n < 20 ? 1 : 16) {
            struct marks marks = { 0 };
            int most[8] = { 0 };
            assert_int_equal(cpu_pool_run(pool, n, 0, mark, &marks), 0);
            for (int64_t i = 0; i < MAX_CHUNKS; i++) {
                assert_int_equal(marks.count[i], i < n);
                most[marks.lane[i]] += i < n;
                assert_true(i == 0 || i >= n || marks.lane[i] >= marks.lane[i - 1]);
            }
            for (int i = 0; i < (int)nthread; i++) // fair: they differ by one at most
                assert_in_range(most[i], n / nthread, n / nthread + 1);
        }
        cpu_pool_destroy(pool);
    }
}

static void test_without_a_pool_the_caller_does_all(void **state)
{
    (void)state;
    struct marks marks = { 0 };
    assert_int_equal(cpu_pool_nthread(NULL), 1);
    assert_int_equal(cpu_pool_run(NULL, 7, 0, mark, &marks), 0);
    for (int i = 0; i < 7; i++)
        assert_int_equal(marks.count[i], 1);
    cpu_pool_destroy(NULL);
}

static void test_zero_means_all_processors(void **state)
{
    (void)state;
    struct cpu_pool *pool = cpu_pool_create(&allocator.base, 0);
    assert_in_range(cpu_pool_nthread(pool), 1, sysconf(_SC_NPROCESSORS_CONF));
    cpu_pool_destroy(pool);
}

/* ---- faults ---- */

static int32_t fault_from(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    (void)lane;
    for (int64_t i = first; i < end; i++) {
        if (i >= *(int64_t *)arg)
            return (int32_t)(1000 + i);
    }
    return 0;
}

static void test_the_first_chunk_at_fault_is_told(void **state)
{
    (void)state;
    for (uint32_t nthread = 1; nthread <= 4; nthread++) {
        struct cpu_pool *pool = cpu_pool_create(&allocator.base, nthread);
        for (int64_t from = 0; from <= 13; from++)
            assert_int_equal(cpu_pool_run(pool, 13, 0, fault_from, &from),
                             from < 13 ? 1000 + from : 0);
        cpu_pool_destroy(pool);
    }
}

/* ---- calls that meet ---- */

struct nest {
    struct cpu_pool *pools[2];
    _Atomic int nchunk;
    int depth;
};

static int32_t run_nested(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    (void)lane;
    struct nest *nest = arg;
    struct nest inner = { { nest->pools[1], nest->pools[0] }, 0, nest->depth - 1 };
    for (int64_t i = first; i < end; i++) {
        if (nest->depth > 0)
            cpu_pool_run(inner.pools[0], 3, 0, run_nested, &inner);
    }
    atomic_fetch_add(&nest->nchunk, (int)(end - first) + atomic_load(&inner.nchunk));
    return 0;
}

static void test_work_may_call_its_own_and_other_pools(void **state)
{
    (void)state;
    struct cpu_pool *a = cpu_pool_create(&allocator.base, 3);
    struct cpu_pool *b = cpu_pool_create(&allocator.base, 2);
    struct cpu_pool *const pairs[][2] = { { a, a }, { a, b }, { b, a } };
    for (int times = 0; times < 60; times++) {
        struct nest nest = { { pairs[times % 3][0], pairs[times % 3][1] }, 0, 4 };
        run_nested(&nest, 0, 3, 0);
        assert_int_equal(nest.nchunk, 3 + 9 + 27 + 81 + 243);
    }
    cpu_pool_destroy(a);
    cpu_pool_destroy(b);
}

enum { NCALLER = 4, NCALL = 1000 };

struct caller {
    struct cpu_pool *pool;
    int ngood;
};

static void *call_often(void *arg)
{
    struct caller *caller = arg;
    for (int i = 0; i < NCALL; i++) {
        struct marks marks = { 0 };
        int nright = 0;
        cpu_pool_run(caller->pool, 9, 0, mark, &marks);
        for (int j = 0; j < MAX_CHUNKS; j++)
            nright += marks.count[j] == (j < 9);
        caller->ngood += nright == MAX_CHUNKS;
    }
    return NULL;
}

static void test_callers_of_one_and_of_two_pools_do_not_mix(void **state)
{
    (void)state;
    struct cpu_pool *pools[] = { cpu_pool_create(&allocator.base, 2),
                                 cpu_pool_create(&allocator.base, 3) };
    for (int npool = 1; npool <= 2; npool++) {
        struct caller callers[NCALLER];
        pthread_t threads[NCALLER];
        for (int i = 0; i < NCALLER; i++) {
            callers[i] = (struct caller){ pools[i % npool], 0 };
            assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]),
                             0);
        }
        for (int i = 0; i < NCALLER; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(callers[i].ngood, NCALL);
        }
    }
    cpu_pool_destroy(pools[0]);
    cpu_pool_destroy(pools[1]);
}

/* ---- endurance ---- */

static int32_t add(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    (void)lane;
    int64_t *sums = arg;
    for (int64_t i = first; i < end; i++)
        sums[i * 16] += i + 1;
    return 0;
}

static void run_many(uint32_t nthread, int ncall)
{
    struct cpu_pool *pool = cpu_pool_create(&allocator.base, nthread);
    const uint64_t nalloc = allocator.ncall;
    int64_t sums[8 * 16] = { 0 };
    for (int i = 0; i < ncall; i++) {
        cpu_pool_run(pool, 8, 0, add, sums);
        if (i % 5000 == 0)
            sleep_ms(1); // past the time that workers look out
    }
    for (int i = 0; i < 8; i++)
        assert_int_equal(sums[i * 16], (int64_t)(i + 1) * ncall);
    assert_int_equal(allocator.ncall, nalloc);
    cpu_pool_destroy(pool);
}

static void test_a_hundred_thousand_short_calls(void **state)
{
    (void)state;
    run_many(2, 100000);
}

static void test_short_calls_of_more_threads_than_processors(void **state)
{
    (void)state;
    run_many((uint32_t)sysconf(_SC_NPROCESSORS_CONF) + 3, 5000);
}

static void test_pools_come_and_go(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct cpu_pool *pool = cpu_pool_create(&allocator.base, 4);
        struct marks marks = { 0 };
        if (i % 2)
            cpu_pool_run(pool, 5, 0, mark, &marks);
        assert_int_equal(marks.count[4], i % 2);
        cpu_pool_destroy(pool);
    }
}

static void test_an_idle_pool_takes_no_time(void **state)
{
    (void)state;
    struct cpu_pool *pool = cpu_pool_create(&allocator.base, 2);
    struct marks marks = { 0 };
    cpu_pool_run(pool, 2, 0, mark, &marks);
    sleep_ms(20);
    const double start = cpu_seconds();
    sleep_ms(200);
    assert_true(cpu_seconds() - start < 0.02);
    cpu_pool_run(pool, 2, 0, mark, &marks); // and wakes
    assert_int_equal(marks.count[1], 2);
    cpu_pool_destroy(pool);
}

static int32_t linger(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    (void)first, (void)end;
    _Atomic int *is_begun = arg;
    if (lane == 1) {
        atomic_store(is_begun, 1);
        sleep_ms(100);
    }
    while (!atomic_load(is_begun)) // else the caller would do lane 1, too
        sleep_ms(1);
    return 0;
}

static void test_a_caller_that_waits_long_sleeps(void **state)
{
    (void)state;
    struct cpu_pool *pool = cpu_pool_create(&allocator.base, 2);
    _Atomic int is_begun = 0;
    const double start = cpu_seconds();
    cpu_pool_run(pool, 2, 0, linger, &is_begun);
    assert_true(cpu_seconds() - start < 0.02);
    cpu_pool_destroy(pool);
}

static int32_t note_thread(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    (void)first, (void)end;
    ((pthread_t *)arg)[lane] = pthread_self();
    if (lane == 0)
        sleep_ms(20);
    return 0;
}

static void test_workers_wake_while_the_caller_works(void **state)
{
    (void)state;
    struct cpu_pool *pool = cpu_pool_create(&allocator.base, 3);
    int nworker = 0;
    for (int times = 0; times < 10; times++) {
        pthread_t threads[3];
        sleep_ms(5);
        cpu_pool_run(pool, 3, 0, note_thread, threads);
        assert_true(pthread_equal(threads[0], pthread_self()));
        nworker += !pthread_equal(threads[1], pthread_self()) &&
                   !pthread_equal(threads[2], pthread_self());
    }
    assert_true(nworker > 0);
    cpu_pool_destroy(pool);
}

static int32_t note_first(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    (void)end;
    ((int64_t *)arg)[lane] = first + 1;
    return 0;
}

static void test_a_short_call_wakes_nobody(void **state)
{
    (void)state;
    struct cpu_pool *pool = cpu_pool_create(&allocator.base, 2);
    int nshared = 0;
    for (int times = 0; times < 20; times++) {
        int64_t lanes[2] = { 0 };
        sleep_ms(5); // past the time that workers look out
        assert_int_equal(cpu_pool_run(pool, 2, 1, note_first, lanes), 0);
        assert_int_equal(lanes[0], 1);
        nshared += lanes[1] != 0;
        cpu_pool_run(pool, 2, 0, note_first, lanes);
        assert_int_equal(lanes[1], 2);
    }
    assert_true(nshared < 10); // a worker may have been late to sleep
    cpu_pool_destroy(pool);
}

static void test_few_threads_that_are_awake_share_a_short_call(void **state)
{
    (void)state;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        print_message("of one processor a second thread sleeps at once\n");
        skip();
    }
    for (uint32_t nthread = 2; nthread <= 6; nthread += 4) {
        struct cpu_pool *pool = cpu_pool_create(&allocator.base, nthread);
        int nshared = 0;
        for (int i = 0; i < 20000 && (nthread > 2 || !nshared); i++) {
            int64_t lanes[6] = { 0 };
            cpu_pool_run(pool, 6, 0, note_first, lanes);
            memset(lanes, 0, sizeof(lanes));
            cpu_pool_run(pool, 6, 1, note_first, lanes);
            assert_int_equal(lanes[0], 1);
            assert_true(!lanes[4] && !lanes[5]);
            nshared += lanes[1] != 0;
        }
        assert_true(nthread > 2 || nshared);
        cpu_pool_destroy(pool);
    }
}

/* ---- what the system refuses ---- */

static void test_refused_threads_make_a_smaller_pool(void **state)
{
    (void)state;
    for (int allowed = 0; allowed <= 3; allowed++) {
        atomic_store(&threads_allowed, allowed);
        struct cpu_pool *pool = cpu_pool_create(&allocator.base, 5);
        atomic_store(&threads_allowed, 1 << 30);
        assert_int_equal(cpu_pool_nthread(pool), 1 + allowed);
        struct marks marks = { 0 };
        assert_int_equal(cpu_pool_run(pool, 11, 0, mark, &marks), 0);
        for (int i = 0; i < 11; i++)
            assert_int_equal(marks.count[i], 1);
        cpu_pool_destroy(pool);
    }
}

static void test_lack_of_memory_makes_no_pool(void **state)
{
    (void)state;
    allocator.fail_at = 1;
    assert_null(cpu_pool_create(&allocator.base, 3));
}

static void test_a_forked_process_works_alone(void **state)
{
    (void)state;
    struct cpu_pool *pool = cpu_pool_create(&allocator.base, 3);
    const pid_t child = fork();
    if (child == 0) {
        struct marks marks = { 0 };
        alarm(20); // instead of waiting for workers that are not there
        cpu_pool_run(pool, 6, 0, mark, &marks);
        cpu_pool_destroy(pool);
        _exit(marks.count[5] == 1 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    cpu_pool_destroy(pool);
}

/* ---- rounding ---- */

static int32_t divide(void *arg, int64_t first, int64_t end, uint32_t lane)
{
    (void)lane;
    volatile double one = 1, three = 3;
    for (int64_t i = first; i < end; i++)
        ((double *)arg)[i] = one / three;
    return 0;
}

static void test_the_callers_rounding_holds_in_all_threads(void **state)
{
    (void)state;
#if defined(__x86_64__)
    struct cpu_pool *pool = cpu_pool_create(&allocator.base, 3);
    static const int modes[] = { FE_UPWARD, FE_TONEAREST, FE_DOWNWARD };
    double first[3];
    for (int i = 0; i < 3; i++) {
        double quotients[3];
        fesetround(modes[i]);
        cpu_pool_run(pool, 3, 0, divide, quotients);
        fesetround(FE_TONEAREST);
        assert_memory_equal(&quotients[1], &quotients[0], sizeof(double));
        assert_memory_equal(&quotients[2], &quotients[0], sizeof(double));
        first[i] = quotients[0];
    }
    assert_true(first[0] > first[2]);
    cpu_pool_destroy(pool);
#else
    (void)divide;
    print_message("only x86-64 has modes here\n");
    skip();
#endif
}

static const struct CMUnitTest tests[] = {
    TEST(test_every_chunk_is_done_once_by_lanes_in_order),
    TEST(test_without_a_pool_the_caller_does_all),
    TEST(test_zero_means_all_processors),
    TEST(test_the_first_chunk_at_fault_is_told),
    TEST(test_work_may_call_its_own_and_other_pools),
    TEST(test_callers_of_one_and_of_two_pools_do_not_mix),
    TEST(test_a_hundred_thousand_short_calls),
    TEST(test_short_calls_of_more_threads_than_processors),
    TEST(test_pools_come_and_go),
    TEST(test_an_idle_pool_takes_no_time),
    TEST(test_a_caller_that_waits_long_sleeps),
    TEST(test_workers_wake_while_the_caller_works),
    TEST(test_a_short_call_wakes_nobody),
    TEST(test_few_threads_that_are_awake_share_a_short_call),
    TEST(test_refused_threads_make_a_smaller_pool),
    TEST(test_lack_of_memory_makes_no_pool),
    TEST(test_a_forked_process_works_alone),
    TEST(test_the_callers_rounding_holds_in_all_threads),
};
TEST_MAIN(tests)
