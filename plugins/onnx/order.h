#ifndef ONNX_ORDER_H
#define ONNX_ORDER_H

#include "model.h"

/* The order in which a graph's nodes are converted: the file's, unless it states a node
 * before one whose result that uses.
 * errors  BT_ERR_FORMAT: nodes that need each other */
bt_status graph_order(bt_ctx *, bt_arena *, const char *path, const struct onnx_graph *,
                      const uint32_t **out);

#endif
