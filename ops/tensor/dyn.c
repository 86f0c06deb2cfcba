#include "dyn.h"

bt_status dyn_list(bt_solver *s, const bt_relation_call *r, uint32_t index, uint32_t *n,
                   const bt_type **out)
{
    bt_tensor_parts list;
    const bt_type *extent;
    const bt_type *const *dims;
    int64_t count = 1, known;
    BT_TRY(bt_relation_tensor(s, r, index, &list));
    if (list.rank > 1)
        return bt_relation_fail(s, r, (int)index, "expected rank 0 or 1, found rank %u",
                                list.rank);
    if (list.rank == 1) {
        BT_TRY(bt_relation_dim(s, r, list.dims[0], &extent));
        if (!bt_dim_is_const(extent, &count) || count > BT_MAX_RANK)
            return bt_relation_fail(
                s, r, (int)index,
                "its extent must be a number up to %d, for it decides "
                "the rank of the result",
                BT_MAX_RANK);
    }
    BT_TRY(bt_relation_contents(s, r, index, &known, &dims));
    for (int64_t i = 0; i < count; i++)
        out[i] = known == count ? dims[i] : NULL;
    *n = (uint32_t)count;
    return NULL;
}

bt_status dyn_shape(bt_solver *s, const bt_relation_call *r, uint32_t index, uint32_t *n,
                    const bt_type **out)
{
    BT_TRY(dyn_list(s, r, index, n, out));
    for (uint32_t i = 0; i < *n; i++) {
        int64_t extent, low = 0, high;
        if (out[i] && bt_dim_is_const(out[i], &extent) && extent < 0)
            return bt_relation_fail(s, r, (int)index, "its element %u is %lld", i,
                                    (long long)extent);
        if (out[i])
            bt_dim_bounds(out[i], &low, &high);
        // what may be negative is not a dim
        if (!out[i] || low < 0)
            BT_TRY(bt_relation_opaque(s, r, i, &out[i]));
    }
    return NULL;
}
