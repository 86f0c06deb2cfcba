/* Ways to compute that plugins bring (<baton/cpu.h>). */
#ifndef CPU_WAYS_H
#define CPU_WAYS_H

#include <baton/cpu.h>

#include "config.h"

struct cpu_ways {
    uint32_t n;
    const bt_cpu_way **at;
};

/* Those of all plugins, in order of their names, in the arena. One that cannot be used is left
 * out, with a remark, unless it is the one that is wanted (NULL: none is).
 * errors  BT_ERR_NAME: there is none of the wanted name; why it cannot be used */
bt_status cpu_ways_find(bt_ctx *, bt_arena *, const char *wanted,
                        struct cpu_ways *out) BT_MUST_USE;

/* Which way is to change which function's graph. */
struct cpu_way_call {
    const struct cpu_config *config;
    const bt_cpu_way *way;
    const bt_func *func;
    bt_graph *graph;
};
struct cpu_way_made {
    int is_made;           /* 0: it has none for that */
    double ns;             /* its estimate; 0: it states none */
    const uint32_t *order; /* its stages' numbers, each behind those that it reads */
};
/* errors  its own; BT_ERR_PLUGIN: what it made is no graph of the function */
bt_status cpu_way_make(bt_ctx *, bt_arena *, const struct cpu_way_call *,
                       struct cpu_way_made *out) BT_MUST_USE;

#endif
