/* What is computed between qnn.dequantize and qnn.quantize, on codes. */
#ifndef PASSES_QUANTIZE_QDQ_REGION_H
#define PASSES_QUANTIZE_QDQ_REGION_H

#include <baton/pass.h>

#include "common/chain.h"
#include "quantize/quant_law.h"

/* Codes, and what they stand for: (codes - zero) * scale, all float32. Scale and zero point
 * are constants, numbers or vectors along the axis. */
struct qdq_value {
    const bt_value *codes, *scale, *zero;
    int64_t axis;
};

/* What is known of the calls of a program: the state of the rewriting. */
struct qdq_known {
    bt_map laws; /* call -> struct law * */
    bt_map told; /* call -> 1: a remark says why it stays in float */
};

/* What becomes codes of one scale: the operands of one qnn.quantize, call by call. */
struct qdq_region {
    bt_rewrite *rewrite;
    const bt_call
        *quantize; /* of the old program; NULL: nothing is quantized, codes are to
                                stand for exactly what they stood for */
    struct chain chain;
    struct qdq_value to;  /* scale and zero point of the result, numbers */
    bt_dtype dtype;       /* of its codes */
    const char *rounding; /* of numbers to codes, as qnn.quantize says it */
    const bt_call *left;  /* what stays in float, and */
    const char *why;      /* why */
};

/* ---- values ---- */

/* Notes why the region stays in float; `out` of the caller is left alone. */
bt_status qdq_refuse(struct qdq_region *, const bt_call *, const char *why) BT_MUST_USE;
/* Whether a failure says that an operator does not take what it was given. */
int qdq_is_refusal(bt_status);
/* The operator that a value of the program is a call of; NULL: it is none. */
const bt_call *qdq_op_call(const bt_value *);
const bt_tensor *qdq_constant(const struct qdq_region *, const bt_value *);
int qdq_is_number(const bt_value *);
/* What a value of the new program stands for, where it is dequantized as a whole from
 * constants of scale and zero point. *is_there 0: it is not. */
bt_status qdq_dequantized(struct qdq_region *, const bt_value *, struct qdq_value *out,
                          int *is_there) BT_MUST_USE;
/* The same of an operand of the old program. */
bt_status qdq_operand(struct qdq_region *, const bt_value *old, struct qdq_value *out,
                      int *is_there) BT_MUST_USE;
/* Whether two constants are the same elements of one type. */
int qdq_same(const struct qdq_region *, const bt_value *, const bt_value *);
/* The code of a number, if the type had no end; and whether it stands for just that. */
double qdq_code(const struct qdq_region *, double number, int *is_exact);
/* A dequantized value of the new program in codes of the region. */
bt_status qdq_recode(struct qdq_region *, const bt_value *, const struct qdq_value *,
                     const bt_value **out) BT_MUST_USE;
/* The law of a call, found once. */
bt_status qdq_law_of(struct qdq_region *, const bt_call *, struct law *out) BT_MUST_USE;

/* How far codes are from their zero points at most. */
double qdq_most_difference(const struct qdq_region *, const struct qdq_value *);

/* ---- operators ---- */

/* Attributes of a qnn.requantize for the region: takes its rounding and the name of its dtype. */
#define QDQ_REQUANTIZE "compute_dtype=\"float32\", rounding=\"%s\", out_dtype=\"%s\""
/* Whether halves go to even, as operators on codes round them but for those. */
int qdq_is_to_even(const struct qdq_region *);

/* The operator on codes of Relay's dialect qnn, qnn.conv2d of nn.conv2d, which takes so many
 * operands and the same attributes; *out NULL: there is none. */
bt_status qdq_twin(struct qdq_region *, const bt_call *, uint32_t nin,
                   const bt_op **out) BT_MUST_USE;

#endif
