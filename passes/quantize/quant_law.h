/* What a call does to its operands, read off its formula: so the passes of quantization know
 * which calls could compute on codes, without a list of operators. */
#ifndef PASSES_QUANTIZE_QUANT_LAW_H
#define PASSES_QUANTIZE_QUANT_LAW_H

#include <baton/pass.h>

enum {
    LAW_NONE,
    LAW_MOVE,   /* elements of one operand, elsewhere: reshape, transpose, slices */
    LAW_ORDER,  /* the greatest or the least of elements of one operand: max-pool */
    LAW_SELECT, /* either, of several operands or of constants: concatenate, pad, where */
    LAW_CLIP,   /* an operand within bounds: relu, clip */
    LAW_CONTRACTION, /* a sum of products of elements of two operands */
    LAW_ADD,         /* elements of two operands, added or subtracted */
    LAW_MULTIPLY,    /* elements of two operands, multiplied */
    LAW_MEAN         /* a sum of elements of one operand, by a number of elements maybe */
};

struct law {
    uint32_t kind;  /* LAW_... */
    uint32_t in[2]; /* its operands; one of move, order, clip and mean */
    /* Whether each element of the result follows from those of the operands at its place: what
     * is known of one operand's codes is known of the result. */
    uint32_t is_function;
    /* Of what is read element by element, and where: which of the call's tensors (fields of
     * tuples one by one) are moved, and the constants that stand where none of them is. */
    uint32_t nleaf, nconst;
    const uint8_t *moved;
    const double *consts;
    uint32_t is_whole; /* of an order: it is never one of no elements */
    double low, high;  /* of a clip */
    /* Of a contraction, and of a multiplication: the axis of each operand that lies on an axis of the result
     * and is no axis of the other one, and that axis; -1: there is none. */
    int32_t channel[2], channel_of_result[2];
    /* Of a contraction: the axis of each operand along which the sum runs, at the same index of both;
     * -1: there is none. */
    int32_t reduced_axis[2];
    int64_t nterm; /* of a contraction: those of a sum; -1: how many is not known */
    /* Of an addition and a multiplication: the axis of the result that each axis of an operand lies on;
     * -1: it has one element for all. */
    const int32_t *axes[2];
    uint32_t
        subtracted; /* of an addition: 1, the second operand; 2, the first; 0: none */
    /* Of a mean: what the sum is divided by, 0: that depends on the place; and the axes that
     * are summed, 0: it is no sum over whole axes. */
    double count;
    uint64_t summed;
};

/* out->kind LAW_NONE: none that is known, or the formula is not to be seen. */
bt_status law_find(bt_ctx *, bt_store *, bt_arena *, const bt_module *, const bt_call *,
                   struct law *out) BT_MUST_USE;
/* A remark: the call "stays", or "ends", in float; its notes are why, and which pass says so. */
void law_tell(bt_ctx *, const char *pass, const bt_call *, const char *how,
              const char *why);

#endif
