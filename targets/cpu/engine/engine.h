/* Machine code for plans, by a compiler of C; or the reason why there is none. */
#ifndef CPU_ENGINE_H
#define CPU_ENGINE_H

#include <baton/base.h>

#include "plan.h"

struct cpu_engine_request {
    const char *engine;   /* "plan", "tcc", "cc", or "auto": tcc, else plan */
    const char *compiler; /* options of the compiler; "": none */
};

/* Compiles the plans of kernels, NULL for a kernel without. *object stays empty where the
 * engine is the plan; *made says what it is, and why. Both are in the arena.
 * errors  those of bt_c_compile, unless the engine is "auto" */
bt_status cpu_engine_compile(bt_ctx *, bt_arena *, const struct cpu_engine_request *,
                             uint32_t nkernel, const struct plan *const *plans,
                             bt_text *object, const char **made) BT_MUST_USE;

#endif
