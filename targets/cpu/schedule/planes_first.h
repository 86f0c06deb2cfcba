/* The two nests that are the adjoint of maxima over planes (planes_first.c), and what becomes of them. */
#ifndef CPU_PLANES_FIRST_NEST_H
#define CPU_PLANES_FIRST_NEST_H

#include "config.h"
#include "window_nest.h"

/* An axis of planes: of the result, and of what is given back. */
struct cpu_first_axis {
    const bt_stmt *place, *tap; /* loops; tap NULL: a place is in one window at most */
    int64_t side, step, before, size, windows;
    uint64_t own;      /* bits of its indices */
    bt_nodes inside;   /* conditions about these alone */
    int64_t at[2];     /* a place and a tap of a window */
    int64_t window, r; /* which that is, and where in it */
};

struct cpu_first {
    struct cpu_window_nest nest; /* of positions */
    const bt_node *x, *y;        /* reads */
    struct cpu_first_axis axes[2];
    uint32_t nloop; /* around the places, those of the axes last */
    bt_stmt *all[CPU_NEST_LOOPS];
    const bt_stmt *store;
    const bt_node *d, *at; /* reads of one window */
    const bt_node *number; /* that of the place in it; `sign` times this */
    int64_t sign;
    uint64_t depends;   /* indices that it depends on */
    const bt_node *sum; /* the node of the store's value that is what came together */
};

/* The store's value with something else in place of what came together. NULL: failure. */
const bt_node *cpu_first_with(const struct cpu_first *, const bt_node *sum);
/* Puts calls in the place of the nests, number `which` and the next one (planes_first_emit.c). 0: failure. */
int cpu_first_replace(const struct cpu_first *, uint32_t which,
                      const struct cpu_config *);

#endif
