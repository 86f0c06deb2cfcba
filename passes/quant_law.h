/* What a call does to its operands, read off its formula: so the passes of quantization know
 * which calls could compute on codes, without a list of operators. */
#ifndef PASSES_QUANT_LAW_H
#define PASSES_QUANT_LAW_H

#include <baton/pass.h>

enum {
    LAW_NONE,
    LAW_MOVE,    /* elements of one operand, elsewhere: reshape, transpose, slices */
    LAW_ORDER,   /* the greatest or the least of elements of one operand: max-pool */
    LAW_CLIP,    /* an operand within bounds: relu, clip */
    LAW_PRODUCT, /* a sum of products of elements of two operands */
    LAW_SUM      /* elements of two operands, added */
};

struct law {
    uint32_t kind;  /* LAW_... */
    uint32_t in[2]; /* its operands; one of move, order and clip */
    /* Of a product: the axis of each operand that lies on an axis of the result and is no
     * axis of the other one; -1: there is none. */
    int32_t channel[2];
};

/* out->kind LAW_NONE: none that is known, or the formula is not to be seen. */
bt_status law_find(bt_ctx *, bt_store *, bt_arena *, const bt_module *, const bt_call *,
                   struct law *out) BT_MUST_USE;

#endif
