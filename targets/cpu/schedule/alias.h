/* Whether a program may compute an output in the bytes of an input. */
#ifndef CPU_ALIAS_H
#define CPU_ALIAS_H

#include <baton/loops.h>

#include "config.h"

struct cpu_alias_question {
    const bt_loops *loops; /* vectorised */
    uint32_t n;            /* statements, ... */
    bt_stmt *const *stmts; /* ... those of loops->body that are of the kernel */
    const struct cpu_config *config;
    uint32_t out, in; /* buffers of as many elements, as wide */
};

/* 1: whichever iterations run at once, each element of `in` has been read for the last time
 * when that of `out` is written. 0: not so, or it is not seen. -1: no memory. */
int cpu_may_alias(const struct cpu_alias_question *);

#endif
