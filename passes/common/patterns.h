/* Patterns that passes build. */
#ifndef PASSES_COMMON_PATTERNS_H
#define PASSES_COMMON_PATTERNS_H

#include <baton/ir.h>

/* K(%a, %b): a constructor with a variable for each field; these are the parameters of the
 * clause's block. */
bt_status pattern_ctor(bt_store *, bt_arena *, const bt_ctor *,
                       const bt_param *const *fields, const bt_pattern **out) BT_MUST_USE;

#endif
