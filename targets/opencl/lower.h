/* Primitive functions as launches. */
#ifndef OPENCL_LOWER_H
#define OPENCL_LOWER_H

#include "launch.h"

/* What the text depends on. */
typedef struct ocl_device {
    uint32_t is_cpu;
    uint32_t has_double; /* cl_khr_fp64 */
    uint32_t has_fma;    /* fma is as fast as a product */
    uint32_t lanes;      /* floats of a native vector: 4, 8, 16 */
    uint32_t has_blas;   /* launches may be products (ocl_product) */
    uint64_t local_nbytes;
} ocl_device;

/* Kernels of a primitive function: those that pack constants first. */
bt_status ocl_lower(bt_ctx *, bt_arena *, const ocl_device *, const bt_func *primitive,
                    bt_lowering *out) BT_MUST_USE;
/* What stands before all kernels of a program. 0: no memory. */
int ocl_text_head(bt_text *out);

#endif
