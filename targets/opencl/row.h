/* Reductions of long rows. */
#ifndef OPENCL_ROW_H
#define OPENCL_ROW_H

#include "nest.h"

/* Launches of what stands in a nest, if there are long sums in it that several work-items, or lanes of
 * one, should share. *done 0: there are not. */
bt_status ocl_row_launch(struct ocl_maker *, const struct ocl_nest *,
                         int *done) BT_MUST_USE;

#endif
