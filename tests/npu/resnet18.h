/* The convolutions of ResNet-18 at 224 x 224 behind the first one, as layers. */
#ifndef NPU_RESNET18_H
#define NPU_RESNET18_H

#include "layer.h"

enum { RESNET18_NLAYER = 19 };

static inline struct npu_layer resnet18_conv(const struct npu_config *c, int64_t in,
                                             int64_t out, int64_t size, int64_t taps,
                                             int64_t stride, int adds)
{
    const struct npu_window w = { .in = size * stride,
                                  .out = size,
                                  .taps = taps,
                                  .stride = stride,
                                  .dilation = 1,
                                  .before = taps / 2 };
    const struct npu_requantize scale = { -128, 127, 1 }, relu = { 0, 127, 1 };
    struct npu_layer l = { .kind = NPU_PRODUCTS,
                           .batch = c->batch,
                           .in = in,
                           .out = out,
                           .groups = 1,
                           .rows = w,
                           .columns = w,
                           .weight_bits = 8,
                           .npost_op = adds ? 2 : 1 };
    l.post_ops[0] =
        (struct npu_post_op){ .requantizes = 1,
                              .requantize = adds || taps == 1 ? scale : relu };
    if (adds)
        l.post_ops[1] = (struct npu_post_op){ .has_operand = 1,
                                              .requantizes = 1,
                                              .requantize = relu };
    return l;
}

/* In order of the network: four of a stage's blocks, and behind the first what its residual goes
 * through, except in stage 1. */
static inline void resnet18(const struct npu_config *c,
                            struct npu_layer out[RESNET18_NLAYER])
{
    uint32_t n = 0;
    for (int64_t stage = 0, channels = 64, size = 56; stage < 4;
         stage++, channels *= 2, size /= 2) {
        const int64_t in = stage ? channels / 2 : channels, stride = stage ? 2 : 1;
        out[n++] = resnet18_conv(c, in, channels, size, 3, stride, 0);
        out[n++] = resnet18_conv(c, channels, channels, size, 3, 1, 1);
        if (stage)
            out[n++] = resnet18_conv(c, in, channels, size, 1, stride, 0);
        out[n++] = resnet18_conv(c, channels, channels, size, 3, 1, 0);
        out[n++] = resnet18_conv(c, channels, channels, size, 3, 1, 1);
    }
}

#endif
