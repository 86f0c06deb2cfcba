/* Several programs of one function as one, which chooses by dims of the call. */
#ifndef CPU_BRANCH_H
#define CPU_BRANCH_H

#include <baton/loops.h>

#include "config.h"

/* A program for some of the values that dims have. */
struct cpu_version {
    const bt_type_param *dims; /* of each type parameter of the function */
    const bt_loops *loops;
};

/* Where the dims are those of a version, of the first such one, the loops of the function do
 * what it does, else what they did. The inputs and results of all are the same. A version of
 * which statements cannot be moved is left out. */
bt_status cpu_branch(bt_loops *, const struct cpu_config *, const bt_func *,
                     uint32_t nversion, const struct cpu_version *) BT_MUST_USE;

#endif
