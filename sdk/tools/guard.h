/*
 * Memory in which errors show. What is asked for while the guard is on ends where a
 * page begins that must not be accessed, and blocks that are not freed are counted. What
 * lies beside it is not what programs write, and differs from one time on to the next but
 * one.
 */
#ifndef GUARD_H
#define GUARD_H

#include <baton/value.h>

struct guard;
struct guard *guard_create(void); /* NULL: no memory */
void guard_destroy(struct guard *);
/* For a registry; guarded by a lock. */
const bt_allocator *guard_allocator(struct guard *);
void guard_set(struct guard *, int is_on);
/* The n-th block that is asked for from now on is refused; 0: none is. Returns whether one was
 * since the last call. */
int guard_fail(struct guard *, uint32_t n);
/* Whether a block was given back with another size than it was asked for with; and which, once. */
int guard_misfit(struct guard *, size_t *given, size_t *asked);
/* Blocks that were asked for while it was on, and are still in use. */
uint32_t guard_nblock(struct guard *);
/* "before", "behind": where bytes beside a tensor's elements are no longer as they were;
 * NULL: nowhere, or it is not the guard's. */
const char *guard_damage(struct guard *, const bt_tensor *);

#endif
