/* Running a plan's phase, with no memory of its own and none that is executable. */
#ifndef CPU_PLAN_RUN_H
#define CPU_PLAN_RUN_H

#include "plan.h"

/* What a phase runs on: a thread's own. */
struct plan_frame {
    void *const *buffers; /* of the launch */
    const int64_t *dims;  /* the same */
    void *locals;
    int64_t *n;
    void **p;
    const struct cpu_callee *const *callees;
    int64_t first, end; /* turns of a parallel phase */
};

/* Of a plan that plan_check has passed. Gives 0, or the number of the check that failed,
 * from 1. */
int32_t plan_run(const struct plan *, const struct plan_phase *,
                 const struct plan_frame *);

#endif
