/* Normalisation. */
#include "arith.h"

#include <math.h>
#include <string.h>

/* ---- moments ---- */

/* 1 / sqrt(x + epsilon) */
static const bt_value *inverse_root(bt_onnx_node *n, const bt_value *x, double epsilon)
{
    return applied(n, "rsqrt", plus_number(n, x, epsilon));
}

struct moments {
    const bt_value *mean, *centred, *variance; /* reduced axes have size 1 */
};

static struct moments moments_over(bt_onnx_node *n, const bt_value *x, uint32_t naxis,
                                   const int64_t *axes)
{
    struct moments m;
    m.mean = reduced(n, "mean", x, naxis, axes, 1);
    m.centred = minus(n, x, m.mean);
    m.variance = reduced(n, "mean", squared(n, m.centred), naxis, axes, 1);
    return m;
}

/* Axes from..rank-1. Returns how many. */
static uint32_t axes_from(uint32_t from, uint32_t rank, int64_t axes[BT_MAX_RANK])
{
    for (uint32_t i = from; i < rank; i++)
        axes[i - from] = i;
    return from < rank ? rank - from : 0;
}

static double epsilon_of(bt_onnx_node *n)
{
    return node_float(n, "epsilon", (double)1e-5f);
}

/* ---- batch normalisation ---- */

static const bt_value *channels(bt_onnx_node *n, const bt_value *vector, uint32_t rank)
{
    return along(n, vector, 1, rank);
}

/* 0.1, of what is next to it as a float. */
static double decimal_of(double number)
{
    return round(number * 1e7) / 1e7;
}

/* Of the batch, where the node states that of the running moments. */
static double batch_weight(bt_onnx_node *n)
{
    return decimal_of(1 - node_float(n, "momentum", (double)0.9f));
}

/* Moments of the batch; the running ones move toward them. */
static void batch_norm_training(bt_onnx_node *n, const bt_value *const *args)
{
    const char *attrs = node_format(n, "epsilon=%.17g, momentum=%.17g, unbiased=False",
                                    epsilon_of(n), batch_weight(n));
    const bt_value *all = emit(n, "nn.batch_norm_training", attrs, 5, args);
    for (uint32_t i = 0; i < 3; i++)
        node_out(n, i, all ? emit_proj(n, all, i) : NULL);
}

static void batch_norm(bt_onnx_node *n)
{
    const bt_value *args[5];
    int is_training = n->opset >= 14  ? node_int(n, "training_mode", 0) != 0
                      : n->opset >= 7 ? node_wants(n, 1)
                                      : !node_int(n, "is_test", 0);
    for (uint32_t i = 0; i < 5; i++)
        args[i] = node_need(n, i);
    if (n->status)
        return;
    if (n->opset < 9 && !node_int(n, "spatial", 1))
        node_fail(n, BT_ERR_UNSUPPORTED, "moments for each activation are not supported");
    if (is_training && n->opset < 14)
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "training is not supported before operator set 14");
    if (is_training) {
        batch_norm_training(n, args);
        return;
    }
    const char *attrs =
        node_format(n, "epsilon=%.17g, momentum=%.17g", epsilon_of(n), batch_weight(n));
    const bt_value *y = emit(n, "nn.batch_norm", attrs, 5, args);
    node_out(n, 0, y ? emit_proj(n, y, 0) : NULL);
}

/* ---- by sample ---- */

static void instance_norm(bt_onnx_node *n)
{
    node_out(n, 0,
             emit3(n, "nn.instance_norm",
                   node_format(n, "axis=1, epsilon=%.17g", epsilon_of(n)),
                   node_need(n, 0), node_need(n, 1), node_need(n, 2)));
}

static bt_dtype stash_dtype(bt_onnx_node *n)
{
    bt_dtype dtype = onnx_dtype(node_int(n, "stash_type", 1));
    if (!dtype)
        node_fail(n, BT_ERR_UNSUPPORTED, "stash_type is not supported");
    return dtype;
}

/* The type in which a first stage computes; the data's own where it is not narrower. */
static const bt_value *stashed(bt_onnx_node *n, const bt_value *x)
{
    bt_dtype dtype = stash_dtype(n);
    return n->status || bt_dtype_nbytes(dtype) <= bt_dtype_nbytes(value_dtype(x))
               ? x
               : cast_to(n, x, dtype);
}

/* A moment that is an output has the stash type, also where the data is wider. */
static void moment_out(bt_onnx_node *n, uint32_t i, const bt_value *moment)
{
    if (moment && node_wants(n, i))
        node_out(n, i, cast_to(n, moment, stash_dtype(n)));
}

/* Moments over all axes from `axis` on; scale and bias, which may be left out, have the
 * shape of those. */
static void give_layer_norm(bt_onnx_node *n, const bt_value *x, const bt_value *scale,
                            const bt_value *bias, double epsilon)
{
    uint32_t rank = value_rank(n, x), axis = node_axis(n, node_int(n, "axis", -1), rank);
    int64_t axes[BT_MAX_RANK];
    if (n->status)
        return;
    struct moments m = moments_over(n, stashed(n, x), axes_from(axis, rank, axes), axes);
    const bt_value *inverse = inverse_root(n, m.variance, epsilon);
    const bt_value *y = cast_to(n, times(n, m.centred, inverse), value_dtype(x));
    y = times(n, y, scale);
    node_out(n, 0, bias ? plus(n, y, bias) : y);
    moment_out(n, 1, m.mean);
    moment_out(n, 2, inverse);
}

static void layer_norm(bt_onnx_node *n)
{
    give_layer_norm(n, node_need(n, 0), node_need(n, 1), node_in(n, 2), epsilon_of(n));
}

/* *inverse: of the root of the mean of squares. */
static const bt_value *rms_normed(bt_onnx_node *n, const bt_value *x,
                                  const bt_value *scale, double epsilon,
                                  const bt_value **inverse)
{
    uint32_t rank = value_rank(n, x), axis = node_axis(n, node_int(n, "axis", -1), rank);
    int64_t axes[BT_MAX_RANK];
    *inverse = NULL;
    if (n->status)
        return NULL;
    const bt_value *wide = stashed(n, x);
    const bt_value *mean =
        reduced(n, "mean", squared(n, wide), axes_from(axis, rank, axes), axes, 1);
    *inverse = inverse_root(n, mean, epsilon);
    return times(n, cast_to(n, times(n, wide, *inverse), value_dtype(x)), scale);
}

static void rms_norm(bt_onnx_node *n)
{
    const bt_value *inverse;
    node_out(n, 0,
             rms_normed(n, node_need(n, 0), node_need(n, 1), epsilon_of(n), &inverse));
    moment_out(n, 1, inverse);
}

/* ---- of ONNX Runtime: what is normalised is a sum ---- */

static double small_epsilon_of(bt_onnx_node *n)
{
    return node_float(n, "epsilon", (double)1e-12f);
}

static void skip_layer_norm(bt_onnx_node *n)
{
    const bt_value *x = plus(n, node_need(n, 0), node_need(n, 1)), *bias = node_in(n, 4);
    x = bias ? plus(n, x, bias) : x;
    give_layer_norm(n, x, node_need(n, 2), node_in(n, 3), small_epsilon_of(n));
    node_out(n, 3, x);
}

static void skip_rms_norm(bt_onnx_node *n)
{
    const bt_value *x = plus(n, node_need(n, 0), node_need(n, 1)), *bias = node_in(n, 3),
                   *inverse;
    x = bias ? plus(n, x, bias) : x;
    node_out(n, 0, rms_normed(n, x, node_need(n, 2), small_epsilon_of(n), &inverse));
    moment_out(n, 2, inverse);
    node_out(n, 3, x);
}

static const bt_value *looked_up(bt_onnx_node *n, const bt_value *table,
                                 const bt_value *at)
{
    return emit2(n, "take", "axis=0", table, at);
}

/* Inputs: words, segments, the tables of words, positions and segments, scale, bias, mask,
 * positions. The mask's sums are how long the texts are. */
static void embed_layer_norm(bt_onnx_node *n)
{
    const bt_value *words = node_need(n, 0), *segments = node_in(n, 1),
                   *mask = node_in(n, 7), *positions = node_in(n, 8);
    uint32_t rank = value_rank(n, words);
    if (rank != 2)
        node_fail(n, BT_ERR_FORMAT, "words of rank %u; 2 is expected", rank);
    if (n->status)
        return;
    if (!positions)
        positions = counted(n, dim_of(n, words, 1), BT_INT32);
    const bt_value *x = plus(n, looked_up(n, node_need(n, 2), words),
                             looked_up(n, node_need(n, 3), positions));
    if (segments)
        x = plus(n, x, looked_up(n, node_need(n, 4), segments));
    const bt_value *scale = node_need(n, 5), *bias = node_need(n, 6);
    int64_t axes[1] = { 2 };
    struct moments m = moments_over(n, x, 1, axes);
    const bt_value *y =
        times(n, m.centred, inverse_root(n, m.variance, small_epsilon_of(n)));
    node_out(n, 0, plus(n, times(n, y, scale), bias));
    const bt_value *ones = mask ? cast_to(n, mask, BT_INT32)
                                : times_number(n, cast_to(n, words, BT_INT32), 0);
    node_out(n, 1, reduced(n, "sum", ones, 1, &(int64_t){ 1 }, 0));
    node_out(n, 2, x);
}

/* ---- groups, instances ---- */

/* Scale and bias are given for each channel, before operator set 21 for each group. */
static void group_norm(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *scale = node_need(n, 1),
                   *bias = node_need(n, 2);
    uint32_t rank = value_rank(n, x);
    int64_t groups = node_int(n, "num_groups", 0), channel = value_dim(n, x, 1),
            axes[BT_MAX_RANK];
    if (rank < 2 || groups < 1 || channel < 0 || channel % groups)
        node_fail(n, BT_ERR_FORMAT, "%lld channels cannot be cut into %lld groups",
                  (long long)channel, (long long)groups);
    if (n->status)
        return;
    const bt_type *dims[3] = { dim_of(n, x, 0), dim_number(n, groups), NULL };
    const bt_type *inner = dims_product(n, x, 2, rank);
    dims[2] = dim_times(n, dim_number(n, channel / groups), inner);
    struct moments m =
        moments_over(n, stashed(n, reshaped(n, x, 3, dims)), axes_from(2, 3, axes), axes);
    const bt_value *y = times(n, m.centred, inverse_root(n, m.variance, epsilon_of(n)));
    y = cast_to(n, y, value_dtype(x));
    if (n->opset < 21) {
        y = plus(n, times(n, y, along(n, scale, 1, 3)), along(n, bias, 1, 3));
        node_out(n, 0, shaped_like(n, y, x));
        return;
    }
    y = times(n, shaped_like(n, y, x), channels(n, scale, rank));
    node_out(n, 0, plus(n, y, channels(n, bias, rank)));
}

static void mean_variance_norm(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0);
    const struct onnx_attr *attr = node_attr(n, "axes", ATTR_INTS);
    static const int64_t preset[] = { 0, 2, 3 };
    if (n->status)
        return;
    struct moments m =
        moments_over(n, x, attr ? attr->ints.len : 3, attr ? attr->ints.at : preset);
    /* The function of the standard adds this to the deviation. */
    const bt_value *deviation =
        plus_number(n, applied(n, "sqrt", m.variance), (double)1e-9f);
    node_out(n, 0, over(n, m.centred, deviation));
}

/* What is zero everywhere stays zero. */
static void lp_norm(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *norm;
    int64_t order = node_int(n, "p", 2), axis = node_int(n, "axis", -1);
    if (order != 1 && order != 2)
        node_fail(n, BT_ERR_UNSUPPORTED, "p is %lld; 1 and 2 are known",
                  (long long)order);
    if (order == 1)
        norm = reduced(n, "sum", applied(n, "abs", x), 1, &axis, 1);
    else
        norm = applied(n, "sqrt", reduced(n, "sum", squared(n, x), 1, &axis, 1));
    const bt_value *is_zero = emit2(n, "equal", NULL, norm, scalar_like(n, x, 0));
    node_out(n, 0, over(n, x, chosen(n, is_zero, scalar_like(n, x, 1), norm)));
}

/* ---- the rest ---- */

static void lrn(bt_onnx_node *n)
{
    const char *attrs =
        node_format(n, "size=%lld, axis=1, bias=%.17g, alpha=%.17g, beta=%.17g",
                    (long long)node_int(n, "size", 1), node_float(n, "bias", 1),
                    node_float(n, "alpha", (double)1e-4f), node_float(n, "beta", 0.75));
    node_out(n, 0, emit1(n, "nn.lrn", attrs, node_need(n, 0)));
}

/* What drops in training is nn.dropout, which inference leaves out. A ratio that only a run gives is
 * none that training could follow. */
static const bt_value *dropped(bt_onnx_node *n, const bt_value *x, const bt_tensor *share)
{
    const double rate = n->opset < 12 || !node_in(n, 1) ? node_float(n, "ratio", 0.5)
                        : share && share->nelem == 1    ? bt_tensor_get(share, 0)
                                                        : 0;
    if (n->status || !(rate > 0 && rate <= 1))
        return x;
    const char *attrs = node_format(n, "rate=%.17g", decimal_of(rate));
    const bt_value *both = emit1(n, "nn.dropout", attrs, x);
    return both ? emit_proj(n, both, 0) : NULL;
}

/* At inference the input; the mask, where one is asked for, keeps everything. Training at a
 * ratio of 0 is the same. */
static void dropout(bt_onnx_node *n)
{
    const bt_value *x = node_need(n, 0), *ratio = node_in(n, 1),
                   *training = node_in(n, 2);
    const bt_tensor *share = known_tensor(n, ratio), *flag = known_tensor(n, training);
    int keeps_all = share && share->nelem == 1 && bt_tensor_get(share, 0) == 0;
    if (training && !flag && !keeps_all)
        node_unknown(n, "whether it is training is", training);
    if ((flag && flag->nelem == 1 && bt_tensor_get_int(flag, 0) && !keeps_all) ||
        (n->opset < 7 && !node_int(n, "is_test", 0)))
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "training is not supported, as it draws random numbers; a node of "
                  "inference drops when the model is trained");
    if (n->status)
        return;
    node_out(n, 0, dropped(n, x, share));
    if (node_wants(n, 1)) {
        const bt_value *mask = applied(n, "ones_like", x);
        node_out(n, 1, n->opset < 10 ? mask : cast_to(n, mask, BT_BOOL));
    }
}

// clang-format off
static const bt_onnx_operator operators[] = {
    { "ai.onnx.BatchNormalization-1", batch_norm, NULL }, { "ai.onnx.InstanceNormalization-1", instance_norm, NULL },
    { "ai.onnx.LayerNormalization-1", layer_norm, NULL }, { "ai.onnx.SimplifiedLayerNormalization-1", rms_norm, NULL }, { "ai.onnx.RMSNormalization-23", rms_norm, NULL },
    { "ai.onnx.GroupNormalization-18", group_norm, NULL }, { "ai.onnx.MeanVarianceNormalization-9", mean_variance_norm, NULL },
    { "ai.onnx.LpNormalization-1", lp_norm, NULL }, { "ai.onnx.LRN-1", lrn, NULL }, { "ai.onnx.Dropout-1", dropout, NULL },
    { "com.microsoft.SkipLayerNormalization-1", skip_layer_norm, NULL }, { "com.microsoft.SkipSimplifiedLayerNormalization-1", skip_rms_norm, NULL },
    { "com.microsoft.EmbedLayerNormalization-1", embed_layer_norm, NULL },
    { 0 },
};
// clang-format on

const bt_table bt_plugins_onnx_convert_norm[] = { BT_ONNX_OPERATORS(operators), { 0 } };
