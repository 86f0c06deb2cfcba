/* What operators of attention share: heads, the past, masks, rotary positions. */
#ifndef ONNX_ATTENTION_H
#define ONNX_ATTENTION_H

#include "arith.h"

/* [batch, length, heads * size] as [batch, length, heads, size]. */
const bt_value *heads_apart(bt_onnx_node *, const bt_value *, int64_t heads);
/* [batch, heads, length, size], whatever the form given; `heads`: the attribute that says
 * how many. */
const bt_value *by_head(bt_onnx_node *, const bt_value *, const char *heads);
/* [batch, heads, length, size] as [batch, length, heads * size]. */
const bt_value *heads_together(bt_onnx_node *, const bt_value *);
/* Keys or values of the past, which may be none (NULL), before those of now. */
const bt_value *with_past(bt_onnx_node *, const bt_value *past, const bt_value *now);

const bt_value *minus_infinity(bt_onnx_node *, const bt_value *like);
/* 0 where the condition holds, -inf elsewhere. */
const bt_value *bias_where(bt_onnx_node *, const bt_value *condition,
                           const bt_value *like);
/* A query sees the keys up to its own position, which follows the past. */
const bt_value *causal_bias(bt_onnx_node *, const bt_value *q, const bt_value *k,
                            const bt_value *past);

/* Pairs of elements turned by the angles of their positions; positions NULL: the angles are
 * those of each place. */
const bt_value *rotary(bt_onnx_node *, const bt_value *, int64_t heads,
                       const bt_value *cosine, const bt_value *sine,
                       const bt_value *positions);

#endif
