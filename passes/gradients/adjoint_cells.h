/*
 * References: cells whose contents have adjoints hold these beside them, as their shadow.
 *
 *     %r = ref(%x)          ->  %r = ref((%x, 0))
 *     %y = ref_read(%r)         %y = ref_read(%r).0          back: to .1 is added what %y has
 *     ref_write(%r, %z)         ref_write(%r, (%z, 0))       back: %z gets .1, which is 0 then
 *
 * So whoever has a cell, in data or in what a closure holds, has its adjoint too. All references
 * of such a type are to cells with shadows, wherever they are: a version of the module is made
 * that has them, and derivatives are of its functions. What the way back reads of the way forward
 * is on tapes, as everything is: contents are not put back. In forward mode the shadow is the
 * tangent.
 */
#ifndef PASSES_GRADIENTS_ADJOINT_CELLS_H
#define PASSES_GRADIENTS_ADJOINT_CELLS_H

#include "gradients/adjoint_data.h"

/* ---- which ones (adjoint_cells.c) ---- */

/* Whether it is the type of references to cells whose contents have adjoints. */
bt_status adjoint_is_cell(const struct differentiation *, const bt_type *,
                          int *out) BT_MUST_USE;
/* What makes, reads or writes a cell, and whether what is made or written has an adjoint:
 * its type is one of them from now on. *reads: it is what such a cell holds. */
bt_status adjoint_cell_note(struct adjoint *, const bt_value *old,
                            int *reads) BT_MUST_USE;
/* Which functions and bindings make, read or write such a cell, as far as they are known. */
bt_status adjoint_cells_touch(struct differentiation *) BT_MUST_USE;
int adjoint_touches(const struct differentiation *, const void *func_or_binding);
/* Whether it writes any reference. */
int adjoint_may_write(const struct differentiation *, const void *func_or_binding);
/* The reference that a binding makes, reads or writes, and what is made or written, else NULL.
 * NULL: it does none of these. */
const bt_value *adjoint_cell_of(const bt_value *, const bt_value **content);

/* ---- backward (adjoint_cells.c) ---- */

/* The zero that a cell gets for a leaf of its content. type: as the primal has it. */
bt_status adjoint_cell_zero(struct adjoint *, const bt_value *leaf, const bt_type *type,
                            const bt_value **out) BT_MUST_USE;
bt_status adjoint_reverse_cell(struct adjoint *, const bt_value *old) BT_MUST_USE;
/* Whether a binding of the way back writes cells. */
int adjoint_writes(const struct differentiation *, const bt_value *now);

/* ---- the version with shadows in cells (adjoint_shadow.c) ---- */

/* entry: the function that the program is run from, or NULL.
 * *next: what knows of its data types and cells.
 * errors  BT_ERR_UNSUPPORTED: a function would change that others than the module call */
bt_status adjoint_shadow_make(struct differentiation *, const char *entry,
                              struct differentiation *next, bt_module **out) BT_MUST_USE;

#endif
