/*
 * Which way to compute a function is the fastest here: the best few by their estimates are
 * measured (trial.h), on this machine, when it is compiled, and the answer is kept (records.h). A
 * function's results may depend on it, but not on how many threads it was measured by. A record is
 * of a machine (processor, caches, version of Baton), of a function, of the options accuracy,
 * weights, denormals, engine and compiler, and of the ways there are, with their estimates: if one
 * of these differs, it is not found, and the ways are measured again.
 */
#ifndef CPU_TUNE_H
#define CPU_TUNE_H

#include "engine/engine.h"
#include "engine/pool.h"
#include "schedule/choice.h"
#include "schedule/config.h"

struct cpu_tuner; /* who tunes; functions of a process one after the other */

struct cpu_tuner_options {
    const char *path; /* of the records */
    const struct cpu_config *config;
    const struct cpu_engine_request *request;
    struct cpu_pool *pool;
};

/* What it is given must live as long as it. */
bt_status cpu_tuner_create(bt_ctx *, const struct cpu_tuner_options *,
                           struct cpu_tuner **out) BT_MUST_USE;
void cpu_tuner_destroy(struct cpu_tuner *);

/* What a record has chosen for a function, or what is the fastest when it is measured now, which
 * adds a record. *out is NULL where there is nothing to choose, and where dims are open.
 * errors  those of records; of compiling */
bt_status cpu_tune(bt_ctx *, bt_arena *, struct cpu_tuner *, const bt_func *,
                   const struct cpu_choices **out) BT_MUST_USE;

#endif
