/* What the relations of this folder ask of a call's arguments and attributes. */
#ifndef OPERAND_H
#define OPERAND_H

#include <baton/op.h>

/* Waits until argument `index` is a tensor, of known rank or not; fails if it is
 * something else. */
bt_status operand_tensor(bt_solver *, const bt_relation_call *, uint32_t index,
                         const bt_tensor_type **out) BT_MUST_USE;
/* An int or bool attribute of the operator that names the relation, whatever its struct;
 * `absent` without one. */
int64_t operand_int(const bt_relation_call *, const char *name, uint32_t kind,
                    int64_t absent);

#endif
