/*
 * Adjoints through what has paths of its own: branches, matches, calls of functions.
 *
 *     %r = if (%c) { F1 } else { F2 }
 *  -> %0 = if (%c) { F1; (%r1, Path1(%a, %b)) } else { F2; (%r2, Path2(%d)) }     forward
 *     match (%0.1) { Path1(%a, %b) => { B1; (%dx, %dw) }, Path2(%d) => { .. } }   backward
 *
 * What runs backward on a path reads some values of the way forward: they are kept on a tape, a
 * data type that has a constructor for each path. Of a function it is two new ones,
 *
 *     @f.forward(args) -> (result, tape);  @f.backward(tape, seeds) -> adjoints
 *
 * so that the tape of a function which calls itself is a tree, or a list. A parameter that such
 * a function passes on unchanged has one sum, which all of its calls add to: what there is of it
 * is an argument of @f.backward, behind the seeds, and what it becomes is its adjoint there.
 * @f.backward has a type parameter, behind those of @f, for each dim of a seed that only the run
 * knows: it calls itself for others.
 */
#ifndef PASSES_GRADIENTS_ADJOINT_PATHS_H
#define PASSES_GRADIENTS_ADJOINT_PATHS_H

#include "gradients/differentiation.h"

/* A function of the module, and which of its parameters have adjoints. */
struct adjoint_pair {
    const bt_func *primal;
    const uint8_t *wants;
    const char *forward, *backward; /* names of the globals */
    const bt_type *forward_type, *backward_type;
    bt_adt_def *tape;
    uint32_t nseed; /* float leaves of the result */
    int is_again;   /* a call keeps its arguments alone: the way back runs `forward` */
    uint8_t *sums; /* of each parameter: whether its tensors are added to what is given */
};

/* *out: the pair for a call, NULL: it calls something else, or passes on nothing. */
bt_status adjoint_pair_of(const struct adjoint *, const bt_value *old,
                          struct adjoint_pair **out) BT_MUST_USE;
/* Adds what the calls of a function need, whose values have been marked. */
bt_status adjoint_pairs_find(struct adjoint *, const bt_block *) BT_MUST_USE;
/* Marks their functions too, and adds what these call. */
bt_status adjoint_pairs_close(struct differentiation *) BT_MUST_USE;
/* Which parameters have one sum (adjoint_sums.c). */
bt_status adjoint_pairs_sum(struct differentiation *) BT_MUST_USE;
/* Whether a leaf of a parameter is a tensor that has one. */
int adjoint_sums(const struct adjoint_pair *, uint32_t param, uint32_t leaf);
/* Marks what depends on the wanted parameters. */
bt_status adjoint_pair_mark(struct adjoint *, const struct adjoint_pair *) BT_MUST_USE;
/* Types and names, declared; then their functions. */
bt_status adjoint_pairs_declare(struct differentiation *) BT_MUST_USE;
bt_status adjoint_pairs_define(struct differentiation *) BT_MUST_USE;

/* ---- declarations (adjoint_declaration.c) ---- */

bt_status adjoint_declaration_find(struct differentiation *,
                                   const bt_global *) BT_MUST_USE;
bt_status adjoint_declaration_define(struct differentiation *,
                                     const bt_global *) BT_MUST_USE;

/* ---- paths ---- */

/* The copy of a binding with paths that something depends on; *done where it is one. */
bt_status adjoint_forward(struct copy *, const bt_value *old, int *done) BT_MUST_USE;
/* Its reverse. */
bt_status adjoint_backward(struct adjoint *, const bt_value *old) BT_MUST_USE;

#endif
