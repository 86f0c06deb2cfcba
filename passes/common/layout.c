#include "common/layout.h"

#include <string.h>

uint32_t call_axis(const bt_call *call, const char *name, int64_t absent, uint32_t rank)
{
    int64_t axis = bt_call_int(call, name, absent);
    return (uint32_t)(axis < 0 ? axis + rank : axis);
}

uint32_t type_rank(const bt_type *type)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    return shape && !bt_type_layout(type) ? shape->n : 0;
}

int layout_axis(const char *layout, char letter, uint32_t rank)
{
    const char *at = strchr(layout, letter);
    return at && strlen(layout) == rank ? (int)(at - layout) : -1;
}

int is_per_channel(const bt_value *value, uint32_t rank, uint32_t channel)
{
    const bt_tensor *tensor = bt_const_tensor(value);
    if (!tensor || tensor->rank > rank || !tensor->nelem)
        return 0;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] != 1 && i + (rank - tensor->rank) != channel)
            return 0;
    }
    return 1;
}

int type_same_shape(const bt_type *a, const bt_type *b)
{
    const bt_tensor_type *x = bt_as_tensor_type(a), *y = bt_as_tensor_type(b);
    return x && y && x->shape == y->shape;
}

int op_keeps_layout(const bt_op *op)
{
    static const char *const relations[] = { "Identity", "IdentityComp", "Broadcast",
                                             "BroadcastComp" };
    for (uint32_t i = 0; op->relation && i < BT_COUNT(relations); i++) {
        if (strcmp(op->relation, relations[i]) == 0)
            return op->formula != NULL;
    }
    return strcmp(op->name, "cast") == 0;
}

const bt_value *laid_from(const bt_value *value)
{
    const bt_call *call = bt_as_op_call(value, "layout_transform");
    return call && (strchr(bt_call_text(call, "src_layout"), ':') ||
                    strchr(bt_call_text(call, "dst_layout"), ':'))
               ? call->args[0]
               : NULL;
}

const bt_value *chain_layout(struct chain *c, const bt_value *value,
                             const bt_layout *layout)
{
    while (!c->status && bt_type_layout(value->type) != layout && laid_from(value))
        value = laid_from(value);
    const bt_layout *from = c->status ? layout : bt_type_layout(value->type);
    return from == layout
               ? value
               : chain_op1f(c, value, "layout_transform",
                            "src_layout=\"%s\", dst_layout=\"%s\"",
                            from ? from->text : "", layout ? layout->text : "");
}
