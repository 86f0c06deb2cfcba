/* Convolution, pooling, normalisation, softmax. */
#include "convert_nn.h"

#include <math.h>
#include <string.h>

enum { MAX_SPATIAL = 3 };

/* ---- windows ---- */

/* What conv and pool nodes state of their windows, defaults filled in. */
struct window {
    uint32_t n; /* spatial axes */
    int64_t kernel[MAX_SPATIAL], strides[MAX_SPATIAL], dilations[MAX_SPATIAL];
    int64_t pads[2 * MAX_SPATIAL]; /* begins, then ends: also Relay's order */
};

static void read_list(struct node *n, const char *name, uint32_t count, int64_t absent,
                      int64_t *out)
{
    const struct onnx_attr *attr = node_attr(n, name, ATTR_INTS);
    if (attr && attr->ints.len != count)
        node_fail(n, BT_ERR_ATTRIBUTE, "%s has %u elements where %u are expected", name,
                  attr->ints.len, count);
    for (uint32_t i = 0; i < count; i++)
        out[i] = attr && attr->ints.len == count ? attr->ints.at[i] : absent;
}

/* SAME_UPPER and SAME_LOWER: as many outputs as strides fit; the odd one at the end, or
 * at the begin. */
static void same_padding(struct node *n, const bt_value *x, int lower, struct window *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t size = value_dim(n, x, 2 + i), covered;
        if (size < 0) {
            node_fail(n, BT_ERR_UNSUPPORTED,
                      "auto_pad needs the size of axis %u, which is symbolic: bind it "
                      "with --dim",
                      2 + i);
            return;
        }
        int64_t reach = (w->kernel[i] - 1) * w->dilations[i] + 1;
        covered = (bt_ceildiv_int64(size, w->strides[i]) - 1) * w->strides[i] + reach;
        int64_t total = covered > size ? covered - size : 0;
        w->pads[i] = lower ? total - total / 2 : total / 2;
        w->pads[w->n + i] = total - w->pads[i];
    }
}

static int window_is_sane(const struct window *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->kernel[i] < 1 || w->strides[i] < 1 || w->dilations[i] < 1 ||
            w->kernel[i] > INT32_MAX || w->strides[i] > INT32_MAX ||
            w->dilations[i] > INT32_MAX)
            return 0;
    }
    return 1;
}

/* weight: NULL for pooling, whose kernel is an attribute. */
static void read_window(struct node *n, const bt_value *x, const bt_value *weight,
                        struct window *w)
{
    uint32_t rank = value_rank(n, x);
    const char *auto_pad = node_text(n, "auto_pad", "NOTSET");
    if (rank < 3 || rank > 2 + MAX_SPATIAL)
        node_fail(n, BT_ERR_UNSUPPORTED, "data of rank %u; 3 to 5 are known", rank);
    if (n->status)
        return;
    w->n = rank - 2;
    read_list(n, "kernel_shape", w->n, 0, w->kernel);
    read_list(n, "strides", w->n, 1, w->strides);
    read_list(n, "dilations", w->n, 1, w->dilations);
    read_list(n, "pads", 2 * w->n, 0, w->pads);
    for (uint32_t i = 0; weight && i < w->n; i++) {
        if (!w->kernel[i])
            w->kernel[i] = value_dim(n, weight, 2 + i);
    }
    if (!window_is_sane(w))
        node_fail(n, BT_ERR_ATTRIBUTE,
                  "kernel, strides and dilations must be numbers of at least 1");
    if (!n->status && strncmp(auto_pad, "SAME_", 5) == 0)
        same_padding(n, x, strcmp(auto_pad, "SAME_LOWER") == 0, w);
}

static const char *window_attrs(struct node *n, const struct window *w)
{
    return node_format(
        n, "strides=%s, padding=%s, dilation=%s", format_ints(n, w->n, w->strides),
        format_ints(n, 2 * w->n, w->pads), format_ints(n, w->n, w->dilations));
}

/* Adds a vector along axis 1. */
static const bt_value *add_bias(struct node *n, const bt_value *x, const bt_value *bias)
{
    return bias ? emit2(n, "nn.bias_add", "axis=1", x, bias) : x;
}

static void conv(struct node *n)
{
    static const char *const ops[] = { "nn.conv1d", "nn.conv2d", "nn.conv3d" };
    const bt_value *x = node_need(n, 0), *weight = node_need(n, 1);
    struct window w;
    read_window(n, x, weight, &w);
    if (n->status)
        return;
    const char *attrs =
        node_format(n, "%s, groups=%lld, kernel_size=%s", window_attrs(n, &w),
                    (long long)node_int(n, "group", 1), format_ints(n, w.n, w.kernel));
    node_out(n, 0, add_bias(n, emit2(n, ops[w.n - 1], attrs, x, weight), node_in(n, 2)));
}

/* ---- pooling ---- */

static const char *const pool_ranks[] = { "1d", "2d", "3d" };

static void pool(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    struct window w;
    int is_average = strcmp(n->row->arg, "avg") == 0;
    read_window(n, x, NULL, &w);
    if (n->status)
        return;
    if (node_wants(n, 1)) {
        node_fail(n, BT_ERR_UNSUPPORTED,
                  "the positions of the greatest elements (output 1) are not supported");
        return;
    }
    const char *attrs = node_format(
        n, "pool_size=%s, %s, ceil_mode=%s%s", format_ints(n, w.n, w.kernel),
        window_attrs(n, &w), node_int(n, "ceil_mode", 0) ? "True" : "False",
        is_average && node_int(n, "count_include_pad", 0) ? ", count_include_pad=True"
                                                          : "");
    node_out(n, 0,
             emit1(n, node_format(n, "nn.%s_pool%s", n->row->arg, pool_ranks[w.n - 1]),
                   attrs, x));
}

static void global_pool(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    uint32_t rank = value_rank(n, x);
    int64_t axes[BT_MAX_RANK];
    for (uint32_t i = 2; i < rank; i++)
        axes[i - 2] = i;
    if (rank == 4) {
        node_out(n, 0,
                 emit1(n, node_format(n, "nn.global_%s_pool2d", n->row->arg), NULL, x));
    } else if (rank >= 2) {
        const char *op = strcmp(n->row->arg, "avg") == 0 ? "mean" : "max";
        node_out(n, 0,
                 emit1(n, op,
                       node_format(n, "axis=%s, keepdims=True",
                                   format_ints(n, rank - 2, axes)),
                       x));
    } else {
        node_fail(n, BT_ERR_FORMAT, "data of rank %u; at least 2 is needed", rank);
    }
}

/* ---- normalisation ---- */

static void batch_norm(struct node *n)
{
    const bt_value *args[5];
    if (node_int(n, "training_mode", 0))
        node_fail(n, BT_ERR_UNSUPPORTED, "training_mode is not supported");
    for (uint32_t i = 0; i < 5; i++)
        args[i] = node_need(n, i);
    const char *attrs =
        node_format(n, "epsilon=%.17g", node_float(n, "epsilon", (double)1e-5f));
    node_out(n, 0, emit_proj(n, emit(n, "nn.batch_norm", attrs, 5, args), 0));
}

static void instance_norm(struct node *n)
{
    const bt_value *args[3] = { node_need(n, 0), node_need(n, 1), node_need(n, 2) };
    const char *attrs =
        node_format(n, "axis=1, epsilon=%.17g", node_float(n, "epsilon", (double)1e-5f));
    node_out(n, 0, emit(n, "nn.instance_norm", attrs, 3, args));
}

/* Moments over all axes from `axis` on; scale and bias have the shape of those. */
static void layer_norm(struct node *n)
{
    const bt_value *x = node_need(n, 0), *scale = node_need(n, 1), *bias = node_in(n, 2);
    uint32_t rank = value_rank(n, x), axis = node_axis(n, node_int(n, "axis", -1), rank);
    int64_t axes[BT_MAX_RANK];
    if (n->status)
        return;
    for (uint32_t i = axis; i < rank; i++)
        axes[i - axis] = i;
    const char *attrs =
        node_format(n, "axis=%s, keepdims=True", format_ints(n, rank - axis, axes));
    const bt_value *mean = emit1(n, "mean", attrs, x),
                   *centred = emit2(n, "subtract", NULL, x, mean);
    const bt_value *variance =
        emit1(n, "mean", attrs, emit2(n, "multiply", NULL, centred, centred));
    const bt_value *epsilon =
        emit_scalar(n, value_dtype(x), node_float(n, "epsilon", (double)1e-5f));
    const bt_value *inverse =
        emit1(n, "rsqrt", NULL, emit2(n, "add", NULL, variance, epsilon));
    const bt_value *y =
        emit2(n, "multiply", NULL, emit2(n, "multiply", NULL, centred, inverse), scale);
    node_out(n, 0, bias ? emit2(n, "add", NULL, y, bias) : y);
    node_out(n, 1, mean);
    node_out(n, 2, inverse);
}

static void lrn(struct node *n)
{
    const char *attrs =
        node_format(n, "size=%lld, axis=1, bias=%.17g, alpha=%.17g, beta=%.17g",
                    (long long)node_int(n, "size", 1), node_float(n, "bias", 1),
                    node_float(n, "alpha", (double)1e-4f), node_float(n, "beta", 0.75));
    node_out(n, 0, emit1(n, "nn.lrn", attrs, node_need(n, 0)));
}

/* Inference: the input; the mask, where one is asked for, keeps everything. */
static void dropout(struct node *n)
{
    const bt_value *x = node_need(n, 0), *training = node_in(n, 2);
    int64_list flag = { 0 };
    if (training && (!value_ints(n, training, &flag) || flag.len != 1 || flag.at[0]))
        node_fail(n, BT_ERR_UNSUPPORTED, "training mode is not supported");
    node_out(n, 0, x);
    if (node_wants(n, 1))
        node_out(n, 1, emit_cast(n, emit1(n, "ones_like", NULL, x), BT_BOOL));
}

/* ---- softmax ---- */

static void softmax(struct node *n)
{
    node_out(n, 0,
             emit1(n, n->row->arg,
                   node_format(n, "axis=%lld", (long long)node_int(n, "axis", -1)),
                   node_need(n, 0)));
}

/* The product of dims from..to-1. */
static const bt_type *dims_product(struct node *n, const bt_value *x, uint32_t from,
                                   uint32_t to)
{
    const bt_shape_type *shape = bt_tensor_shape(x->type);
    const bt_type *out = bt_dim(n->im->store, 1);
    for (uint32_t i = from; out && i < to; i++)
        out = bt_dim_mul(n->im->store, out, shape->dims[i]);
    if (!out && !n->status)
        n->status = bt_no_memory();
    return out;
}

/* As a matrix: all axes before `axis`, and all from it on. */
static const bt_value *to_matrix(struct node *n, const bt_value *x, uint32_t axis,
                                 uint32_t rank)
{
    const bt_type *dims[2] = { dims_product(n, x, 0, axis),
                               dims_product(n, x, axis, rank) };
    return n->status ? NULL
                     : emit_shaped(n, "reshape", "newshape=[0]", "newshape", x, 2, dims);
}

static const bt_value *like_before(struct node *n, const bt_value *y, const bt_value *x)
{
    const bt_shape_type *shape = bt_tensor_shape(x->type);
    return n->status ? NULL
                     : emit_shaped(n, "reshape", "newshape=[0]", "newshape", y, shape->n,
                                   shape->dims);
}

/* Before operator set 13 softmax is over all axes from `axis` on, flattened. */
static void softmax_flat(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    uint32_t rank = value_rank(n, x), axis = node_axis(n, node_int(n, "axis", 1), rank);
    if (n->status)
        return;
    if (axis + 1 == rank) {
        node_out(n, 0, emit1(n, n->row->arg, "axis=-1", x));
        return;
    }
    node_out(
        n, 0,
        like_before(n, emit1(n, n->row->arg, "axis=-1", to_matrix(n, x, axis, rank)), x));
}

static void flatten(struct node *n)
{
    const bt_value *x = node_need(n, 0);
    uint32_t rank = value_rank(n, x);
    int64_t axis = node_int(n, "axis", 1);
    if (axis < 0)
        axis += rank;
    if (axis < 0 || axis > rank)
        node_fail(n, BT_ERR_ATTRIBUTE, "axis %lld is out of range for rank %u",
                  (long long)axis, rank);
    if (!n->status)
        node_out(n, 0, to_matrix(n, x, (uint32_t)axis, rank));
}

// clang-format off
const struct conversion convert_nn[] = {
    { "Conv", 1, conv, NULL },
    { "MaxPool", 1, pool, "max" }, { "AveragePool", 7, pool, "avg" },
    { "GlobalAveragePool", 1, global_pool, "avg" }, { "GlobalMaxPool", 1, global_pool, "max" },
    { "BatchNormalization", 7, batch_norm, NULL }, { "InstanceNormalization", 6, instance_norm, NULL },
    { "LayerNormalization", 17, layer_norm, NULL }, { "LRN", 1, lrn, NULL }, { "Dropout", 7, dropout, NULL },
    { "Softmax", 1, softmax_flat, "nn.softmax" }, { "Softmax", 13, softmax, "nn.softmax" },
    { "LogSoftmax", 1, softmax_flat, "nn.log_softmax" }, { "LogSoftmax", 13, softmax, "nn.log_softmax" },
    { "Flatten", 1, flatten, NULL },
    { 0 },
};
// clang-format on
