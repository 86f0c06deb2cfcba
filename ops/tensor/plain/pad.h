#include "elements.h"

/* Where element i of a padded axis comes from; below 0: from nowhere. mode: 0 constant, 1 edge,
 * 2 reflect, whose images follow each other with a period of twice the extent. */
static inline int64_t plain_pad_place(int64_t i, int64_t extent, int64_t mode)
{
    const int64_t period = mode == 2 && extent > 1 ? 2 * (extent - 1) : 1;
    if (mode == 0)
        return i < extent ? i : -1;
    if (mode == 2) {
        i %= period;
        i += i < 0 ? period : 0;
        return i < period - i ? i : period - i;
    }
    return i < 0 ? 0 : i < extent ? i : extent - 1;
}

/* The element of data that stands at an index of the result; below 0: none does. */
static inline int64_t plain_pad_at(const bt_plain_call *call, const int64_t *index)
{
    const bt_plain_tensor *in = call->in, *width = call->in + 1;
    int64_t at = 0, place;
    uint32_t k;
    for (k = 0; k < in->rank && at >= 0; k++) {
        place = index[k] - plain_index(width, 2 * (int64_t)k);
        if (plain_index(width, 2 * (int64_t)k) || plain_index(width, 2 * (int64_t)k + 1))
            place = plain_pad_place(place, in->dims[k], call->attrs[0]);
        at = place < 0 ? -1 : at * in->dims[k] + place;
    }
    return at;
}

/* dyn.nn.pad. attrs: the mode. */
enum { PAD_FAULT_COUNT = 1, PAD_FAULT_WIDTH, PAD_FAULT_EMPTY };
static int32_t plain_pad(const bt_plain_call *call)
{
    const bt_plain_tensor *in = call->in, *width = call->in + 1, *out = call->out;
    int64_t index[BT_PLAIN_RANK] = { 0 }, i, n, at;
    uint32_t k;
    if (plain_count(width) != 2 * (int64_t)in->rank)
        return PAD_FAULT_COUNT;
    for (k = 0; k < in->rank; k++) {
        const int64_t before = plain_index(width, 2 * (int64_t)k),
                      after = plain_index(width, 2 * (int64_t)k + 1);
        if (before < INT32_MIN || before > INT32_MAX || after < INT32_MIN ||
            after > INT32_MAX || in->dims[k] + before + after < 0)
            return PAD_FAULT_WIDTH;
        if (in->dims[k] == 0 && before + after && call->attrs[0])
            return PAD_FAULT_EMPTY;
        if (call->is_sizing)
            out->dims[k] = in->dims[k] + before + after;
    }
    if (call->is_sizing)
        return 0;
    n = plain_count(out);
    for (i = 0; i < n; i++) {
        at = plain_pad_at(call, index);
        if (at >= 0)
            plain_set_bits(out, i, plain_bits(in, at));
        else if (call->nin > 2)
            plain_convert(call->in + 2, 0, out, i);
        else
            plain_set_bits(out, i, 0);
        for (k = in->rank; k-- > 0 && ++index[k] == out->dims[k];)
            index[k] = 0;
    }
    return 0;
}
