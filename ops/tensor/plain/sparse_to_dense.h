#include "elements.h"

/* dyn.sparse_to_dense. */
enum {
    SPARSE_FAULT_RANK = 1,
    SPARSE_FAULT_VALUES,
    SPARSE_FAULT_EXTENT,
    SPARSE_FAULT_INDEX
};
static int32_t plain_sparse_to_dense(const bt_plain_call *call)
{
    const bt_plain_tensor *places = call->in, *shape = call->in + 1,
                          *values = call->in + 2, *out = call->out;
    const int64_t n = places->rank ? places->dims[0] : 1, rank = plain_count(shape);
    int64_t i, k, at, count;
    if (plain_count(places) != n * rank)
        return SPARSE_FAULT_RANK;
    if (values->rank && plain_count(values) != n)
        return SPARSE_FAULT_VALUES;
    for (k = 0; k < rank; k++) {
        const int64_t extent = plain_index(shape, k);
        if (extent < 0)
            return SPARSE_FAULT_EXTENT;
        if (call->is_sizing)
            out->dims[k] = extent;
        for (i = 0; i < n; i++) {
            at = plain_index(places, i * rank + k);
            if (at < 0 || at >= extent)
                return SPARSE_FAULT_INDEX;
        }
    }
    if (call->is_sizing)
        return 0;
    count = plain_count(out);
    for (i = 0; i < count; i++)
        plain_set_bits(out, i, call->nin > 3 ? plain_bits(call->in + 3, 0) : 0);
    for (i = 0; i < n; i++) {
        for (at = 0, k = 0; k < rank; k++)
            at = at * out->dims[k] + plain_index(places, i * rank + k);
        plain_set_bits(out, at, plain_bits(values, values->rank ? i : 0));
    }
    return 0;
}
