/* argwhere. */
static int32_t plain_argwhere(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in;
    const int64_t n = plain_count(in);
    int64_t i, row = 0;
    for (i = 0; i < n; i++) {
        int64_t rest = i;
        uint32_t k = in->rank;
        if (!plain_is_set(in, i))
            continue;
        while (!call->is_sizing && k-- > 0) {
            plain_set_bits(call->out, row * in->rank + k, (uint64_t)(rest % in->dims[k]));
            rest /= in->dims[k];
        }
        row++;
    }
    if (call->is_sizing) {
        call->out->dims[0] = row;
        call->out->dims[1] = in->rank;
    }
    return 0;
}

/* unique. attrs: whether they are sorted. Results: the elements, where each stands first,
 * which one each element is, how many there are, and perhaps how often each occurs. */
static int32_t plain_unique(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *out = call->out;
    const int64_t n = in->dims[0];
    int64_t *const groups = (int64_t *)call->workspace + 2 * n, *first = groups + n, *number = first + n;
    const int64_t *const order =
        plain_sort(in, 0, 1, n, 0, call->workspace, (int64_t *)call->workspace + n);
    int64_t count = 0, next = 0, k;
    for (k = 0; k < n; k++) {
        if (k == 0 || plain_key(in, order[k - 1]) != plain_key(in, order[k])) {
            first[count] = order[k];
            number[count] = call->attrs[0] ? count : -1;
            count++;
        }
        groups[order[k]] = count - 1;
    }
    if (call->is_sizing) {
        out[0].dims[0] = out[1].dims[0] = count;
        out[2].dims[0] = n;
        out[3].dims[0] = 1;
        if (call->nout == 5)
            out[4].dims[0] = count;
        return 0;
    }
    for (k = 0; k < n; k++) {
        const int64_t g = groups[k];
        if (number[g] < 0)
            number[g] = next++;
        plain_set_bits(out + 2, k, (uint64_t)number[g]);
    }
    for (k = 0; k < count; k++) {
        plain_set_bits(out, number[k], plain_bits(in, first[k]));
        plain_set_bits(out + 1, number[k], (uint64_t)first[k]);
        if (call->nout == 5)
            plain_set_bits(out + 4, number[k], 0);
    }
    for (k = 0; call->nout == 5 && k < n; k++) {
        const int64_t g = number[groups[k]];
        plain_set_bits(out + 4, g, (uint64_t)plain_get(out + 4, g) + 1u);
    }
    plain_set_bits(out + 3, 0, (uint64_t)count);
    return 0;
}

/* searchsorted. attrs: whether the place behind equal elements is given. */
static int32_t plain_search(const bt_plain_call *call)
{
    const bt_plain_tensor *sequence = call->in, *values = call->in + 1;
    const int64_t n = sequence->dims[sequence->rank - 1], nvalue = plain_count(values);
    const int64_t nshared = sequence->rank == 1 ? nvalue : values->dims[values->rank - 1];
    int64_t i;
    uint32_t k;
    for (k = 0; call->is_sizing && k < values->rank; k++)
        call->out->dims[k] = values->dims[k];
    for (i = 0; !call->is_sizing && i < nvalue; i++) {
        const uint64_t value = plain_key(values, i);
        const int64_t start = i / nshared * n;
        int64_t low = 0, high = n;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            const uint64_t at = plain_key(sequence, start + middle);
            if (at < value || (call->attrs[0] && at == value))
                low = middle + 1;
            else
                high = middle;
        }
        plain_set_bits(call->out, i, (uint64_t)low);
    }
    return 0;
}
