/*
 * What a kernel of the target is: launches of OpenCL kernels, one after the other, each of which
 * sees what those before it wrote. The text of an OpenCL kernel has NAME for its name, so that equal
 * ones are one:
 *
 *     __kernel void NAME(__global const float *restrict a0, const long a0_at,
 *                        __global float *restrict s0, const long s0_at, const int n0)
 *     {
 *         a0 = (__global const float *)((__global const char *)a0 + a0_at);
 *         ...
 *
 * A buffer is two parameters: the cl_mem, and where in it the buffer begins, in bytes, as a long.
 */
#ifndef OPENCL_LAUNCH_H
#define OPENCL_LAUNCH_H

#include <baton/target.h>

#include "number.h"

/* Arguments, in the order of the parameters. */
enum {
    OCL_ARG_BUFFER,    /* buffer `index` of the call */
    OCL_ARG_WORKSPACE, /* the call's workspace, from `number` bytes on */
    OCL_ARG_FAULT,     /* __global int *: a kernel that fails stores its fault, not 0 */
    OCL_ARG_INT,       /* const int */
    OCL_ARG_LONG       /* const long */
};
typedef struct ocl_arg {
    uint32_t kind, index;
    ocl_number number;
} ocl_arg;

/* Products of matrices of floats that a library computes: c[i] = a[i] b[i] for each i of the
 * batch. Rows of a matrix lie `row` floats apart, the matrices `matrix` floats; one that is
 * transposed has its columns there. */
typedef struct ocl_matrices {
    uint32_t is_transposed;
    int64_t row, matrix;
} ocl_matrices;
typedef struct ocl_product {
    int64_t batch, m, n, k; /* m rows and n columns of c, k terms each */
    ocl_matrices a, b, c;
} ocl_product;

typedef struct ocl_launch {
    const char *text; /* of the kernel; NULL: it is a product, */
    const ocl_product
        *product; /* ... of the first two of three buffers, into the third */
    uint32_t narg;
    const ocl_arg *args;
    uint32_t local[3];     /* work-items of a group */
    ocl_number groups[3];  /* none where one of them is 0 */
    uint32_t local_nbytes; /* of __local memory that it has */
} ocl_launch;

/* bt_kernel.content. */
typedef struct ocl_program {
    uint32_t nlaunch;
    const ocl_launch *launches;
    uint32_t nfault;
    const bt_fault *faults;
} ocl_program;

#endif
