/* The types of reshapes. */
#ifndef SHAPE_RELATE_H
#define SHAPE_RELATE_H

#include <baton/op.h>

/* The product of dims, 1 of none; waits while one is a hole. */
bt_status shape_product(bt_solver *, const bt_relation_call *, uint32_t n,
                        const bt_type *const *dims, const bt_type **out) BT_MUST_USE;
/* Applies a target shape of extents and codes (shape_codes.h) to argument 0 and states
 * the result. */
bt_status shape_relate(bt_solver *, const bt_relation_call *, int64_t n,
                       const bt_type *const *target, int allow_zero) BT_MUST_USE;

#endif
