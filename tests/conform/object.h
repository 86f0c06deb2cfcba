/* Kernels of a target that makes code and leaves loading and launching to others. */
#ifndef CONFORM_OBJECT_H
#define CONFORM_OBJECT_H

#include <baton/compiler.h>
#include <baton/target.h>

/* Loads the one object that holds all of them. */
bt_status object_load(bt_ctx *, uint32_t n, bt_kernel_code *const *codes, bt_code **out);
/* Calls a kernel in this thread; a fault is an error in the kernel's words. */
bt_status object_launch(bt_ctx *, const bt_code *, const bt_kernel_code *,
                        const bt_kernel_call *);

#endif
