/* How long a function takes in some way: it is compiled and run, on this machine, now. */
#ifndef CPU_TRIAL_H
#define CPU_TRIAL_H

#include <baton/loops.h>

#include "engine/engine.h"
#include "engine/pool.h"
#include "schedule/choice.h"
#include "schedule/config.h"

struct cpu_trial {
    const struct cpu_config *config;
    const struct cpu_engine_request *request;
    struct cpu_pool *pool;
    const bt_func *func;
    const bt_loops *loops; /* of it in any way: its inputs and results, of known sizes */
};

/* Made as the choices that are taken say. */
bt_status cpu_trial_run(bt_ctx *, const struct cpu_trial *, const struct cpu_choices *,
                        double *ns) BT_MUST_USE;

#endif
