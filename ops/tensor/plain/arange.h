#include "elements.h"

/* arange of integers. */
static int32_t plain_range(const bt_plain_call *call)
{
    const int64_t start = plain_get(call->in, 0), stop = plain_get(call->in + 1, 0),
                  step = plain_get(call->in + 2, 0);
    const uint64_t by = step > 0 ? (uint64_t)step : 0u - (uint64_t)step;
    uint64_t count = 0, i;
    if (step == 0)
        return 1;
    if (step > 0 ? stop > start : stop < start)
        count = step > 0 ? (uint64_t)stop - (uint64_t)start
                         : (uint64_t)start - (uint64_t)stop;
    count = count / by + (count % by != 0);
    if (count > INT64_MAX)
        return 2;
    if (call->is_sizing) {
        call->out->dims[0] = (int64_t)count;
        return 0;
    }
    for (i = 0; i < (uint64_t)call->out->dims[0]; i++)
        plain_set_bits(call->out, (int64_t)i, (uint64_t)start + i * (uint64_t)step);
    return 0;
}

/* arange of floats. */
static int32_t plain_float_range(const bt_plain_call *call)
{
    const bt_plain_tensor *out = call->out;
    const double start = plain_real(call->in, 0), stop = plain_real(call->in + 1, 0),
                 step = plain_real(call->in + 2, 0), count = (stop - start) / step;
    int64_t i;
    if (!(step < 0 || step > 0) || !(count < 4611686018427387904.0))
        return step < 0 || step > 0 ? 2 : 1;
    if (call->is_sizing) {
        out->dims[0] = count > 0 ? (int64_t)count : 0;
        out->dims[0] += count > 0 && (double)out->dims[0] < count;
        return 0;
    }
    for (i = 0; i < out->dims[0]; i++)
        plain_set_real(out, i, start + (double)i * step);
    return 0;
}

/* arange. attrs: whether it counts in floats. */
static int32_t plain_arange(const bt_plain_call *call)
{
    return call->attrs[0] ? plain_float_range(call) : plain_range(call);
}
