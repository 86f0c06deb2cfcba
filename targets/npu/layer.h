/*
 * A layer: what one primitive computes on the machine, without values, and its plan: a stream, and
 * the bytes of the buffers that it names. Nothing here knows programs.
 *
 *     sum         of products over a window and all channels; of a window of each channel the
 *                 total or the greatest; or an element itself
 *     post-ops    of each sum, in order:  x = x + requantize(operand)   x = requantize(x)
 *     requantize  clamp(round((x + add) * factor / 2^shift), low, high), of three numbers by
 *                 channel, in int32 and rounded once as REQ does; factor is 1 where the machine
 *                 has no multiplier
 *     result      int8, or int32
 *
 * A dense layer is a convolution of one place: windows of extent 1. Zero points: padding is a code,
 * and what they add to each sum, -zero * sum(w), is part of `add`.
 *
 * Buffers, and what their bytes are; blocks of channels and of images are padded with anything:
 *
 *     x            [n/batch][c/in][rows][columns][batch][in] int8, of NPU_PRODUCTS; of the others
 *                  channels are in blocks of `out`
 *     weights      [o/out][c/in][row][column][out][in], packed low bits first where they have less than 8;
 *                  zero where there is no such channel
 *     parameters   [o/out][requantize][add, shift, factor][batch][out] int32, no factor without multiplier;
 *                  requantizes in their order, an operand's before the post-op's; rows of a batch are equal
 *     uops         of the plan
 *     y            [n/batch][o/out][rows][columns][batch][out] int8 or int32
 *     operands     as y, int8
 */
#ifndef NPU_LAYER_H
#define NPU_LAYER_H

#include "stream.h"

enum { NPU_PRODUCTS, NPU_TOTAL, NPU_GREATEST, NPU_ELEMENT };

/* Places in one direction: y[o] is of x[o * stride - before + t * dilation], t < taps. */
struct npu_window {
    int64_t in, out;
    int64_t taps, stride, dilation;
    int64_t before; /* padding; what is left of it follows behind */
};

struct npu_requantize {
    int32_t low, high;
    uint32_t is_even; /* halves go to the even neighbour, else up */
};

struct npu_post_op {
    uint32_t has_operand; /* x + operand, an int8 of each element of the result */
    uint32_t requantizes_operand, requantizes;
    struct npu_requantize operand_requantize, requantize;
};

enum { NPU_MAX_POST_OPS = 4 };

struct npu_layer {
    uint32_t kind;
    int64_t batch, in, out; /* images, channels; `out` is `in` unless NPU_PRODUCTS */
    int64_t groups;         /* of channels, NPU_PRODUCTS; else 1 */
    struct npu_window rows, columns; /* of NPU_ELEMENT: extents alone matter */
    int32_t pad;                     /* the code that stands for padding */
    uint32_t weight_bits;            /* 8, 4, 2; 0 unless NPU_PRODUCTS */
    uint32_t npost_op;
    struct npu_post_op post_ops[NPU_MAX_POST_OPS];
    uint32_t is_wide; /* the result is int32 */
};

/* Numbers of buffers. The operand of post-op i is NPU_BUFFER_OPERAND + i. */
enum {
    NPU_BUFFER_X,
    NPU_BUFFER_WEIGHTS,
    NPU_BUFFER_PARAMETERS,
    NPU_BUFFER_UOPS,
    NPU_BUFFER_Y,
    NPU_BUFFER_OPERAND,
    NPU_NBUFFER = NPU_BUFFER_OPERAND + NPU_MAX_POST_OPS
};

/* Bytes of each buffer of a layer; 0: it has none, and of NPU_BUFFER_UOPS, which plans have.
 * errors  BT_ERR_UNSUPPORTED: why the machine does not compute this layer
 *         BT_ERR_LIMIT: a buffer is beyond main memory, or offsets of 32 bits */
bt_status npu_layer_nbytes(bt_ctx *, const struct npu_config *, const struct npu_layer *,
                           uint64_t out[NPU_NBUFFER]) BT_MUST_USE;

struct npu_plan {
    struct npu_stream stream; /* passes npu_check where buffers have these sizes */
    const uint8_t *uops;      /* NPU_BUFFER_UOPS, which must be constant */
    uint64_t nbytes[NPU_NBUFFER];
    uint64_t cycles; /* what npu_simulate counts */
    uint64_t
        ideal; /* of the multipliers alone, all of them busy; 0 unless NPU_PRODUCTS */
};

/* The fastest stream that is found for a layer, in the arena.
 * errors  those of npu_layer_nbytes; BT_ERR_UNSUPPORTED: no tile fits scratch; BT_ERR_LIMIT: the
 *         stream would be too long */
bt_status npu_plan(bt_ctx *, bt_arena *, const struct npu_config *,
                   const struct npu_layer *, struct npu_plan *out) BT_MUST_USE;

/* ---- constants: of a layer that npu_layer_nbytes accepts ---- */

/* Weights [out][in][row][column] of an int8 each, to NPU_BUFFER_WEIGHTS.
 * errors  BT_ERR_ARGUMENT: a weight is beyond the layer's bits */
bt_status npu_pack_weights(bt_ctx *, const struct npu_config *, const struct npu_layer *,
                           const int8_t *weights, uint8_t *out) BT_MUST_USE;

/* Numbers of a requantize, by channel; NULL: 0, of `factor` 1. */
struct npu_numbers {
    const int32_t *add, *shift, *factor;
};
/* Of the requantize of post-op `post_op`, or of its operand's, to NPU_BUFFER_PARAMETERS.
 * errors  BT_ERR_ARGUMENT: the post-op has none; a factor but 1 where the machine has no multiplier;
 *         a shift that it does not do: -31..31, 0..62 with a multiplier */
bt_status npu_pack_requantize(bt_ctx *, const struct npu_config *,
                              const struct npu_layer *, uint32_t post_op, int is_operand,
                              const struct npu_numbers *, uint8_t *out) BT_MUST_USE;

#endif
