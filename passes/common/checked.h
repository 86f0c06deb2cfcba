/* Calls that state more of their type than what they are given tells. */
#ifndef PASSES_COMMON_CHECKED_H
#define PASSES_COMMON_CHECKED_H

#include "common/copy.h"

/* A call of this type: where it follows for other dims, the call checks that they are equal. */
bt_status checked_call(struct copy *, const bt_call *, const bt_type *wanted,
                       const bt_value **out) BT_MUST_USE;
/* What a value of type `own` has to be for what is stated to be of another one, which differs in
 * dims alone: a hole there is a dim that it brings along. */
bt_status checked_type(struct copy *, const bt_type *own, const bt_type *stated,
                       const bt_type **out) BT_MUST_USE;
/* The value with the dims of this type: where they differ, they are checked. *out NULL: it is no
 * tensor, and nothing could stand in its place. */
bt_status checked_value(struct copy *, const bt_value *, const bt_type *wanted,
                        const bt_value **out) BT_MUST_USE;

#endif
