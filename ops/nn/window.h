/* What convolutions and poolings share: layouts by letters, lists of strides and padding,
 * sizes of results. */
#ifndef OPS_NN_WINDOW_H
#define OPS_NN_WINDOW_H

#include <baton/op.h>

enum { MAX_SPATIAL = 3 };

/* Where the axes of a layout such as "NCHW" or "OIHW" stand. */
struct layout {
    uint32_t rank;
    uint32_t first, second;      /* N and C, or O and I */
    uint32_t space[MAX_SPATIAL]; /* D, H, W: those there are, in that order */
};

/* The number before the d of "nn.conv2d": how many spatial axes the operator has. */
uint32_t window_nspace(const bt_op *);

/* Reads a layout of `nspace` spatial axes whose other letters are `first` and `second`:
 * 1, or 0 when it is none. */
int layout_read(const char *text, char first, char second, uint32_t nspace,
                struct layout *out);
/* The same for a relation, which fails naming the attribute. */
bt_status layout_relate(bt_solver *, const bt_relation_call *, const char *attr,
                        const char *text, const char *letters, uint32_t nspace,
                        struct layout *out) BT_MUST_USE;
/* The order of a pooling's axes, on both sides. */
bt_status pool_layout(bt_solver *, const bt_relation_call *, const char *layout,
                      const char *out_layout, uint32_t nspace,
                      struct layout *out) BT_MUST_USE;
/* Elements of an axis that are one block; 1: it has none. */
int64_t layout_block(const bt_layout *, uint32_t axis);
/* A layout facet's answer for a pooling, whose result lies as its data does: the layout
 * that is wanted for the data, where its axes are those of attribute `layout`. */
bt_status pool_layouts_choose(bt_ctx *, bt_store *, const bt_call *,
                              const bt_layout *const *wanted, const bt_layout **in,
                              const bt_layout **out) BT_MUST_USE;
/* Orders of a convolution's axes, as attributes have them, and whether the weight has the
 * channels of one group only, on either side. */
struct conv_layouts {
    const char *data, *kernel, *out;
    int ins_divided, outs_divided;
};
/* The same for a convolution: as wanted, where data and result have their axes in one
 * order; the weight's, where it is not wanted, has the blocks of both. */
bt_status conv_layouts_choose(bt_ctx *, bt_store *, const bt_call *,
                              const struct conv_layouts *, const bt_layout *const *wanted,
                              const bt_layout **in, const bt_layout **out) BT_MUST_USE;

/* One entry for each spatial axis; a single entry counts for all. Fails naming the
 * attribute. */
bt_status space_list(bt_solver *, const bt_relation_call *, const char *attr,
                     const bt_ints *, uint32_t nspace,
                     int64_t out[MAX_SPATIAL]) BT_MUST_USE;
/* Padding before and after each axis: one entry for all, one an axis, or befores then
 * afters. */
bt_status space_padding(bt_solver *, const bt_relation_call *, const bt_ints *,
                        uint32_t nspace, int64_t out[2 * MAX_SPATIAL]) BT_MUST_USE;
/* Once the relation has held, bt_ints_expand gives the same. */

/* floor or ceil((size + before + after - (kernel - 1) * dilation - 1) / stride) + 1,
 * where kernel may be symbolic. With `ceil`, no window may start in the padding behind
 * (ONNX, PyTorch). */
struct window {
    const bt_type *kernel;
    int64_t stride, dilation, before, after;
    int ceil;
};
bt_status window_dim(bt_solver *, const bt_relation_call *, const bt_type *size,
                     const struct window *, const bt_type **out) BT_MUST_USE;
/* kernel_size, where it is given, must be the extents of weight's window. */
bt_status window_check(bt_solver *, const bt_relation_call *, const bt_ints *kernel_size,
                       const bt_tensor_parts *weight, const struct layout *,
                       uint32_t nspace) BT_MUST_USE;

#endif
