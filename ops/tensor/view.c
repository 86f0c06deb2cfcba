#include "view.h"

#include <string.h>

void view_of(const bt_tensor *t, view *out)
{
    int64_t stride = 1;
    *out = (view){ .rank = t->rank };
    for (uint32_t k = t->rank; k-- > 0; stride *= t->dims[k]) {
        out->dims[k] = t->dims[k];
        out->strides[k] = stride;
    }
}

void view_copy(const bt_tensor *from, const view *x, bt_tensor *to)
{
    size_t nbytes = bt_dtype_nbytes(from->dtype);
    int64_t at[VIEW_MAX] = { 0 }, position = x->offset;
    for (int64_t i = 0; i < to->nelem; i++) {
        memcpy((char *)to->data + (size_t)i * nbytes,
               (const char *)from->data + (size_t)position * nbytes, nbytes);
        for (uint32_t k = x->rank; k-- > 0;) {
            position += x->strides[k];
            if (++at[k] < x->dims[k])
                break;
            position -= x->dims[k] * x->strides[k];
            at[k] = 0;
        }
    }
}

bt_status view_ints(bt_ctx *ctx, const bt_eval_call *call, uint32_t input, uint32_t max,
                    uint32_t *n, int64_t *out)
{
    const bt_tensor *in = call->in[input];
    if (in->rank > 1 || in->nelem > max)
        return bt_eval_fail(ctx, call,
                            "argument %u has %lld elements, expected at most %u", input,
                            (long long)in->nelem, max);
    for (int64_t i = 0; i < in->nelem; i++)
        out[i] = bt_tensor_get_int(in, i);
    *n = (uint32_t)in->nelem;
    return NULL;
}
