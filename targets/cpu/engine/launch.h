/* Loaded kernels, and launching them. */
#ifndef CPU_LAUNCH_H
#define CPU_LAUNCH_H

#include <baton/base.h>
#include <baton/target.h>

#include "pool.h"
#include "primitives/isa.h"

/* The registry's memory, as a pool takes it. */
bt_allocator cpu_allocator(bt_registry *);

/* Whether code for the instruction set can run here, as far as BATON_CPU lets it.
 * errors BT_ERR_UNSUPPORTED */
bt_status cpu_machine_check(bt_ctx *, enum cpu_isa) BT_MUST_USE;

struct cpu_loaded;

/* Code made ready. Pool and code stay the caller's, who keeps them for as long. Kernels take
 * denormals for zeros and give none, unless keeps_denormals (x86-64 only).
 * errors BT_ERR_FORMAT: damaged; BT_ERR_UNSUPPORTED: for another machine */
bt_status cpu_loaded_create(bt_ctx *, struct cpu_pool *pool, int keeps_denormals,
                            uint32_t n, const bt_kernel_code *const *,
                            struct cpu_loaded **out) BT_MUST_USE;
void cpu_loaded_destroy(struct cpu_loaded *); /* accepts NULL */
/* As bt_target.launch. */
bt_status cpu_loaded_launch(bt_ctx *, struct cpu_loaded *, uint32_t kernel,
                            const bt_kernel_call *) BT_MUST_USE;
/* How it runs, for people: engine, instruction set, threads, and the kernels that only the
 * evaluator can do, with the reasons. */
void cpu_loaded_describe(const struct cpu_loaded *, bt_text *out);

#endif
