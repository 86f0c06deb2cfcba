/*
 * Which way to compute a sum of products is the fastest here: the best few by their estimates are
 * compiled and measured, on this machine, when a function is compiled, and the answer is kept
 * (records.h). A function's results may depend on it, but not on how many threads it was
 * measured by: records are of the machine and the function alone.
 */
#ifndef CPU_TUNE_H
#define CPU_TUNE_H

#include "engine/engine.h"
#include "engine/pool.h"
#include "schedule/choice.h"
#include "schedule/config.h"

struct cpu_tuner {
    const char *path; /* of the records */
    const char *machine;
    const struct cpu_config *config;
    const struct cpu_engine_request *request;
    struct cpu_pool *pool;
};

/* What records are of: the processor, what of it is used, and the version of what chooses. NULL:
 * no memory. */
const char *cpu_tune_machine(bt_arena *, enum cpu_isa);

/* The ways that a record has for a function, or that are the fastest when they are measured now,
 * which adds a record. *out has none where there is nothing to choose, and where dims are open.
 * errors  those of records; of compiling */
bt_status cpu_tune(bt_ctx *, bt_arena *, const struct cpu_tuner *, const bt_func *,
                   struct cpu_wanted *out) BT_MUST_USE;

#endif
