/* Checks of dims that only the run knows, which what a pass finds of these may refute. */
#ifndef PASSES_COMMON_REFUTED_H
#define PASSES_COMMON_REFUTED_H

#include <baton/pass.h>

typedef bt_vec(const bt_check *) open_checks;

/* Adds those of a binding. */
bt_status refuted_note(bt_arena *, const bt_value *, open_checks *) BT_MUST_USE;
/* Whether one of them holds for no values where a value of the first type becomes one of the
 * second: what it stands before, perhaps where nothing comes, would have no type then. */
bt_status refuted_by(bt_ctx *, bt_arena *, const open_checks *, const bt_type *old,
                     const bt_type *now, int *out) BT_MUST_USE;

#endif
