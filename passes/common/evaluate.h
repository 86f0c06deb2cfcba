/* Calls of operators on constants, computed when a program is compiled. */
#ifndef PASSES_COMMON_EVALUATE_H
#define PASSES_COMMON_EVALUATE_H

#include <baton/pass.h>

typedef bt_vec(const bt_tensor *) leaf_list;

/* Adds the tensors of a constant, fields of tuples in order. */
bt_status evaluate_leaves(bt_arena *, const bt_object *, leaf_list *) BT_MUST_USE;
/* Adds the tensors of what an old operand is now: a constant, or a tuple binding of constants.
 * *is_const 0: it is something else. */
bt_status evaluate_operand(bt_rewrite *, const bt_value *old, leaf_list *out,
                           int *is_const) BT_MUST_USE;
/* A tensor of integers that follow from types: the constant, where the call's contents are numbers. */
bt_status evaluate_contents(bt_builder *, const bt_call *,
                            const bt_value **out) BT_MUST_USE;
/* What the call gives, by the reference evaluator, for the tensors of its arguments in
 * order. *out is left alone where a size in its attributes is open; where it takes more than
 * a compiler may (bt_compute_may_fold); where it fails, or gives other elements than it is
 * stated to hold: it is to fail at run time, where it stands. */
bt_status evaluate_call(bt_builder *, bt_arena *, const bt_call *, const leaf_list *,
                        const bt_value **out) BT_MUST_USE;
/* A call of constants, or of such calls, so many levels deep, becomes the constant that it gives; any
 * other value stays. */
bt_status evaluate_deep(bt_builder *, bt_arena *, const bt_module *, uint32_t depth,
                        const bt_value **value) BT_MUST_USE;
/* Bytes of a type's tensors; more than any limit where they are not known. */
int64_t evaluate_nbytes(const bt_type *);

#endif
