/* From a vectorised program to a plan. */
#ifndef CPU_PLAN_BUILD_H
#define CPU_PLAN_BUILD_H

#include <baton/loops.h>

#include "plan.h"

/* A part of a program: some of its top-level statements. */
struct plan_source {
    const bt_loops *loops;
    uint32_t n;             /* statements, ... */
    bt_stmt *const *stmts;  /* ... those of loops->body that are of this kernel */
    const char *name;       /* of the kernel */
    enum cpu_isa isa;       /* in which callees are looked up */
    uint32_t nbuffer;       /* of a launch */
    const uint32_t *places; /* of each buffer of the loops that is no local: which of the
                               launch's it is */
};

/* The plan lives in the arena.
 * errors BT_ERR_UNSUPPORTED: statements, expressions or callees that a vectorised program
 * does not have; BT_ERR_LIMIT */
bt_status plan_build(bt_ctx *, bt_arena *, const struct plan_source *,
                     const struct plan **out) BT_MUST_USE;

#endif
