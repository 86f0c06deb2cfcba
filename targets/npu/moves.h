/*
 * What the host does around streams: it lays tensors out as the tiles of a layer's buffers
 * (layer.h) and back, and makes constants ready.
 */
#ifndef NPU_MOVES_H
#define NPU_MOVES_H

#include "layer.h"

/* Axes of a tensor: images, channels, rows, columns. A weight's N is its outputs, its H and W are those
 * of the window. */
enum { NPU_N, NPU_C, NPU_H, NPU_W, NPU_NAXIS };

/* A tensor and its blocks, [n/batch][c/block][rows][columns][batch][block]. */
struct npu_move {
    uint32_t nbyte;   /* of an element: 1 or 4 */
    uint32_t is_back; /* from blocks to the tensor */
    uint32_t batch, block;
    /* Of the tensor: extents, and elements from one to the next. */
    uint64_t extents[NPU_NAXIS], strides[NPU_NAXIS];
};

/* Bytes of both sides. 0: they do not fit 64 bits, or there is no such move. */
int npu_move_nbytes(const struct npu_move *, uint64_t *tensor, uint64_t *blocks);
/* Whether both sides have the same bytes. */
int npu_move_is_none(const struct npu_move *);
/* Blocks that are not full are filled with zeros. */
void npu_move_run(const struct npu_move *, const uint8_t *from, uint8_t *to);

/* A weight as it lies in memory: elements from one to the next. */
struct npu_weight {
    uint64_t strides[NPU_NAXIS];
};
/* Bytes of the weight of a layer; 0: they do not fit 64 bits. */
int npu_weight_nbytes(const struct npu_layer *, const struct npu_weight *, uint64_t *out);
/* errors  of npu_pack_weights */
bt_status npu_weight_run(bt_ctx *, const struct npu_config *, const struct npu_layer *,
                         const struct npu_weight *, const uint8_t *from,
                         uint8_t *to) BT_MUST_USE;

/* A factor as input_scale / output_scale, in an arithmetic of qnn.requantize. */
enum { NPU_RATIO_NONE, NPU_RATIO_FLOAT32, NPU_RATIO_FLOAT64, NPU_RATIO_INT64 };
struct npu_ratio {
    uint32_t arithmetic;
    float in, out;
    uint32_t most_shift; /* of floats: beyond it what float32 rounds would show */
};
/* As factor * 2^-shift, 1 * 2^-shift without a multiplier. NULL, or why it is none; %g of them
 * are `in` and `out`. */
const char *npu_ratio_numbers(const struct npu_ratio *, int has_multiplier,
                              int32_t *factor, int32_t *shift);

/* The numbers of a requantize, of which those that are added for each channel lie in buffers. */
enum { NPU_MAX_VECTORS = 4 };
struct npu_requantize_numbers {
    int32_t number, shift, factor;
    uint32_t nvector;
    struct npu_vector {
        uint32_t buffer, stride; /* int32, elements from one to the next: 0 or 1 */
    } vectors[NPU_MAX_VECTORS];
    /* In place of shift and factor, unless NPU_RATIO_NONE; its scales may be float32 of buffers. */
    struct npu_ratio ratio;
    uint32_t has_scale[2];
    struct npu_vector scales[2];
};
struct npu_parameters {
    int32_t
        zero; /* -zero * sum(w) is added by the first requantize; 0: the weight is not read */
    uint32_t weights; /* buffer */
    struct npu_weight weight;
    struct npu_requantize_numbers operand_requantizes[NPU_MAX_POST_OPS],
        requantizes[NPU_MAX_POST_OPS];
};
/* errors  of npu_pack_requantize; BT_ERR_UNSUPPORTED: a ratio that the machine does not have */
bt_status npu_parameters_run(bt_ctx *, const struct npu_config *,
                             const struct npu_layer *, const struct npu_parameters *,
                             const uint8_t *const *from, uint8_t *to) BT_MUST_USE;

#endif
