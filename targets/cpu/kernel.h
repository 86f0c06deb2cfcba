/*
 * What a primitive function becomes, and how it is launched.
 *
 *     lower     function -> program -> kernels of bytecode, or one by the evaluator
 *     compile   bytecode -> bytes (code.h), with machine code where an engine makes it
 *     load      bytes -> functions to call
 *
 * A kernel's buffers are those it reads and those it writes. A thread has registers and
 * locals: the caller's are the workspace of the launch, a worker's are reserved at load.
 */
#ifndef CPU_KERNEL_H
#define CPU_KERNEL_H

#include <baton/target.h>

#include "engine/engine.h"
#include "schedule/config.h"

/* bt_kernel's content. */
struct cpu_kernel {
    const struct bytecode *bytecode; /* NULL: the evaluator does it */
    const char *why;                 /* ... as nothing else can: the reason */
};

/* What compiling makes code of, for each kernel. */
bt_status cpu_kernel_works(bt_arena *, uint32_t n, const bt_kernel *const *,
                           struct cpu_work **out) BT_MUST_USE;
bt_status cpu_kernel_lower(bt_ctx *, bt_arena *, const struct cpu_config *,
                           const bt_func *primitive, bt_lowering *out) BT_MUST_USE;

#endif
