/* Values as their leaves: what nested tuples hold that is no tuple. */
#ifndef PASSES_COMMON_LEAVES_H
#define PASSES_COMMON_LEAVES_H

#include <baton/ir.h>

typedef bt_vec(const bt_value *) leaf_values;

/* The leaves of a value, behind those that are there. */
bt_status leaves_split(bt_builder *, bt_arena *, const bt_value *,
                       leaf_values *out) BT_MUST_USE;
/* A value of that type; its leaves are taken from *leaves on. */
bt_status leaves_join(bt_builder *, bt_arena *, const bt_type *,
                      const bt_value *const **leaves, const bt_value **out) BT_MUST_USE;

#endif
