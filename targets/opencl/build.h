/* Programs of OpenCL, out of text. */
#ifndef OPENCL_BUILD_H
#define OPENCL_BUILD_H

#include "instance.h"

/* errors  BT_ERR_PLUGIN: the driver's compiler refuses the text; its log and the line */
bt_status ocl_build(bt_ctx *, struct ocl_instance *, const bt_text *source,
                    cl_program *out) BT_MUST_USE;

#endif
