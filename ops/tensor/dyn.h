/* Types of operators that take a shape as a value. */
#ifndef DYN_H
#define DYN_H

#include <baton/op.h>

/* The elements of a small integer argument as dims, BT_MAX_RANK at most: its contents
 * where known, else NULL entries. Its extent must be a number. */
bt_status dyn_list(bt_solver *, const bt_relation_call *, uint32_t index, uint32_t *n,
                   const bt_type **out) BT_MUST_USE;
/* The dims of a shape argument: its contents, or opaque ones; fails below 0. */
bt_status dyn_shape(bt_solver *, const bt_relation_call *, uint32_t index, uint32_t *n,
                    const bt_type **out) BT_MUST_USE;

#endif
