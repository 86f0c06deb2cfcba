#include "elements.h"

/* dyn.one_hot. attrs: the axis. */
enum { ONE_HOT_FAULT_DEPTH = 1 };
static int32_t plain_one_hot(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *out = call->out;
    const int64_t axis = call->attrs[0], depth = plain_index(call->in + 3, 0);
    int64_t inner = 1, i, n;
    uint32_t k;
    if (depth < 0)
        return ONE_HOT_FAULT_DEPTH;
    for (k = (uint32_t)axis; k < in->rank; k++)
        inner *= in->dims[k];
    for (k = 0; call->is_sizing && k < in->rank; k++)
        out->dims[k + (k >= (uint32_t)axis)] = in->dims[k];
    if (call->is_sizing) {
        out->dims[axis] = depth;
        return 0;
    }
    n = plain_count(out);
    for (i = 0; i < n; i++) {
        const int64_t at = i / inner / depth * inner + i % inner;
        const int is_on = plain_index(in, at) == i / inner % depth;
        plain_convert(call->in + (is_on ? 1 : 2), 0, out, i);
    }
    return 0;
}
