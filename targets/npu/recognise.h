/*
 * Which layer a primitive function is, and of which parameters its numbers come. It is read off
 * the function's compute graph (<baton/graph.h>), so that it does not matter which operators it
 * was written with. Layouts do not matter either: axes are those of the logical tensors.
 *
 * Sums wrap in int32 on the machine and in the program alike, in any order, so that neither they
 * nor what is added to them need a proof. What is not exact modulo 2^32 does: shifts, casts.
 */
#ifndef NPU_RECOGNISE_H
#define NPU_RECOGNISE_H

#include <baton/ir.h>

#include "moves.h"

struct npu_operand {
    int32_t param;           /* -1: there is none */
    int32_t axes[NPU_NAXIS]; /* where it has each; -1: nowhere */
};

/* The numbers of a requantize: add = number + the sum of operands that have one for each channel. */
struct npu_terms {
    int32_t number, shift, factor;
    uint32_t nadded;
    struct npu_operand added[NPU_MAX_VECTORS]; /* int32 */
    struct npu_ratio ratio; /* unless NPU_RATIO_NONE, shift and factor: ... */
    struct npu_operand
        scales[2]; /* ... of float32 by channel; param -1: of its own numbers */
};

struct npu_function {
    struct npu_layer layer;
    struct npu_operand data, weight, result;
    int32_t
        zero; /* of the data: padding's code, and -zero * sum(w) is added to each sum */
    struct npu_operand operands[NPU_MAX_POST_OPS]; /* of each post-op, int8, ... */
    struct npu_terms operand_terms[NPU_MAX_POST_OPS], terms[NPU_MAX_POST_OPS];
};

/* errors  BT_ERR_UNSUPPORTED: what else the function does */
bt_status npu_recognise(bt_ctx *, bt_arena *, const struct npu_config *, const bt_func *,
                        struct npu_function *out) BT_MUST_USE;

#endif
