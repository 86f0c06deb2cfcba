#ifndef INTERP_PATTERN_H
#define INTERP_PATTERN_H

#include <baton/ir.h>

/* Whether a value has the pattern's shape; binds its variables to `slots`, in order from
 * *next. */
int pattern_matches(const bt_pattern *, bt_object *, bt_object **bound, uint32_t *next);

#endif
