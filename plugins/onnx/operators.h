/* Which row converts which operator: those of all plugins, this one among them. */
#ifndef ONNX_OPERATORS_H
#define ONNX_OPERATORS_H

#include "emit.h"

/* Looks through what plugins provide; none of them is opened. */
bt_status operators_list(struct onnx_import *);
/* The row for an operator of a domain; *out NULL: unsupported.
 * errors  BT_ERR_PLUGIN: its plugin is refused */
bt_status operators_find(struct onnx_import *, const char *domain, const char *op,
                         int64_t opset, const bt_onnx_operator **out);
/* The error for a node whose operator no row converts: which names are near, and how a
 * plugin would state it. */
bt_status operators_unsupported(struct onnx_import *, const struct onnx_node *,
                                int64_t opset) BT_FAILURE;
/* Gives the node's outputs by a row. */
void operators_convert(bt_onnx_node *, const bt_onnx_operator *);

#endif
