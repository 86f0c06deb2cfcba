#include "walk.h"

/* dyn.strided_slice. attrs: whether ends are sizes. */
static int32_t plain_strided_slice(const bt_plain_call *call)
{
    plain_walk w;
    int32_t fault;
    uint32_t k;
    plain_walk_of(call->in, &w);
    fault = plain_walk_slice(call, 1, call->attrs[0], &w);
    for (k = 0; call->is_sizing && k < w.rank; k++)
        call->out->dims[k] = w.counts[k];
    if (!call->is_sizing && !fault)
        plain_walk_copy(&w, call->in, call->out, 0);
    return fault;
}

/* dyn.tile: walks how often before each axis. */
enum { TILE_FAULT_COUNT = 1, TILE_FAULT_OVERFLOW };
static int32_t plain_tile(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *reps = call->in + 1;
    const int64_t rank = call->out->rank, n = plain_count(reps);
    plain_walk own, w = { 0 };
    int64_t k;
    plain_walk_of(in, &own);
    w.rank = (uint32_t)(2 * rank);
    for (k = 0; k < rank; k++) {
        const int64_t axis = k - (rank - in->rank), at = k - (rank - n);
        const int64_t count = at < 0 ? 1 : plain_index(reps, at),
                      extent = axis < 0 ? 1 : in->dims[axis];
        if (count < 0)
            return TILE_FAULT_COUNT;
        if (extent && count > INT64_MAX / extent)
            return TILE_FAULT_OVERFLOW;
        w.counts[2 * k] = count;
        w.counts[2 * k + 1] = extent;
        w.strides[2 * k + 1] = axis < 0 ? 0 : own.strides[axis];
        if (call->is_sizing)
            call->out->dims[k] = count * extent;
    }
    if (!call->is_sizing)
        plain_walk_copy(&w, in, call->out, 0);
    return 0;
}
