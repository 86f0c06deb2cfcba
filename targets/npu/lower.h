/* From a primitive function to kernels, and what they cost. */
#ifndef NPU_LOWER_H
#define NPU_LOWER_H

#include "device.h"

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
