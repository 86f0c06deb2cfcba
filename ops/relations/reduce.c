/*
 * Reduce: one tensor without the axes reduced over. ArgReduce: the same as int32.
 *     Reduce(Tensor[(a, b, c), t], Tensor[(a, c), t])      axis=[1]
 *     Reduce(Tensor[(a, b, c), t], Tensor[(1, b, 1), t])   axis=[1], keepdims, exclude
 *     Reduce(Tensor[s, t], Tensor[(), t])                  of any rank, all axes
 * Attributes of the operator, by name: axis (a list; None: all), keepdims and exclude
 * (bool; absent: False). Further arguments have a value for each element of the result:
 * its shape with keepdims.
 * source  Relay, ReduceRel and ArgReduceRel
 */
#include "operand.h"

/* Marks the axes to reduce over. Without `axis` these are all, exclude or not. */
static bt_status mark_axes(bt_solver *s, const bt_relation_call *r, uint32_t rank,
                           uint8_t is_reduced[BT_MAX_RANK])
{
    const bt_ints *axes = bt_attr_find(r->op, r->attrs, "axis", BT_ATTR_INTS);
    int exclude =
        axes && axes->n != BT_NONE_LIST && operand_int(r, "exclude", BT_ATTR_BOOL, 0);
    int all = !axes || axes->n == BT_NONE_LIST;
    for (uint32_t i = 0; i < rank; i++)
        is_reduced[i] = (uint8_t)(all || exclude);
    for (int64_t i = 0; !all && i < axes->n; i++) {
        uint32_t axis;
        BT_TRY(bt_relation_axis(s, r, "axis", axes->at[i], rank, &axis));
        if (is_reduced[axis] != exclude)
            return bt_relation_fail(s, r, -1, "axis lists axis %u twice", axis);
        is_reduced[axis] = (uint8_t)!exclude;
    }
    return NULL;
}

static bt_status check_others(bt_solver *s, const bt_relation_call *r,
                              const bt_tensor_parts *data, const uint8_t *is_reduced,
                              const bt_type *one)
{
    for (uint32_t k = 1; k < r->narg; k++) {
        bt_tensor_parts other;
        BT_TRY(bt_relation_tensor_rank(s, r, k, data->rank, &other));
        for (uint32_t i = 0; i < data->rank; i++)
            BT_TRY(bt_relation_unify(s, r, is_reduced[i] ? one : data->dims[i],
                                     other.dims[i],
                                     "axes that stay, and 1 for the rest"));
    }
    return NULL;
}

/* Whether all elements of a tensor of any rank, Tensor[s, t], become one: then *dtype is
 * theirs. The rank need not be known. */
static int is_of_any_rank(bt_solver *s, const bt_relation_call *r, const bt_type **dtype)
{
    const bt_ints *axes = bt_attr_find(r->op, r->attrs, "axis", BT_ATTR_INTS);
    const bt_tensor_type *data = bt_as_tensor_type(bt_relation_arg(s, r, 0));
    const bt_shape_type *shape = data ? bt_as_shape_type(data->shape) : NULL;
    const bt_type *rest = shape ? shape->rest : data ? data->shape : NULL;
    if (!rest || rest->kind != BT_TYPE_VAR || r->narg != 1 ||
        operand_int(r, "keepdims", BT_ATTR_BOOL, 0) || (axes && axes->n != BT_NONE_LIST))
        return 0;
    *dtype = data->dtype;
    return 1;
}

static bt_status reduce_to(bt_solver *s, const bt_relation_call *r, const bt_type *dtype)
{
    bt_tensor_parts data;
    uint8_t is_reduced[BT_MAX_RANK];
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(mark_axes(s, r, data.rank, is_reduced));

    const bt_type *dims[BT_MAX_RANK], *one = bt_dim(bt_relation_store(s), 1);
    int keepdims = operand_int(r, "keepdims", BT_ATTR_BOOL, 0) != 0;
    uint32_t rank = 0;
    if (!one)
        return bt_relation_result(s, r, NULL);
    BT_TRY(check_others(s, r, &data, is_reduced, one));
    for (uint32_t i = 0; i < data.rank; i++) {
        if (!is_reduced[i])
            dims[rank++] = data.dims[i];
        else if (keepdims)
            dims[rank++] = one;
    }
    return bt_relation_result_tensor(s, r, rank, dims, dtype ? dtype : data.dtype);
}

static bt_status reduce(bt_solver *s, const bt_relation_call *r)
{
    const bt_type *dtype;
    if (is_of_any_rank(s, r, &dtype))
        return bt_relation_result_tensor(s, r, 0, NULL, dtype);
    return reduce_to(s, r, NULL);
}

/* Every position is that of an element: there must be one. */
static bt_status check_elements(bt_solver *s, const bt_relation_call *r)
{
    bt_tensor_parts data;
    uint8_t is_reduced[BT_MAX_RANK];
    const bt_type *dim, *one = bt_dim(bt_relation_store(s), 1);
    BT_TRY(bt_relation_tensor(s, r, 0, &data));
    BT_TRY(mark_axes(s, r, data.rank, is_reduced));
    for (uint32_t i = 0; i < data.rank; i++) {
        if (!is_reduced[i])
            continue;
        BT_TRY(bt_relation_dim(s, r, data.dims[i], &dim));
        BT_TRY(one ? bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, one, dim,
                                         "one element and the extent of a reduced axis")
                   : bt_no_memory());
    }
    return NULL;
}

static bt_status arg_reduce(bt_solver *s, const bt_relation_call *r)
{
    BT_TRY(check_elements(s, r));
    const bt_type *dtype = bt_type_dtype(bt_relation_store(s), BT_INT32);
    return dtype ? reduce_to(s, r, dtype) : bt_relation_result(s, r, NULL);
}

static const bt_relation relations[] = {
    { "Reduce", "One tensor without (or with extent 1 at) the axes in `axis`.", reduce },
    { "ArgReduce", "As Reduce, with int32 positions for elements.", arg_reduce },
    { 0 },
};
const bt_table bt_ops_relations_reduce[] = { BT_RELATIONS(relations), { 0 } };
