/* Closures, and what they use from the functions around them: the free variables. */
#ifndef PASSES_LANGUAGE_CAPTURES_H
#define PASSES_LANGUAGE_CAPTURES_H

#include <baton/pass.h>

struct group;

/* A function that values are bound in: a global's, or a closure's. */
struct function {
    struct group *group; /* NULL: a global's */
    const struct function *outer;
    const bt_func *func;
    const bt_global *global; /* that it stands in */
};

struct member {
    struct function function;
    const bt_closure_value *closure;
    int is_value; /* used as one, where it cannot be made on the spot */
    /* NULL, or the call that is all that it does, of a global: see bt_closure_flat_call. */
    const bt_call *whole;
};

struct group {
    const bt_closure_group *node;
    const struct function *around;
    struct member *members;
    /* From around: in order, and as sets. */
    bt_vec(const bt_value *) values;
    bt_vec(const bt_type *) terms; /* variables, and dims that only a run shows */
    bt_map has_value, has_term;
    bt_vec(struct group *) uses; /* those called or made inside */
    bt_map has_use;
};

struct captures {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    uint32_t depth;
    bt_map owners;  /* values, variables, opaque dims -> struct function */
    bt_map members; /* closures -> struct member */
    bt_vec(struct group *) groups;
};

/* Of all functions of a module that are not primitive. */
bt_status captures_read(struct captures *, bt_ctx *, bt_arena *,
                        const bt_module *) BT_MUST_USE;
/* NULL: not a closure. */
struct member *captures_member(const struct captures *, const bt_value *);

#endif
