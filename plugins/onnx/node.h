/* A node being converted: what its conversion may ask, and what it builds. */
#ifndef ONNX_NODE_H
#define ONNX_NODE_H

#include <baton/onnx.h>

#include "graph.h"
#include "tensor.h"

/* ---- what a conversion asks ---- */

/* Input i: NULL where it is left out. Required ones fail instead. */
const bt_value *node_in(bt_onnx_node *, uint32_t i);
const bt_value *node_need(bt_onnx_node *, uint32_t i);
/* Whether anybody may use that output. */
int node_wants(const bt_onnx_node *, uint32_t output);
/* An attribute of this type (ATTR_...), NULL where it is left out; the node fails where
 * it has another type. */
const struct onnx_attr *node_attr(bt_onnx_node *, const char *name, int64_t type);
int node_has(const bt_onnx_node *, const char *name);
int64_t node_int(bt_onnx_node *, const char *name, int64_t absent);
double node_float(bt_onnx_node *, const char *name, double absent);
const char *node_text(bt_onnx_node *, const char *name, const char *absent);
/* A list as "[1, 2]" for an attribute's text; `absent` where it is left out. */
const char *node_ints(bt_onnx_node *, const char *name, const char *absent);

/* Rank, dims (-1: symbolic) and dtype of a value; the node fails where the rank is not
 * known. */
uint32_t value_rank(bt_onnx_node *, const bt_value *);
int64_t value_dim(bt_onnx_node *, const bt_value *, uint32_t axis);
bt_dtype value_dtype(const bt_value *);
/* A constant's tensor, or what a call of constants is known to give, which stays a call: training
 * learns what it is made of. NULL: it is not known. */
const bt_tensor *known_tensor(const bt_onnx_node *, const bt_value *);
/* The elements of a small integer value known now: 1 and *out, or 0. */
int value_ints(bt_onnx_node *, const bt_value *, int64_list *out);
/* The same as dims, which may be symbolic: 1 and *n, *out, or 0. */
int value_dims(bt_onnx_node *, const bt_value *, uint32_t *n, const bt_type *const **out);
/* An axis counted from the front; the node fails where it is out of range. */
uint32_t node_axis(bt_onnx_node *, int64_t axis, uint32_t rank);

/* ---- what it says ---- */

void node_fail(bt_onnx_node *, uint32_t code, const char *format, ...) BT_PRINTF(3, 4);
/* Fails because a value is needed now that only a run gives. */
void node_unknown(bt_onnx_node *, const char *what, const bt_value *);
/* Formatted text that lives as long as the import. "" after a failure. */
const char *node_format(bt_onnx_node *, const char *format, ...) BT_PRINTF(2, 3);
const char *format_ints(bt_onnx_node *, uint32_t n, const int64_t *);
const char *format_bool(int);

#endif
