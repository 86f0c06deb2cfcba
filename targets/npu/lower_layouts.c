/* Layouts that calls are to have before they are fused. */
#include <string.h>

#include <baton/op.h>

#include "lower.h"

/* Blocks where channels and images fill them. */
static const char *full_blocks(const struct npu_device *d, const bt_type *type,
                               int is_last)
{
    int64_t dims[BT_MAX_RANK];
    uint32_t rank;
    const int is_full = bt_tensor_static(type, &rank, dims) && rank == 4 &&
                        dims[0] % d->config.batch == 0 &&
                        dims[is_last ? 3 : 1] % d->config.out == 0;
    return is_full ? d->layouts[is_last] : NULL;
}

static int is_int8(const bt_type *type)
{
    return bt_tensor_dtype(type) == BT_INT8 && bt_tensor_static(type, NULL, NULL);
}

/* Of convolutions and pools. Their zero points and scales keep the layout that they have. A result,
 * in blocks of `out`, is the data of the next layer, in blocks of `in`: so only where both are equal. */
bt_status npu_layouts(bt_ctx *ctx, void *device, const bt_call *call, const char **wanted)
{
    static const char *const weights[][2] = { { "OIHW", "OIHW:OIHW" },
                                              { "HWIO", "HWIO:HWIO" },
                                              { "OHWI", "OHWI:OHWI" } };
    const struct npu_device *d = device;
    const char *weight = bt_call_text(call, "kernel_layout");
    const char *data = bt_call_text(call, *weight ? "data_layout" : "layout");
    const int is_last = strcmp(data, "NHWC") == 0;
    (void)ctx;
    if (d->config.in != d->config.out || (!is_last && strcmp(data, "NCHW") != 0) ||
        call->narg < (*weight ? 2 : 1) || !is_int8(call->args[0]->type) ||
        (*weight && !is_int8(call->args[1]->type)))
        return NULL;
    const char *x = full_blocks(d, call->args[0]->type, is_last);
    const char *y = full_blocks(d, call->base.type, is_last), *rows = NULL;
    for (uint32_t i = 0; *weight && i < BT_COUNT(weights); i++) {
        if (strcmp(weight, weights[i][0]) == 0)
            rows = weights[i][1];
    }
    if ((!x && !y) || (*weight && !rows))
        return NULL;
    wanted[0] = x;
    if (*weight)
        wanted[1] = rows;
    wanted[call->narg] = y;
    return NULL;
}
