/* Real and imaginary parts of complex numbers along one more axis, for those who make or show values. */
#ifndef TOOLS_PARTS_H
#define TOOLS_PARTS_H

#include <baton/value.h>

/* The parts of a dense tensor, in its data; the tensor itself of any other type. The caller
 * unrefs it before the tensor. */
static inline bt_status parts_of(bt_ctx *ctx, bt_tensor *tensor, bt_tensor **out)
{
    int64_t dims[BT_MAX_RANK + 1];
    if (BT_DTYPE_CLASS(tensor->dtype) != BT_CLASS_COMPLEX) {
        *out = bt_tensor_ref(tensor);
        return NULL;
    }
    for (uint32_t i = 0; i < tensor->rank; i++)
        dims[i] = tensor->dims[i];
    dims[tensor->rank] = 2;
    return bt_tensor_wrap(ctx, bt_dtype_carrier(tensor->dtype), tensor->rank + 1, dims,
                          tensor->data, out);
}

#endif
