#include "elements.h"

/* reinterpret: of bool only 0 and 1 are values. */
static int32_t plain_reinterpret(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *out = call->out;
    const int64_t n = plain_count(in);
    int64_t i;
    uint32_t k;
    if (call->is_sizing) {
        for (k = 0; k < in->rank; k++)
            out->dims[k] = in->dims[k];
        return 0;
    }
    if (out->kind != 'b')
        plain_copy(in, out, n);
    for (i = 0; out->kind == 'b' && i < n; i++)
        plain_set_bits(out, i, plain_bits(in, i) != 0);
    return 0;
}
