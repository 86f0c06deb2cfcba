/* What is computed between qnn.dequantize and qnn.quantize, by laws that say how it is done
 * on codes. */
#ifndef PASSES_QDQ_LAW_H
#define PASSES_QDQ_LAW_H

#include <baton/pass.h>

#include "chain.h"

/* Codes, and what they stand for: (codes - zero) * scale, all float32. */
struct qdq_value {
    const bt_value *codes, *scale, *zero;
    int64_t axis; /* of a scale that is a vector */
};

/* A region: from operands that are dequantized to the call that quantizes its result. */
struct qdq_region {
    bt_rewrite *rewrite;
    const bt_call *quantize; /* of the old program */
    struct chain chain;
    struct qdq_value to; /* scale and zero point of the result, numbers */
    bt_dtype dtype;      /* of its codes */
    const char *why;     /* that it stays in float */
};

/* What a value of the new program stands for, where it is dequantized as a whole from
 * constants of scale and zero point; 0: it is not. */
int qdq_dequantized(const bt_module *, const bt_value *, struct qdq_value *out);
/* A call of any operator; NULL: it is none. */
const bt_call *qdq_op_call(const bt_value *);
/* Whether two constants are the same elements of one type. */
int qdq_same(const bt_module *, const bt_value *, const bt_value *);

/* The codes of a call of the old program, quantized as the region states; NULL, with
 * `why`: no law has them. */
bt_status qdq_apply(struct qdq_region *, const bt_call *,
                    const bt_value **out) BT_MUST_USE;

#endif
