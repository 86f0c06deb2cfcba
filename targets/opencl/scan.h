/* Running reductions. */
#ifndef OPENCL_SCAN_H
#define OPENCL_SCAN_H

#include "write.h"

int ocl_scan_is(bt_stmt *nest);
/* Launches of a nest in which each element takes the one before it. *done 0: it is none. */
bt_status ocl_scan_launch(struct ocl_maker *, bt_loops *, bt_stmt *nest,
                          int *done) BT_MUST_USE;

#endif
