#include "elements.h"

/* dyn.full, dyn.zeros, dyn.ones: the last input is the shape. attrs: the number that each
 * element is, where no input 0 is the element. */
enum { FILL_FAULT_EXTENT = 1 };
static int32_t plain_fill(const bt_plain_call *call)
{
    const bt_plain_tensor *shape = call->in + call->nin - 1, *out = call->out;
    uint32_t k;
    int64_t i, n;
    uint64_t bits;
    if (call->is_sizing) {
        for (k = 0; k < out->rank; k++) {
            out->dims[k] = plain_index(shape, k);
            if (out->dims[k] < 0)
                return FILL_FAULT_EXTENT;
        }
        return 0;
    }
    n = plain_count(out);
    if (n == 0)
        return 0;
    if (call->nin > 1)
        plain_convert(call->in, 0, out, 0);
    else
        plain_set_real(out, 0, (double)call->attrs[0]);
    bits = plain_bits(out, 0);
    for (i = 1; i < n; i++)
        plain_set_bits(out, i, bits);
    return 0;
}
