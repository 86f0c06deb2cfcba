/*
 * From a primitive function to a program for the engines: loops whose only leaves are
 * calls of strips, tiles, packing and rows.
 */
#ifndef CPU_SCHEDULE_H
#define CPU_SCHEDULE_H

#include <baton/loops.h>

#include "config.h"
#include "keep.h"

/* The program's inputs are the leaves of the function's parameters in order, its
 * `results` those of the function's result. `kept` gets the inputs that it updates in place;
 * NULL: none is.
 * errors BT_ERR_UNSUPPORTED: operators in plain C, types that strips have not */
bt_status cpu_schedule(bt_ctx *, bt_arena *, const struct cpu_config *,
                       const bt_func *primitive, cpu_kept_list *kept,
                       bt_loops **out) BT_MUST_USE;

/* Its parts, for tests of one of them. A graph as loops, with the accumulators that strips are made
 * for, and without tiles. */
bt_status cpu_lower(bt_ctx *, bt_arena *, const char *name, bt_graph *,
                    bt_loops **out) BT_MUST_USE;
/* Scalar loops, in which calls may be already, as a program for the engines: the candidate of which
 * stages are not put together, nor loops cut. */
bt_status cpu_schedule_loops(bt_loops *, const struct cpu_config *) BT_MUST_USE;

#endif
