#ifndef PLAIN_WALK_H
#define PLAIN_WALK_H

#include "elements.h"

/* Axes of a walk over a dense tensor, from the element `at` on: so many steps along each, by
 * strides in elements; a stride of 0 repeats, a negative one goes back. A walk may have two for
 * each axis of a result. */
typedef struct plain_walk {
    uint32_t rank;
    int64_t at, counts[2 * BT_PLAIN_RANK], strides[2 * BT_PLAIN_RANK];
} plain_walk;
/* The tensor's own axes. */
static inline void plain_walk_of(const bt_plain_tensor *t, plain_walk *out)
{
    int64_t stride = 1;
    uint32_t k;
    out->rank = t->rank;
    out->at = 0;
    for (k = t->rank; k-- > 0; stride *= t->dims[k]) {
        out->counts[k] = t->dims[k];
        out->strides[k] = stride;
    }
}

/* Copies `from`, where the walk leads, to `to`, in row major order; or `from`, in that order,
 * to where the walk leads in `to`. */
static inline void plain_walk_copy(const plain_walk *w, const bt_plain_tensor *from,
                                   const bt_plain_tensor *to, int is_to)
{
    int64_t steps[2 * BT_PLAIN_RANK] = { 0 }, at = w->at, n = 1, i;
    uint32_t k;
    for (k = 0; k < w->rank; k++)
        n *= w->counts[k];
    for (i = 0; i < n; i++) {
        plain_set_bits(to, is_to ? at : i, plain_bits(from, is_to ? i : at));
        for (k = w->rank; k-- > 0;) {
            at += w->strides[k];
            if (++steps[k] < w->counts[k])
                break;
            at -= w->counts[k] * w->strides[k];
            steps[k] = 0;
        }
    }
}

/* A position counted from the front and moved into an axis, or one before it for negative
 * steps. */
static inline int64_t plain_position(int64_t at, int64_t extent, int64_t step)
{
    const int64_t shift = step < 0 ? -1 : 0;
    if (at < 0)
        at = at < -extent ? shift : at + extent;
    return at > extent + shift ? extent + shift : at;
}

/* Keeps of the first axes every step-th position between two, as Python's slices do, or so
 * many from a position on; where they are is in three inputs from one on. */
enum { WALK_FAULT_COUNT = 1, WALK_FAULT_STEP, WALK_FAULT_SHAPE };
static inline int32_t plain_walk_slice(const bt_plain_call *call, uint32_t first,
                                       int64_t is_size, plain_walk *w)
{
    const bt_plain_tensor *begin = call->in + first, *end = begin + 1, *steps = begin + 2;
    const int64_t n = plain_count(begin);
    int64_t k;
    if (n > w->rank || plain_count(end) != n || plain_count(steps) > n)
        return WALK_FAULT_COUNT;
    for (k = 0; k < n; k++) {
        const int64_t extent = w->counts[k], stop = plain_index(end, k);
        const int64_t step =
            k < plain_count(steps) && !is_size ? plain_index(steps, k) : 1;
        int64_t from, span;
        if (step == 0 || step == INT64_MIN)
            return WALK_FAULT_STEP;
        from = plain_position(plain_index(begin, k), extent, step);
        if (is_size)
            span = stop < 0 || stop > extent - from ? extent - from : stop;
        else
            span = plain_position(stop, extent, step) - from;
        span = step < 0 ? -span : span;
        w->counts[k] = span > 0 ? (span - 1) / (step < 0 ? -step : step) + 1 : 0;
        w->at += from * w->strides[k];
        // the step along an axis of one is never made, and may be too great to multiply
        w->strides[k] *= w->counts[k] > 1 ? step : 0;
    }
    return 0;
}

#endif
