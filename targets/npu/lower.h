/* From a primitive function to kernels, and what they cost. */
#ifndef NPU_LOWER_H
#define NPU_LOWER_H

#include "device.h"

/* What is known of a function before it is compiled. */
struct npu_estimate {
    uint32_t kind; /* of the layer: NPU_PRODUCTS */
    int64_t taps[2];
    uint64_t cycles, ideal;
    double moved; /* elements that the host lays out at each call */
};
/* errors  BT_ERR_UNSUPPORTED: why it does not take the function */
bt_status npu_estimate(bt_ctx *, void *device, const bt_func *,
                       struct npu_estimate *out) BT_MUST_USE;
/* "products of 3x3, 466278 cycles, multipliers busy 96 %" */
void npu_estimate_print(const struct npu_estimate *, bt_text *out);

/* NULL, or why it does not take the function. */
bt_status npu_supports(bt_ctx *, void *device, const bt_func *) BT_MUST_USE;
bt_status npu_lower(bt_ctx *, void *device, bt_arena *, const bt_func *,
                    bt_lowering *out) BT_MUST_USE;
bt_status npu_compile(bt_ctx *, void *device, bt_arena *, uint32_t form, uint32_t n,
                      const bt_kernel *const *, bt_kernel_code *const *out) BT_MUST_USE;
bt_status npu_cost(bt_ctx *, void *device, const bt_func *, bt_cost *out) BT_MUST_USE;
bt_status npu_explain(bt_ctx *, void *device, const bt_func *, bt_text *out) BT_MUST_USE;
/* Blocks for convolutions and pools whose channels and images fill them. */
bt_status npu_layouts(bt_ctx *, void *device, const bt_call *,
                      const char **wanted) BT_MUST_USE;

#endif
