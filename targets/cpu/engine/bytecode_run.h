/* Running bytecode's phase, with no memory of its own and none that is executable. */
#ifndef CPU_BYTECODE_RUN_H
#define CPU_BYTECODE_RUN_H

#include "bytecode.h"

/* What a phase runs on: a thread's own. */
struct bytecode_frame {
    void *const *buffers; /* of the launch */
    const int64_t *dims;  /* the same */
    void *locals;
    int64_t *n;
    void **p;
    const struct cpu_callee *const *callees;
    int64_t first, end;   /* iterations of a parallel phase */
    const uint32_t *stop; /* bt_kernel_call.stop, where each loop looks */
};

/* Of bytecode that bytecode_check has passed. Gives 0, the number of the check that failed,
 * from 1, or BT_FAULT_STOPPED. */
int32_t bytecode_run(const struct bytecode *, const struct bytecode_phase *,
                     const struct bytecode_frame *);

#endif
