/* Calls that state more of their type than what they are given tells. */
#ifndef PASSES_COMMON_CHECKED_H
#define PASSES_COMMON_CHECKED_H

#include "common/copy.h"

/* A call of this type: where it follows for other dims, the call checks that they are equal. */
bt_status checked_call(struct copy *, const bt_call *, const bt_type *wanted,
                       const bt_value **out) BT_MUST_USE;

#endif
