#include "first_axis.h"

int first_axis_shape(const bt_type *type, bt_shape_type *out)
{
    const bt_tensor_type *tensor = bt_as_tensor_type(type);
    const bt_shape_type *shape = tensor ? bt_as_shape_type(tensor->shape) : NULL;
    if (shape)
        *out = *shape;
    else // the variable alone
        *out = (bt_shape_type){ .rest = tensor ? tensor->shape : NULL };
    return out->rest && out->rest->kind != BT_TYPE_HOLE;
}

/* NULL: no memory. */
static const bt_type *replaced(bt_solver *s, uint32_t n, const bt_type *const *dims,
                               const bt_shape_type *shape, uint32_t ndrop)
{
    uint32_t all = n + shape->n - ndrop;
    const bt_type **at = bt_relation_alloc(s, all ? all : 1, sizeof(*at));
    for (uint32_t k = 0; at && k < all; k++)
        at[k] = k < n ? dims[k] : shape->dims[k - n + ndrop];
    return at ? bt_type_shape_rest(bt_relation_store(s), all, at,
                                   n + shape->position - ndrop, shape->rest)
              : NULL;
}

bt_status first_axis_result(bt_solver *s, const bt_relation_call *r, uint32_t n,
                            const bt_type *const *dims, const bt_shape_type *shape,
                            uint32_t ndrop, const bt_type *dtype)
{
    bt_tensor_parts data;
    if (shape->position < ndrop)
        return bt_relation_tensor(s, r, 0, &data); // tells that the rank must be known
    const bt_type *result = replaced(s, n, dims, shape, ndrop);
    return bt_relation_result(
        s, r, result ? bt_type_tensor(bt_relation_store(s), result, dtype) : NULL);
}

bt_status first_axis_join(bt_solver *s, const bt_relation_call *r,
                          const bt_list_type *fields)
{
    bt_shape_type first, shape;
    const bt_type *dtype = bt_as_tensor_type(fields->at[0])->dtype;
    const bt_type *sum = bt_dim(bt_relation_store(s), 0);
    (void)first_axis_shape(fields->at[0], &first);
    for (uint32_t i = 0; sum && i < fields->n; i++) {
        const bt_type *dim;
        if (!first_axis_shape(fields->at[i], &shape))
            return bt_relation_wait(s);
        if (!shape.position)
            return bt_relation_fail(s, r, 0, "field %u has no first dim", i);
        BT_TRY(bt_relation_unify(s, r, replaced(s, 0, NULL, &first, 1),
                                 replaced(s, 0, NULL, &shape, 1), "dims of the fields"));
        BT_TRY(bt_relation_unify(s, r, dtype, bt_as_tensor_type(fields->at[i])->dtype,
                                 "dtypes of the fields"));
        BT_TRY(bt_relation_dim(s, r, shape.dims[0], &dim));
        sum = bt_dim_add(bt_relation_store(s), sum, dim);
    }
    return sum ? first_axis_result(s, r, 1, &sum, &first, 1, dtype)
               : bt_relation_result(s, r, NULL);
}
