#include "walk.h"

/* strided_set: inputs data, the new elements, begin, end, steps. */
static int32_t plain_strided_set(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *v = call->in + 1;
    plain_walk w;
    int32_t fault;
    uint32_t k;
    plain_walk_of(in, &w);
    fault = plain_walk_slice(call, 2, 0, &w);
    for (k = 0; k < in->rank && !fault; k++) {
        if (v->dims[k] != w.counts[k])
            fault = WALK_FAULT_SHAPE;
        if (call->is_sizing)
            call->out->dims[k] = in->dims[k];
    }
    if (call->is_sizing || fault)
        return fault;
    plain_copy(in, call->out, plain_count(in));
    plain_walk_copy(&w, v, call->out, 1);
    return 0;
}
