#include "attention.h"

#include <math.h>

/* ---- heads ---- */

const bt_value *heads_apart(bt_onnx_node *n, const bt_value *x, int64_t heads)
{
    if (heads < 1)
        node_fail(n, BT_ERR_ATTRIBUTE, "the number of heads is missing");
    if (n->status)
        return NULL;
    const bt_type *dims[4] = { dim_of(n, x, 0), dim_of(n, x, 1), dim_number(n, heads),
                               dim_over(n, dim_of(n, x, 2), heads) };
    return reshaped(n, x, 4, dims);
}

const bt_value *by_head(bt_onnx_node *n, const bt_value *x, const char *heads)
{
    uint32_t rank = value_rank(n, x);
    if (rank == 3)
        return axes_swapped(n, heads_apart(n, x, node_int(n, heads, 0)), 1, 2);
    if (rank != 4)
        node_fail(n, BT_ERR_FORMAT, "data of rank %u; 3 and 4 are known", rank);
    return x;
}

const bt_value *heads_together(bt_onnx_node *n, const bt_value *x)
{
    x = axes_swapped(n, x, 1, 2);
    if (n->status)
        return NULL;
    const bt_type *dims[3] = { dim_of(n, x, 0), dim_of(n, x, 1),
                               dims_product(n, x, 2, 4) };
    return reshaped(n, x, 3, dims);
}

const bt_value *with_past(bt_onnx_node *n, const bt_value *past, const bt_value *now)
{
    const bt_value *parts[2] = { past, now };
    return past ? joined(n, 2, 2, parts) : now;
}

/* ---- scores ---- */

const bt_value *repeated_heads(bt_onnx_node *n, const bt_value *x, const bt_value *q)
{
    int64_t have = value_dim(n, x, 1), want = value_dim(n, q, 1);
    if (have == want || n->status)
        return x;
    if (have < 1 || want < 1 || want % have) {
        node_fail(
            n, BT_ERR_FORMAT,
            "keys and values have %lld heads, queries %lld, which is not a multiple",
            (long long)have, (long long)want);
        return NULL;
    }
    return emit1(n, "repeat",
                 node_format(n, "repeats=%lld, axis=1", (long long)(want / have)), x);
}

const bt_value *scaled_scores(bt_onnx_node *n, const struct heads *h, double scale)
{
    int64_t size = value_dim(n, h->q, 3);
    if (scale == 0 && size < 1)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "the size of a head is symbolic: bind it with --dim");
    if (n->status)
        return NULL;
    const bt_value *q =
        times_number(n, h->q, scale != 0 ? scale : 1 / sqrt((double)size));
    return matrix_product(n, q, axes_swapped(n, repeated_heads(n, h->k, h->q), 2, 3));
}

const bt_value *softcapped(bt_onnx_node *n, const bt_value *x, double cap)
{
    return cap > 0 ? times_number(n, applied(n, "tanh", over_number(n, x, cap)), cap) : x;
}

/* ---- masks ---- */

const bt_value *minus_infinity(bt_onnx_node *n, const bt_value *like)
{
    return scalar_like(n, like, -INFINITY);
}

const bt_value *bias_where(bt_onnx_node *n, const bt_value *condition,
                           const bt_value *like)
{
    return chosen(n, condition, scalar_like(n, like, 0), minus_infinity(n, like));
}

const bt_value *causal_bias(bt_onnx_node *n, const bt_value *q, const bt_value *k,
                            const bt_value *past)
{
    const bt_value *row = with_axes(n, counted(n, dim_of(n, q, 2), BT_INT64), 1, 1),
                   *column = with_axes(n, counted(n, dim_of(n, k, 2), BT_INT64), 0, 1);
    if (past) {
        const bt_value *shape = emit1(n, "shape_of", "dtype=\"int64\"", past);
        row = plus(n, row, as_scalar(n, sliced(n, shape, 0, 2, 3)));
    }
    return bias_where(n, emit2(n, "less_equal", NULL, column, row), q);
}

/* ---- rotary positions ---- */

/* Every second element of the last axis, from the first or the second on. */
static const bt_value *alternate(bt_onnx_node *n, const bt_value *x, uint32_t from)
{
    return emit1(
        n, "strided_slice",
        node_format(n, "begin=[%u], end=[%d], strides=[2], axes=[-1]", from, INT32_MAX),
        x);
}

static const bt_value *turned(bt_onnx_node *n, const bt_value *x, int64_t size,
                              const struct rotary *r)
{
    const bt_value *first =
                       r->alternates ? alternate(n, x, 0) : sliced(n, x, 3, 0, size / 2),
                   *second = r->alternates ? alternate(n, x, 1)
                                           : sliced(n, x, 3, size / 2, size);
    const bt_value *parts[2] = {
        minus(n, times(n, r->cosine, first), times(n, r->sine, second)),
        plus(n, times(n, r->sine, first), times(n, r->cosine, second)),
    };
    if (!r->alternates)
        return joined(n, 3, 2, parts);
    return shaped_like(n, emit_list(n, "stack", "axis=4", 2, parts), x);
}

/* Angles for each position, with an axis of size 1 for the heads. */
static const bt_value *angles(bt_onnx_node *n, const bt_value *cache,
                              const bt_value *positions, uint32_t head_axis)
{
    if (positions)
        cache = emit2(n, "take", "axis=0, mode=\"fast\"", cache, positions);
    return with_axes(n, cache, head_axis, 1);
}

const bt_value *rotated(bt_onnx_node *n, const bt_value *x, const struct rotary *how)
{
    struct rotary r = *how;
    uint32_t rank = value_rank(n, x), head_axis = rank == 3 ? 2 : 1;
    if (rank != 3 && rank != 4)
        node_fail(n, BT_ERR_FORMAT, "data of rank %u; 3 and 4 are known", rank);
    r.cosine = angles(n, r.cosine, r.positions, head_axis);
    r.sine = angles(n, r.sine, r.positions, head_axis);
    const bt_value *y = rank == 3 ? heads_apart(n, x, r.heads) : x;
    int64_t size = value_dim(n, y, 3);
    if (size < 0)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "the size of a head is symbolic: bind it with --dim");
    if (r.part < 0 || r.part > size || r.part % 2 || (!r.part && size % 2))
        node_fail(n, BT_ERR_ATTRIBUTE,
                  "%lld of the %lld elements of a head are to be rotated; an even number "
                  "of them is expected, or 0 for all",
                  (long long)r.part, (long long)size);
    if (n->status)
        return NULL;
    int64_t part = r.part ? r.part : size;
    const bt_value *parts[2] = { turned(n, sliced(n, y, 3, 0, part), part, &r),
                                 sliced(n, y, 3, part, size) };
    y = part == size ? parts[0] : joined(n, 3, 2, parts);
    return shaped_like(n, y, x);
}
