/*
 * From a primitive function to a program for the engines: loops whose only leaves are
 * calls of strips, tiles, packing and rows.
 */
#ifndef CPU_SCHEDULE_H
#define CPU_SCHEDULE_H

#include <baton/loops.h>

#include "config.h"

/* The program's inputs are the leaves of the function's parameters in order, its
 * `results` those of the function's result.
 * errors BT_ERR_UNSUPPORTED: operators in plain C, types that strips have not */
bt_status cpu_schedule(bt_ctx *, bt_arena *, const struct cpu_config *,
                       const bt_func *primitive, bt_loops **out) BT_MUST_USE;

#endif
