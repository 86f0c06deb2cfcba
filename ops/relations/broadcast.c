/*
 * Broadcast: two tensors of one dtype, right-aligned; an extent of 1 stands for any.
 *     Broadcast(Tensor[a, t], Tensor[b, t], Tensor[broadcast(a, b), t])
 *     Broadcast(Tensor[a, t, L], Tensor[b, t], Tensor[broadcast(a, b), t, L])
 * BroadcastComp: the same with a bool result.
 * Where: a condition, and two tensors of the result's dtype; all three are broadcast.
 * source  Relay, BroadcastRel, BroadcastCompRel and WhereRel
 */
#include "operand.h"

/* Whether a layout has the axes of a shape. */
static int is_for(const bt_layout *layout, const bt_type *shape)
{
    const bt_shape_type *dims = bt_as_shape_type(shape);
    return dims && !dims->rest && dims->n == layout->nlogical;
}

/* `dtype` NULL: that of the arguments. A row-major argument beside one with a layout is
 * read as it lies, and the result has the layout: a bias need not be laid out. */
static bt_status broadcast_to(bt_solver *s, const bt_relation_call *r,
                              const bt_type *dtype)
{
    const bt_tensor_type *a, *b;
    BT_TRY(operand_tensor(s, r, 0, &a));
    BT_TRY(operand_tensor(s, r, 1, &b));
    BT_TRY(bt_relation_unify(s, r, a->dtype, b->dtype, "dtypes of the arguments"));
    const bt_type *shape;
    BT_TRY(bt_relation_broadcast(s, r, a->shape, b->shape, &shape));
    const bt_layout *layout = a->layout ? a->layout : b->layout;
    if (a->layout != b->layout && !((!a->layout || !b->layout) && is_for(layout, shape)))
        return bt_relation_fail(s, r, 1, "the arguments have layouts %s and %s",
                                a->layout ? a->layout->text : "row major",
                                b->layout ? b->layout->text : "row major");
    const bt_type *result = bt_type_tensor_layout(bt_relation_store(s), shape,
                                                  dtype ? dtype : a->dtype, layout);
    return bt_relation_result(s, r, result);
}

static bt_status broadcast(bt_solver *s, const bt_relation_call *r)
{
    return broadcast_to(s, r, NULL);
}

static bt_status broadcast_comp(bt_solver *s, const bt_relation_call *r)
{
    const bt_type *dtype = bt_type_dtype(bt_relation_store(s), BT_BOOL);
    return dtype ? broadcast_to(s, r, dtype) : bt_relation_result(s, r, NULL);
}

static bt_status where(bt_solver *s, const bt_relation_call *r)
{
    const bt_tensor_type *in[3];
    const bt_type *values, *shape;
    for (uint32_t i = 0; i < 3; i++)
        BT_TRY(operand_tensor(s, r, i, &in[i]));
    BT_TRY(bt_relation_broadcast(s, r, in[1]->shape, in[2]->shape, &values));
    BT_TRY(bt_relation_broadcast(s, r, in[0]->shape, values, &shape));
    const bt_type *result = bt_type_tensor(bt_relation_store(s), shape, in[1]->dtype);
    return bt_relation_result(s, r, result);
}

static const bt_relation relations[] = {
    { "Broadcast", "Two tensors of one dtype, broadcast; the result has that dtype.",
      broadcast },
    { "BroadcastComp", "Two tensors of one dtype, broadcast; the result is bool.",
      broadcast_comp },
    { "Where", "A condition and two tensors, broadcast; the result is of their dtype.",
      where },
    { 0 },
};
const bt_table bt_ops_relations_broadcast[] = { BT_RELATIONS(relations), { 0 } };
