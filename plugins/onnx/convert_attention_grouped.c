/*
 * com.microsoft.GroupQueryAttention: fewer heads of keys and values than of queries, a
 * past of each sample's own length, rotary positions.
 *
 *     past       p p p p . .      two samples: 4 and 2 places hold keys already
 *                p p . . . .
 *     present    p p p p n n      two new keys each, which follow the sample's own past
 *                p p n n . .
 *
 * source  ONNX Runtime, docs/ContribOperators.md
 */
#include <string.h>

#include "attention.h"

enum { PAST_K = 3, PAST_V, LAST, TOTAL, COSINE, SINE, POSITIONS, BIAS, SINK };

struct grouped {
    struct heads h;        /* k and v: the new ones, then with the past */
    int64_t nq, nk;        /* heads of queries, of keys and values */
    const bt_value *end;   /* [batch, 1]: places of the past */
    const bt_value *place; /* [batch, new]: of each new key */
};

static void refuse_options(bt_onnx_node *n)
{
    const char *k_type = node_text(n, "k_quant_type", "NONE"),
               *v_type = node_text(n, "v_quant_type", "NONE");
    if (node_int(n, "smooth_softmax", -1) > 0 || node_in(n, SINK))
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "smooth_softmax and head_sink are not supported");
    if (node_int(n, "qk_output", 0) || node_wants(n, 3))
        node_fail(n, BT_ERR_UNSUPPORTED, "the scores as a result are not supported");
    if (strcmp(k_type, "NONE") != 0 || strcmp(v_type, "NONE") != 0)
        node_fail(n, BT_ERR_UNSUPPORTED, "a quantized past (%s, %s) is not supported",
                  k_type, v_type);
}

/* Queries, keys and values, [batch, length, heads * size]; one tensor may hold all. */
static void take_inputs(bt_onnx_node *n, const bt_value *in[3])
{
    int64_t nq = node_int(n, "num_heads", 0), nk = node_int(n, "kv_num_heads", 0);
    in[0] = node_need(n, 0);
    in[1] = node_in(n, 1);
    in[2] = node_in(n, 2);
    int64_t width = value_rank(n, in[0]) == 3 ? value_dim(n, in[0], 2) : -1;
    if (nq < 1 || nk < 1 || nq > INT16_MAX || nk > INT16_MAX || nq % nk)
        node_fail(n, BT_ERR_ATTRIBUTE, "num_heads is %lld, kv_num_heads %lld",
                  (long long)nq, (long long)nk);
    if (!in[1] != !in[2])
        node_fail(n, BT_ERR_FORMAT, "keys without values, or values without keys");
    if (in[1] || n->status)
        return;
    if (width < 1 || width % (nq + 2 * nk))
        node_fail(n, BT_ERR_FORMAT,
                  "queries, keys and values in one tensor of rank 3: its last dim is not "
                  "a multiple of %lld heads",
                  (long long)(nq + 2 * nk));
    if (n->status)
        return;
    int64_t size = width / (nq + 2 * nk), k = nq * size, v = k + nk * size;
    in[1] = sliced(n, in[0], 2, k, v);
    in[2] = sliced(n, in[0], 2, v, width);
    in[0] = sliced(n, in[0], 2, 0, k);
}

/* Where the past ends, and the places behind it. Input LAST: the last place of each
 * sample, the new ones included; less than the new ones where the first prompt is padded. */
static void find_places(bt_onnx_node *n, const bt_value *q, struct grouped *g)
{
    const bt_value *last = cast_to(n, node_need(n, LAST), BT_INT64);
    if (n->status)
        return;
    const bt_type *dims[2] = { dim_of(n, q, 0), dim_number(n, 1) };
    last = reshaped(n, last, 2, dims);
    g->end = minus(n, plus_number(n, last, 1), size_of(n, q, 1));
    g->end = greater_of(n, g->end, scalar_like(n, g->end, 0));
    g->place = plus(n, g->end, counted(n, dim_of(n, q, 1), BT_INT64));
}

static const bt_value *with_rotary(bt_onnx_node *n, const bt_value *x, int64_t heads,
                                   const struct grouped *g)
{
    const bt_value *positions = node_in(n, POSITIONS);
    struct rotary r = { .cosine = node_need(n, COSINE),
                        .sine = node_need(n, SINE),
                        .positions = positions ? positions : g->place,
                        .heads = heads,
                        .alternates = node_int(n, "rotary_interleaved", 0) != 0 };
    if (n->status)
        return NULL;
    r.part = 2 * value_dim(n, r.cosine, 1);
    if (r.part < 0)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "the number of angles is symbolic: bind it with --dim");
    return rotated(n, x, &r);
}

/* Whether the present has the places of the past and no more: a buffer. */
static int is_buffer(bt_onnx_node *n, const bt_value *past, const bt_value *x)
{
    const bt_value *total = node_need(n, TOTAL);
    const bt_type *const *dims, *have = dim_of(n, past, 2), *new = dim_of(n, x, 2);
    uint32_t count;
    int64_t all, most;
    if (n->status)
        return 0;
    if (!value_dims(n, total, &count, &dims) || count != 1) {
        node_unknown(n, "total_sequence_length is", total);
        return 0;
    }
    if (dims[0] == have ||
        (bt_dim_is_const(dims[0], &all) && bt_dim_is_const(have, &most) && all <= most))
        return 1;
    if (bt_dim_add(n->im->store, have, new) != dims[0])
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "total_sequence_length must be the length of the past and the new keys "
                  "together, or at most that of the past's buffer");
    return 0;
}

/* Keys or values of the past and the new ones behind each sample's own. */
static const bt_value *with_own_past(bt_onnx_node *n, const bt_value *past,
                                     const bt_value *x, const struct grouped *g)
{
    if (!past || n->status)
        return n->status ? NULL : x;
    const bt_shape_type *shape = bt_tensor_shape(x->type);
    if (!shape || value_rank(n, past) != 4)
        node_fail(n, BT_ERR_FORMAT, "the past is not of rank 4");
    int ends_there = is_buffer(n, past, x);
    if (n->status)
        return NULL;
    const bt_value *places = along(n, counted(n, dim_of(n, past, 2), BT_INT64), 2, 4);
    const bt_value *is_past = emit2(n, "less", NULL, places, with_axes(n, g->end, 2, 2));
    const bt_value *none = scalar_like(n, x, 0);
    const bt_value *to = chosen(n, is_past, past, none);
    if (!ends_there)
        to =
            joined(n, 2, 2,
                   (const bt_value *[]){ to, broadcast(n, none, shape->n, shape->dims) });
    const bt_value *at = with_axes(n, with_axes(n, g->place, 2, 1), 1, 1);
    return emit3(n, "scatter_elements", "axis=2", to,
                 broadcast(n, at, shape->n, shape->dims), x);
}

/* A query sees the keys up to its own, of a window the last ones. */
static const bt_value *masked(bt_onnx_node *n, const bt_value *scores,
                              const struct grouped *g)
{
    int64_t window = node_int(n, "local_window_size", -1);
    const bt_value *bias = node_in(n, BIAS);
    const bt_value *key = counted(n, dim_of(n, g->h.k, 2), BT_INT64);
    const bt_value *own = with_axes(n, with_axes(n, g->place, 2, 1), 1, 1);
    const bt_value *sees = emit2(n, "less_equal", NULL, key, own);
    if (window > 0) {
        const bt_value *before = minus(n, own, scalar_like(n, own, (double)window));
        sees =
            emit2(n, "logical_and", NULL, sees, emit2(n, "greater", NULL, key, before));
    }
    scores = bias ? plus(n, scores, bias) : scores;
    return plus(n, scores, bias_where(n, sees, scores));
}

static void group_query_attention(bt_onnx_node *n)
{
    const bt_value *in[3];
    struct grouped g = { .nq = node_int(n, "num_heads", 0),
                         .nk = node_int(n, "kv_num_heads", 0) };
    refuse_options(n);
    take_inputs(n, in);
    find_places(n, in[0], &g);
    if (node_int(n, "do_rotary", 0)) {
        in[0] = with_rotary(n, in[0], g.nq, &g);
        in[1] = with_rotary(n, in[1], g.nk, &g);
    }
    g.h.q = axes_swapped(n, heads_apart(n, in[0], g.nq), 1, 2);
    g.h.k = axes_swapped(n, heads_apart(n, in[1], g.nk), 1, 2);
    g.h.v = axes_swapped(n, heads_apart(n, in[2], g.nk), 1, 2);
    g.h.k = with_own_past(n, node_in(n, PAST_K), g.h.k, &g);
    g.h.v = with_own_past(n, node_in(n, PAST_V), g.h.v, &g);
    const bt_value *scores = scaled_scores(n, &g.h, node_float(n, "scale", 0));
    scores = masked(n, softcapped(n, scores, node_float(n, "softcap", 0)), &g);
    const bt_value *y = emit1(n, "nn.softmax", "axis=-1", scores);
    y = matrix_product(n, y, repeated_heads(n, g.h.v, g.h.q));
    if (n->status)
        return;
    node_out(n, 0, heads_together(n, y));
    node_out(n, 1, g.h.k);
    node_out(n, 2, g.h.v);
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "com.microsoft.GroupQueryAttention-1", group_query_attention, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_attention_grouped[] = {
    BT_ONNX_OPERATORS(operators), { 0 }
};
