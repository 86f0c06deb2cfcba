/*
 * Groups of bindings become primitive functions: functions with the attribute primitive,
 * which an executor or target computes as a whole. Equal functions are one.
 */
#ifndef PASSES_FUSION_PRIMITIVES_H
#define PASSES_FUSION_PRIMITIVES_H

#include <baton/pass.h>

/* Bindings of a block; of their values the results leave the group. */
struct primitive_group {
    const char *prefix; /* of the function's name, before its operators */
    const char *target; /* its attribute; NULL: none */
    uint32_t nmember;
    const bt_value *const *members; /* in order of the block */
    uint32_t nresult;               /* 0: the last member is the result */
    const bt_value *const *results; /* else two or more, likewise in order: calls */
    /* Operands that are parameters in any case, the first; of others, scalars stay
     * inside. */
    uint32_t nparam;
    const bt_value *const *params;
    const bt_map
        *products; /* operand -> how many sums of products of the block read it */
};

/* A group's function, and what it is called with. */
struct primitive {
    const bt_func *func; /* without a name */
    const char *base;    /* what its name begins with */
    uint32_t narg;
    const bt_value *const *args;
    uint32_t ndim; /* dims of the function around, as its type arguments */
    const bt_type *const *dims;
};

struct primitives {
    bt_ctx *ctx;
    bt_arena *arena;
    bt_store *store;
    const bt_module *old;
    const bt_effects *effects;
    uint32_t takes_dims;  /* 1: dims of the function at hand may be those of primitives */
    uint32_t takes_found; /* 1: dims that are found at run time too */
    bt_module_builder *module;
    bt_map outside;                 /* bindings that no primitive may have */
    bt_map members;                 /* binding -> what becomes of it */
    bt_map names;                   /* taken, as text */
    struct known_primitive **known; /* by hash */
};

/* What passes have as an option, for executors that find dims out as they run. */
#define PRIMITIVES_FOUND_DIMS_DOC \
    "dims found at run time may be dims of primitive functions, once operands show them"

/* Finds the groups of every block that is in no primitive function, by `group`, which
 * adds them; then puts calls in their places. The pass needs the analysis effects. */
bt_status primitives_run(bt_ctx *, bt_pass_call *,
                         bt_status (*group)(void *state, struct primitives *,
                                            const bt_block *),
                         void *state, uint32_t takes_found, bt_module **out);

/* Whether a binding can be part of one: a call of an operator, a tuple or a projection,
 * of tensors whose dims are numbers, those of the function or found before, that reads,
 * writes and draws nothing. */
int primitives_can_have(const struct primitives *, const bt_value *);
/* The function of a group (primitives_build.c). */
bt_status primitives_build(struct primitives *, const struct primitive_group *,
                           struct primitive *out);
bt_status primitives_add(struct primitives *, const struct primitive_group *,
                         const struct primitive *);

#endif
