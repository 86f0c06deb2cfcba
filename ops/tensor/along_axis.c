#include "along_axis.h"

bt_status along_axis_relate(bt_solver *s, const bt_relation_call *r, uint32_t axis,
                            const bt_tensor_parts *indices, const bt_tensor_parts *data)
{
    for (uint32_t k = 0; k < data->rank; k++) {
        const bt_type *part, *whole;
        if (k == axis)
            continue;
        BT_TRY(bt_relation_dim(s, r, indices->dims[k], &part));
        BT_TRY(bt_relation_dim(s, r, data->dims[k], &whole));
        BT_TRY(bt_relation_require(s, r, BT_CHECK_LESS_EQUAL, part, whole,
                                   "dims of indices and of data"));
    }
    return NULL;
}
