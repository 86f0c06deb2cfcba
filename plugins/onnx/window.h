#ifndef ONNX_WINDOW_H
#define ONNX_WINDOW_H

#include "arith.h"

enum { MAX_SPATIAL = 3 };

enum auto_pad { PAD_NOTSET, PAD_VALID, PAD_SAME_UPPER, PAD_SAME_LOWER };

/* What nodes of convolution and pooling state of their windows, defaults filled in. */
struct window {
    uint32_t n; /* spatial axes */
    int64_t kernel[MAX_SPATIAL], strides[MAX_SPATIAL], dilations[MAX_SPATIAL];
    int64_t pads[2 * MAX_SPATIAL]; /* begins, then ends: also Relay's order */
    int ceil;
    enum auto_pad auto_pad;
};

/* A list attribute of `count` numbers, or `absent` for each. */
void read_list(bt_onnx_node *, const char *name, uint32_t count, int64_t absent,
               int64_t *out);
/* weight: NULL for pooling, whose kernel is an attribute. Pads are those of the node, none
 * with VALID. */
void read_stated_window(bt_onnx_node *, const bt_value *x, const bt_value *weight,
                        struct window *);
/* The same; with SAME_UPPER and SAME_LOWER the pads are computed. */
void read_window(bt_onnx_node *, const bt_value *x, const bt_value *weight,
                 struct window *);
/* strides, padding, dilation. */
const char *window_attrs(bt_onnx_node *, const struct window *);
/* Elements of a window's kernel. */
int64_t window_nelem(const struct window *);
/* "2d" as in nn.conv2d. */
const char *spatial_rank(const struct window *);
/* kind: "max", "avg". */
const bt_value *pooled(bt_onnx_node *, const char *kind, const bt_value *x,
                       const struct window *, int count_padding);

#endif
