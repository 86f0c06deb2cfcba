#include "slice_dims.h"

static int64_t low_of(const bt_type *dim)
{
    int64_t low, high;
    bt_dim_bounds(dim, &low, &high);
    return low;
}

static int64_t high_of(const bt_type *dim)
{
    int64_t low, high;
    bt_dim_bounds(dim, &low, &high);
    return high;
}

/* The lesser of two, without a min where their difference has one sign. */
static const bt_type *lesser(bt_store *store, const bt_type *a, const bt_type *b)
{
    const bt_type *difference = bt_dim_sub(store, b, a);
    if (!difference)
        return NULL;
    if (low_of(difference) >= 0)
        return a;
    return high_of(difference) <= 0 ? b : bt_dim_min(store, a, b);
}

static const bt_type *greater(bt_store *store, const bt_type *a, const bt_type *b)
{
    const bt_type *difference = bt_dim_sub(store, b, a);
    if (!difference)
        return NULL;
    if (low_of(difference) >= 0)
        return b;
    return high_of(difference) <= 0 ? a : bt_dim_max(store, a, b);
}

const bt_type *slice_position(bt_store *store, const bt_type *at, const bt_type *extent,
                              int64_t stride)
{
    int64_t shift = stride < 0 ? -1 : 0, number;
    const bt_type *first = bt_dim(store, shift);
    const bt_type *last = bt_dim_scale(store, extent, 1, shift);
    if (!first || !last)
        return NULL;
    if (bt_dim_is_const(at, &number) && number >= SLICE_FAR)
        return last;
    if (bt_dim_is_const(at, &number) && number <= -SLICE_FAR)
        return first;
    if (low_of(at) >= 0)
        return lesser(store, at, last);
    if (high_of(at) >= 0)
        return NULL;
    const bt_type *moved = bt_dim_add(store, extent, at);
    return moved ? greater(store, moved, first) : NULL;
}

const bt_type *slice_length(bt_store *store, const bt_type *begin, const bt_type *end,
                            const bt_type *extent, int64_t stride)
{
    const bt_type *from = slice_position(store, begin, extent, stride);
    const bt_type *to = slice_position(store, end, extent, stride);
    const bt_type *step = bt_dim(store, stride < 0 ? -stride : stride);
    const bt_type *zero = bt_dim(store, 0), *span;
    if (!from || !to || !step || !zero)
        return NULL;
    span = stride < 0 ? bt_dim_sub(store, from, to) : bt_dim_sub(store, to, from);
    span = span ? greater(store, span, zero) : NULL;
    return span ? bt_dim_ceildiv(store, span, step) : NULL;
}

const bt_type *slice_size(bt_store *store, const bt_type *begin, const bt_type *size,
                          const bt_type *extent)
{
    const bt_type *rest = bt_dim_sub(store, extent, begin);
    if (!rest || high_of(size) < 0)
        return rest;
    return low_of(size) < 0 ? NULL : lesser(store, size, rest);
}
