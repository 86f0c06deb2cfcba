/* reinterpret: of bool only 0 and 1 are values. */
static int32_t plain_reinterpret(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in;
    const int64_t n = plain_count(in);
    int64_t i;
    uint32_t k;
    for (k = 0; call->is_sizing && k < in->rank; k++)
        call->out->dims[k] = in->dims[k];
    for (i = 0; !call->is_sizing && i < n; i++) {
        const uint64_t bits = plain_bits(in, i);
        plain_set_bits(call->out, i, call->out->kind == 'b' ? bits != 0 : bits);
    }
    return 0;
}

/* dyn.full, dyn.zeros, dyn.ones: the last input is the shape. attrs: the bits of an element,
 * where no input 0 is the element. */
static int32_t plain_fill(const bt_plain_call *call)
{
    const bt_plain_tensor *shape = call->in + call->nin - 1, *out = call->out;
    uint32_t k;
    int64_t i, n;
    if (call->is_sizing) {
        for (k = 0; k < out->rank; k++) {
            out->dims[k] = plain_get(shape, k);
            if (out->dims[k] < 0)
                return 1;
        }
        return 0;
    }
    n = plain_count(out);
    for (i = 0; i < n; i++)
        plain_set_bits(out, i, call->nin > 1 ? plain_bits(call->in, 0) : (uint64_t)call->attrs[0]);
    return 0;
}

/* arange of integers. */
static int32_t plain_range(const bt_plain_call *call)
{
    const int64_t start = plain_get(call->in, 0), stop = plain_get(call->in + 1, 0),
                  step = plain_get(call->in + 2, 0);
    const uint64_t by = step > 0 ? (uint64_t)step : 0u - (uint64_t)step;
    uint64_t span = 0, i;
    if (step == 0 || step == INT64_MIN)
        return 1;
    if (step > 0 ? stop > start : stop < start)
        span = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    if (span > INT64_MAX)
        return 2;
    if (call->is_sizing) {
        call->out->dims[0] = (int64_t)(span / by + (span % by != 0));
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
        return count < 0 || count >= 0 ? 2 : 1;
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

/* dyn.one_hot of values that have the result's dtype. attrs: the axis. */
static int32_t plain_one_hot(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *out = call->out;
    const int64_t axis = call->attrs[0], depth = plain_get(call->in + 3, 0);
    int64_t inner = 1, i, n;
    uint32_t k;
    if (depth < 0)
        return 1;
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
        const int is_on = plain_get(in, at) == i / inner % depth;
        plain_set_bits(out, i, plain_bits(call->in + (is_on ? 1 : 2), 0));
    }
    return 0;
}
