/*
 * Identity: the result has the type of the argument. IdentityComp: its shape, as bool.
 *     Identity(T, T)      IdentityComp(Tensor[s, t], Tensor[s, bool])
 * source  Relay, IdentityRel and IdentityCompRel
 */
#include "operand.h"

static bt_status identity(bt_solver *s, const bt_relation_call *r)
{
    const bt_tensor_type *data;
    BT_TRY(bt_relation_result(s, r, bt_relation_arg(s, r, 0)));
    return operand_tensor(s, r, 0, &data);
}

static bt_status identity_comp(bt_solver *s, const bt_relation_call *r)
{
    const bt_tensor_type *data;
    BT_TRY(operand_tensor(s, r, 0, &data));
    bt_store *store = bt_relation_store(s);
    const bt_type *result = bt_type_tensor_layout(
        store, data->shape, bt_type_dtype(store, BT_BOOL), data->layout);
    return bt_relation_result(s, r, result);
}

static const bt_relation relations[] = {
    { "Identity", "The result has the type of the first argument.", identity },
    { "IdentityComp", "The result is a bool tensor of the first argument's shape.",
      identity_comp },
    { 0 },
};
const bt_table bt_ops_relations_identity[] = { BT_RELATIONS(relations), { 0 } };
