/*
 * An allocator for failure tests: counts, fails the n-th call (that one, or it and all
 * later ones), checks that every block comes back with the size it was asked with, and
 * fills new memory so that nothing can rely on zeros.
 *
 *     static int body(const bt_allocator *allocator)
 *     {
 *         // create a registry with it and .arena_single = 1, do the work, destroy all
 *         return 1; // or 0 where something reported BT_ERR_MEMORY or gave NULL
 *     }
 *     fail_each_allocation(body);
 */
#ifndef FAILING_ALLOCATOR_H
#define FAILING_ALLOCATOR_H

#include "test.h"

#include <pthread.h>
#include <stdlib.h>

struct failing_allocator {
    bt_allocator base;
    uint64_t ncall;   /* that asked for memory */
    uint64_t fail_at; /* 0: never */
    int from_then_on;
    uint64_t nfailed;
    size_t nblock, nbytes; /* alive */
};

/* In front of each block; keeps its alignment of 16. */
struct failing_head {
    size_t nbytes, unused;
};

static void *failing_realloc_alone(struct failing_allocator *a, void *pointer,
                                   size_t old_nbytes, size_t nbytes)
{
    struct failing_head *old = pointer ? (struct failing_head *)pointer - 1 : NULL;
    struct failing_head *block = NULL;
    if (nbytes > 0) {
        a->ncall++;
        if (a->fail_at &&
            (a->from_then_on ? a->ncall >= a->fail_at : a->ncall == a->fail_at)) {
            a->nfailed++;
            return NULL;
        }
        block = nbytes < SIZE_MAX / 2 ? malloc(sizeof(*block) + nbytes) : NULL;
        if (!block)
            return NULL;
        block->nbytes = nbytes;
        memset(block + 1, 0xa5, nbytes);
        if (old)
            memcpy(block + 1, pointer, old_nbytes < nbytes ? old_nbytes : nbytes);
        a->nblock++;
        a->nbytes += nbytes;
    }
    if (old) {
        a->nblock--;
        a->nbytes -= old_nbytes;
        memset(pointer, 0x5a, old_nbytes);
        free(old);
    }
    return block ? block + 1 : NULL;
}

/* The queues of a target ask from threads of their own: one counts at a time. */
static void *failing_realloc(void *self, void *pointer, size_t old_nbytes, size_t nbytes)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    assert_int_equal(pointer ? ((struct failing_head *)pointer - 1)->nbytes : 0,
                     old_nbytes);
    pthread_mutex_lock(&lock);
    void *block = failing_realloc_alone(self, pointer, old_nbytes, nbytes);
    pthread_mutex_unlock(&lock);
    return block;
}

static inline struct failing_allocator failing_allocator(uint64_t fail_at,
                                                         int from_then_on)
{
    return (struct failing_allocator){ .base = { .realloc = failing_realloc },
                                       .fail_at = fail_at,
                                       .from_then_on = from_then_on };
}

/* The registry of a body: objects of arenas are allocated one by one. NULL: no memory. */
static inline bt_registry *failing_registry(const bt_allocator *allocator)
{
    return bt_registry_create(
        &(bt_registry_options){ .allocator = allocator, .arena_single = 1 });
}

/* 1 for success, 0 for lack of memory; anything else fails the test. */
static inline int ok_or_no_memory(bt_status status)
{
    if (status && status->code != BT_ERR_MEMORY)
        fail_msg("%s", status->message);
    return status == NULL;
}

/* Runs `body` with its n-th allocation failing, for every n, once and from then on. */
static inline void fail_each_allocation(int (*body)(const bt_allocator *))
{
    for (int from_then_on = 0; from_then_on < 2; from_then_on++) {
        for (uint64_t n = 1;; n++) {
            struct failing_allocator a = failing_allocator(n, from_then_on);
            a.base.self = &a;
            int succeeded = body(&a.base);
            if (a.nblock || a.nbytes)
                fail_msg("allocation %llu fails: %zu blocks, %zu bytes are lost",
                         (unsigned long long)n, a.nblock, a.nbytes);
            if (a.nfailed == 0) {
                assert_true(succeeded);
                assert_true(n > 1);
                break;
            }
        }
    }
}

#endif
