/* Numbers that depend on the dims of a call. */
#ifndef OPENCL_NUMBER_H
#define OPENCL_NUMBER_H

#include <baton/graph.h>

/* A number, or what is computed of a call's dims: steps on a stack. */
typedef struct ocl_step {
    uint32_t kind; /* OCL_STEP_... */
    uint32_t which;
    int64_t value;
} ocl_step;
enum {
    OCL_STEP_NUMBER, /* value */
    OCL_STEP_DIM,    /* dim `which` of the call */
    OCL_STEP_SCALAR, /* row `which` of scalars.def, of the last `value` numbers: 1 or 2 */
    OCL_STEP_COUNT
};
enum { OCL_MAX_STEPS = 64 };
typedef struct ocl_number {
    uint32_t n;
    const ocl_step *steps;
} ocl_number;
/* Of a node over dims, and several. errors  BT_ERR_UNSUPPORTED: it has too many steps */
bt_status ocl_number_of(bt_ctx *, bt_arena *, const bt_node *,
                        ocl_number *out) BT_MUST_USE;
/* Steps that come out of a file are checked before. */
int64_t ocl_number_value(const ocl_number *, const int64_t *dims);
/* 1: it can be computed with so many dims. */
int ocl_number_is_valid(const ocl_number *, uint32_t ndim);

#endif
