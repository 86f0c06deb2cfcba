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

/* Queries, keys and values by head, [batch, heads, length, size], the past included. */
struct heads {
    const bt_value *q, *k, *v;
    const bt_value *past; /* of the keys; NULL: none */
};
/* Fewer heads of keys or values serve several of the queries each. */
const bt_value *repeated_heads(bt_onnx_node *, const bt_value *, const bt_value *q);
/* q k^T * scale; a scale of 0: one over the root of a head's size. */
const bt_value *scaled_scores(bt_onnx_node *, const struct heads *, double scale);
/* Scores that tanh keeps within -cap and cap; 0: as they are. */
const bt_value *softcapped(bt_onnx_node *, const bt_value *, double cap);

const bt_value *minus_infinity(bt_onnx_node *, const bt_value *like);
/* 0 where the condition holds, -inf elsewhere. */
const bt_value *bias_where(bt_onnx_node *, const bt_value *condition,
                           const bt_value *like);
/* A query sees the keys up to its own position, which follows the past. */
const bt_value *causal_bias(bt_onnx_node *, const bt_value *q, const bt_value *k,
                            const bt_value *past);

/* Pairs of elements turned by the angles of their positions. */
struct rotary {
    const bt_value *cosine, *sine; /* of each position */
    const bt_value *positions;     /* NULL: the angles are those of each place */
    int64_t heads;                 /* of data of rank 3 */
    int64_t part;                  /* that many elements of a head turn; 0: all */
    int alternates;                /* pairs are neighbours, not of the two halves */
};
const bt_value *rotated(bt_onnx_node *, const bt_value *, const struct rotary *);

#endif
