/*
 * A function as basic blocks with arguments. `if` and `match` end a block; what they give
 * is an argument of the block behind them, in tail position the result. A call of itself
 * in tail position is a branch to the first block. A closure's blocks stand behind those
 * of the function that it is in.
 */
#ifndef PASSES_ANALYSIS_CFG_H
#define PASSES_ANALYSIS_CFG_H

#include <baton/pass.h>

enum { CFG_RETURN, CFG_BRANCH, CFG_IF, CFG_MATCH };

struct cfg_edge {
    struct cfg_block *to;
    uint32_t narg;
    const bt_value *const *args; /* of a branch; a clause gives what its pattern binds */
};

struct cfg_block {
    uint32_t index;
    uint32_t nparam;
    const bt_value *const *params; /* also an `if` or a match, of the block behind it */
    uint32_t nbinding;
    const bt_value *const
        *bindings;      /* a call of itself that became a branch is behind them */
    uint32_t end;       /* CFG_... */
    const bt_value *on; /* what is returned; the `if` or match that ends it */
    uint32_t nedge;
    struct cfg_edge *edges;
    /* The last block that every way to it goes through; of a closure's first block that which
     * makes the closure; NULL: the function's first. */
    struct cfg_block *dominator;
    const bt_closure_value *closure; /* whose first block it is; NULL: of none */
};

struct cfg_func {
    const bt_global *global;
    bt_vec(struct cfg_block *) blocks;
};

/* Of the functions, in order of definition. */
struct cfg {
    uint32_t nfunc;
    struct cfg_func *funcs;
};

/* These serve as bt_analysis: *out is a struct cfg. */
bt_status cfg_compute(bt_ctx *, const bt_module *, bt_arena *, const void **out);
bt_status cfg_print(bt_ctx *, const bt_module *, const void *, bt_text *);
bt_status cfg_print_dominance(bt_ctx *, const bt_module *, const void *, bt_text *);

#endif
