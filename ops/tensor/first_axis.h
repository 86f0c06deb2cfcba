/*
 * Tensors of any rank: their shape is (n, ..s), its end a Shape variable. Operators that
 * touch the first axis only type them too, so that a program can be written once for all
 * ranks.
 */
#ifndef FIRST_AXIS_H
#define FIRST_AXIS_H

#include <baton/op.h>

/* Whether a type is such a tensor; its shape in *out. 0: it is another, or not known. */
int first_axis_shape(const bt_type *, bt_shape_type *out);
/* The result: dims in place of the first `ndrop` of `shape`, which has them before its
 * variable; else the rank must be known. */
bt_status first_axis_result(bt_solver *, const bt_relation_call *, uint32_t n,
                            const bt_type *const *dims, const bt_shape_type *shape,
                            uint32_t ndrop, const bt_type *dtype) BT_MUST_USE;
/* concatenate along the first axis of a tuple whose first field is such a tensor. */
bt_status first_axis_join(bt_solver *, const bt_relation_call *,
                          const bt_list_type *fields) BT_MUST_USE;

#endif
