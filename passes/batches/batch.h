/*
 * Functions of one example that become functions of a batch.
 *
 *     %y = tanh(%x)            of x[3]        %y = tanh(%x)           of x[n, 3]
 *     %z = nn.dense(%y, %w)                   each call with one more index
 *
 * Which values differ by example is found first (batch_marks.c): a mask of each, with a 1 for
 * each of its tensors that has the examples as axis 0. Then the function is copied with them
 * (batch_body.c).
 */
#ifndef PASSES_BATCHES_BATCH_H
#define PASSES_BATCHES_BATCH_H

#include "common/copy.h"
#include "common/derivative_attrs.h"

/* A version of a global for a batch. */
struct batch_func {
    const bt_global *of; /* a function, or a gradient declaration */
    const uint8_t *mask; /* of the tensors of its parameters, one after another */
    const struct batch_func
        *base; /* of a gradient: the version of what it is the gradient of */
    struct batch_func *rules[DERIVATIVE_NRULE]; /* of what attributes vjp and jvp name */
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
    bt_vec(struct batch_func *) all;
    bt_vec(struct batch_func *) refused; /* neither for a batch nor one by one */
    bt_map taken; /* names */
};

/* A function under construction. */
struct batch {
    struct copy *copy;
    struct vmap *vmap;
    const bt_type *size; /* how many examples; NULL: the function is one of none */
    bt_map masks;        /* old values that differ by example -> uint8_t of each leaf */
    bt_map closures;     /* those that hold such values, which nothing uses */
    uint32_t alone;      /* > 0: one example at a time */
    uint32_t is_site;    /* a closure that only calls a global, which is looked at itself */
};

/* ---- masks (batch_marks.c) ---- */

void batch_init(struct batch *, struct vmap *, struct copy *);
/* NULL: the value is the same for all examples. */
const uint8_t *batch_mask(const struct batch *, const bt_value *old);
/* A mask of all tensors of a type. */
bt_status batch_full(struct vmap *, const bt_type *, uint8_t **out) BT_MUST_USE;
/* Whether it is a tensor, or a tuple of them. */
int batch_is_tensors(const bt_type *);
/* Masks of parameters, from one after another of all leaves. */
bt_status batch_mark_params(struct batch *, const bt_block *,
                            const uint8_t *) BT_MUST_USE;
/* A value as errors name it. */
const char *batch_shown(struct vmap *, const bt_value *);
/* Finds those of what a block binds, and asks for the functions that it calls. */
bt_status batch_mark(struct batch *, const bt_block *) BT_MUST_USE;
/* Whether both sides of a branch may be computed for all examples. */
int batch_can_select(const struct batch *, const bt_if *);

/* ---- versions of globals (batch_want.c, batch_funcs.c) ---- */

/* What attribute vjp or jvp of a version names; NULL: it has none. */
const char *batch_rule(const struct batch_func *, const char *name);
/* The version for a mask of the arguments; made if there is none. */
bt_status batch_want(struct vmap *, const bt_global *, const uint8_t *mask,
                     struct batch_func **out) BT_MUST_USE;
/* Whether it, or what it is the gradient of, gives something that is in no batch. */
int batch_is_refused(const struct vmap *, const struct batch_func *);
/* Finds what those that there are call. */
bt_status batch_close(struct vmap *) BT_MUST_USE;
bt_status batch_declare(struct vmap *, bt_module_builder *) BT_MUST_USE;
bt_status batch_define(struct vmap *, bt_module_builder *) BT_MUST_USE;

/* ---- code (batch_body.c) ---- */

/* The type of a value of a batch from that of an example. */
bt_status batch_type(struct vmap *, const bt_type *, const bt_type *size,
                     const uint8_t *mask, const bt_type **out) BT_MUST_USE;
/* A value whose mask is `have` (NULL: none) as one whose mask is `want`. */
bt_status batch_widen(struct batch *, const bt_value *, const uint8_t *have,
                      const uint8_t *want, const bt_value **out) BT_MUST_USE;
/* The copy of a binding that differs by example, or has blocks. */
bt_status batch_binding(struct copy *, const bt_value *old, int *done) BT_MUST_USE;
/* A call of a version. masks: of each argument, NULL: none. */
bt_status batch_call(struct batch *, const struct batch_func *, uint32_t narg,
                     const bt_value *const *args, const uint8_t *const *masks,
                     uint32_t ntype_arg, const bt_type *const *type_args,
                     const bt_value **out) BT_MUST_USE;
/* A call of an operator for all examples; *out NULL: it has no formula that is known. */
bt_status batch_op(struct batch *, const bt_call *old, const bt_value **out) BT_MUST_USE;
/* A binding for one example after another. */
bt_status batch_each(struct batch *, const bt_value *old,
                     const bt_value **out) BT_MUST_USE;

#endif
