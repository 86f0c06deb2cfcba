/* Functions that call themselves in tail position, globals and closures. */
#ifndef PASSES_ANALYSIS_LOOPS_H
#define PASSES_ANALYSIS_LOOPS_H

#include "analysis/cfg.h"

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
    const struct cfg_func *in; /* whose blocks its are */
    const struct cfg_block *first;
    struct loop_param *params; /* one for each parameter */
    uint32_t nback;            /* calls of itself in tail position */
    /* It calls itself only where a counter compares so with a number, in the first block. */
    uint32_t has_end, counter, compare;
    int64_t end;
};

struct loops {
    const struct cfg *cfg;
    bt_vec(struct loop) at;
    bt_map by_func; /* bt_func -> struct loop; after all are found */
};

/* How often it calls itself at most when its counter begins so and never wraps around; -1: not
 * known. */
int64_t loop_trips(const struct loop *, int64_t start);
/* The number that an integer scalar is, also a constant with a name. 0: it is none. */
int loop_integer(const bt_module *, const bt_value *, int64_t *out);

/* These serve as bt_analysis: *out is a struct loops. */
bt_status loops_compute(bt_ctx *, const bt_module *, bt_arena *, const void **out);
bt_status loops_print(bt_ctx *, const bt_module *, const void *, bt_text *);

#endif
