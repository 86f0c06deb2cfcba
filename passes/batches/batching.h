/*
 * Functions of one example that become functions of a batch.
 *
 *     %y = tanh(%x)            of x[3]        %y = tanh(%x)           of x[n, 3]
 *     %z = nn.dense(%y, %w)                   each call with one more index
 *
 * Which values differ by example is found first (batching_marks.c): a mask of each, with a 1 for
 * each of its tensors that has the examples as axis 0. Then the function is copied with them
 * (batching_body.c).
 */
#ifndef PASSES_BATCHES_BATCHING_H
#define PASSES_BATCHES_BATCHING_H

#include "common/copy.h"
#include "common/derivative_attrs.h"

/* A version of a global for a batch. */
struct batching_func {
    const bt_global
        *of; /* a function, or a gradient declaration; of an external function one
                            that calls it */
    const uint8_t *mask; /* of the tensors of its parameters, one after another */
    const struct batching_func
        *base; /* of a gradient: the version of what it is the gradient of */
    struct batching_func
        *rules[DERIVATIVE_NRULE]; /* of what attributes vjp and jvp name */
    const char *name;
    const bt_type *type;
    uint32_t
        is_each; /* it has no form for a batch: it calls `of` for one example after another */
};

struct vmap {
    bt_ctx *ctx;
    bt_arena *arena;
    const bt_module *module;
    const bt_effects *effects;
    const bt_module *declared; /* the version that has those of the functions below */
    bt_vec(struct batching_func *) all;
    bt_vec(struct batching_func *) refused; /* neither for a batch nor one by one */
    bt_map taken;                           /* names */
    bt_map external; /* external functions -> what stands for them in `of` */
};

/* A function under construction. */
struct batching {
    struct copy *copy;
    struct vmap *vmap;
    const bt_type *size; /* how many examples; NULL: the function is one of none */
    bt_map masks;        /* old values that differ by example -> uint8_t of each leaf */
    bt_map closures;     /* those that hold such values, which nothing of a batch uses */
    uint32_t alone;      /* > 0: one example at a time */
    uint32_t is_site; /* a closure that only calls a global, which is looked at itself */
};

/* ---- masks (batching_marks.c) ---- */

void batching_init(struct batching *, struct vmap *, struct copy *);
/* NULL: the value is the same for all examples. */
const uint8_t *batching_mask(const struct batching *, const bt_value *old);
/* A mask of all tensors of a type. */
bt_status batching_full(struct vmap *, const bt_type *, uint8_t **out) BT_MUST_USE;
/* Whether it is a tensor, or a tuple of them. */
int batching_is_tensors(const bt_type *);
/* The type of a value of a batch from that of an example. */
bt_status batching_type(struct vmap *, const bt_type *, const bt_type *size,
                        const uint8_t *mask, const bt_type **out) BT_MUST_USE;
/* Masks of parameters, from one after another of all leaves. */
bt_status batching_mark_params(struct batching *, const bt_block *,
                               const uint8_t *) BT_MUST_USE;
/* A value as errors name it. */
const char *batching_shown(struct vmap *, const bt_value *);
/* Finds those of what a block binds, and asks for the functions that it calls. */
bt_status batching_mark(struct batching *, const bt_block *) BT_MUST_USE;
/* Whether both sides of a branch may be computed for all examples. */
int batching_can_select(const struct batching *, const bt_if *);

/* ---- versions of globals (batching_want.c, batching_funcs.c) ---- */

/* What attribute vjp or jvp of a version names; NULL: it has none. */
const char *batching_rule(const struct batching_func *, const char *name);
/* The version for a mask of the arguments; made if there is none. */
bt_status batching_want(struct vmap *, const bt_global *, const uint8_t *mask,
                        struct batching_func **out) BT_MUST_USE;
/* Whether it, or what it is the gradient of, gives something that is in no batch. */
int batching_is_refused(const struct vmap *, const struct batching_func *);
/* Finds what those that there are call. */
bt_status batching_close(struct vmap *) BT_MUST_USE;
bt_status batching_declare(struct vmap *, bt_module_builder *) BT_MUST_USE;
bt_status batching_define(struct vmap *, bt_module_builder *) BT_MUST_USE;

/* ---- calls of operator `vmap` (batching_call.c) ---- */

/* Asks for the versions of globals that a call needs, of a global or of a closure. */
bt_status batching_want_call(struct vmap *, const bt_call *) BT_MUST_USE;
/* What stands for a call, into the block at hand. */
bt_status batching_put_call(struct vmap *, struct copy *, const bt_call *) BT_MUST_USE;

/* ---- code (batching_body.c) ---- */

/* A value whose mask is `have` (NULL: none) as one whose mask is `want`. */
bt_status batching_widen(struct batching *, const bt_value *, const uint8_t *have,
                         const uint8_t *want, const bt_value **out) BT_MUST_USE;
/* The same of what is `old` for an example, with all of it for each of them. */
bt_status batching_widen_full(struct batching *, const bt_value *old, const bt_value *now,
                              const bt_value **out) BT_MUST_USE;
/* A branch by a condition that differs, of which both sides are computed. */
bt_status batching_select(struct batching *, const bt_if *,
                          const bt_value **out) BT_MUST_USE;
/* The copy of a binding that differs by example, or has blocks. */
bt_status batching_binding(struct copy *, const bt_value *old, int *done) BT_MUST_USE;
/* A call of a version. masks: of each argument, NULL: none. */
bt_status batching_call(struct batching *, const struct batching_func *, uint32_t narg,
                        const bt_value *const *args, const uint8_t *const *masks,
                        uint32_t ntype_arg, const bt_type *const *type_args,
                        const bt_value **out) BT_MUST_USE;
/* A call of an operator for all examples; *out NULL: it has no formula that is known. */
bt_status batching_op(struct batching *, const bt_call *old,
                      const bt_value **out) BT_MUST_USE;
/* A binding for one example after another. */
bt_status batching_each(struct batching *, const bt_value *old,
                        const bt_value **out) BT_MUST_USE;

#endif
