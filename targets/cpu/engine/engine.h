/* Code for kernels: machine code by a compiler of C, or the reason why there is none. */
#ifndef CPU_ENGINE_H
#define CPU_ENGINE_H

#include <baton/compiler.h>
#include <baton/target.h>

#include "plan.h"

struct cpu_engine_request {
    const char *engine;   /* "plan", "tcc", "cc", or "auto": tcc, else plan */
    const char *compiler; /* options of the compiler; "": none */
    enum cpu_isa isa;     /* whose primitives are called */
};

/* What a kernel does. */
struct cpu_work {
    const struct plan *plan; /* NULL: the evaluator does it, ... */
    const char *why;         /* ... as nothing else can: the reason */
    /* That the evaluator runs, or asks where the plan has a fault; NULL: it is not asked. */
    const bt_func *function;
};

/* The code of kernels, in the arena; `form` as of bt_target.compile.
 * errors  those of bt_c_compile, unless the engine is "auto" */
bt_status cpu_engine_compile(bt_ctx *, bt_arena *, const struct cpu_engine_request *,
                             uint32_t form, uint32_t n, const struct cpu_work *,
                             bt_kernel_code *const *out) BT_MUST_USE;

/* What machine code of plans uses from outside, ended by a zero name. Primitives that there
 * are not are left out. NULL: no memory. */
const bt_symbol *cpu_engine_symbols(bt_arena *, enum cpu_isa, uint32_t n,
                                    const struct plan *const *plans);

#endif
