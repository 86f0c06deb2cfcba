#include "elements.h"

/* How many integers arange gives; keys are as far apart as what they are of. */
static int32_t plain_range_count(const bt_plain_call *call, int64_t *out)
{
    const uint64_t start = plain_key(call->in, 0), stop = plain_key(call->in + 1, 0),
                   step = (uint64_t)plain_get(call->in + 2, 0);
    const int falls = call->in->kind == 'i' && (int64_t)step < 0;
    const uint64_t by = falls ? 0u - step : step;
    uint64_t count = 0;
    if (step == 0)
        return 1;
    if (falls ? stop < start : stop > start)
        count = falls ? start - stop : stop - start;
    count = count / by + (count % by != 0);
    *out = (int64_t)count;
    return count > INT64_MAX ? 2 : 0;
}

/* How many floats. */
static int32_t plain_float_range_count(const bt_plain_call *call, int64_t *out)
{
    const double start = plain_real(call->in, 0), stop = plain_real(call->in + 1, 0),
                 step = plain_real(call->in + 2, 0), count = (stop - start) / step;
    if (!(step < 0 || step > 0) || !(count < 4611686018427387904.0))
        return step < 0 || step > 0 ? 2 : 1;
    *out = count > 0 ? (int64_t)count : 0;
    *out += count > 0 && (double)*out < count;
    return 0;
}

/* arange */
static int32_t plain_arange(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *out = call->out;
    const int is_real = plain_is_float(in);
    int64_t count = 0, i;
    const int32_t fault =
        is_real ? plain_float_range_count(call, &count) : plain_range_count(call, &count);
    if (fault)
        return fault;
    if (call->is_sizing)
        out->dims[0] = count;
    else if (!is_real && (out->kind == 'i' || out->kind == 'u'))
        for (i = 0; i < out->dims[0]; i++)
            plain_set_bits(out, i,
                           (uint64_t)plain_get(in, 0) +
                               (uint64_t)i * (uint64_t)plain_get(in + 2, 0));
    else
        for (i = 0; i < out->dims[0]; i++)
            plain_set_real(out, i, plain_real(in, 0) + (double)i * plain_real(in + 2, 0));
    return 0;
}
