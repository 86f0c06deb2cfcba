#include "sort.h"

/* The positions of the first k, kept in order with their keys while the line goes by: few
 * elements are among them. */
static inline void plain_choose(const plain_line *line, int64_t k, uint64_t *keys,
                                int64_t *order, int is_single)
{
    int64_t n = 0, j, at;
    for (j = 0; k > 0 && j < line->n; j++) {
        const uint64_t key = plain_line_key(line, j, is_single);
        if (n == k && key >= keys[n - 1])
            continue;
        // the last one goes where there are enough; what comes after moves on
        for (at = n < k ? n++ : n - 1; at > 0 && key < keys[at - 1]; at--) {
            keys[at] = keys[at - 1];
            order[at] = order[at - 1];
        }
        keys[at] = key;
        order[at] = j;
    }
}

/* The positions of the first k; a few of many are chosen, else all are sorted. */
static inline const int64_t *plain_first(const plain_line *line, int64_t k, void *lists)
{
    int64_t *const order = (int64_t *)lists + line->n;
    if (k > 128 || k > line->n / 8)
        return plain_sort(line, lists);
    if (line->in->kind == 'f' && line->in->nbytes == 4)
        plain_choose(line, k, lists, order, 1);
    else
        plain_choose(line, k, lists, order, 0);
    return order;
}

/* sort, argsort, topk. attrs: the axis, whether the least come first, k (below 1: all),
 * whether values are given, whether positions are. An input 1 is k. */
enum { ORDER_FAULT_EXTENT = 1, ORDER_FAULT_K };
static int32_t plain_order(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *places = call->out + call->nout - 1;
    const int64_t axis = call->attrs[0], n = in->dims[axis];
    plain_line line = { 0 };
    int64_t k = call->attrs[2], number, nline, j;
    uint32_t i, r;
    if (call->nin > 1 && plain_count(call->in + 1) != 1)
        return ORDER_FAULT_K;
    if (call->nin > 1)
        k = plain_index(call->in + 1, 0);
    k = k < 1 ? n : k;
    if (k > n)
        return ORDER_FAULT_EXTENT;
    if (call->is_sizing) {
        for (r = 0; r < call->nout; r++) {
            for (i = 0; i < in->rank; i++)
                call->out[r].dims[i] = i == (uint32_t)axis ? k : in->dims[i];
        }
        return 0;
    }
    line.in = in;
    line.n = n;
    line.turn = call->attrs[1] ? 0 : UINT64_MAX;
    line.inner = 1;
    for (i = (uint32_t)axis + 1u; i < in->rank; i++)
        line.inner *= in->dims[i];
    nline = n > 0 ? plain_count(in) / n : 0;
    for (number = 0; number < nline; number++) {
        const int64_t outer = number / line.inner, rest = number % line.inner;
        const int64_t to = outer * k * line.inner + rest;
        const int64_t *order;
        line.first = outer * n * line.inner + rest;
        order = plain_first(&line, k, call->workspace);
        for (j = 0; call->attrs[3] && j < k; j++)
            plain_set_bits(call->out, to + j * line.inner,
                           plain_bits(in, line.first + order[j] * line.inner));
        for (j = 0; call->attrs[4] && j < k; j++)
            plain_set_index(places, to + j * line.inner, order[j]);
    }
    return 0;
}
