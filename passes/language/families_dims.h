/* The dims of families, and of what their values hold. */
#ifndef PASSES_LANGUAGE_FAMILIES_DIMS_H
#define PASSES_LANGUAGE_FAMILIES_DIMS_H

#include "language/families.h"

struct dims_map families_map(struct defun *);
/* A function's type in terms of variables of its own. vars: as many as it has parameters. */
bt_status families_named(struct defun *, const bt_func_type *,
                         const bt_type *const **vars,
                         const bt_func_type **out) BT_MUST_USE;
/* What a constructor holds: what the closure does, in terms of the family's dims, with `?` for
 * those that they do not tell; and for each such dim that no tensor there has an empty one of
 * that length. */
bt_status families_fields(struct defun *, const struct family *,
                          struct maker *) BT_MUST_USE;
bt_status families_witness(struct defun *, const bt_type *dim,
                           const bt_type **out) BT_MUST_USE;
/* The same as a pattern's variables have it, where each dim that is not told has a name.
 * terms: of the function's variables. */
bt_status families_held(struct defun *, const struct maker *, const bt_type **types,
                        const bt_type **terms) BT_MUST_USE;

#endif
