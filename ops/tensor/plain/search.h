#include "sort.h"

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
            plain_set_index(call->out, row * in->rank + k, rest % in->dims[k]);
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

/* unique: groups[j]: the number of the distinct element that element j is, in ascending
 * order; first[g]: where it stands first. Gives how many there are. */
static inline int64_t plain_group(const bt_plain_tensor *in, void *lists, int64_t *groups,
                                  int64_t *first)
{
    plain_line line = { 0 };
    const uint64_t *const keys = lists;
    const int64_t *order;
    int64_t count = 0, k;
    line.in = in;
    line.n = in->dims[0];
    line.inner = 1;
    order = plain_sort(&line, lists);
    for (k = 0; k < line.n; k++) {
        const int64_t j = order[k];
        if (k == 0 || keys[order[k - 1]] != keys[j])
            first[count++] = j;
        groups[j] = count - 1;
    }
    return count;
}

/* unique. attrs: the axis, 0; whether they are sorted. Results: the elements, where each stands
 * first, which one each element is, how many there are, and perhaps how often each occurs. */
static int32_t plain_unique(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *out = call->out;
    const int64_t n = in->dims[0];
    int64_t *const number = call->workspace, *const groups = number + 3 * n,
                   *const first = groups + n;
    int64_t next = 0, count, k, g;
    count =
        call->is_sized ? out->dims[0] : plain_group(in, call->workspace, groups, first);
    if (call->is_sizing) {
        out[0].dims[0] = out[1].dims[0] = count;
        out[2].dims[0] = n;
        out[3].dims[0] = 1;
        if (call->nout == 5)
            out[4].dims[0] = count;
        return 0;
    }
    for (g = 0; g < count; g++)
        number[g] = call->attrs[1] ? g : -1;
    for (k = 0; k < n; k++) {
        g = groups[k];
        if (number[g] < 0)
            number[g] = next++;
        plain_set_bits(out + 2, k, (uint64_t)number[g]);
    }
    for (g = 0; g < count; g++) {
        plain_set_bits(out, number[g], plain_bits(in, first[g]));
        plain_set_bits(out + 1, number[g], (uint64_t)first[g]);
        if (call->nout == 5)
            plain_set_bits(out + 4, g, 0);
    }
    for (k = 0; call->nout == 5 && k < n; k++) {
        g = number[groups[k]];
        plain_set_bits(out + 4, g, plain_bits(out + 4, g) + 1u);
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
        plain_set_index(call->out, i, low);
    }
    return 0;
}
