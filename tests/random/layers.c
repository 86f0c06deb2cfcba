/*
 * Small convolutions and dense layers with what follows them in a network. All numbers
 * are such that float32 holds each result exactly: integers of a few bits, powers of two.
 * So a pass that multiplies the weights instead of the result must give the same bits.
 */
#include "maker.h"

#include <stdio.h>

enum { MAX_AFTER = 3 };

struct layer {
    int64_t nchannel;
    int is_conv; /* two axes of one follow the channels */
    int is_depthwise, is_transposed;
    uint32_t nbefore, nafter; /* what stands around the layer */
    uint32_t before[MAX_AFTER], after[MAX_AFTER];
};

static const double integers[] = { -2, -1, 0, 1, 2, 3 };
static const double powers[] = { -2, -1, -0.5, 0.5, 1, 2, 4 };
static const double variances[] = { 0.25, 1, 4 };

/* A number for each channel, as a vector, or so that it broadcasts along the channels. */
static bt_status make_channels(struct maker *m, const struct layer *l, int is_vector,
                               const double *choices, uint32_t n, const bt_value **out)
{
    const int64_t dims[] = { l->nchannel, 1, 1 };
    return make_numbers(m, is_vector || !l->is_conv ? 1 : 3, dims, choices, n, out);
}

static bt_status make_batch_norm(struct maker *m, const struct layer *l,
                                 const bt_value *x, const bt_value **out)
{
    const bt_value *args[5] = { x }, *fields;
    BT_TRY(make_channels(m, l, 1, powers, BT_COUNT(powers), &args[1]));
    BT_TRY(make_channels(m, l, 1, integers, BT_COUNT(integers), &args[2]));
    BT_TRY(make_channels(m, l, 1, integers, BT_COUNT(integers), &args[3]));
    BT_TRY(make_channels(m, l, 1, variances, BT_COUNT(variances), &args[4]));
    BT_TRY(bt_build(m->builder, "nn.batch_norm", "epsilon=0.0", args, 5, &fields));
    return bt_build_proj(m->builder, fields, 0, out);
}

/* What changes an image and gives one of the same shape. */
static bt_status make_around_image(struct maker *m, const struct layer *l,
                                   const bt_value *x, const bt_value **out)
{
    const bt_value *y, *pair[2] = { x, x };
    char attrs[64];
    switch (below(m, 5)) {
    case 0:
        BT_TRY(call_op(m, "nn.pad", "pad_width=[0, 0, 0, 0, 1, 0, 0, 2]", x, NULL, &y));
        return call_op(m, "nn.adaptive_max_pool2d", "output_size=[1]", y, NULL, out);
    case 1:
        BT_TRY(call_op(m, "nn.upsampling", "scale_h=2.0, scale_w=4.0", x, NULL, &y));
        return call_op(m, "mean", "axis=[2, 3], keepdims=True", y, NULL, out);
    case 2:
        BT_TRY(bt_build_tuple(m->builder, 2, pair, &y));
        BT_TRY(call_op(m, "concatenate", "axis=1", y, NULL, &y));
        snprintf(attrs, sizeof(attrs), "begin=[%d], end=[%d], axes=[1]", (int)l->nchannel,
                 (int)(2 * l->nchannel));
        return call_op(m, "strided_slice", attrs, y, NULL, out);
    case 3:
        BT_TRY(bt_build_tuple(m->builder, 2, pair, &y));
        BT_TRY(call_op(m, "concatenate", "axis=1", y, NULL, &y));
        BT_TRY(call_op(m, "split", "indices_or_sections=2, axis=1", y, NULL, &y));
        return bt_build_proj(m->builder, y, 1, out);
    default:
        BT_TRY(make_channels(m, l, 1, powers, BT_COUNT(powers), &y));
        return call_op(m, "nn.prelu", NULL, x, y, out);
    }
}

static bt_status make_around_layer(struct maker *m, const struct layer *l, uint32_t which,
                                   const bt_value *x, const bt_value **out)
{
    const bt_value *y;
    switch (which) {
    case 0:
        BT_TRY(make_channels(m, l, 1, integers, BT_COUNT(integers), &y));
        return call_op(m, "nn.bias_add", NULL, x, y, out);
    case 1:
        BT_TRY(make_channels(m, l, 0, integers, BT_COUNT(integers), &y));
        return call_op(m, "add", NULL, x, y, out);
    case 2: return make_batch_norm(m, l, x, out);
    case 3:
        BT_TRY(call_op(m, "nn.dropout", NULL, x, NULL, &y));
        return bt_build_proj(m->builder, y, 0, out);
    case 4: return call_op(m, "nn.relu", NULL, x, NULL, out);
    case 5: // a window of one element, as all there is of space
        if (l->is_conv && below(m, 2))
            return call_op(m, "nn.max_pool2d", "pool_size=[1]", x, NULL, out);
        return l->is_conv ? call_op(m, "nn.global_avg_pool2d", NULL, x, NULL, out)
                          : call_op(m, "nn.relu", NULL, x, NULL, out);
    case 6:
        if (l->is_conv)
            return make_around_image(m, l, x, out);
        return call_op(m, "nn.relu", NULL, x, NULL, out);
    default:
        BT_TRY(make_channels(m, l, 0, powers, BT_COUNT(powers), &y));
        return call_op(m, "multiply", NULL, x, y, out);
    }
}

static bt_status apply_layer(struct maker *m, const struct layer *l, const bt_value *x,
                             const bt_value **out)
{
    const int64_t dims[] = { l->nchannel, l->is_depthwise ? 1 : l->nchannel, 1, 1 };
    const bt_value *weight;
    bt_text attrs;
    BT_TRY(
        make_numbers(m, l->is_conv ? 4 : 2, dims, integers, BT_COUNT(integers), &weight));
    bt_text_init(&attrs, m->arena);
    bt_text_addf(&attrs, "groups=%d", l->is_depthwise ? (int)l->nchannel : 1);
    if (!bt_text_get(&attrs))
        return bt_no_memory();
    BT_TRY(!l->is_conv
               ? call_op(m, "nn.dense", NULL, x, weight, &x)
               : call_op(m, l->is_transposed ? "nn.conv2d_transpose" : "nn.conv2d",
                         attrs.at, x, weight, &x));
    for (uint32_t i = 0; i < l->nafter; i++)
        BT_TRY(make_around_layer(m, l, l->after[i], x, &x));
    *out = x;
    return NULL;
}

/* One layer, or the sum of several of one input. */
static bt_status apply_layers(struct maker *m, const struct layer *l, const bt_value *x,
                              const bt_value **out)
{
    uint32_t n = below(m, 3) ? 3 + below(m, 2) : 1;
    const bt_value *branch;
    BT_TRY(apply_layer(m, l, x, out));
    for (uint32_t i = 1; i < n; i++) {
        BT_TRY(apply_layer(m, l, x, &branch));
        BT_TRY(call_op(m, "add", NULL, *out, branch, out));
    }
    return NULL;
}

/* Rows of a table: by where each row of x is greatest. */
static bt_status make_embedding(struct maker *m, const struct layer *l, const bt_value *x,
                                const bt_value **out)
{
    const int64_t dims[] = { l->nchannel, l->nchannel };
    const bt_value *table, *rows;
    BT_TRY(make_numbers(m, 2, dims, integers, BT_COUNT(integers), &table));
    BT_TRY(call_op(m, "argmax", "axis=[1]", x, NULL, &rows));
    return call_op(m, "take", "axis=0", table, rows, out);
}

/* Matrices of floats only; the last axis has the channels. */
bt_status make_layer(struct maker *m, const bt_type *type, const bt_value **out)
{
    const bt_shape_type *shape = bt_tensor_shape(type);
    struct layer l = { .is_conv = (int)below(m, 2) };
    const bt_value *x;
    if (dtype_of(type) != BT_FLOAT32 || shape->n != 2 ||
        !bt_dim_is_const(shape->dims[1], &l.nchannel))
        return make_unary(m, type, out);
    BT_TRY(make(m, type, &x));
    BT_TRY(call_op(m, "clip", "a_min=-4.0, a_max=4.0", x, NULL, &x));
    BT_TRY(call_op(m, "floor", NULL, x, NULL, &x));
    if (l.is_conv)
        BT_TRY(call_op(m, "expand_dims", "axis=2, num_newaxis=2", x, NULL, &x));
    l.is_depthwise = l.is_conv && below(m, 3) == 0;
    l.is_transposed = l.is_conv && below(m, 4) == 0;
    for (; l.nafter < MAX_AFTER && below(m, 4); l.nafter++)
        l.after[l.nafter] = below(m, 8);
    for (; l.nbefore < MAX_AFTER && below(m, 2); l.nbefore++)
        l.before[l.nbefore] = below(m, 8);
    for (uint32_t i = 0; i < l.nbefore; i++)
        BT_TRY(make_around_layer(m, &l, l.before[i], x, &x));
    if (!l.is_conv && below(m, 2))
        BT_TRY(make_embedding(m, &l, x, &x));
    BT_TRY(apply_layers(m, &l, x, out));
    return l.is_conv ? call_op(m, "squeeze", "axis=[2, 3]", *out, NULL, out) : NULL;
}
