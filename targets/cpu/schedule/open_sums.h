/* Sums of floats where dims are known at the call only. */
#ifndef CPU_OPEN_SUMS_H
#define CPU_OPEN_SUMS_H

#include <baton/graph.h>

#include "config.h"

/* Whether a stage has a sum of products of floats, or another one whose order numbers decide. */
bt_status cpu_has_products(bt_arena *, bt_graph *, const bt_array *stage,
                           int *out) BT_MUST_USE;
/* A schedule chooses the order of terms by extents. Without their numbers it could not always choose
 * the one that it would choose with them.
 * errors  BT_ERR_UNSUPPORTED: it could not, of a sum of the graph */
bt_status cpu_check_open_sums(bt_ctx *, bt_arena *, const struct cpu_config *,
                              const char *name, bt_graph *) BT_MUST_USE;

#endif
