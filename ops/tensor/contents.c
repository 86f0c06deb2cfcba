#include "contents.h"

int contents_possible(bt_solver *s, const bt_relation_call *r, uint32_t index)
{
    const bt_type *type = bt_relation_arg(s, r, index);
    const bt_shape_type *shape = bt_tensor_shape(type);
    bt_dtype dtype = bt_tensor_dtype(type);
    uint32_t class_bit = dtype ? 1u << BT_DTYPE_CLASS(dtype) : 0;
    return shape && shape->n <= 1 && (class_bit & BT_CLASS_BITS_INTEGER);
}

bt_status contents_get(bt_solver *s, const bt_relation_call *r, uint32_t index,
                       contents *out)
{
    contents found = { .n = BT_NONE_LIST };
    if (contents_possible(s, r, index))
        BT_TRY(bt_relation_contents(s, r, index, &found.n, &found.at));
    if (found.n > CONTENTS_MAX)
        found.n = BT_NONE_LIST;
    *out = found;
    return NULL;
}

int contents_fit(const bt_type *dim, bt_dtype dtype)
{
    int64_t low, high;
    uint32_t bits = BT_DTYPE_BITS(dtype);
    bt_dim_bounds(dim, &low, &high);
    if (BT_DTYPE_CLASS(dtype) == BT_CLASS_UINT && low < 0)
        return 0;
    if (bits >= 64 || !bt_dim_is_const(dim, &low))
        return 1; // extents that reach the end of int32 are taken for granted
    int is_signed = BT_DTYPE_CLASS(dtype) == BT_CLASS_INT;
    int64_t top = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    return low <= top && low >= (is_signed ? -top - 1 : 0);
}

bt_status contents_copy(bt_solver *s, const bt_relation_call *r, uint32_t index)
{
    contents in;
    if (!contents_possible(s, r, r->narg))
        return NULL;
    BT_TRY(contents_get(s, r, index, &in));
    bt_dtype dtype = bt_tensor_dtype(bt_relation_arg(s, r, r->narg));
    for (int64_t i = 0; i < in.n; i++) {
        if (!contents_fit(in.at[i], dtype))
            return NULL;
    }
    return in.n < 0 ? NULL : bt_relation_set_contents(s, r, (uint32_t)in.n, in.at);
}
