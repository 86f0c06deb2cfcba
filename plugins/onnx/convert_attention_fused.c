/* Attention as ONNX Runtime has it: inputs are projected and cut into heads within. */
#include "attention.h"
#include "quantize.h"

/* ---- masks ---- */

/* 0 where the mask is not 0, the value that masks elsewhere. */
static const bt_value *mask_bias(bt_onnx_node *n, const bt_value *mask,
                                 const bt_value *like)
{
    const bt_value *masked =
        scalar_like(n, like, node_float(n, "mask_filter_value", -10000));
    return chosen(n, cast_to(n, mask, BT_BOOL), scalar_like(n, like, 0), masked);
}

/* [batch]: how many keys count; [batch, keys], [batch, queries, keys]: which. */
static const bt_value *masked(bt_onnx_node *n, const bt_value *scores,
                              const bt_value *mask, const struct heads *h)
{
    uint32_t rank = value_rank(n, mask);
    int64_t have = value_dim(n, mask, 0), batch = value_dim(n, h->q, 0);
    if (rank < 1 || rank > 3 || (rank == 1 && have >= 0 && batch >= 0 && have != batch))
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "a mask that is neither [batch], [batch, keys] nor [batch, queries, "
                  "keys]");
    if (n->status)
        return NULL;
    if (rank == 1)
        mask = emit2(n, "less", NULL, counted(n, dim_of(n, h->k, 2), value_dtype(mask)),
                     with_axes(n, mask, 1, 3));
    else
        mask = with_axes(n, mask, 1, rank == 2 ? 2 : 1);
    return plus(n, scores, mask_bias(n, mask, scores));
}

/* ---- attention ---- */

/* softmax(q k^T * scale + biases) v, its heads together. */
static const bt_value *attended(bt_onnx_node *n, const struct heads *h,
                                const bt_value *mask, const bt_value *bias)
{
    const bt_value *scores = scaled_scores(n, h, node_float(n, "scale", 0));
    scores = bias ? plus(n, scores, bias) : scores;
    scores = mask ? masked(n, scores, mask, h) : scores;
    if (node_int(n, "unidirectional", 0))
        scores = plus(n, scores, causal_bias(n, h->q, h->k, h->past));
    const bt_value *y = emit1(n, "nn.softmax", "axis=-1", scores);
    return heads_together(n, matrix_product(n, y, h->v));
}

/* Elements of the last axis. */
static const bt_value *columns(bt_onnx_node *n, const bt_value *x, int64_t from,
                               int64_t to)
{
    return sliced(n, x, value_rank(n, x) - 1, from, to);
}

/* The sizes of queries, keys and values within one projection. */
static void projected_sizes(bt_onnx_node *n, const bt_value *weight, int64_t sizes[3])
{
    const struct onnx_attr *attr = node_attr(n, "qkv_hidden_sizes", ATTR_INTS);
    int64_t all = value_dim(n, weight, 1), sum = 0;
    for (uint32_t i = 0; i < 3; i++) {
        sizes[i] = attr && attr->ints.len == 3 ? attr->ints.at[i] : all / 3;
        if (sizes[i] < 1 || !bt_add_int64(sum, sizes[i], &sum))
            sum = -1, sizes[i] = 0;
    }
    if (sum != all || all < 3)
        node_fail(n, BT_ERR_FORMAT,
                  "queries, keys and values do not fill %lld columns of weights",
                  (long long)all);
}

/* One half of [2, batch, heads, length, size]; NULL: there is no past. */
static const bt_value *half_of(bt_onnx_node *n, const bt_value *past, int64_t which)
{
    return past ? without_axis(n, sliced(n, past, 0, which, which + 1), 0) : NULL;
}

/* What of attention stands beside the projection; NULL: left out. */
struct beside {
    const bt_value *mask, *past, *scores; /* `scores`: what is added to them */
};

/* `all`: queries, keys and values beside each other, projected by `weight`. */
static void give_attended(bt_onnx_node *n, const bt_value *all, const bt_value *weight,
                          const struct beside *b)
{
    int64_t sizes[3];
    projected_sizes(n, weight, sizes);
    if (node_int(n, "do_rotary", 0))
        node_fail(n, BT_ERR_UNSUPPORTED, "rotary positions are not supported");
    if (node_int(n, "past_present_share_buffer", 0))
        node_fail(n, BT_ERR_UNSUPPORTED, "a buffer for the past is not supported");
    if (n->status)
        return;
    struct heads h = { .past = half_of(n, b->past, 0) };
    h.q = by_head(n, columns(n, all, 0, sizes[0]), "num_heads");
    h.k = by_head(n, columns(n, all, sizes[0], sizes[0] + sizes[1]), "num_heads");
    h.v = by_head(n, columns(n, all, sizes[0] + sizes[1], sizes[0] + sizes[1] + sizes[2]),
                  "num_heads");
    h.k = with_past(n, h.past, h.k);
    h.v = with_past(n, half_of(n, b->past, 1), h.v);
    node_out(n, 0, attended(n, &h, b->mask, b->scores));
    if (node_wants(n, 1))
        node_out(n, 1,
                 emit_list(n, "stack", "axis=0", 2, (const bt_value *[]){ h.k, h.v }));
}

/* Inputs: data, weights, bias, mask, past, bias of scores. */
static void fused_attention(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *weight = node_need(n, 1), *bias = node_in(n, 2);
    const struct beside b = { node_in(n, 3), node_in(n, 4), node_in(n, 5) };
    if (node_in(n, 6))
        node_fail(n, BT_ERR_UNSUPPORTED, "a buffer for the past is not supported");
    const bt_value *all = n->status ? NULL : matrix_product(n, x, weight);
    give_attended(n, bias ? plus(n, all, bias) : all, weight, &b);
}

/* Inputs: data, weights, bias, their scales, mask, their zero points, past. */
static void quantized_attention(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *weight = node_need(n, 1),
                   *bias = node_need(n, 2), *x_scale = one_scale_in(n, 3),
                   *w_scale = node_need(n, 4) ? scale_in(n, 4) : NULL,
                   *x_zero = scalar_in(n, 6), *w_zero = zero_point_in(n, 7);
    const struct beside b = { node_in(n, 5), node_in(n, 8), NULL };
    if (n->status)
        return;
    const bt_value *sums =
        integer_product(n, x, x_zero, weight, w_zero, "transpose_b=False");
    const bt_value *all =
        times(n, cast_to(n, sums, BT_FLOAT32), times(n, x_scale, w_scale));
    give_attended(n, plus(n, all, bias), weight, &b);
}

/* Inputs 0, 1, 2: queries, keys and values; or one tensor for all of them, [batch, length,
 * heads, 3, size], or one for keys and values, [batch, length, heads, 2, size], which are
 * taken apart. */
static void take_parts(bt_onnx_node *n, const bt_value *parts[3])
{
    const bt_value *last = NULL;
    uint32_t given = 0;
    for (; given < 3 && node_in(n, given); given++)
        parts[given] = last = node_in(n, given);
    uint32_t rank = given ? value_rank(n, last) : 0, packed = 4 - given;
    if (given == 3 || n->status)
        return;
    if (!given || rank != 5 || value_dim(n, last, 3) != packed)
        node_fail(n, BT_ERR_FORMAT,
                  "%u of queries, keys and values are given, and the last is not all "
                  "that is left: [batch, length, heads, %u, size]",
                  given, packed);
    for (uint32_t i = 0; !n->status && i < packed; i++) {
        const bt_value *one = without_axis(n, sliced(n, last, 3, i, i + 1), 3);
        if (n->status)
            return;
        const bt_type *dims[3] = { dim_of(n, one, 0), dim_of(n, one, 1),
                                   dims_product(n, one, 2, 4) };
        parts[given - 1 + i] = reshaped(n, one, 3, dims);
    }
}

/* One of queries, keys and values with its part of the bias, which begins at *from. */
static const bt_value *with_bias(bt_onnx_node *n, const bt_value *x, const bt_value *bias,
                                 int64_t *from)
{
    uint32_t rank = value_rank(n, x);
    int64_t size = rank == 3 ? value_dim(n, x, 2) : -1, begin = *from;
    if (n->status || !bias || rank == 4)
        return x;
    if (size < 0)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "a size of queries, keys or values is symbolic: bind it with --dim");
    *from += n->status ? 0 : size;
    return n->status ? NULL : plus(n, x, columns(n, bias, begin, *from));
}

/* Inputs: queries, keys, values, bias, mask, bias of scores, past keys and values. */
static void multi_head_attention(bt_onnx_node *n)
{
    const bt_value *bias = node_in(n, 3), *parts[3] = { 0 };
    int64_t from = 0;
    if (n->ninput > 8)
        node_fail(n, BT_ERR_UNSUPPORTED, "a buffer for the past is not supported");
    take_parts(n, parts);
    struct heads h = { .past = node_in(n, 6) };
    h.q = by_head(n, with_bias(n, parts[0], bias, &from), "num_heads");
    h.k = by_head(n, with_bias(n, parts[1], bias, &from), "num_heads");
    h.v = by_head(n, with_bias(n, parts[2], bias, &from), "num_heads");
    if (n->status)
        return;
    h.k = with_past(n, h.past, h.k);
    h.v = with_past(n, node_in(n, 7), h.v);
    node_out(n, 0, attended(n, &h, node_in(n, 4), node_in(n, 5)));
    node_out(n, 1, h.k);
    node_out(n, 2, h.v);
}

/* ---- rotary positions ---- */

/* Inputs: data, positions (of each place, or of the first), cosines, sines. */
static void fused_rotary_embedding(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *positions = node_need(n, 1);
    struct rotary r = { .cosine = node_need(n, 2),
                        .sine = node_need(n, 3),
                        .heads = node_int(n, "num_heads", 0),
                        .part = node_int(n, "rotary_embedding_dim", 0),
                        .alternates = node_int(n, "interleaved", 0) != 0 };
    uint32_t rank = value_rank(n, x);
    int64_t half = value_dim(n, r.cosine, 1), all = rank == 3 ? value_dim(n, x, 2) : -1;
    if (node_int(n, "is_packed_batching", 0) || node_float(n, "scale", 1) != 1)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "is_packed_batching and a scale are not supported");
    if (rank == 3 && !r.heads && half > 0 && all > 0)
        r.heads = all / (2 * half);
    if (n->status)
        return;
    if (value_rank(n, positions) == 1)
        positions = with_axes(
            n,
            plus(n, as_scalar(n, positions),
                 counted(n, dim_of(n, x, rank == 3 ? 1 : 2), value_dtype(positions))),
            0, 1);
    r.positions = positions;
    node_out(n, 0, rotated(n, x, &r));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "com.microsoft.Attention-1", fused_attention, NULL }, { "com.microsoft.MultiHeadAttention-1", multi_head_attention, NULL },
    { "com.microsoft.QAttention-1", quantized_attention, NULL },
    { "com.microsoft.RotaryEmbedding-1", fused_rotary_embedding, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_attention_fused[] = { BT_ONNX_OPERATORS(operators),
                                                             { 0 } };
