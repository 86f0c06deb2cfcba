/* The OpenCL library, and the devices of its platforms. */
#ifndef OPENCL_DRIVER_H
#define OPENCL_DRIVER_H

#include "instance.h"

/* errors  BT_ERR_UNSUPPORTED: there is none, or it lacks an entry point */
bt_status ocl_driver_open(bt_ctx *, const char *library,
                          struct ocl_driver *out) BT_MUST_USE;
/* The device that is asked for.
 * errors  BT_ERR_UNSUPPORTED: there is none, with a list of those that there are */
bt_status ocl_device_choose(bt_ctx *, const struct ocl_driver *, const struct ocl_wish *,
                            cl_platform_id *platform, cl_device_id *out,
                            struct ocl_facts *facts) BT_MUST_USE;

/* A row of errors.def. */
enum { OCL_ERROR_OTHER, OCL_ERROR_MEMORY, OCL_ERROR_LOST };
struct ocl_error {
    cl_int code;
    uint32_t kind;
    const char *name; /* "CL_OUT_OF_RESOURCES (-5)" */
};
const struct ocl_error *ocl_error_find(cl_int);

#endif
