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

/* Moves to the next position of a walk. */
static int64_t step(const view *x, int64_t *at, int64_t position)
{
    for (uint32_t k = x->rank; k-- > 0;) {
        position += x->strides[k];
        if (++at[k] < x->dims[k])
            break;
        position -= x->dims[k] * x->strides[k];
        at[k] = 0;
    }
    return position;
}

void view_copy(const bt_tensor *from, const view *x, bt_tensor *to)
{
    size_t nbytes = bt_dtype_nbytes(from->dtype);
    int64_t at[VIEW_MAX] = { 0 }, position = x->offset;
    for (int64_t i = 0; i < to->nelem; i++) {
        memcpy((char *)to->data + (size_t)i * nbytes,
               (const char *)from->data + (size_t)position * nbytes, nbytes);
        position = step(x, at, position);
    }
}

void view_write(const bt_tensor *from, const view *x, bt_tensor *to)
{
    size_t nbytes = bt_dtype_nbytes(from->dtype);
    int64_t at[VIEW_MAX] = { 0 }, position = x->offset;
    for (int64_t i = 0; i < from->nelem; i++) {
        memcpy((char *)to->data + (size_t)position * nbytes,
               (const char *)from->data + (size_t)i * nbytes, nbytes);
        position = step(x, at, position);
    }
}

/* A position counted from the front and moved into the axis, or one before it for
 * negative steps. */
static int64_t position_in(int64_t at, int64_t extent, int64_t stride)
{
    int64_t shift = stride < 0 ? -1 : 0;
    if (at < 0)
        at = at < -extent ? shift : at + extent;
    return at > extent + shift ? extent + shift : at;
}

/* `count` positions from `begin` on; the stride of an axis of one is never used, and may
 * be too great to multiply. */
static void narrow(view *x, uint32_t axis, int64_t begin, int64_t count, int64_t stride)
{
    x->dims[axis] = count;
    x->offset += begin * x->strides[axis];
    x->strides[axis] *= count > 1 ? stride : 0;
}

int view_slice(view *x, uint32_t axis, int64_t begin, int64_t end, int64_t stride)
{
    int64_t extent = x->dims[axis], width = stride < 0 ? -stride : stride;
    if (stride == 0 || stride == INT64_MIN)
        return 0;
    int64_t low = position_in(begin, extent, stride);
    int64_t high = position_in(end, extent, stride);
    int64_t span = stride < 0 ? low - high : high - low;
    narrow(x, axis, low, span > 0 ? (span - 1) / width + 1 : 0, stride);
    return 1;
}

void view_take(view *x, uint32_t axis, int64_t begin, int64_t size)
{
    int64_t extent = x->dims[axis], low = position_in(begin, extent, 1);
    narrow(x, axis, low, size < 0 || size > extent - low ? extent - low : size, 1);
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
