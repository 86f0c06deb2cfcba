/* What the variables of a clause are stated to have of dims that only the run knows. */
#ifndef PASSES_COMMON_STATED_H
#define PASSES_COMMON_STATED_H

#include "common/copy.h"

/* Adds the dims that variables of a clause bring along -> what they are of the values in their
 * place; values NULL: themselves. */
bt_status stated_brought(bt_rewrite *, const struct copy *, const bt_block *clause,
                         const bt_value *const *values, bt_map *out) BT_MUST_USE;
/* The types of the values in place of a clause's variables, with the dims that these are stated to
 * have, which may be others than the values tell. */
bt_status stated_types(bt_rewrite *, struct copy *, const bt_block *clause,
                       const bt_value *const *values, const bt_type **out) BT_MUST_USE;

#endif
