#include "operand.h"

bt_status operand_tensor(bt_solver *s, const bt_relation_call *r, uint32_t index,
                         const bt_tensor_type **out)
{
    bt_tensor_parts parts;
    const bt_tensor_type *tensor = bt_as_tensor_type(bt_relation_arg(s, r, index));
    if (!tensor) {
        // not one yet, or never: the same wait or error as for a tensor of known rank
        BT_TRY(bt_relation_tensor(s, r, index, &parts));
        tensor = bt_as_tensor_type(bt_relation_arg(s, r, index));
        if (!tensor)
            return bt_relation_wait(s);
    }
    *out = tensor;
    return NULL;
}

int64_t operand_int(const bt_relation_call *r, const char *name, uint32_t kind,
                    int64_t absent)
{
    const int64_t *value = bt_attr_find(r->op, r->attrs, name, kind);
    return value ? *value : absent;
}
