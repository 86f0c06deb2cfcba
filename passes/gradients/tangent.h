/*
 * Forward mode: tangents beside values, what `differentiate` makes of a jvp declaration.
 *
 *     %y = tanh(%x);                      %y = tanh(%x);  %dy = (1 - %y * %y) * %dx
 *     %z = if (%c) { %y } else { %w };    %0 = if (%c) { (%y, %dy) } else { (%w, zeros) }
 *     @f(%z)                              @f.tangent(%z, %dz) -> (result, tangents)
 *
 * The program keeps its shape: a branch stays a branch, a loop a loop, a call at the end of a
 * function one at its end. Tangents are kept as adjoints are (adjoint.h), by value of the
 * primal, one for each leaf; one that is not there is zero, and only becomes a value where a
 * branch, data or a function's result has to have it. `active` says of each leaf of a value
 * whether it moves, that is, may have a tangent.
 */
#ifndef PASSES_GRADIENTS_TANGENT_H
#define PASSES_GRADIENTS_TANGENT_H

#include "gradients/adjoint_data.h"

/* A function of the module, by the leaves of its parameters that move. */
struct tangent_func {
    const bt_func *primal;
    const uint8_t *moves;
    const char *name; /* of the global */
};

struct tangent {
    struct adjoint adjoint; /* its copy's state is all of this */
    bt_map duals; /* values of the primal -> (value, tangent of each leaf that moves) */
};
bt_status tangent_init(struct tangent *, struct differentiation *,
                       const bt_func *) BT_MUST_USE;
void tangent_deinit(struct tangent *);

/* ---- what moves (tangent_flow.c) ---- */

/* Of each leaf; NULL: none moves. */
const uint8_t *tangent_moves(const struct adjoint *, const bt_value *old);
/* Leaves that have a tangent where any of the value moves. *out: of each. NULL: no memory. */
const uint8_t *tangent_all(const struct differentiation *, const bt_type *);
uint32_t tangent_count(const uint8_t *moves, uint32_t nleaf);
/* Those of a parameter move. */
bt_status tangent_move(struct adjoint *, const bt_value *old,
                       const uint8_t *moves) BT_MUST_USE;
/* Finds what moves in a block.
 * errors  BT_ERR_UNSUPPORTED at what has no tangent */
bt_status tangent_flow(struct adjoint *, const bt_block *) BT_MUST_USE;

/* ---- code (tangent.c) ---- */

/* The value, then the tangents of the leaves of `moves`, zeros where there is none. */
bt_status tangent_pair(struct tangent *, const bt_value *old, const bt_value *now,
                       const uint8_t *moves, const bt_value **out) BT_MUST_USE;

/* What makes, reads or writes a cell (tangent_cells.c). */
bt_status tangent_cell(struct adjoint *, const bt_value *old) BT_MUST_USE;

/* ---- functions (tangent_calls.c) ---- */

/* What a call is of. *out NULL: it has no tangent. */
bt_status tangent_func_of(const struct adjoint *, const bt_call *,
                          const struct tangent_func **out) BT_MUST_USE;
/* Adds what the calls of a function need, in which is known what moves. */
bt_status tangent_find(struct adjoint *, const bt_block *) BT_MUST_USE;
/* And what these call. */
bt_status tangent_close(struct differentiation *) BT_MUST_USE;
/* Types of the tangents of those leaves, added to *out. */
bt_status tangent_types(struct differentiation *, const bt_type *, const uint8_t *moves,
                        adjoint_types *out) BT_MUST_USE;
/* %dx of %x */
bt_status tangent_param(struct adjoint *, const bt_value *old, const bt_type *,
                        const bt_param **out) BT_MUST_USE;
bt_status tangent_declare(struct differentiation *) BT_MUST_USE;
bt_status tangent_define(struct differentiation *) BT_MUST_USE;

/* ---- declarations (tangent_declaration.c) ---- */

bt_status tangent_declaration_find(struct differentiation *,
                                   const bt_global *) BT_MUST_USE;
bt_status tangent_declaration_define(struct differentiation *,
                                     const bt_global *) BT_MUST_USE;

#endif
