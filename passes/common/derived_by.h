/* The arguments by which a declaration derives. */
#ifndef PASSES_COMMON_DERIVED_BY_H
#define PASSES_COMMON_DERIVED_BY_H

#include <baton/ir.h>

/* Lists them in `wrt`, for a function whose first `first` arguments are none of what it takes:
 * those of a list, or those that hold floats and no code. What all of them are depends on the
 * types of the function at hand: a list holds for other types of it, too. */
bt_status derived_by(bt_arena *, const bt_func_type *primal, uint32_t first,
                     bt_gradient_spec *) BT_MUST_USE;

#endif
