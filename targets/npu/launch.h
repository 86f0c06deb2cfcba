/* Loaded kernels, and running them on an instance. */
#ifndef NPU_LAUNCH_H
#define NPU_LAUNCH_H

#include "code.h"
#include "device.h"

struct npu_kernel {
    struct npu_code code;
    struct npu_stream stream;
    /* What its last run in order of time took; cycles 0: there was none. Under the machine's lock. */
    struct npu_times times;
};

bt_status npu_load(bt_ctx *, void *device, uint32_t n, const bt_kernel_code *const *,
                   void **loaded) BT_MUST_USE;
void npu_unload(void *loaded);
/* A line for each kernel. */
void npu_describe(void *loaded, bt_text *out);

struct npu_kernel *npu_loaded_kernel(void *loaded, uint32_t number);
/* Where the call's buffers lie: one for each of the code's.
 * errors  BT_ERR_ARGUMENT: one is too short */
bt_status npu_kernel_bind(bt_ctx *, const struct npu_kernel *, const bt_kernel_call *,
                          struct npu_buffer *out) BT_MUST_USE;
/* One at a time runs on the machine. errors  BT_ERR_CANCELLED: *stop is not 0 */
bt_status npu_kernel_run(bt_ctx *, struct npu_device *, struct npu_kernel *,
                         const struct npu_buffer *buffers,
                         const uint32_t *stop) BT_MUST_USE;

#endif
