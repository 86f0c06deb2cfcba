/* Types of random programs: tensors of a few shapes, tuples, lists, functions of one
 * argument. */
#include "maker.h"

bt_status tensor_type(struct maker *m, bt_dtype dtype, uint32_t shape,
                      const bt_type **out)
{
    const bt_type *two = bt_dim(m->store, 2), *three = bt_dim(m->store, 3), *n = m->dim;
    const bt_type *rows[NSHAPE][2] = { { NULL },       { two }, { three }, { two, three },
                                       { three, two }, { n },   { n, two } };
    static const uint32_t ranks[NSHAPE] = { 0, 1, 1, 2, 2, 1, 2 };
    const bt_type *dims =
        two && three ? bt_type_shape(m->store, ranks[shape], rows[shape]) : NULL;
    const bt_type *element = bt_type_dtype(m->store, dtype);
    *out = dims && element ? bt_type_tensor(m->store, dims, element) : NULL;
    return *out ? NULL : bt_store_why(m->ctx, m->store);
}

bt_status random_tensor_type(struct maker *m, const bt_type **out)
{
    static const bt_dtype dtypes[] = { BT_FLOAT32, BT_FLOAT32, BT_INT64, BT_INT32,
                                       BT_BOOL };
    return tensor_type(m, dtypes[below(m, BT_COUNT(dtypes))], below(m, NSHAPE), out);
}

bt_status random_type(struct maker *m, uint32_t depth, const bt_type **out)
{
    const bt_type *fields[3];
    uint32_t pick = depth ? below(m, 10) : 9, n = 1 + below(m, 3);
    if (pick > 3 || (m->is_chain && pick < 2))
        return random_tensor_type(m, out);
    for (uint32_t i = 0; i < 3; i++)
        BT_TRY(random_type(m, depth - 1, &fields[i]));
    if (pick == 0)
        *out = bt_type_apply(m->store, m->list, 1, fields);
    else if (pick == 1)
        *out = bt_type_func(
            m->store, &(bt_func_type){ .narg = 1, .args = fields, .result = fields[1] });
    else
        *out = bt_type_tuple(m->store, n, fields);
    return *out ? NULL : bt_store_why(m->ctx, m->store);
}

bt_dtype dtype_of(const bt_type *type)
{
    return bt_tensor_dtype(type);
}

bt_status with_dtype(struct maker *m, const bt_type *type, bt_dtype dtype,
                     const bt_type **out)
{
    const bt_type *element = bt_type_dtype(m->store, dtype);
    *out = element ? bt_type_tensor(m->store, bt_as_tensor_type(type)->shape, element)
                   : NULL;
    return *out ? NULL : bt_store_why(m->ctx, m->store);
}
