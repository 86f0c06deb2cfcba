/* Joins the sorted runs low..middle and middle..high of `from` in `to`; turn: UINT64_MAX,
 * the greatest key comes first. */
static inline void plain_merge(const bt_plain_tensor *t, int64_t first, int64_t inner,
                               uint64_t turn, const int64_t *from, int64_t *to, int64_t low,
                               int64_t middle, int64_t high)
{
    int64_t a = low, b = middle, k;
    for (k = low; k < high; k++) {
        if (b >= high || (a < middle &&
                          (turn ^ plain_key(t, first + from[a] * inner)) <=
                              (turn ^ plain_key(t, first + from[b] * inner))))
            to[k] = from[a++];
        else
            to[k] = from[b++];
    }
}

/* The positions of a line's n elements in order; equal ones keep theirs. Gives one of the
 * two lists of n numbers. */
static inline int64_t *plain_sort(const bt_plain_tensor *t, int64_t first, int64_t inner,
                                  int64_t n, uint64_t turn, int64_t *order, int64_t *spare)
{
    int64_t width, low, j;
    for (j = 0; j < n; j++)
        order[j] = j;
    for (width = 1; width < n; width *= 2) {
        int64_t *const sorted = spare;
        for (low = 0; low < n; low += 2 * width) {
            const int64_t middle = low + width < n ? low + width : n;
            const int64_t high = middle + width < n ? middle + width : n;
            plain_merge(t, first, inner, turn, order, spare, low, middle, high);
        }
        spare = order;
        order = sorted;
    }
    return order;
}

/* sort, argsort, topk. attrs: the axis, whether the least come first, k (below 1: all),
 * whether values are given, whether positions are. An input 1 is k. */
static int32_t plain_order(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in;
    const int64_t axis = call->attrs[0], n = in->dims[axis];
    const uint64_t turn = call->attrs[1] ? 0 : UINT64_MAX;
    int64_t k = call->nin > 1 ? plain_get(call->in + 1, 0) : call->attrs[2], inner = 1, line, j;
    int64_t *const order = call->workspace;
    uint32_t i, r;
    if (k < 1)
        k = n;
    if (k > n)
        return 1;
    if (call->is_sizing) {
        for (r = 0; r < call->nout; r++) {
            for (i = 0; i < in->rank; i++)
                call->out[r].dims[i] = i == (uint32_t)axis ? k : in->dims[i];
        }
        return 0;
    }
    for (i = (uint32_t)axis + 1u; i < in->rank; i++)
        inner *= in->dims[i];
    for (line = 0; n > 0 && line < plain_count(in) / n; line++) {
        const int64_t first = line / inner * n * inner + line % inner;
        const int64_t to = line / inner * k * inner + line % inner;
        const int64_t *const sorted = plain_sort(in, first, inner, n, turn, order, order + n);
        for (j = 0; j < k; j++) {
            if (call->attrs[3])
                plain_set_bits(call->out, to + j * inner, plain_bits(in, first + sorted[j] * inner));
            if (call->attrs[4])
                plain_set_bits(call->out + call->nout - 1, to + j * inner, (uint64_t)sorted[j]);
        }
    }
    return 0;
}
