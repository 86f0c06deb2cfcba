/* Kernels of a module, loaded: one program of OpenCL, in which a text that several launches have
 * stands once. */
#ifndef OPENCL_LOAD_H
#define OPENCL_LOAD_H

#include "instance.h"

/* `head` stands before all kernels; "": nothing. */
bt_status ocl_load(bt_ctx *, struct ocl_instance *, const char *head, uint32_t n,
                   const bt_kernel_code *const *, void **out) BT_MUST_USE;
void ocl_unload(void *loaded);
void ocl_describe(void *loaded, bt_text *out);
bt_status ocl_enqueue(bt_ctx *, void *loaded, uint32_t kernel, const bt_kernel_call *,
                      const bt_order *, uint64_t *value) BT_MUST_USE;
/* What a fault of a kernel says. */
struct ocl_loaded;
bt_status ocl_kernel_fault(bt_ctx *, const struct ocl_loaded *, uint32_t kernel,
                           int32_t fault) BT_FAILURE;

#endif
