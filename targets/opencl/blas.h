/* Products of matrices by CLBlast, which is opened by name when an instance is, if at all. */
#ifndef OPENCL_BLAS_H
#define OPENCL_BLAS_H

#include "queue.h"

/* Its functions, each by its name without "CLBlast": a member for each row of blas.def. */
struct ocl_blas {
#define OCL_BLAS(result, name, parameters) result(*name) parameters;
#include "blas.def"
};

/* All functions or none: 0, there is no CLBlast here. */
int ocl_blas_open(struct ocl_blas *out);
/* What it keeps of a context that goes. */
void ocl_blas_forget(const struct ocl_blas *);

/* Where a matrix, or the first of several, is. */
struct ocl_region {
    cl_mem mem;
    uint64_t offset; /* bytes */
};
/* Gives a product as the next part of a command. */
bt_status ocl_blas_multiply(bt_ctx *, struct ocl_queue *, struct ocl_command *,
                            const ocl_product *,
                            const struct ocl_region abc[3]) BT_MUST_USE;

#endif
