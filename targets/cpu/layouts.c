/*
 * The layouts that the target wants. Convolutions of codes of 8 bits read and write channels last:
 *
 *     "NCHW:NHWC"       x[n, y, x, c], of which four codes of a place are what a tile multiplies at once
 *
 * Rows of a tile are then places, whose channels it reads where they lie, and what it writes is what the
 * next convolution reads so. Floats stay as they are: their tiles read vectors of places. So do groups of
 * channels, but for those of depthwise convolutions that primitives/channels.h has, and few channels, of
 * which a quad would be mostly empty.
 */
#include "layouts.h"

#include <string.h>

#include <baton/op.h>

#include "primitives/channels.h"

enum { LEAST_CHANNELS = 3 };

/* Of convolutions along some axes. */
static const struct {
    const char *axes, *weights, *wanted;
} layouts[] = {
    { "NCW", "OIW", "NCW:NWC" },
    { "NCHW", "OIHW", "NCHW:NHWC" },
    { "NCDHW", "OIDHW", "NCDHW:NDHWC" },
};

static int has_codes(const bt_type *type)
{
    const bt_dtype dtype = bt_tensor_dtype(type);
    return dtype == BT_UINT8 || dtype == BT_INT8;
}

/* Whether tiles read channels of one place side by side, or there is a primitive of this depthwise
 * convolution, whose weights are OIHW. */
static int is_better(const bt_call *call)
{
    int64_t x[BT_MAX_RANK], w[BT_MAX_RANK], dilation[2];
    uint32_t x_rank, w_rank;
    if (!bt_tensor_static(call->args[0]->type, &x_rank, x) ||
        !bt_tensor_static(call->args[1]->type, &w_rank, w) || w_rank != x_rank)
        return 0;
    if (w[1] == x[1])
        return x[1] >= LEAST_CHANNELS;
    return x_rank == 4 && w[1] == 1 && w[0] == x[1] && x[1] >= CPU_CHANNELS_LEAST &&
           (w[2] == 3 || w[2] == 5) && w[3] <= 5 &&
           bt_call_ints(call, "dilation", 2, dilation) && dilation[0] == 1 &&
           dilation[1] == 1;
}

bt_status cpu_layouts(bt_ctx *ctx, void *self, const bt_call *call, const char **wanted)
{
    (void)ctx, (void)self;
    if (call->narg < 2 || !has_codes(call->args[0]->type) ||
        !has_codes(call->args[1]->type))
        return NULL;
    for (uint32_t i = 0; i < BT_COUNT(layouts); i++) {
        if (strcmp(bt_call_text(call, "data_layout"), layouts[i].axes) == 0 &&
            strcmp(bt_call_text(call, "kernel_layout"), layouts[i].weights) == 0 &&
            is_better(call))
            wanted[0] = wanted[call->narg] = layouts[i].wanted;
    }
    return NULL;
}
