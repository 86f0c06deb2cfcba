/*
 * Adjoint code of a function: what `differentiate` makes of its bindings.
 *
 *     %y = tanh(%x);  %z = multiply(%y, %w)           the primal, copied
 *     %dy, %dw of %z;  %dx of %y                       behind it, in reverse
 *
 * Adjoints are kept by value of the primal, one for each leaf: a tensor of it, where a tuple
 * has those of its fields, depth first. One that is not there is zero.
 */
#ifndef PASSES_GRADIENTS_ADJOINT_H
#define PASSES_GRADIENTS_ADJOINT_H

#include "common/copy.h"
#include "common/leaves.h"

struct differentiation; /* differentiation.h */
struct adjoint_pair;    /* adjoint_paths.h */
struct adjoint {
    struct copy copy;    /* the primal into the function at hand */
    const bt_func *func; /* of the primal */
    bt_map active;       /* values of the primal that depend on what it is derived by */
    bt_map leaves;       /* those that have adjoints -> one for each leaf */
    bt_map tapes;        /* those with paths -> what they kept */
    bt_map births;       /* dims of it that only the run knows -> who has them first */
    struct differentiation *diff;
    const struct adjoint_pair *pair; /* that is made; NULL: what a declaration asks for */
};
bt_status adjoint_init(struct adjoint *, struct differentiation *,
                       const bt_func *) BT_MUST_USE;
void adjoint_deinit(struct adjoint *);

/* Whether values of a type have adjoints: there may be floats in them (adjoint_has.c). */
int adjoint_has(const struct differentiation *, const bt_type *);
/* Looks for floats in data types, before that is asked of their values. */
bt_status adjoint_find_floats(struct differentiation *, uint32_t n,
                              const bt_adt_def *const *) BT_MUST_USE;
/* A leaf of a type. */
const bt_type *adjoint_leaf(const bt_type *, uint32_t leaf);
/* Whether a declaration derives by a parameter of its function. */
int adjoint_is_wanted(const struct differentiation *, const bt_global *,
                      const bt_func *primal, uint32_t param);
/* Marks values of a block that depend on marked ones. */
bt_status adjoint_mark(struct adjoint *, const bt_block *) BT_MUST_USE;
int adjoint_is_active(const struct adjoint *, const bt_value *old);

/* A value of the primal as the function at hand has it. */
const bt_value *adjoint_now(const struct adjoint *, const bt_value *old);

/* Adds to the adjoint of a leaf of a value; NULL: nothing. */
bt_status adjoint_add(struct adjoint *, const bt_value *old, uint32_t leaf,
                      const bt_value *adjoint) BT_MUST_USE;
/* Puts it in the place of what there is. */
bt_status adjoint_set(struct adjoint *, const bt_value *old, uint32_t leaf,
                      const bt_value *adjoint) BT_MUST_USE;
/* The adjoints of a value's leaves; NULL: all are zero. */
const bt_value *const *adjoint_of(const struct adjoint *, const bt_value *old);
/* That of one leaf; NULL: it is zero. */
const bt_value *adjoint_of_leaf(const struct adjoint *, const bt_value *old,
                                uint32_t leaf);
/* The leaves of a value of the function at hand. */
typedef leaf_values adjoint_values;
bt_status adjoint_split(struct adjoint *, const bt_value *now,
                        adjoint_values *out) BT_MUST_USE;
/* A value of the type of `like` of adjoints of its leaves: those that are not there are zeros,
 * those of no float are what `like` has. */
bt_status adjoint_join(struct adjoint *, const bt_value *like,
                       const bt_value *const *leaves, const bt_value **out) BT_MUST_USE;

/* From the adjoints of a block's values to those of what it uses. The block has been copied. */
bt_status adjoint_reverse(struct adjoint *, const bt_block *) BT_MUST_USE;

#endif
