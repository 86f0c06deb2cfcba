#include "walk.h"

/* dyn.broadcast_to. */
enum { BROADCAST_FAULT_RANK = 1, BROADCAST_FAULT_EXTENT, BROADCAST_FAULT_SHAPE };
static int32_t plain_broadcast_to(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in;
    const uint32_t rank = call->out->rank;
    plain_walk own, w = { 0 };
    uint32_t k;
    if (rank < in->rank)
        return BROADCAST_FAULT_RANK;
    plain_walk_of(in, &own);
    w.rank = rank;
    for (k = 0; k < rank; k++) {
        const uint32_t axis = k - (rank - in->rank), is_own = k >= rank - in->rank;
        w.counts[k] = plain_index(call->in + 1, k);
        if (w.counts[k] < 0)
            return BROADCAST_FAULT_EXTENT;
        if (is_own && in->dims[axis] != 1 && in->dims[axis] != w.counts[k])
            return BROADCAST_FAULT_SHAPE;
        w.strides[k] = is_own && in->dims[axis] != 1 ? own.strides[axis] : 0;
        if (call->is_sizing)
            call->out->dims[k] = w.counts[k];
    }
    if (!call->is_sizing)
        plain_walk_copy(&w, in, call->out, 0);
    return 0;
}
