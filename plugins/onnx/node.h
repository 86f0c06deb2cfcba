/* A node being converted: what its conversion may ask, and what it builds. */
#ifndef ONNX_NODE_H
#define ONNX_NODE_H

#include "graph.h"
#include "tensor.h"

/* A node being converted. After a failure, further building does nothing. */
struct node {
    struct importer *im;
    const struct onnx_node *proto;
    const struct conversion *row;
    int64_t opset; /* of the operator's domain */
    bt_status status;
};

/* ---- what a conversion asks ---- */

uint32_t node_nin(const struct node *);
/* Input i: NULL where it is left out. Required ones fail instead. */
const bt_value *node_in(struct node *, uint32_t i);
const bt_value *node_need(struct node *, uint32_t i);
/* Whether anybody may use that output. */
int node_wants(const struct node *, uint32_t output);
/* An attribute of this type (ATTR_...), NULL where it is left out; the node fails where
 * it has another type. */
const struct onnx_attr *node_attr(struct node *, const char *name, int64_t type);
int node_has(const struct node *, const char *name);
int64_t node_int(struct node *, const char *name, int64_t absent);
double node_float(struct node *, const char *name, double absent);
const char *node_text(struct node *, const char *name, const char *absent);
/* A list as "[1, 2]" for an attribute's text; `absent` where it is left out. */
const char *node_ints(struct node *, const char *name, const char *absent);

/* Rank, dims (-1: symbolic) and dtype of a value; the node fails where the rank is not
 * known. */
uint32_t value_rank(struct node *, const bt_value *);
int64_t value_dim(struct node *, const bt_value *, uint32_t axis);
bt_dtype value_dtype(const bt_value *);
/* The elements of a small integer value known now: 1 and *out, or 0. */
int value_ints(struct node *, const bt_value *, int64_list *out);
/* The same as dims, which may be symbolic: 1 and *n, *out, or 0. */
int value_dims(struct node *, const bt_value *, uint32_t *n, const bt_type *const **out);
/* An axis counted from the front; the node fails where it is out of range. */
uint32_t node_axis(struct node *, int64_t axis, uint32_t rank);

/* ---- what it says ---- */

void node_fail(struct node *, uint32_t code, const char *format, ...) BT_PRINTF(3, 4);
/* Fails because an input is needed now whose value only a run gives. */
void node_unknown(struct node *, const char *what);
/* Formatted text that lives as long as the import. "" after a failure. */
const char *node_format(struct node *, const char *format, ...) BT_PRINTF(2, 3);
const char *format_ints(struct node *, uint32_t n, const int64_t *);
const char *format_bool(int);

#endif
