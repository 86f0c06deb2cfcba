/*
 * Threads that share the work of one call after another.
 *
 * Work is a number of chunks, cut into a range of neighbours for each thread, known
 * beforehand; the caller does the ranges of threads that are late. No answer may depend on
 * how many ranges there are, and no chunk may wait for another.
 *
 * Workers that are done look out for the next call for a moment, then sleep. Meanwhile they
 * give way to any thread that has work, and sleep once one took their processor; those of a
 * pool of more threads than the process has processors sleep at once.
 */
#ifndef CPU_POOL_H
#define CPU_POOL_H

#include <baton/base.h>

struct cpu_pool;

/* Does the chunks first ... end - 1; a fault, not 0, ends its range. The
 * ranges of one call have different workers, 0 ... nthread - 1. */
typedef int32_t cpu_pool_work(void *arg, int64_t first, int64_t end, uint32_t worker);

/* nthread counts the caller; 0: as many as the process has processors. There are fewer
 * where the system gives no more. NULL: no memory. */
struct cpu_pool *cpu_pool_create(const bt_allocator *, uint32_t nthread);
/* Waits for the threads' ends. No call may be under way. Accepts NULL. */
void cpu_pool_destroy(struct cpu_pool *);
uint32_t cpu_pool_nthread(const struct cpu_pool *); /* NULL: 1 */

/* Does all chunks and returns when they are done: 0, or the fault of the first chunk that
 * has one. A call that is short is not worth waking threads: only those that are awake
 * help, and few of them. Takes no memory. The caller's rounding and treatment of denormals hold in all
 * threads. May be called from any thread and from work of this or another pool; while the
 * threads are taken, the caller does all chunks by itself. So it is without a pool (NULL),
 * and in a process that was forked after the pool's creation. */
int32_t cpu_pool_run(struct cpu_pool *, int64_t nchunk, int is_short, cpu_pool_work *,
                     void *arg);

#endif
