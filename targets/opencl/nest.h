/* Kernels of loops, each iteration of what may run at once a work-item. */
#ifndef OPENCL_NEST_H
#define OPENCL_NEST_H

#include "write.h"

enum { OCL_NEST_LOOPS = 24, OCL_ITEMS = 64 /* of a group */ };

/* Loops, one inside the other, whose iterations may run at once, and what stands in them: at each
 * level some statements that only set locals, inside all of them the body. */
struct ocl_nest {
    bt_loops *loops;
    uint32_t nloop;
    const bt_stmt *at[OCL_NEST_LOOPS];
    bt_stmts before[OCL_NEST_LOOPS + 1]; /* each loop, and the body */
    bt_stmts body;
};

/* Whether it stores to a buffer that others see. */
int ocl_writes(const bt_loops *, const bt_stmt *);
/* The nest of a statement of the block, with what stands before it there. */
bt_status ocl_nest_find(bt_loops *, const bt_stmts *block, uint32_t at,
                        struct ocl_nest *out) BT_MUST_USE;
/* Iterations of all loops together; NULL: failure. */
const bt_node *ocl_nest_size(const struct ocl_nest *);
/* Variables of its indices, from a number below its size, in variable `from`. */
void ocl_nest_indices(struct ocl_writer *, const struct ocl_nest *, const char *from,
                      const bt_node *size);
/* Whether some nest takes into elements that its iterations address, and cannot at once. */
bt_status ocl_nest_gathers(bt_loops *, int *out) BT_MUST_USE;
/* A launch for each statement that writes. */
bt_status ocl_nest_launch(struct ocl_maker *, bt_loops *) BT_MUST_USE;

#endif
