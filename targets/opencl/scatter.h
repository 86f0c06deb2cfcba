/* Reductions whose terms address the elements that take them. */
#ifndef OPENCL_SCATTER_H
#define OPENCL_SCATTER_H

#include "write.h"

/* How iterations of a nest take into elements that several of them may address. */
enum {
    OCL_SCATTER_NONE,   /* none does */
    OCL_SCATTER_ATOMIC, /* of integers, in any order, by atomics */
    OCL_SCATTER_GATHER  /* not at once: elements are to look for their terms */
};
bt_status ocl_scatter_of(bt_loops *, bt_stmt *nest, uint32_t *out) BT_MUST_USE;

#endif
