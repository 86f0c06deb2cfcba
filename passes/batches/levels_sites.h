/* Where functions are applied to lists of data. */
#ifndef PASSES_BATCHES_LEVELS_SITES_H
#define PASSES_BATCHES_LEVELS_SITES_H

#include "batches/levels.h"

/* A call of vmap with data for each example. */
struct levels_site {
    struct levels *levels;
    const bt_value **args;           /* of the function, old values */
    const bt_type *const *type_args; /* NULL: the function has no dims */
};

/* All of a module. */
struct levels_sites {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    bt_vec(struct levels *) all;
    bt_map calls;              /* calls of vmap -> struct levels_site */
    bt_map callers;            /* functions that have such calls */
    bt_map taken, taken_ctors; /* names */
};

/* errors  BT_ERR_UNSUPPORTED: a function that cannot be computed by levels, at its place */
bt_status levels_find_sites(bt_ctx *, bt_arena *, const bt_module *,
                            struct levels_sites *out) BT_MUST_USE;

#endif
