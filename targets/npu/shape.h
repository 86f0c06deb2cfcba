/*
 * A layer in tiles: what is left of it when channels and images are blocks. A dense layer's images
 * become rows, so that weights that are loaded once serve all of them; rows of which only every
 * stride-th is read lie closer.
 */
#ifndef NPU_SHAPE_H
#define NPU_SHAPE_H

#include "layer.h"

/* Bytes from one to the next; columns are one tile behind the other. */
struct npu_strides {
    uint64_t tile, row, block, group, image;
};

struct npu_shape {
    const struct npu_layer *layer;
    uint32_t images, groups;
    uint32_t nin, nout; /* blocks of a group; nin 1 unless NPU_PRODUCTS */
    struct npu_window rows, columns;
    struct npu_strides x, y, operand;
    uint32_t nrequantize, nparam; /* how many; tiles of each */
    uint32_t weight_nbytes;       /* of a tile */
    uint64_t nbytes[NPU_NBUFFER];
};

/* errors  those of npu_layer_nbytes */
bt_status npu_shape_of(bt_ctx *, const struct npu_config *, const struct npu_layer *,
                       struct npu_shape *out) BT_MUST_USE;

/* Whether each result is taken over a window: a sum of products, or a pool. */
static inline int npu_shape_has_window(const struct npu_shape *s)
{
    return s->layer->kind != NPU_ELEMENT;
}

#endif
