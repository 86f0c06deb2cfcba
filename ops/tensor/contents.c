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
    int64_t low, high, number;
    uint32_t bits = BT_DTYPE_BITS(dtype);
    bt_dim_bounds(dim, &low, &high);
    if (BT_DTYPE_CLASS(dtype) == BT_CLASS_UINT && low < 0)
        return 0;
    // extents that reach the end of int32 are taken for granted
    if (bits >= 64 || (bits >= 32 && !bt_dim_is_const(dim, &number)))
        return 1;
    int is_signed = BT_DTYPE_CLASS(dtype) == BT_CLASS_INT;
    int64_t top = ((int64_t)1 << (is_signed ? bits - 1 : bits)) - 1;
    return high <= top && low >= (is_signed ? -top - 1 : 0);
}

int contents_number(const contents *c, int64_t position, int64_t *out)
{
    return position < c->n && bt_dim_is_const(c->at[position], out);
}

static bt_status state(bt_solver *s, const bt_relation_call *r, const contents *c)
{
    bt_dtype dtype = bt_tensor_dtype(bt_relation_arg(s, r, r->narg));
    for (int64_t i = 0; i < c->n; i++) {
        if (!contents_fit(c->at[i], dtype))
            return NULL;
    }
    if (c->n < 0 || c->n > CONTENTS_MAX)
        return NULL;
    return bt_relation_set_contents(s, r, (uint32_t)c->n, c->at);
}

bt_status contents_copy(bt_solver *s, const bt_relation_call *r, uint32_t index)
{
    contents in;
    if (!contents_possible(s, r, r->narg))
        return NULL;
    BT_TRY(contents_get(s, r, index, &in));
    return state(s, r, &in);
}

bt_status contents_join(bt_solver *s, const bt_relation_call *r, uint32_t index)
{
    contents in;
    if (!contents_possible(s, r, r->narg))
        return NULL;
    BT_TRY(bt_relation_contents(s, r, index, &in.n, &in.at));
    return state(s, r, &in);
}
