/* Functions that call themselves in tail position, globals and closures. */
#ifndef PASSES_LOOPS_H
#define PASSES_LOOPS_H

#include "cfg.h"

/* A parameter of a loop. */
struct loop_param {
    uint32_t is_invariant; /* every iteration passes on what it got */
    uint32_t is_counter;   /* an integer; every iteration adds `step` */
    int64_t step;
};

struct loop {
    const bt_global *global;         /* that is it or in which the closure is */
    const bt_closure_value *closure; /* NULL: the global */
    const bt_func *func;
    const struct cfg_block *first;
    struct loop_param *params; /* one for each parameter */
    /* How often it calls itself at most: where every call from outside begins with the
     * same number, and a comparison in the first block ends it; -1: not known. */
    int64_t ntrip;
    uint32_t counter; /* the parameter that ends it, where ntrip is known */
};

struct loops {
    const struct cfg *cfg;
    bt_vec(struct loop) at;
    bt_map by_func; /* bt_func -> struct loop; after all are found */
};

/* These serve as bt_analysis: *out is a struct loops. */
bt_status loops_compute(bt_ctx *, const bt_module *, bt_arena *, const void **out);
bt_status loops_print(bt_ctx *, const bt_module *, const void *, bt_text *);

#endif
