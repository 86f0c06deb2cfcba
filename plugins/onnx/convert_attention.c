/* Attention, rotary positions, caches of keys and values. */
#include "attention.h"

#include <math.h>
#include <string.h>

/* ---- attention ---- */

/* A mask as a bias, its last axis as long as the keys. */
static const bt_value *mask_bias(bt_onnx_node *n, const bt_value *mask,
                                 const struct heads *a)
{
    uint32_t rank = value_rank(n, mask);
    int64_t have = rank ? value_dim(n, mask, rank - 1) : -1, want = value_dim(n, a->k, 2);
    if (value_dtype(mask) == BT_BOOL)
        mask = bias_where(n, mask, a->q);
    if (!rank || have < 0 || want < 0 || have >= want || n->status)
        return mask;
    const bt_type *dims[BT_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i + 1 < rank ? dim_of(n, mask, i) : dim_number(n, want - have);
    const bt_value *parts[2] = { mask,
                                 broadcast(n, minus_infinity(n, mask), rank, dims) };
    return joined(n, rank - 1, 2, parts);
}

/* Keys beyond each sample's own length are padding. */
static const bt_value *length_bias(bt_onnx_node *n, const bt_value *lengths,
                                   const struct heads *a)
{
    const bt_value *column = counted(n, dim_of(n, a->k, 2), BT_INT64);
    return bias_where(n, emit2(n, "less", NULL, column, with_axes(n, lengths, 1, 3)),
                      a->q);
}

static const bt_value *biased(bt_onnx_node *n, const bt_value *scores,
                              const struct heads *a)
{
    const bt_value *mask = node_in(n, 3), *lengths = node_in(n, 6);
    if (mask)
        scores = plus(n, scores, mask_bias(n, mask, a));
    if (node_int(n, "is_causal", 0))
        scores = plus(n, scores, causal_bias(n, a->q, a->k, a->past));
    return lengths ? plus(n, scores, length_bias(n, lengths, a)) : scores;
}

static const bt_value *scores_of(bt_onnx_node *n, const struct heads *a)
{
    int64_t size = value_dim(n, a->q, 3);
    if (!node_has(n, "scale") && size < 1)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "the size of a head is symbolic: bind it with --dim");
    double scale = sqrt(node_float(n, "scale", n->status ? 1 : 1 / sqrt((double)size)));
    const bt_value *k = repeated_heads(n, a->k, a->q);
    return matrix_product(n, times_number(n, a->q, scale),
                          axes_swapped(n, times_number(n, k, scale), 2, 3));
}

static const bt_value *probabilities(bt_onnx_node *n, const bt_value *scores)
{
    bt_dtype dtype = value_dtype(scores), precise = dtype;
    if (node_has(n, "softmax_precision"))
        precise = onnx_dtype(node_int(n, "softmax_precision", 0));
    if (!precise)
        node_fail(n, BT_ERR_UNSUPPORTED, "softmax_precision is not supported");
    return emit1(n, "nn.softmax", "axis=-1", cast_to(n, scores, precise));
}

static void attention(bt_onnx_node *n)
{
    const bt_value *q = node_need(n, 0), *past = node_in(n, 4);
    if (n->status)
        return;
    struct heads a = {
        .q = by_head(n, q, "q_num_heads"),
        .k = with_past(n, past, by_head(n, node_need(n, 1), "kv_num_heads")),
        .v = with_past(n, node_in(n, 5), by_head(n, node_need(n, 2), "kv_num_heads")),
        .past = past,
    };
    const bt_value *raw = scores_of(n, &a), *stages[4] = { raw };
    stages[1] = softcapped(n, raw, node_float(n, "softcap", 0));
    stages[2] = biased(n, stages[1], &a);
    stages[3] = probabilities(n, stages[2]);
    const bt_value *y = matrix_product(n, cast_to(n, stages[3], value_dtype(a.v)),
                                       repeated_heads(n, a.v, a.q));
    int64_t stage = node_int(n, "qk_matmul_output_mode", 0);
    if (stage < 0 || stage > 3)
        node_fail(n, BT_ERR_ATTRIBUTE, "qk_matmul_output_mode is 0 to 3");
    if (n->status)
        return;
    node_out(n, 0, value_rank(n, q) == 3 ? heads_together(n, y) : y);
    node_out(n, 1, a.k);
    node_out(n, 2, a.v);
    node_out(n, 3, cast_to(n, stages[stage], value_dtype(q)));
}

/* ---- rotary positions ---- */

static void rotary_embedding(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    const struct rotary r = { .cosine = node_need(n, 1),
                              .sine = node_need(n, 2),
                              .positions = node_in(n, 3),
                              .heads = node_int(n, "num_heads", 0),
                              .part = node_int(n, "rotary_embedding_dim", 0),
                              .alternates = node_int(n, "interleaved", 0) != 0 };
    node_out(n, 0, rotated(n, x, &r));
}

/* ---- caches ---- */

/* Writes along one axis from a position of each sample's own. */
static void tensor_scatter(bt_onnx_node *n)
{
    const bt_value *cache = node_need(n, 0), *update = node_need(n, 1),
                   *from = node_in(n, 2);
    uint32_t rank = value_rank(n, cache),
             axis = node_axis(n, node_int(n, "axis", -2), rank);
    if (n->status)
        return;
    const bt_value *at =
        along(n, counted(n, dim_of(n, update, axis), BT_INT64), axis, rank);
    if (from)
        at = plus(n, at, along(n, from, 0, rank));
    if (strcmp(node_text(n, "mode", "linear"), "circular") == 0) {
        const bt_value *shape = emit1(n, "shape_of", "dtype=\"int64\"", cache);
        at = emit2(n, "floor_mod", NULL, at,
                   as_scalar(n, sliced(n, shape, 0, axis, (int64_t)axis + 1)));
    }
    const bt_shape_type *shape = update ? bt_tensor_shape(update->type) : NULL;
    if (!shape || n->status)
        return;
    node_out(n, 0,
             emit3(n, "scatter_elements", node_format(n, "axis=%u", axis), cache,
                   broadcast(n, at, shape->n, shape->dims), update));
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.Attention-23", attention, NULL }, { "ai.onnx.RotaryEmbedding-23", rotary_embedding, NULL },
    { "ai.onnx.TensorScatter-24", tensor_scatter, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_attention[] = { BT_ONNX_OPERATORS(operators),
                                                       { 0 } };
