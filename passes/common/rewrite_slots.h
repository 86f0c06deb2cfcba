/* What slots of several rewriters do. */
#ifndef PASSES_COMMON_REWRITE_SLOTS_H
#define PASSES_COMMON_REWRITE_SLOTS_H

#include <baton/pass.h>

/* A slot for projections: a field of a tuple that is in sight is the field. */
bt_status rewrite_proj(bt_rewrite *, const bt_proj *, const bt_value **out) BT_MUST_USE;

/* Whether the body of a function may be copied to the place at hand: what the copy nests then
 * stays within half of limits.depth, and passes behind this one can nest more. */
bt_status rewrite_has_room(bt_rewrite *, bt_arena *, const bt_func *,
                           int *out) BT_MUST_USE;

#endif
