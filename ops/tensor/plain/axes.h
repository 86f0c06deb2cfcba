#include "elements.h"

/* dyn.squeeze. */
enum { SQUEEZE_FAULT_AXIS = 1, SQUEEZE_FAULT_TWICE };
static int32_t plain_squeeze(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *axes = call->in + 1, *out = call->out;
    const int64_t n = plain_count(axes);
    uint8_t is_dropped[BT_PLAIN_RANK] = { 0 };
    uint32_t k, rank = 0;
    int64_t i;
    for (i = 0; i < n; i++) {
        const int64_t at = plain_index(axes, i), axis = at < 0 ? at + in->rank : at;
        if (axis < 0 || axis >= in->rank || in->dims[axis] != 1)
            return SQUEEZE_FAULT_AXIS;
        if (is_dropped[axis]++)
            return SQUEEZE_FAULT_TWICE;
    }
    for (k = 0; call->is_sizing && k < in->rank; k++) {
        if (!is_dropped[k])
            out->dims[rank++] = in->dims[k];
    }
    if (!call->is_sizing)
        plain_copy(in, out, plain_count(in));
    return 0;
}

/* dyn.expand_dims. */
enum { EXPAND_FAULT_AXIS = 1 };
static int32_t plain_expand_dims(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *out = call->out;
    const int64_t at = plain_index(call->in + 1, 0), more = (int64_t)out->rank - in->rank,
                  axis = at < 0 ? at + in->rank + 1 : at;
    int64_t k;
    if (axis < 0 || axis > in->rank)
        return EXPAND_FAULT_AXIS;
    for (k = 0; call->is_sizing && k < out->rank; k++)
        out->dims[k] = k < axis ? in->dims[k] : k < axis + more ? 1 : in->dims[k - more];
    if (!call->is_sizing)
        plain_copy(in, out, plain_count(in));
    return 0;
}
