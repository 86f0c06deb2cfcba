/* Several programs of one function as one, which chooses by dims of the call. */
#ifndef CPU_BRANCH_H
#define CPU_BRANCH_H

#include <baton/loops.h>

#include "config.h"

/* A program for dims of which some are known. */
struct cpu_version {
    const int64_t *dims; /* of each dim of the graph, -1: any */
    const bt_loops *loops;
};

/* Where the dims are those of a version, the loops do what it does, else what they did; no two
 * versions are for the same dims. The inputs and results of all are the same. A version of which
 * statements cannot be moved is left out. */
bt_status cpu_branch(bt_loops *, const struct cpu_config *, uint32_t ndim,
                     uint32_t nversion, const struct cpu_version *) BT_MUST_USE;

#endif
